"""How far something has been read, by name."""

from __future__ import annotations

from kl_hooks.store.database import Database


def cursor_of(db: Database, name: str) -> str | None:
    """The value noted under this name; None: nothing yet."""
    row = db.row("SELECT value FROM evidence_cursor WHERE name = ?", (name,))
    return str(row[0]) if row else None


def move_cursor(db: Database, name: str, value: str) -> None:
    """Notes another value, in a transaction that the caller holds."""
    db.execute("DELETE FROM evidence_cursor WHERE name = ?", (name,))
    db.execute("INSERT INTO evidence_cursor (name, value) VALUES (?, ?)", (name, value))
