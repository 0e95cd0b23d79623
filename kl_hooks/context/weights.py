"""Every number that decides what a package holds, in one table: data, measured on history before it changes."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.claim import Tier

RANK_OFFSET: Final = 60
"""Reciprocal rank fusion: the n-th of a list gets 1 / (60 + n)."""
ROWS: Final = 50
"""Most candidates of one retriever."""
LIFT: Final = 50
"""Percent of a list's worth that goes to an item whose *file* that list names through another item."""
MOST_TOUCHED: Final = 20
"""Files: what touches more of them (a mass rename, a new header) says nothing about any."""
TIER_BONUS: Final = {Tier.VERIFIED: 30, Tier.INFERRED: 20, Tier.ASSUMED: 10, Tier.GUESSED: 0}
"""Percent on top of an item's likeness for how well it is proven: the strongest term within one list."""

FLOOR_MATCHES: Final = 2
"""Words of the task that an item must hold …"""
FLOOR_TRUSTED: Final = 10
"""… or one word only, if a retriever puts it among its first ten."""

LARGE: Final = 25
"""Percent of the budget: an item that needs more stands there as its one-line summary."""
LEFT_OUT_ROOM: Final = 100
"""Characters kept free for the line that says what was left out …"""
LEFT_OUT_FROM: Final = 1_000
"""… in budgets of at least so many characters."""

TTL_SECONDS: Final = 1_800

KIND_ORDER: Final = (
    "decision", "objective", "failure", "violation", "guide", "memory", "finding", "fact", "page", "evidence", "symbol",
    "file", "commit",
)  # fmt: skip
"""Headings from the top: what binds, is proven, is there, was done; others follow by name. Fixed: prompt caches hit."""
