"""Plugin of `arch`: the violations that it offers to a task."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.hookspecs import Retriever, hookimpl


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    """`violations`: what the last check found in the files of the task."""
    # here: plugins are imported by every command that makes the manager, retrievers by few
    from kl_hooks.arch.violation_search import find_violations

    return [Retriever("violations", 110, find_violations)]
