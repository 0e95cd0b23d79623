"""Where mining stands: whether receipts or commits came since it last looked. Light, for whoever only glances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.evidence.cursors import cursor_of

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

CURSOR: Final = "memory"


def stand(db: Database) -> str:
    """What has been captured so far: other receipts or commits, another text."""
    row = db.row("SELECT (SELECT COALESCE(MAX(seq), 0) FROM receipt), (SELECT COUNT(*) FROM commit_log)")
    return f"{row[0]}/{row[1]}" if row else ""


def is_behind(ws: Workspace) -> bool:
    """True if there is something that was not mined yet. Evidence itself must have been taken in."""
    with ws.store.reading() as db:
        return db is not None and stand(db) != cursor_of(db, CURSOR)
