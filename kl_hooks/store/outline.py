"""Do the tables of a database and its word about the steps taken (`schema_step`) agree? Looked at when it is opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from kl_hooks.hookspecs import Schema
from kl_hooks.store.database import Database
from kl_hooks.store.migrate import statements, taken
from kl_hooks.store.sqlite_look import damaged

_COMMENT: Final = re.compile(r"(?m)^\s*--.*\n?")
_CHANGE: Final = re.compile(
    r"(?ia)\s*(CREATE|DROP|ALTER)\s+TABLE\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?[\"`\[]?(\w+)"
    r"(?:[\"`\]]?\s+RENAME\s+TO\s+[\"`\[]?(\w+))?"
)


def refuse_incomplete(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreDamaged where a table is gone that a step made which was taken."""
    have = taken(db)  # asked first: of a step that is taken meanwhile the tables are there
    names = _names(db)
    for schema in schemas:
        count = have.get(schema.room, 0)
        lost = _made(schema.steps[:count]) - names if count <= len(schema.steps) else ()
        if lost:
            raise damaged(path, f"has lost the table {min(lost)}")


def refuse_unrecorded(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreDamaged where a table is there already that a step would make which is not said to have been taken."""
    names = _names(db)  # asked first: of a table that is made meanwhile the step is there
    have = taken(db)
    for schema in schemas:
        count = have.get(schema.room, 0)
        there = (_made(schema.steps) - _made(schema.steps[:count])) & names
        if there:
            raise damaged(path, f"holds the table {min(there)}, but not the word that kl made it (schema_step)")


def _names(db: Database) -> set[str]:
    return {str(name).lower() for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}


@cache
def _made(steps: tuple[str, ...]) -> frozenset[str]:
    """The tables (small letters) that are there after these steps."""
    names: set[str] = set()
    for statement in (one for sql in steps for one in statements(sql)):
        change = _CHANGE.match(_COMMENT.sub("", statement))
        if change is None:
            continue
        what, name, new = change[1].upper(), change[2].lower(), (change[3] or "").lower()
        if what == "CREATE":
            names.add(name)
        elif what == "DROP" or new:
            names.discard(name)
            names |= {new} if new else set()
    return frozenset(names)
