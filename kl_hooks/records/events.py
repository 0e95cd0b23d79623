"""Events: what happened to records, append-only. A count is computed from them, never a stored number."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.model.canonical import canonical
from kl_hooks.model.record import Record
from kl_hooks.records import repository
from kl_hooks.store.rows import marks, pieces

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a record."""

    name: str
    """created, changed, injected, opened, reinforced, reviewed, outcome, occurred, …"""
    record: str
    session: str = ""
    """Who did it, or in which session; empty: unknown."""
    body: Mapping[str, Any] = field(default_factory=dict)
    at: str = ""
    """ISO 8601, UTC; given when it is noted."""
    seq: int = 0


def append_events(ws: Workspace, events: Iterable[Event]) -> None:
    """Appends these events, now. Raises as `Store.writing`."""
    some = list(events)
    if some:
        with ws.store.writing(what="noting what happened") as db, db.transaction():
            insert_events(db, some, iso(ws.clock.now()))


def insert_events(db: Database, events: Sequence[Event], now: str) -> None:
    """The same inside a transaction that the caller holds. A session is what others called it: no secret is kept."""
    from kl_hooks.store.redact import redact

    rows = [(e.at or now, e.name, e.record, redact(e.session), canonical(dict(e.body)).decode()) for e in events]
    db.many("INSERT INTO record_event (at, name, record, session, body) VALUES (?, ?, ?, ?, ?)", rows)


def list_events(ws: Workspace, record: str = "", name: str = "") -> list[Event]:
    """The events, oldest first: all, of one record, of one name."""
    with ws.store.reading() as db:
        if db is None:
            return []
        where = [f"{column} = ?" for column, value in (("record", record), ("name", name)) if value]
        sql = "SELECT name, record, session, body, at, seq FROM record_event"
        sql += f" WHERE {' AND '.join(where)}" if where else ""
        found = db.rows(f"{sql} ORDER BY seq", [value for value in (record, name) if value])
    return [Event(n, r, s, json.loads(body), at, seq) for n, r, s, body, at, seq in found]


def counts(some: Iterable[Event]) -> Counter[tuple[str, str]]:
    """(record, name) → how often: the fold that every counter is."""
    return Counter((event.record, event.name) for event in some)


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record of the state as its row has it, whether it can be seen or not."""

    record: Record
    rests: str
    """`state`, `file` (a file said it when it was last changed here), `gone` (deleted)."""


_CLONE: Final = "clone"
"""Name of the Event that names this store, so that a file can say which Events its count already holds."""


@dataclass(frozen=True, slots=True)
class OccurrenceCount:
    """How often something happened, as far as its file and this clone's Events tell."""

    total: int
    first: str = ""
    """ISO 8601; empty: unknown."""
    last: str = ""
    here: int = 0
    """Events of this clone."""
    fresh: int = 0
    """Those of them that the file does not hold yet."""


def occurrence_count(record: Record, clone: str, moments: Sequence[str], *, made_here: bool = False) -> OccurrenceCount:
    """The base count of the file plus the Events of this clone that it does not hold. Pure.

    `moments`: of the Events of this clone. `made_here`: this clone made the record; then a file without a count, as
    releases before 0.2 wrote it, was counted by its first Event.
    """
    held = {name: int(number) for name, number in _counts_by_clone(record).items() if number.isdecimal()}
    base = max(record.number("occurrence_count"), sum(held.values()))
    base = base or (0 if made_here and moments else 1)
    fresh = max(0, len(moments) - held.get(clone, 0))
    first = min([one for one in (record.text("date"), *moments) if one], default="")
    last = max([one for one in (record.text("last_occurred"), *moments) if one], default=first)
    return OccurrenceCount(base + fresh, first, last, len(moments), fresh)


def occurrence_counts(ws: Workspace, kind: Kind, records: Sequence[Record]) -> dict[str, OccurrenceCount]:
    """Id → how often each of these records happened."""
    with ws.store.reading() as db:
        return _occurrence_counts(db, kind, records)


def counted_fields(
    db: Database, kind: Kind, record: Record, now: int, given: Mapping[str, Any], *, new: bool = False
) -> dict[str, Any]:
    """The fields `COUNTED` with every Event of this clone in them, for a file that is being written. Under the lock.

    `given`: what the writer says; a count among it is taken as the number up to now. `new`: a file that is being made;
    its first Event is noted already, and so are those of a file of this ID that was deleted or is on another branch.
    """
    count = _occurrence_counts(db, kind, [record], new=new)[record.id]
    clone = _clone_id(db) or _new_clone_id(db, now)
    held = {**_counts_by_clone(record), clone: str(count.here)}
    total = int(given.get("occurrence_count") or count.total)
    return {
        "occurrence_count": total,
        "last_occurred": count.last,
        "counted": held if count.here else _counts_by_clone(record),
    }


