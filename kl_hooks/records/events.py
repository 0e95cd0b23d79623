"""Events: what happened to records, append-only. A count is a fold over them, never a number that somebody raises."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kl_hooks.clock import iso
from kl_hooks.model.canonical import canonical

if TYPE_CHECKING:
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


def note(ws: Workspace, events: Iterable[Event]) -> None:
    """Appends these events, now. Raises as `Store.writing`."""
    some = list(events)
    if some:
        with ws.store.writing(what="noting what happened") as db, db.transaction():
            append(db, some, iso(ws.clock.now()))


def append(db: Database, events: Sequence[Event], now: str) -> None:
    """The same inside a transaction that the caller holds. A session is what others called it: no secret is kept."""
    from kl_hooks.store.redact import redact

    rows = [(e.at or now, e.name, e.record, redact(e.session), canonical(dict(e.body)).decode()) for e in events]
    db.many("INSERT INTO record_event (at, name, record, session, body) VALUES (?, ?, ?, ?, ?)", rows)


def events(ws: Workspace, record: str = "", name: str = "") -> list[Event]:
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
