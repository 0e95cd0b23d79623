"""Hooks of the kinds that kl brings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kl_hooks.hookspecs import Staleness, Uninstaller, hookimpl

if TYPE_CHECKING:
    from kl_hooks.hookspecs import CommonEvent, Retriever
    from kl_hooks.model.kind import Kind
    from kl_hooks.workspace import Workspace


@hookimpl
def kl_kinds() -> Sequence[Kind]:
    from kl_hooks.kinds.catalog import KINDS

    return KINDS


@hookimpl
def kl_common_events(workspace: Workspace) -> Iterable[CommonEvent]:
    from kl_hooks.kinds.failure import failures_to_share
    from kl_hooks.kinds.memory.review import reviews_to_share

    return [*reviews_to_share(workspace), *failures_to_share(workspace)]


@hookimpl
def kl_stale() -> Sequence[Staleness]:
    from kl_hooks.kinds.finding import stale_findings

    return [Staleness("finding", stale_findings)]


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    from kl_hooks.kinds.retrievers import RETRIEVERS

    return RETRIEVERS


@hookimpl
def kl_uninstallers() -> Sequence[Uninstaller]:
    from kl_hooks.kinds.memory.inject import remove_page

    return [Uninstaller("memories", remove_page)]
