"""Outcomes: what one observation said of its subject, and which of several is the worst."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

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


def word_of_run(result: Mapping[str, Any]) -> str:
    """The one word for a run, of a receipt's `result`: its verdict, or how it ended where it did not come to its end.

    `passed`, `failed`, `inconclusive`; `incomplete` (killed), `interrupted`, `collection-error`, `usage-error` …
    """
    how = result.get("how")
    if result.get("complete") or how in ("finished", "no-tests"):
        return str(result.get("verdict") or "unknown")
    return "incomplete" if how in ("killed", None) else str(how)
