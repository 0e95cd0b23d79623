"""Bringing a database's tables up to today's steps: one transaction a step, a backup before the first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kl_hooks.hookspecs import Schema
from kl_hooks.store.database import Database
from kl_hooks.store.sqlite import newer

KEPT_BACKUPS: Final = 2
_RECORD: Final = """CREATE TABLE IF NOT EXISTS schema_step (
    -- Which numbered step of which room's tables has been taken.
    room TEXT NOT NULL, step INTEGER NOT NULL, PRIMARY KEY (room, step))"""


def taken(db: Database) -> dict[str, int]:
    """Room → its newest step in this database."""
    known = db.row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_step'")
    return dict(db.rows("SELECT room, MAX(step) FROM schema_step GROUP BY room")) if known else {}


def is_current(db: Database, schemas: Sequence[Schema]) -> bool:
    """True if no step is missing."""
    have = taken(db)
    return all(have.get(schema.room, 0) >= len(schema.steps) for schema in schemas)


def refuse_newer(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreNewer where a room has a step that this kl does not know."""
    have = taken(db)
    for schema in schemas:
        if have.get(schema.room, 0) > len(schema.steps):
            raise newer(path, f"{schema.room} step {have[schema.room]}", f"{len(schema.steps)}")


def migrate(db: Database, schemas: Sequence[Schema], path: Path, backup_dir: Path | None) -> int:
    """Takes the missing steps, in the order of the rooms' names; how many. The caller holds the store lock."""
    refuse_newer(db, schemas, path)
    if is_current(db, schemas):
        return 0
    if backup_dir and taken(db):
        _back_up(db, backup_dir)
    count = 0
    for schema in sorted(schemas, key=lambda s: s.room):
        for number, sql in enumerate(schema.steps, 1):
            count += _step(db, schema.room, number, sql)
    return count


def _step(db: Database, room: str, number: int, sql: str) -> int:
    with db.transaction():
        db.execute(_RECORD)
        # asked again inside: another process may have taken it while we waited
        if db.row("SELECT 1 FROM schema_step WHERE room = ? AND step = ?", (room, number)):
            return 0
        for statement in statements(sql):
            db.execute(statement)
        db.execute("INSERT INTO schema_step (room, step) VALUES (?, ?)", (room, number))
    return 1


def statements(sql: str) -> list[str]:
    """The statements of a step: each ends with a `;` at the end of a line."""
    found, current = [], []
    for line in sql.splitlines():
        current.append(line)
        if line.rstrip().endswith(";") and "--" not in line:
            found.append("\n".join(current))
            current = []
    return found


def _back_up(db: Database, directory: Path) -> None:
    directory.mkdir(mode=0o700, exist_ok=True)
    old = sorted(directory.glob("kl-*.db"))
    number = int(old[-1].stem.removeprefix("kl-")) + 1 if old else 1
    db.execute("VACUUM INTO ?", (str(directory / f"kl-{number:04}.db"),))
    for path in old[: len(old) + 1 - KEPT_BACKUPS]:
        path.unlink()
