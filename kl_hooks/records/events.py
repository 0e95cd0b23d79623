"""Events: what happened to records, append-only. A count is computed from them, never a stored
number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.model.canonical import canonical
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import COUNT_FIELDS
from kl_hooks.model.record import Record
from kl_hooks.records.repository import StoredRecord, records_in_rows, select_rows
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

# The Event that names this store, so that a file can state which Events its count already includes.
_CLONE: Final = "clone"
BASIS: Final = "basis"
"""What a memory rested on when somebody approved it; body: see `hookspecs.kl_basis`."""
CONTENT: Final = "content"
"""In the body of an Event: SHA-256 of the file as a person has written it through kl."""


Others = Mapping[str, Sequence[str]]
"""Other clone → the moments of its Events."""
_NO_OTHERS: Final[Others] = {}


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
    """ISO 8601, UTC; set when it is stored."""
    seq: int = 0


class OccurrenceCount(NamedTuple):
    """How often something happened, by its file and this clone's Events."""

    total: int
    first: str
    """ISO 8601; empty: unknown."""
    last: str
    here: int
    """Events of this clone."""
    new: int
    """Those of them that the file does not include yet."""


OCCURRED: Final = "occurred"
"""Name of the Event that is counted."""


def is_counted(kind: Kind) -> bool:
    """Return whether it is counted how often what a record of this kind describes occurred."""
    return COUNT_FIELDS[0] in kind.fields


def append_events(ws: Workspace, events: Iterable[Event]) -> None:
    """Store these events now. Raises as `Store.writing`."""
    new_events = list(events)
    if new_events:
        with ws.store.writing(what="storing events") as db, db.transaction():
            insert_events(db, new_events, iso(ws.clock.now()))


def insert_events(db: Database, events: Sequence[Event], now: str) -> None:
    """Store these events in the caller's transaction. Sessions are named by others, so they are
    redacted.
    """
    from kl_hooks.store.redaction import redact

    rows = [
        (e.at or now, e.name, e.record, redact(e.session), canonical(dict(e.body)).decode())
        for e in events
    ]
    db.many(
        "INSERT INTO record_event (at, name, record, session, body) VALUES (?, ?, ?, ?, ?)", rows
    )


def list_events(ws: Workspace, record: str = "", name: str = "") -> list[Event]:
    """Return the events, oldest first: all, of one record, of one name."""
    conditions = [
        (column, value) for column, value in (("record", record), ("name", name)) if value
    ]
    with ws.store.reading() as db:
        if db is None:
            return []
        where = " AND ".join(f"{column} = ?" for column, _ in conditions) or "1 = 1"
        return stored_events(db, where, [value for _, value in conditions])


def events_by_record(
    ws: Workspace, ids: Sequence[str], names: Sequence[str] = ()
) -> dict[str, list[Event]]:
    """Return ID → its Events, oldest first, of these names if any are given."""
    events_of: dict[str, list[Event]] = {one: [] for one in ids}
    with ws.store.reading() as db:
        if db is None:
            return events_of
        if names:
            also = f" AND name IN ({placeholders(names)})"
        else:
            also = ""
        for batch in chunks(ids):
            for event in stored_events(
                db, f"record IN ({placeholders(batch)}){also}", [*batch, *names]
            ):
                events_of[event.record].append(event)
    return events_of


def stored_events(db: Database, where: str, params: Sequence[Any]) -> list[Event]:
    """Return the events that a condition in SQL selects, oldest first."""
    # By number, not by time: clocks are set back.
    sql = (
        f"SELECT name, record, session, body, at, seq FROM record_event WHERE {where} ORDER BY seq"
    )
    return [
        Event(n, r, s, json.loads(body), at, seq) for n, r, s, body, at, seq in db.rows(sql, params)
    ]


def occurrence_count(
    record: Record,
    clone: str,
    moments: Sequence[str],
    *,
    made_here: bool = False,
    others: Others = _NO_OTHERS,
) -> OccurrenceCount:
    """Return the base count of the file plus the Events of this clone that it does not include.
    Pure.

    `moments`: of the Events of this clone. `made_here`: this clone made the record; then a file
    without a count, as releases before 0.2 wrote it, was counted by its first Event. `others`:
    moments by other clones.
    """
    by_clone = {
        name: int(number) for name, number in _counts_by_clone(record).items() if number.isdecimal()
    }
    # the larger: a merge may have taken either number, and the lines of both clones (ADR-0019)
    base = max(record.number("occurrence_count"), sum(by_clone.values()))
    base = base or (0 if made_here and moments else 1)
    new = max(0, len(moments) - by_clone.get(clone, 0))
    there = sum(
        max(0, len(other_moments) - by_clone.get(name, 0))
        for name, other_moments in others.items()
        if name != clone or not name
    )
    moments_known = [
        *moments,
        *(moment for other_moments in others.values() for moment in other_moments),
    ]
    first = min([moment for moment in (record.text("date"), *moments_known) if moment], default="")
    last = max(
        [moment for moment in (record.text("last_occurred"), *moments_known) if moment],
        default=first,
    )
    return OccurrenceCount(base + new + there, first, last, len(moments), new)


