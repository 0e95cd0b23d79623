"""Outcomes: what one observation said of its subject, and which of several is the worst."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

TEST_OUTCOMES: Final = ("passed", "skipped", "xfailed", "xpassed", "flaky", "error", "failed")
"""The verdicts of a test, best first. `flaky`: passed on a later attempt. `error`: setup, teardown or collection."""

_RANK: Final = {name: rank for rank, name in enumerate(TEST_OUTCOMES)}
SUPPORTS: Final = frozenset({"passed", "clean"})
"""Outcomes that speak for their subject: a test that passed, a command with exit 0, a check without findings."""
REFUTES: Final = frozenset({"failed", "error"})
"""Outcomes that speak against it. Everything else says nothing either way."""


def worst(outcomes: Iterable[str]) -> str:
    """The worst test outcome of a non-empty collection. KeyError for a word that is none."""
    return max(outcomes, key=_RANK.__getitem__)
