"""How records tidy: what expired long ago leaves the state. Its id stays taken where ids count, its words go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import iso, micros
from kl_hooks.model.change import Change
from kl_hooks.model.record import Record
from kl_hooks.records.ask import Wanted, by_ids, every
from kl_hooks.records.events import Event, append
from kl_hooks.records.folds import counts_of
from kl_hooks.records.keeping import Kept, remove_file, row_of
from kl_hooks.records.rows import last_moment
from kl_hooks.records.write import change

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace.open import Workspace

POLICY: Final = "expired records"
COUNTS: Final = "occurrence counts"
FILES: Final = "expired files"
REFUSED: Final = "rejected"
"""A status that keeps a record for ever: it holds back what would come again."""


def over(records: Iterable[Record], kinds: Mapping[str, Kind], numbers: Lifecycle, now: int) -> list[Change]:
    """The records that expired long enough ago: by their kind's retention, else `purge_expired_days`."""
    found = []
    for one in records:
        until = last_moment(one.text("expires"))
        days = kinds[one.kind].retention or numbers.purge_expired_days
        if until is None or one.status == REFUSED or not days or not numbers.old(now, micros(until), days):
            continue
        reason = f"a {one.kind} that expired on {until[:10]}; kept {days} days since"
        found.append(Change("purge", one.id, FILES if one.path else POLICY, reason, one.status))
    return found


def look(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Records of the state that are over."""
    return [one for one in _over(ws, numbers, now) if one.policy == POLICY]


def look_files(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Files of records that began in the state (approved memories) and are over."""
    return [one for one in _over(ws, numbers, now) if one.policy == FILES]


def _over(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    state = tuple(name for name, kind in ws.kinds.items() if kind.home == "state")
    records = [one for one in every(ws, Wanted(state, archived=True, expired=True)) if not one.broken]
    return over(records, ws.kinds, numbers, now)


def apply_files(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Deletes these files, all or none; git keeps them. Seen again, such a memory may come back."""
    gone = [one for one in by_ids(ws, [change.id for change in changes]) if one.path]
    with ws.store.writing(what="upkeep") as db, Kept(ws) as kept, db.transaction():
        for one in gone:
            remove_file(ws, one, kept)
            row_of(ws, db, Record(one.kind, one.id, {}), "gone")
        append(db, [Event("purged", one.id) for one in gone], iso(now))


def apply(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Takes them out, all or none, with what they said before."""
    records = {one.id: one for one in by_ids(ws, [change.id for change in changes])}
    gone = [record for record in records.values() if not record.path]
    with ws.store.writing(what="upkeep") as db, db.transaction():
        for one in gone:
            row_of(ws, db, Record(one.kind, one.id, {}), "gone")
            db.execute("DELETE FROM record_version WHERE id = ?", (one.id,))
        append(db, [Event("purged", one.id) for one in gone], iso(now))


def look_counts(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Files whose count lacks Events of this clone: other clones do not know of these yet."""
    found = []
    for kind in (one for one in ws.kinds.values() if one.counted):
        records = [one for one in every(ws, Wanted((kind.name,))) if one.path and not one.broken]
        for identifier, count in counts_of(ws, kind, records).items():
            if count.fresh:
                base = count.total - count.fresh
                reason = f"{count.fresh} more since its file was last written"
                found.append(Change("count", identifier, COUNTS, reason, str(base), str(count.total)))
    return found


def apply_counts(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Writes the count into each file; writing any field does."""
    for record in by_ids(ws, [one.id for one in changes]):
        if record.path and not record.broken:
            change(ws, record, {}, how="count", by="upkeep")
