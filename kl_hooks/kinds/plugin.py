"""The door of `kinds`: the kinds that kl brings, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from kl_hooks.hookspecs import Retriever, Staleness, hookimpl

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind

MODULES: Final[tuple[str, ...]] = (
    "decision.kind",
    "memory.kind",
    "objective.kind",
    "task.kind",
    "outcome.kind",
    "failure.kind",
    "feature.kind",
    "role.kind",
    "gate.kind",
    "mode",
    "turn.kind",
    "fact.kind",
    "guide",
    "finding.kind",
)
"""Modules below `kl_hooks.kinds`, each with a `KIND`."""


@hookimpl
def kl_kinds() -> Sequence[Kind]:
    return [import_module(f"kl_hooks.kinds.{name}").KIND for name in MODULES]


@hookimpl
def kl_stale() -> Sequence[Staleness]:
    from kl_hooks.kinds.finding.anchor import stale

    return [Staleness("finding", stale)]


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    from kl_hooks.kinds.anchors import find_anchored
    from kl_hooks.kinds.standing import find_standing

    return [Retriever("anchors", 200, find_anchored), Retriever("standing", 100, find_standing)]
