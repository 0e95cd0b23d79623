"""Memories at a glance, for `kl status`: what is approved, what waits. Takes in what receipts have shown first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.kinds.memory.kind import KIND, REJECTED
from kl_hooks.kinds.memory.standing import is_behind
from kl_hooks.records.events import count_records
from kl_hooks.records.repository import authored_files

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def glance(ws: Workspace) -> dict[str, int]:
    """`{"approved": 3, "candidates": 2}`; empty where kl was not set up. Evidence must have been taken in.

    What is approved is counted by its files, unread: a glance must not cost more than it shows.
    """
    if not ws.initialised:
        return {}
    if ws.settings.memory_auto_extract and is_behind(ws):
        from kl_hooks.kinds.memory.page import write_page
        from kl_hooks.kinds.memory.taking_in import take_in

        taken = take_in(ws)
        if taken.new or taken.reinforced:
            write_page(ws)
    if (ws.root / REJECTED).is_file():
        from kl_hooks.kinds.memory.rejections import sync_rejections

        sync_rejections(ws)
    files = authored_files(ws.root, {KIND.name: KIND}, 0)
    approved = sum("/archive/" not in path for path in files)
    return {"approved": approved, "candidates": count_records(ws, KIND.name, "candidate")}
