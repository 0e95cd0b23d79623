"""How often a failure happened is a fold over Events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.failure.occurring import Occurrences, occurrences, times


@pytest.mark.requirement("B31")
@given(st.lists(st.dates().map(str), min_size=1, max_size=9))
def test_the_count_is_the_number_of_events_in_any_order(moments: list[str]) -> None:
    assert (
        occurrences(moments) == occurrences(reversed(moments)) == Occurrences(len(moments), min(moments), max(moments))
    )


def test_a_file_alone_counts_once() -> None:
    assert occurrences([], "2026-01-02") == Occurrences(1, "2026-01-02", "2026-01-02")
    assert occurrences(["2026-03-01"], "2026-01-02").first == "2026-01-02"


def test_numbers_as_people_say_them() -> None:
    assert [times(n) for n in (1, 2, 5)] == ["once", "twice", "5 times"]