def occurrence_counts(
    ws: Workspace, kind: Kind, records: Sequence[Record], others: Mapping[str, Others] | None = None
) -> dict[str, OccurrenceCount]:
    """Return ID → how often each of these records happened. `others`: ID → what other clones know
    of it.
    """
    with ws.store.reading() as db:
        return _occurrence_counts(db, kind, records, others=others)


def counted_fields(
    db: Database,
    kind: Kind,
    record: Record,
    now: int,
    stated_values: Mapping[str, Any],
    *,
    new: bool = False,
) -> dict[str, Any]:
    """Return the fields `COUNTED` with all Events of this clone, for a file that is being written.
    Under the lock.

    `stated_values`: values of the writer; a count among them is taken as the number up to now.
    `new`: a file that is being made; its first Event is stored already, and so are those of a file
    of this ID that was deleted or is on another branch.
    """
    count = _occurrence_counts(db, kind, [record], new=new)[record.id]
    clone = _clone_id(db)
    if not clone:
        clone = os.urandom(4).hex()
        insert_events(db, [Event(_CLONE, "", body={"id": clone})], iso(now))
    by_clone = _counts_by_clone(record) | ({clone: str(count.here)} if count.here else {})
    total = int(stated_values.get("occurrence_count") or count.total)
    return {"occurrence_count": total, "last_occurred": count.last, "counted": by_clone}


def rank_by_sessions(
    ws: Workspace, kind: str, status: str, name: str, limit: int
) -> tuple[list[tuple[str, int]], int]:
    """Return (the first `limit` pairs of ID and number of sessions with an Event `name`, most
    first; how many records).

    Of the records in the database.
    """
    # Sessions, not events: what one session repeats is one observation.
    sql = (
        "SELECT r.id, COUNT(DISTINCT e.session) FROM record r LEFT JOIN record_event e ON e.record"
        " = r.id AND e.name = ? WHERE r.kind = ? AND r.status = ? AND r.rests = 'state' GROUP BY"
        " r.id ORDER BY 2 DESC, 1 LIMIT ?"
    )
    ranked = select_rows(ws, sql, (name, kind, status, limit))
    return [(str(i), int(n)) for i, n in ranked], count_records(ws, kind, status)


def count_records(ws: Workspace, kind: str, status: str) -> int:
    """Return the number of records of this kind and status in the database."""
    sql = "SELECT COUNT(*) FROM record WHERE kind = ? AND status = ? AND rests = 'state'"
    return sum(int(number) for (number,) in select_rows(ws, sql, (kind, status)))


def stored_records(ws: Workspace, ids: Sequence[str]) -> dict[str, StoredRecord]:
    """Return ID → its row, for every ID that was ever used here."""
    with ws.store.reading() as db:
        if db is None:
            return {}
        return {
            one.record.id: one
            for some in chunks(ids)
            for one in records_in_rows(db, f"id IN ({placeholders(some)})", some)
        }


def _occurrence_counts(
    db: Database | None,
    kind: Kind,
    records: Sequence[Record],
    *,
    new: bool = False,
    others: Mapping[str, Others] | None = None,
) -> dict[str, OccurrenceCount]:
    if db is None:
        return {one.id: occurrence_count(one, "", ()) for one in records}
    moments: dict[str, list[str]] = {one.id: [] for one in records}
    created: set[str] = set()
    for batch in chunks(list(moments)):
        sql = (
            f"SELECT record, name, at FROM record_event WHERE record IN ({placeholders(batch)}) AND"
            " name IN (?, ?)"
        )
        for identifier, name, at in db.rows(sql, [*batch, OCCURRED, "created"]):
            if name == OCCURRED:
                moments[identifier].append(at)
            else:
                created.add(identifier)
    clone = _clone_id(db)
    return {
        one.id: occurrence_count(
            one,
            clone,
            moments[one.id],
            made_here=new or one.id in created,
            others=(others or {}).get(one.id, _NO_OTHERS),
        )
        for one in records
    }


def _counts_by_clone(record: Record) -> dict[str, str]:
    counted = record.values.get("counted")
    if not isinstance(counted, Mapping):
        return {}
    return {str(name): str(number) for name, number in counted.items()}


def _clone_id(db: Database) -> str:
    row = db.row("SELECT body FROM record_event WHERE name = ? ORDER BY seq LIMIT 1", (_CLONE,))
    if not row:
        return ""
    return str(json.loads(row[0])["id"])
