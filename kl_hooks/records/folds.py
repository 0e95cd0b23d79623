"""Folds over Events of many records at once, and where records rest whose ids were ever given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kl_hooks.model.record import Record
from kl_hooks.records import rows
from kl_hooks.records.events import Event
from kl_hooks.store.rows import marks, pieces

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Resting:
    """A record of the state as its row has it, whether it can be seen or not."""

    record: Record
    rests: str
    """`state`, `file` (a file said it when it was last changed here), `gone` (deleted)."""


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
