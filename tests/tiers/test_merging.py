"""Closing a session merges what is alike: by words, and by meaning where there is a model on this
machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kl_hooks.hookspecs import Embedder, hookimpl
from kl_hooks.tiers.entries import Caller
from kl_hooks.tiers.router import Memory
from tests.support import NOW, Checkout


class Meaning:
    """An embedder for which texts about tests are one, and all others another."""

    def __init__(self, *, local: bool = True, fails: bool = False) -> None:
        self.local, self.fails, self.calls = local, fails, 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        if self.fails:
            raise ValueError("no weights")
        return [[1.0, 0.0] if "test" in one else [0.0, 1.0] for one in texts]

    @hookimpl
    def kl_embedder(self, workspace: Any) -> Embedder:
        return Embedder("meaning", "1", 2, 10, self.embed, self.local)


def close(repo: Checkout, meaning: Meaning) -> dict[str, Any]:
    ws = repo.workspace()
    ws.plugins.register(meaning)
    for number, value in enumerate(
        ("the tests take 9 minutes", "all test runs: 9 min", "the test runs: 12 min", "a plan")
    ):
        memory = Memory(replace(ws, clock=type(ws.clock)(NOW + number)), Caller("agent:a", "s"))
        memory.write(f"k{number}", value)
        for _ in range(3):
            memory.read(f"k{number}")
        memory.close()
    return {one.key: one.value for one in memory.entries("long")}


@pytest.mark.requirement("D8")
def test_what_means_the_same_becomes_one_unless_its_numbers_differ(repo: Checkout) -> None:
    assert close(repo, Meaning()) == {
        "k0": "all test runs: 9 min",
        "k2": "the test runs: 12 min",
        "k3": "a plan",
    }


@pytest.mark.requirement("D8", "D9")
def test_private_texts_go_to_no_server_and_a_model_that_fails_changes_nothing(
    repo: Checkout,
) -> None:
    server = Meaning(local=False)
    found = close(repo, server)
    assert server.calls == 0 and sorted(found) == ["k0", "k1", "k2", "k3"]
    assert close(repo, Meaning(fails=True)) == found
