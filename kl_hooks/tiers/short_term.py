"""Short-term memory: rows that live for an hour unless asked otherwise, private to one actor and session."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.store.database import chunks, placeholders
from kl_hooks.tiers.entries import (
    SECOND,
    Caller,
    Entry,
    access_counts,
    checked_key,
    checked_ttl,
    checked_type,
    encoded,
    reading,
    record_access,
    writing,
)

if TYPE_CHECKING:
    from kl_hooks.store.database import Database, Row
    from kl_hooks.workspace import Workspace

TIER: Final = "short"
_TTL: Final = 3600
_MOST_TTL: Final = 7 * 86_400
_COLUMNS: Final = "id, actor, session, key, type, value, at, expires"


def write_short_term(
    ws: Workspace, caller: Caller, key: str, value: Any, *, ttl: int | None = None, type: str = ""
) -> Entry:
    """Store a value, in the place of the caller's earlier one in this session; its count of accesses goes on."""
    key, name, made = checked_key(key), checked_type(type), encoded(value)
    now = ws.clock.now()
    expires = now + checked_ttl(ttl, _TTL, _MOST_TTL) * SECOND
    # the ID stays where the row is replaced, so its accesses go on; both dialects have this clause (SQLite 3.24)
    sql = (
        f"INSERT INTO short_entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor, session, key)"
        " DO UPDATE SET type = excluded.type, value = excluded.value, at = excluded.at, expires = excluded.expires"
    )
    with writing(ws, "short-term memory") as db:
        db.execute(sql, (os.urandom(8).hex(), caller.actor, caller.session, key, name, made, now, expires))
        return short_term_entries(ws, db, caller, key)[0]


def read_short_term(ws: Workspace, caller: Caller, key: str) -> Entry | None:
    """Return the caller's entry of this session if it has not expired, and count the access."""
    with reading(ws) as db:
        sql = f"SELECT {_COLUMNS} FROM short_entry WHERE actor = ? AND session = ? AND key = ?"
        row = db.row(sql, (*caller, checked_key(key))) if db is not None else None
    if row is None or not (found := _entry(row)).is_live(ws.clock.now()):
        return None
    record_access(ws, TIER, found.id, caller)
    return found


def short_term_entries(
    ws: Workspace, db: Database, caller: Caller, key: str = "", *, all_sessions: bool = False, expired: bool = False
) -> list[Entry]:
    """Return the caller's entries with their counts of accesses, by key. `expired`: those too."""
    # the actor is in every condition: there is no way to ask for everybody's
    given = [("actor", caller.actor)]
    given += [] if all_sessions else [("session", caller.session)]
    given += [("key", key)] if key else []
    where = " AND ".join(f"{column} = ?" for column, _ in given)
    sql = f"SELECT {_COLUMNS} FROM short_entry WHERE {where} ORDER BY key, session"
    found = [_entry(row) for row in db.rows(sql, [value for _, value in given])]
    counts = access_counts(db, TIER, [one.id for one in found])
    now = ws.clock.now()
    return [replace(one, accesses=counts[one.id][0]) for one in found if expired or one.is_live(now)]


def delete_short_term(db: Database, ids: Sequence[str]) -> None:
    """Remove rows, in the caller's transaction. What happened to them stays in the events."""
    for some in chunks(ids):
        db.execute(f"DELETE FROM short_entry WHERE id IN ({placeholders(some)})", some)


def expired_owners(db: Database, now: int) -> list[Caller]:
    """Return whose entries, in which sessions, have expired."""
    sql = "SELECT DISTINCT actor, session FROM short_entry WHERE expires <= ? ORDER BY actor, session"
    return [Caller(actor, of) for actor, of in db.rows(sql, (now,))]


def _entry(row: Row) -> Entry:
    identifier, actor, of, key, type, value, at, expires = row
    return Entry(
        key, json.loads(value), TIER, f"short-term memory, session {of}", actor, of, type, at, expires, id=identifier
    )
