"""The entry point of `proof`: the claims that it offers to a task."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.hookspecs import Retriever, hookimpl


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    from kl_hooks.proof.claims import find_claims

    return [Retriever("claims", 100, find_claims)]
