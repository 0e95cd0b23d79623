"""Memories in `kl status`: how many are approved and how many wait for review.

A module of its own because `kl status` imports it: the modules that mine and review add 60 ms to
its imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.evidence.commits import read_cursor
from kl_hooks.kinds.catalog import REJECTED_MEMORIES

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

CURSOR: Final = "memory"


def captured_state(db: Database) -> str:
    """Return a text that changes with every new receipt or commit."""
    row = db.row(
        "SELECT (SELECT COALESCE(MAX(seq), 0) FROM receipt), (SELECT COUNT(*) FROM commit_log)"
    )
    if not row:
        return ""
    return f"{row[0]}/{row[1]}"


def is_outdated(ws: Workspace) -> bool:
    """Return True where there are receipts, commits or rejections that memories may lack. Evidence
    must be ingested.
    """
    if not ws.initialized:
        return False
    if (ws.root / REJECTED_MEMORIES).is_file():
        return True
    with ws.store.reading() as db:
        return (
            ws.settings.memory_auto_extract
            and db is not None
            and captured_state(db) != read_cursor(db, CURSOR)
        )
