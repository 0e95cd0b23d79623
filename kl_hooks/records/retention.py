"""Retention: maintenance policies that purge expired records and write occurrence counts into
files.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import is_older, iso, micros
from kl_hooks.hookspecs import Policy
from kl_hooks.model.kind import REJECTED
from kl_hooks.model.lifecycle import Change
from kl_hooks.model.record import Record
from kl_hooks.model.text import counted
from kl_hooks.records.events import Event, insert_events, is_counted, occurrence_counts
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.repository import FileChanges, expiry_moment, write_row
from kl_hooks.records.write import change_record

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace import Workspace

_RECORDS: Final = "expired records"
_FILES: Final = "expired files"
_COUNTS: Final = "occurrence counts"


def policies() -> list[Policy]:
    """Return the maintenance policies of records."""
    in_rows = partial(_find_expired, files=False)
    in_files = partial(_find_expired, files=True)
    purge_files = partial(purge_records, files=True)
    return [
        Policy(
            _RECORDS,
            "Expired records leave the database after their retention.",
            in_rows,
            purge_records,
        ),
        Policy(
            _FILES,
            "Expired files of memories are deleted after their retention.",
            in_files,
            purge_files,
        ),
        Policy(
            _COUNTS,
            "Files get the number of occurrences that this clone counted.",
            _new_counts,
            _write_counts,
        ),
    ]


def _find_expired(ws: Workspace, numbers: Lifecycle, now: int, *, files: bool) -> list[Change]:
    """Return the purges of what expired longer ago than its kind's retention, else
    `purge_expired_days`.

    Of kinds that begin in the database; `files`: of their files (approved memories), else of their
    rows.
    """
    kinds = tuple(name for name, kind in ws.kinds.items() if kind.storage == "state")
    changes = []
    for record in list_records(ws, RecordFilter(kinds, archived=True, expired=True)):
        until = expiry_moment(record.text("expires"))
        days = ws.kinds[record.kind].retention or numbers.purge_expired_days
        # A rejected record stays: it keeps what was rejected from being proposed again.
        if (
            record.broken
            or until is None
            or record.status == REJECTED
            or not days
            or bool(record.path) != files
        ):
            continue
        if is_older(now, micros(until), days):
            reason = (
                f"a {record.kind} that expired on {until[:10]}; retained "
                f"{counted(days, 'day')} since"
            )
            changes.append(
                Change("purge", record.id, _FILES if files else _RECORDS, reason, record.status)
            )
    return changes


def purge_records(
    ws: Workspace, changes: Sequence[Change], now: int, *, files: bool = False
) -> None:
    """Remove records from the database with all their versions, all or none. Their IDs stay in use.

    `files`: delete files instead; git has them, and such a memory may be learned again.
    """
    records = [
        record
        for record in get_records(ws, [change.id for change in changes])
        if bool(record.path) == files
    ]
    with ws.store.writing(what="upkeep") as db, FileChanges(ws) as removed, db.transaction():
        for record in records:
            if record.path:
                removed.write(record.path, None)
            else:
                db.execute("DELETE FROM record_version WHERE id = ?", (record.id,))
            write_row(ws, db, Record(record.kind, record.id, {}), "gone")
        insert_events(db, [Event("purged", record.id) for record in records], iso(now))


def _new_counts(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return the files whose count lacks Events of this clone: other clones do not know of these
    yet.
    """
    changes = []
    for kind in (one for one in ws.kinds.values() if is_counted(one)):
        records = [
            one
            for one in list_records(ws, RecordFilter((kind.name,)))
            if one.path and not one.broken
        ]
        for identifier, count in occurrence_counts(ws, kind, records).items():
            if count.new:
                before = str(count.total - count.new)
                reason = f"{count.new} more since its file was last written"
                changes.append(
                    Change("count", identifier, _COUNTS, reason, before, str(count.total))
                )
    return changes


def _write_counts(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Write the count into each file; writing any field does that."""
    for record in get_records(ws, [one.id for one in changes]):
        if record.path and not record.broken:
            change_record(ws, record, {}, how="count", by="upkeep")
