"""Folds over Events of many records at once, and where records rest whose ids were ever given."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.model.record import Record
from kl_hooks.records import rows
from kl_hooks.records.events import Event, append
from kl_hooks.store.rows import marks, pieces

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Resting:
    """A record of the state as its row has it, whether it can be seen or not."""

    record: Record
    rests: str
    """`state`, `file` (a file said it when it was last changed here), `gone` (deleted)."""


CLONE: Final = "clone"
"""Name of the Event that names this store, so that a file can say which Events its count already holds."""


@dataclass(frozen=True, slots=True)
class Count:
    """How often something happened, as far as its file and this clone's Events tell."""

    total: int
    first: str = ""
    """ISO 8601; empty: unknown."""
    last: str = ""
    here: int = 0
    """Events of this clone."""
    fresh: int = 0
    """Those of them that the file does not hold yet."""


def count_of(record: Record, clone: str, moments: Sequence[str], *, made_here: bool = False) -> Count:
    """The base count of the file plus the Events of this clone that it does not hold. Pure.

    `moments`: of the Events of this clone. `made_here`: this clone made the record; then a file without a count, as
    releases before 0.2 wrote it, was counted by its first Event.
    """
    held = {name: int(number) for name, number in _held(record).items() if number.isdecimal()}
    base = max(record.number("occurrence_count"), sum(held.values()))
    base = base or (0 if made_here and moments else 1)
    fresh = max(0, len(moments) - held.get(clone, 0))
    first = min([one for one in (record.text("date"), *moments) if one], default="")
    last = max([one for one in (record.text("last_occurred"), *moments) if one], default=first)
    return Count(base + fresh, first, last, len(moments), fresh)


def counts_of(ws: Workspace, kind: Kind, records: Sequence[Record]) -> dict[str, Count]:
    """Id → how often each of these records happened."""
    with ws.store.reading() as db:
        return _counts(db, kind, records)


def base_count(
    db: Database, kind: Kind, record: Record, now: int, given: Mapping[str, Any], *, new: bool = False
) -> dict[str, Any]:
    """The fields `COUNTED` with every Event of this clone in them, for a file that is being written. Under the lock.

    `given`: what the writer says; a count among it is taken as the number up to now. `new`: a file that is being made;
    its first Event is noted already, and so are those of a file of this ID that was deleted or is on another branch.
    """
    count = _counts(db, kind, [record], new=new)[record.id]
    clone = _clone(db) or _name_clone(db, now)
    held = {**_held(record), clone: str(count.here)}
    total = int(given.get("occurrence_count") or count.total)
    return {"occurrence_count": total, "last_occurred": count.last, "counted": held if count.here else _held(record)}


def _counts(db: Database | None, kind: Kind, records: Sequence[Record], *, new: bool = False) -> dict[str, Count]:
    if db is None:
        return {one.id: count_of(one, "", ()) for one in records}
    moments: dict[str, list[str]] = {one.id: [] for one in records}
    made: set[str] = set()
    for some in pieces(list(moments)):
        sql = f"SELECT record, name, at FROM record_event WHERE record IN ({marks(some)}) AND name IN (?, 'created')"
        for identifier, name, at in db.rows(sql, [*some, kind.counted]):
            if name == kind.counted:
                moments[identifier].append(at)
            else:
                made.add(identifier)
    clone = _clone(db)
    return {one.id: count_of(one, clone, moments[one.id], made_here=new or one.id in made) for one in records}


def _held(record: Record) -> dict[str, str]:
    held = record.values.get("counted")
    return {str(name): str(number) for name, number in held.items()} if isinstance(held, Mapping) else {}


def _clone(db: Database) -> str:
    row = db.row("SELECT body FROM record_event WHERE name = ? ORDER BY seq LIMIT 1", (CLONE,))
    return str(json.loads(row[0])["id"]) if row else ""


def _name_clone(db: Database, now: int) -> str:
    name = secrets.token_hex(4)
    append(db, [Event(CLONE, "", body={"id": name})], iso(now))
    return name


def happened(ws: Workspace, ids: Sequence[str], names: Sequence[str] = ()) -> dict[str, list[Event]]:
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


def by_sessions(ws: Workspace, kind: str, status: str, name: str, limit: int) -> tuple[list[tuple[str, int]], int]:
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


def counted(ws: Workspace, kind: str, status: str) -> int:
    """How many records of this kind and status rest in the state."""
    with ws.store.reading() as db:
        sql = "SELECT COUNT(*) FROM record WHERE kind = ? AND status = ? AND rests = 'state'"
        row = db.row(sql, (kind, status)) if db is not None else None
    return int(row[0]) if row else 0


def resting(ws: Workspace, ids: Sequence[str]) -> dict[str, Resting]:
    """Id → its row, for every id that was ever given here."""
    with ws.store.reading() as db:
        return {one.record.id: one for one in _resting(db, ids)} if db is not None else {}


def _resting(db: Database, ids: Sequence[str]) -> Iterator[Resting]:
    for some in pieces(ids):
        for row in db.rows(f"SELECT {rows.STATE}, rests FROM record WHERE id IN ({marks(some)})", some):
            yield Resting(rows.from_state(row[:3]), str(row[3]))
