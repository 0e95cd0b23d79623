"""Who decides about a memory: a person, or an agent that the user's configuration names as a reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.who import agent, producer

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Somebody who may approve and reject."""

    name: str
    person: bool


def reviewer(ws: Workspace, place: str) -> Reviewer:
    """Who runs this. UsageProblem for an agent that is no reviewer. A name is a word, not a proof: see SECURITY.md."""
    name = agent(ws.environ)
    if name is None:
        return Reviewer(producer(ws.environ), True)
    if name in ws.settings.reviewers:
        return Reviewer(f"agent:{name}", False)
    hint = f"Ask a person, or let it: git config kl.reviewers '{' '.join((*ws.settings.reviewers, name))}'"
    raise UsageProblem(f"reviewing is for people and for named reviewers, and this is {name}.", place=place, hint=hint)
