"""Hooks of the kinds that kl brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kl_hooks.hookspecs import Staleness, hookimpl

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Retriever
    from kl_hooks.model.kind import Kind


@hookimpl
def kl_kinds() -> Sequence[Kind]:
    from kl_hooks.kinds.catalog import KINDS

    return KINDS


@hookimpl
def kl_stale() -> Sequence[Staleness]:
    from kl_hooks.kinds.finding import stale_findings

    return [Staleness("finding", stale_findings)]


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    from kl_hooks.kinds.retrievers import RETRIEVERS

    return RETRIEVERS
