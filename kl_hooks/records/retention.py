"""Retention: maintenance policies that purge expired records and write occurrence counts into files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import iso, micros
from kl_hooks.model.lifecycle import Change
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, insert_events, occurrence_counts
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.repository import FileChanges, expiry_moment, write_row
from kl_hooks.records.write import change_record

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace import Workspace


EXPIRED_RECORDS: Final = "expired records"
OCCURRENCE_COUNTS: Final = "occurrence counts"
EXPIRED_FILES: Final = "expired files"
_REJECTED: Final = "rejected"
"""A status that keeps a record for ever: it holds back what would come again."""


def _purges(records: Iterable[Record], kinds: Mapping[str, Kind], numbers: Lifecycle, now: int) -> list[Change]:
    """The records that expired long enough ago: by their kind's retention, else `purge_expired_days`."""
    found = []
    for one in records:
        until = expiry_moment(one.text("expires"))
        days = kinds[one.kind].retention or numbers.purge_expired_days
        if until is None or one.status == _REJECTED or not days or not numbers.old(now, micros(until), days):
            continue
        reason = f"a {one.kind} that expired on {until[:10]}; kept {days} days since"
        found.append(Change("purge", one.id, EXPIRED_FILES if one.path else EXPIRED_RECORDS, reason, one.status))
    return found


def find_expired_records(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Records of the state that are over."""
    return [one for one in _find_expired(ws, numbers, now) if one.policy == EXPIRED_RECORDS]


def find_expired_files(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Files of records that began in the state (approved memories) and are over."""
    return [one for one in _find_expired(ws, numbers, now) if one.policy == EXPIRED_FILES]


def _find_expired(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    state = tuple(name for name, kind in ws.kinds.items() if kind.storage == "state")
    records = [one for one in list_records(ws, RecordFilter(state, archived=True, expired=True)) if not one.broken]
    return _purges(records, ws.kinds, numbers, now)


def purge_files(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Deletes these files, all or none; git keeps them. Seen again, such a memory may come back."""
    gone = [one for one in get_records(ws, [change.id for change in changes]) if one.path]
    with ws.store.writing(what="upkeep") as db, FileChanges(ws) as kept, db.transaction():
        for one in gone:
            kept.write(one.path, None)
            write_row(ws, db, Record(one.kind, one.id, {}), "gone")
        insert_events(db, [Event("purged", one.id) for one in gone], iso(now))


def purge_records(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Takes them out, all or none, with what they said before."""
    records = {one.id: one for one in get_records(ws, [change.id for change in changes])}
    gone = [record for record in records.values() if not record.path]
    with ws.store.writing(what="upkeep") as db, db.transaction():
        for one in gone:
            write_row(ws, db, Record(one.kind, one.id, {}), "gone")
            db.execute("DELETE FROM record_version WHERE id = ?", (one.id,))
        insert_events(db, [Event("purged", one.id) for one in gone], iso(now))


def find_outdated_counts(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Files whose count lacks Events of this clone: other clones do not know of these yet."""
    found = []
    for kind in (one for one in ws.kinds.values() if one.counted):
        records = [one for one in list_records(ws, RecordFilter((kind.name,))) if one.path and not one.broken]
        for identifier, count in occurrence_counts(ws, kind, records).items():
            if count.new:
                base = count.total - count.new
                reason = f"{count.new} more since its file was last written"
                found.append(Change("count", identifier, OCCURRENCE_COUNTS, reason, str(base), str(count.total)))
    return found


def write_counts(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Writes the count into each file; writing any field does."""
    for record in get_records(ws, [one.id for one in changes]):
        if record.path and not record.broken:
            change_record(ws, record, {}, how="count", by="upkeep")
