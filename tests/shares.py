"""The share of a table of cases that `make test` tries. The rest is marked `sweep`: `make test
ALL=yes` and `pytest` without `-m` try it too.

    @pytest.mark.share(4)                 # the first case and every fourth after it
    @pytest.mark.share("attrs", "idna")   # the cases whose ID has one of these parts
    @pytest.mark.share()                  # none: another test has the representative ones

A test that goes over its table in a loop is `by_steps(4)`: it gets the step as an argument.

Parts of an ID are what `-` separates in it. Which cases are in the share depends on nothing but the
table, so that two runs are comparable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def by_steps(size: int) -> Any:
    """Run a test that goes over a table itself with `step`: so many, and 1 in a sweep."""
    return pytest.mark.parametrize("step", [size, pytest.param(1, marks=pytest.mark.sweep)])


def mark_sweep(items: Iterable[pytest.Item]) -> None:
    """Mark the cases that are not in the share of their test. UsageError for a test that names
    cases, none of which is there.
    """
    tables = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("share"):
            tables[item.nodeid.partition("[")[0]].append(item)
    for test, cases in tables.items():
        mark = cases[0].get_closest_marker("share")
        assert mark is not None
        cases_in_share = _share(cases, mark.args)
        # whoever asks for one case by its ID gets it
        is_whole = not any("[" in argument for argument in cases[0].config.args)
        if mark.args and not cases_in_share and is_whole:
            raise pytest.UsageError(f"{test}: no case is in the share {mark.args}")
        for case in cases:
            if case not in cases_in_share:
                case.add_marker("sweep")


def _share(cases: Sequence[pytest.Item], arguments: tuple[int | str, ...]) -> list[pytest.Item]:
    if arguments and isinstance(arguments[0], int):
        return list(cases[:: arguments[0]])
    return [case for case in cases if not _parts(case).isdisjoint(arguments)]


def _parts(case: pytest.Item) -> set[str]:
    identifier = case.nodeid.partition("[")[2].removesuffix("]")
    return {identifier, *identifier.split("-")}
