"""The entry point of `proof`: the claims that it offers to a task, and what claims can cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.hookspecs import Retriever, Staleness, hookimpl

if TYPE_CHECKING:
    from kl_hooks.model.claim import Observation


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    from kl_hooks.proof.claims import find_claims
    from kl_hooks.proof.task_tests import find_executed, find_tests

    return [
        Retriever("evidence", 100, find_tests),
        Retriever("claims", 100, find_claims),
        Retriever("executed", 100, find_executed, rows=10),
    ]


@hookimpl
def kl_citations(workspace: Any, ids: Sequence[str]) -> Mapping[str, tuple[Observation, str]]:
    from kl_hooks.proof.claims import citations

    return citations(workspace, ids)


@hookimpl
def kl_basis(workspace: Any, about: Sequence[str], text: str) -> Mapping[str, Any]:
    from kl_hooks.proof.claim_basis import basis_of_memory

    return basis_of_memory(workspace, about, text)


@hookimpl
def kl_stale() -> Sequence[Staleness]:
    from kl_hooks.proof.freshness import stale_memories

    return [Staleness("memory", stale_memories)]
