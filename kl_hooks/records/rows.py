"""Rows and records: how a record rests in a row, of the state or of an authored file, and comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.model.canonical import canonical
from kl_hooks.model.record import Record, Value
from kl_hooks.store.database import Database

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

AUTHORED: Final = "path, kind, id, body, rest, error"
STATE: Final = "kind, id, body"


def plain(values: Mapping[str, Value]) -> str:
    """The values as canonical JSON."""
    return canonical({name: dict(v) if isinstance(v, Mapping) else v for name, v in values.items()}).decode()


def values(body: str) -> dict[str, Value]:
    """The way back."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(body).items()}


def from_file(row: Sequence[Any]) -> Record:
    """A record from a row of `authored`, its columns as in `AUTHORED`."""
    path, kind, identifier, body, rest, error = row
    more = json.loads(rest)
    wrong = json.loads(error)
    broken = str(wrong[0][3]) if wrong else ""
    return Record(kind, identifier, values(body), more.get("text", ""), path, more.get("lines", {}), broken)


def from_state(row: Sequence[Any]) -> Record:
    """A record from a row of `record`, its columns as in `STATE`."""
    kind, identifier, body = row
    return Record(kind, identifier, values(body))


def tags(record: Record) -> str:
    """Its tags between spaces, lower case, as the column has them."""
    return f" {' '.join(record.many('tags'))} ".lower() if record.many("tags") else ""


def columns(record: Record) -> tuple[str, str, str, str, str | None, str]:
    """status, title, tags, authority, expires and body, as both tables have them."""
    until = last_moment(record.text("expires"))
    return (record.status, record.title, tags(record), record.authority, until, plain(record.values))


def last_moment(expires: str) -> str | None:
    """The last moment at which something holds that expires so: of a date the end of its day. None: it never ends."""
    if not expires:
        return None
    return iso(micros(expires) + (86_400_000_000 - 1 if len(expires.strip()) == 10 else 0))


def ended(ws: Workspace, record: Record) -> bool:
    """True for a record whose `expires` has passed."""
    until = last_moment(record.text("expires"))
    return until is not None and until < iso(ws.clock.now())


def next_change(db: Database) -> int:
    """The number of the change that is being made."""
    row = db.row("SELECT COALESCE(MAX(change), 0) + 1 FROM record")
    return int(row[0]) if row else 1
