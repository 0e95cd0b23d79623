"""Memories in `kl status`: how many are approved and how many wait for review.

A module of its own because `kl status` imports it: the modules that mine and write cost three times as much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.evidence.commits import read_cursor
from kl_hooks.kinds.memory.kind import KIND, REJECTED
from kl_hooks.records.events import count_records
from kl_hooks.records.repository import authored_files

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


CURSOR: Final = "memory"


def captured_state(db: Database) -> str:
    """What has been captured so far: other receipts or commits, another text."""
    row = db.row("SELECT (SELECT COALESCE(MAX(seq), 0) FROM receipt), (SELECT COUNT(*) FROM commit_log)")
    return f"{row[0]}/{row[1]}" if row else ""


def is_outdated(ws: Workspace) -> bool:
    """True where receipts, commits or rejections came that memories do not know. Evidence must be ingested before."""
    if not ws.initialized:
        return False
    if (ws.root / REJECTED).is_file():
        return True
    with ws.store.reading() as db:
        return ws.settings.memory_auto_extract and db is not None and captured_state(db) != read_cursor(db, CURSOR)


def memory_counts(ws: Workspace) -> dict[str, int]:
    """`{"approved": 3, "candidates": 2}`; empty where kl was not set up.

    What is approved is counted by its files, unread: a status must not cost more than it shows.
    """
    if not ws.initialized:
        return {}
    files = authored_files(ws.root, {KIND.name: KIND}, 0)
    approved = sum("/archive/" not in path for path in files)
    return {"approved": approved, "candidates": count_records(ws, KIND.name, "candidate")}
