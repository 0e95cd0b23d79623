"""Scores follow the stated formulas, stay in their bounds, and never compound."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import DAY, is_older
from kl_hooks.model.decay import (
    ENTRY_LOSS,
    LEAST_IMPORTANCE,
    idle_periods,
    idle_score,
    memory_importance,
    quality,
    rated_importance,
    relevance,
    remaining,
    staleness,
)
from tests.support import NOW

SHARES = st.floats(0, 1)
DAYS = st.floats(0, 5000)


@pytest.mark.requirement("D7", "D47", "D48", "D50")
def test_the_formulas_of_the_model() -> None:
    at = NOW - 30 * DAY
    for (importance, days, idle), expected in {
        (0.5, 0, None): 0.39,
        (0.5, 30, None): 0.59,
        (1.0, 30, 30): 0.35,
        (0.0, 60, 60): 0.9,
        (0.05, 300, None): 0.9246,
    }.items():
        accessed = NOW - round(idle * DAY) if idle is not None else 0
        stale_entry = staleness(importance, NOW - days * DAY, accessed, NOW)
        assert stale_entry.score == pytest.approx(expected, abs=1e-4), (importance, days, idle)
    assert relevance(0.5, 1.0, 0, NOW) == 0.5
    assert relevance(0.8, 0.5, at, NOW) == pytest.approx(0.4 * math.exp(-0.3))
    assert remaining(1.0, 21, ENTRY_LOSS) == pytest.approx(0.8097, abs=1e-4)
    assert remaining(1.0, 9000, ENTRY_LOSS) == 0.05
    assert quality(1, 999, 5, 0) == pytest.approx(1.0)
    assert quality(0, 0, None, 10_000) == pytest.approx(0.04)
    assert quality(0.5, 9, 3, 100) == pytest.approx(0.15 + 0.25 / 3 + 0.125 + 0.2 * math.exp(-1))


@pytest.mark.requirement("D7", "D47", "D48")
@given(SHARES, SHARES, DAYS, DAYS)
def test_scores_are_bounded_and_monotone(
    importance: float, confidence: float, days: float, more: float
) -> None:
    at, later = NOW - round(days * DAY), NOW + round(more * DAY)
    assert (
        0
        <= relevance(importance, confidence, at, later)
        <= relevance(importance, confidence, at, NOW)
        <= 1
    )
    now, then = (remaining(importance, span, ENTRY_LOSS) for span in (days, days + more))
    assert then <= now <= importance
    stale = staleness(importance, at, at, NOW).score
    assert 0 <= stale <= staleness(importance, at, at, later).score <= 1.0000001
    assert 0 <= quality(importance, round(days), 1 + 4 * confidence, more) <= 1.0000001
    assert relevance(importance, confidence, NOW + 1, NOW) == importance * confidence


@pytest.mark.requirement("D49")
@given(st.integers(0, 1_000_000), st.integers(0, 500), st.integers(0, 500))
def test_rated_importance_is_the_stated_formula(
    importance: int, injected: int, positive: int
) -> None:
    if injected < 5:
        exact = Fraction(importance)
    else:
        helped = min(Fraction(1), Fraction(positive + 2, injected + 4))
        exact = Fraction(3, 10) * importance + Fraction(7, 10) * helped * 1_000_000
    assert abs(rated_importance(importance, injected, positive) - exact) < 2


def test_ratings_correct_an_importance_from_five_on() -> None:
    assert rated_importance(500_000, 4, 0) == 500_000
    assert rated_importance(500_000, 6, 6) == 150_000 + 560_000


@pytest.mark.requirement("D48")
@given(st.integers(0, 1_000_000), st.integers(0, 4 * 10**15), st.integers(0, 4 * 10**15))
def test_decay_is_a_function_of_time_and_never_compounds(value: int, at: int, now: int) -> None:
    left = memory_importance(value, at, now)
    assert memory_importance(value, at, now) == left
    assert memory_importance(left, now, now) == left
    assert min(value, LEAST_IMPORTANCE) <= left <= value
    assert memory_importance(value, at, now + DAY) <= left


@given(st.integers(100_000, 1_000_000), st.integers(0, 2000))
def test_decay_is_the_stated_power(value: int, days: int) -> None:
    exact = max(Fraction(value) * Fraction(997, 1000) ** days, Fraction(LEAST_IMPORTANCE))
    assert abs(memory_importance(value, 0, days * DAY) - exact) <= 1


def test_twenty_one_idle_days_leave_most_of_it() -> None:
    assert memory_importance(1_000_000, 0, 21 * DAY) == 938_854
    assert memory_importance(1_000_000, 0, 21 * DAY, opened=21 * DAY) == 988_854


def test_a_moment_is_older_only_beyond_the_last_microsecond_of_its_days() -> None:
    assert not is_older(NOW, NOW - 30 * DAY, 30) and is_older(NOW, NOW - 30 * DAY - 1, 30)


def test_an_idle_score_falls_by_steps_and_not_below_a_fifth() -> None:
    periods = [idle_periods(NOW - days * DAY, NOW) for days in (29, 30, 65)]
    assert periods == [0, 1, 2] and idle_periods(0, NOW) == 0
    assert [idle_score(0.5, count) for count in periods] == pytest.approx([0.5, 0.45, 0.4])
    assert (idle_score(0.5, 99), idle_score(0.1, 99)) == (0.2, 0.1)
