"""The hooks of `skills`: its maintenance policy, and the skills that it offers to a task."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.hookspecs import Policy, Retriever, hookimpl


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    from kl_hooks.skills.library import find_skills

    return [Retriever("skills", 100, find_skills)]


@hookimpl
def kl_policies() -> Sequence[Policy]:
    from kl_hooks.skills.health import CONFLICT_SCAN

    return [CONFLICT_SCAN]
