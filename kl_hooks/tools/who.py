"""Who is at the agents' door: an agent, always; by its name where its environment tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.who import agent

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.model.record import Record
    from kl_hooks.workspace.open import Workspace


def by(ws: Workspace) -> str:
    """As events name it."""
    return f"agent:{agent(ws.environ) or 'unnamed'}"


def refuse_what_people_decided(kind: Kind, record: Record, deed: str) -> None:
    """UsageProblem for a record that weighs as evidence because a person accepted or approved it."""
    if kind.proof and record.status in kind.live:
        hint = f"Make a new {kind.name}, and let a person decide; or ask one to run: kl {kind.name} {deed} {record.id}"
        raise UsageProblem(f"a person decided that it holds, so {deed} is for people.", place=record.id, hint=hint)