def _occurrence_counts(
    db: Database | None, kind: Kind, records: Sequence[Record], *, new: bool = False
) -> dict[str, OccurrenceCount]:
    if db is None:
        return {one.id: occurrence_count(one, "", ()) for one in records}
    moments: dict[str, list[str]] = {one.id: [] for one in records}
    made: set[str] = set()
    for some in pieces(list(moments)):
        sql = f"SELECT record, name, at FROM record_event WHERE record IN ({marks(some)}) AND name IN (?, 'created')"
        for identifier, name, at in db.rows(sql, [*some, kind.counted]):
            if name == kind.counted:
                moments[identifier].append(at)
            else:
                made.add(identifier)
    clone = _clone_id(db)
    return {one.id: occurrence_count(one, clone, moments[one.id], made_here=new or one.id in made) for one in records}


def _counts_by_clone(record: Record) -> dict[str, str]:
    held = record.values.get("counted")
    return {str(name): str(number) for name, number in held.items()} if isinstance(held, Mapping) else {}


def _clone_id(db: Database) -> str:
    row = db.row("SELECT body FROM record_event WHERE name = ? ORDER BY seq LIMIT 1", (_CLONE,))
    return str(json.loads(row[0])["id"]) if row else ""


def _new_clone_id(db: Database, now: int) -> str:
    name = secrets.token_hex(4)
    insert_events(db, [Event(_CLONE, "", body={"id": name})], iso(now))
    return name


def events_by_record(ws: Workspace, ids: Sequence[str], names: Sequence[str] = ()) -> dict[str, list[Event]]:
    """Id → its Events, oldest first, of these names if any are given."""
    found: dict[str, list[Event]] = {one: [] for one in ids}
    with ws.store.reading() as db:
        if db is None:
            return found
        also = f" AND name IN ({marks(names)})" if names else ""
        for some in pieces(ids):
            sql = f"SELECT name, record, session, body, at, seq FROM record_event WHERE record IN ({marks(some)}){also}"
            for name, record, session, body, at, seq in db.rows(f"{sql} ORDER BY seq", [*some, *names]):
                found[record].append(Event(name, record, session, json.loads(body), at, seq))
    return found


def rank_by_sessions(ws: Workspace, kind: str, status: str, name: str, limit: int) -> tuple[list[tuple[str, int]], int]:
    """(id and number of sessions that noted `name`, the most first; of all, how many there are).

    Of the records that rest in the state. `limit`: most that are given.
    """
    with ws.store.reading() as db:
        if db is None:
            return [], 0
        total = db.row("SELECT COUNT(*) FROM record WHERE kind = ? AND status = ? AND rests = 'state'", (kind, status))
        found = db.rows(
            "SELECT r.id, COUNT(DISTINCT e.session) FROM record r LEFT JOIN record_event e ON e.record = r.id"
            " AND e.name = ? WHERE r.kind = ? AND r.status = ? AND r.rests = 'state'"
            " GROUP BY r.id ORDER BY 2 DESC, 1 LIMIT ?",
            (name, kind, status, limit),
        )
    return [(str(i), int(n)) for i, n in found], int(total[0]) if total else 0


def count_records(ws: Workspace, kind: str, status: str) -> int:
    """How many records of this kind and status rest in the state."""
    with ws.store.reading() as db:
        sql = "SELECT COUNT(*) FROM record WHERE kind = ? AND status = ? AND rests = 'state'"
        row = db.row(sql, (kind, status)) if db is not None else None
    return int(row[0]) if row else 0


def stored_records(ws: Workspace, ids: Sequence[str]) -> dict[str, StoredRecord]:
    """Id → its row, for every id that was ever given here."""
    with ws.store.reading() as db:
        return {one.record.id: one for one in _stored_records(db, ids)} if db is not None else {}


def _stored_records(db: Database, ids: Sequence[str]) -> Iterator[StoredRecord]:
    for some in pieces(ids):
        for row in db.rows(f"SELECT {repository.RECORD_COLUMNS}, rests FROM record WHERE id IN ({marks(some)})", some):
            yield StoredRecord(repository.record_of_row(row[:3]), str(row[3]))
