"""Memories at a glance, for `kl status`: what is approved, what waits. Takes in what receipts have shown first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.page import write_page
from kl_hooks.kinds.memory.taking_in import take_in
from kl_hooks.kinds.memory.tally import REINFORCED
from kl_hooks.records.ask import Wanted, listing
from kl_hooks.records.folds import by_sessions

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def glance(ws: Workspace) -> dict[str, int]:
    """`{"approved": 3, "candidates": 2}`; empty where kl was not set up."""
    if not ws.initialised:
        return {}
    if ws.settings.memory_auto_extract:
        taken = take_in(ws)
        if taken.new or taken.reinforced:
            write_page(ws)
    _, candidates = by_sessions(ws, KIND.name, "candidate", REINFORCED, 0)
    return {"approved": listing(ws, Wanted((KIND.name,), ("approved",)), 1)[1], "candidates": candidates}
