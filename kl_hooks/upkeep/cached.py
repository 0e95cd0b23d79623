"""The cache: what is over there is dropped. It holds nothing that can't be had again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.model.change import Change

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace.open import Workspace

POLICY: Final = "cache"


def look(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """One change where the cache holds values whose time is over."""
    count = ws.cache.expired(now / 1_000_000)
    return [Change("remove", "cache", POLICY, "their time is over", f"{count} values")] if count else []


def apply(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Drops them."""
    ws.cache.drop_expired(now / 1_000_000)
