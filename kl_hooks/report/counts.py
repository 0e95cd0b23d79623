"""How many tests are in which state, as the first picture of the page counts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kl_hooks.model.definitions import NamedTuple

_STALE: Final = 2
"""In the column `state` of the tests: it must run again."""
_FAILED: Final = frozenset("feFE")


class StateCounts(NamedTuple):
    """Numbers of tests; each test is in one of them."""

    failing: int
    here: int
    transferred: int
    stale: int
    unexecuted: int
    failed_before: int
    """How many of the failing ones failed on another content, and must run again."""


def counts_of(report: Mapping[str, Any]) -> StateCounts:
    """Count the tests of a report (`kl.report/1`). A test that failed last is failing, also where
    what it executes has changed since, as in the list of failing tests.
    """
    numbers = report["now"]["tests"]
    tests = report["tests"]
    outcomes = zip(tests["outcome"], tests["state"], strict=True)
    failed = sum(code in _FAILED and state == _STALE for code, state in outcomes)
    failed_before = min(failed, numbers["stale"])
    return StateCounts(
        numbers["failing"] + failed_before,
        numbers["here"],
        numbers["transferred"],
        numbers["stale"] - failed_before,
        numbers["missing"],
        failed_before,
    )
