"""Who is at the agents' door: an agent, always; by its name where its environment tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.evidence.who import agent

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def by(ws: Workspace) -> str:
    """As events name it."""
    return f"agent:{agent(ws.environ) or 'unnamed'}"
