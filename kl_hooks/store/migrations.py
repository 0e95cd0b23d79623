"""Migrations of a database's tables: one transaction a step, a backup before the first.

When a database is opened, its tables and its record of the steps taken (`schema_step`) are compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from kl_hooks.hookspecs import Schema
from kl_hooks.model.text import one_line
from kl_hooks.store.database import Database
from kl_hooks.store.files import sync_folder
from kl_hooks.store.sqlite import damaged_error, newer_error

_BACKUPS: Final = 2
_TABLE: Final = r"(?ia)(?:CREATE\s+TABLE(?:\s+IF\s+NOT\s+EXISTS)?|RENAME\s+TO)\s+[\"`\[]?(\w+)"
_RECORD: Final = """CREATE TABLE IF NOT EXISTS schema_step (
    -- Which numbered step of which room's tables has been taken.
    room TEXT NOT NULL, step INTEGER NOT NULL, PRIMARY KEY (room, step))"""


def steps_taken(db: Database) -> dict[str, int]:
    """Owner of tables → its newest step in this database."""
    known = db.row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_step'")
    return dict(db.rows("SELECT room, MAX(step) FROM schema_step GROUP BY room")) if known else {}


def is_current(db: Database, schemas: Sequence[Schema]) -> bool:
    """True if no step is missing."""
    have = steps_taken(db)
    return all(have.get(schema.owner, 0) >= len(schema.steps) for schema in schemas)


def refuse_newer(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreNewer where the database has a step that this kl does not know."""
    have = steps_taken(db)
    for schema in schemas:
        if have.get(schema.owner, 0) > len(schema.steps):
            raise newer_error(path, f"{schema.owner} step {have[schema.owner]}", f"{len(schema.steps)}")


def migrate(db: Database, schemas: Sequence[Schema], path: Path, backup_dir: Path | None) -> int:
    """Take the missing steps, in the order of their owners' names; return how many. The caller holds the store lock.

    With `backup_dir` (made if missing), what has tables already is copied there first. StoreNewer as `refuse_newer`.
    """
    refuse_newer(db, schemas, path)
    if is_current(db, schemas):
        return 0
    if backup_dir and steps_taken(db):
        _back_up(db, backup_dir)
    count = 0
    for schema in sorted(schemas, key=lambda s: s.owner):
        for number, sql in enumerate(schema.steps, 1):
            count += _step(db, schema.owner, number, sql)
    return count


def _step(db: Database, owner: str, number: int, sql: str) -> int:
    with db.transaction():
        db.execute(_RECORD)
        # asked again inside: another process may have taken it while we waited
        if db.row("SELECT 1 FROM schema_step WHERE room = ? AND step = ?", (owner, number)):
            return 0
        for statement in split_statements(sql):
            db.execute(statement)
        db.execute("INSERT INTO schema_step (room, step) VALUES (?, ?)", (owner, number))
    return 1


def split_statements(sql: str) -> list[str]:
    """The statements of a step: each ends with a `;` at the end of a line (the last one may go without)."""
    found, current = [], []
    for line in sql.splitlines():
        current.append(line)
        if line.rstrip().endswith(";") and "--" not in line:
            found.append("\n".join(current))
            current = []
    rest = [line for line in current if line.strip() and not line.lstrip().startswith("--")]
    return [*found, "\n".join(current)] if rest else found


def refuse_unexpected(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreDamaged for a table that no step made. Not checked where tables belong to an unknown owner (a plugin that
    is not installed any more).
    """
    if not steps_taken(db).keys() <= {schema.owner for schema in schemas}:
        return
    named = {name.lower() for schema in schemas for sql in schema.steps for name in re.findall(_TABLE, sql)}
    tables = [name for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    odd = [n for n in tables if n.lower() not in named and n != "schema_step" and not n.startswith("sqlite_")]
    if odd:
        raise damaged_error(path, f"holds a table that kl never made: {one_line(odd[0], 60)}")


def _back_up(db: Database, directory: Path) -> None:
    """A whole copy before the first step (`VACUUM INTO`, SQLite 3.27); the newest two are retained."""
    directory.mkdir(mode=0o700, exist_ok=True)
    old = sorted(path for path in directory.glob("kl-*.db") if path.stem[3:].isdecimal())
    number = int(old[-1].stem[3:]) + 1 if old else 1
    new = directory / f".kl-{number:04}.new"
    new.unlink(missing_ok=True)
    try:
        db.execute("VACUUM INTO ?", (str(new),))
        new.chmod(0o600)
        with new.open("rb") as file:
            os.fsync(file.fileno())
        new.rename(directory / f"kl-{number:04}.db")
        sync_folder(directory)
    finally:
        new.unlink(missing_ok=True)
    for path in old[: len(old) + 1 - _BACKUPS]:
        path.unlink(missing_ok=True)


_COMMENT: Final = re.compile(r"(?m)^\s*--.*\n?")
_CHANGE: Final = re.compile(
    r"(?ia)\s*(CREATE|DROP|ALTER)\s+TABLE\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?[\"`\[]?(\w+)"
    r"(?:[\"`\]]?\s+RENAME\s+TO\s+[\"`\[]?(\w+))?"
)


def refuse_incomplete(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreDamaged where a table is missing that a recorded step made."""
    have = steps_taken(db)  # asked first: of a step that is taken meanwhile the tables are there
    names = _table_names(db)
    for schema in schemas:
        count = have.get(schema.owner, 0)
        lost = _tables_after(schema.steps[:count]) - names if count <= len(schema.steps) else ()
        if lost:
            raise damaged_error(path, f"has lost the table {min(lost)}")


def refuse_unrecorded(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreDamaged where a table exists that only a step makes which is not recorded as taken."""
    names = _table_names(db)  # asked first: of a table that is made meanwhile the step is there
    have = steps_taken(db)
    for schema in schemas:
        count = have.get(schema.owner, 0)
        there = (_tables_after(schema.steps) - _tables_after(schema.steps[:count])) & names
        if there:
            raise damaged_error(path, f"holds the table {min(there)}, but not the word that kl made it (schema_step)")


def _table_names(db: Database) -> set[str]:
    return {str(name).lower() for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}


@cache
def _tables_after(steps: tuple[str, ...]) -> frozenset[str]:
    """The tables (small letters) that are there after these steps."""
    names: set[str] = set()
    for statement in (one for sql in steps for one in split_statements(sql)):
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
