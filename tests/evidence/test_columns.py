"""The packed outcomes of a run: nothing lost, and small."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.evidence.ledger import pack_ids, pack_outcomes, unpack_ids, unpack_outcomes
from kl_hooks.model.receipt import TEST_OUTCOMES

OUTCOMES = st.lists(st.tuples(st.sampled_from(TEST_OUTCOMES), st.integers(0, 10**12)))


@given(OUTCOMES)
def test_outcomes_come_back_as_they_were(outcomes: list[tuple[str, int]]) -> None:
    assert unpack_outcomes(pack_outcomes(outcomes), len(outcomes)) == outcomes


@given(st.lists(st.integers(0, 2**40)))
def test_ids_come_back_as_they_were(ids: list[int]) -> None:
    assert unpack_ids(pack_ids(ids)) == ids


def test_an_unchanged_run_of_20000_tests_costs_at_most_4_bytes_a_test() -> None:
    dice = random.Random(7)
    durations = [int(dice.lognormvariate(6.5, 1.2)) for _ in range(20_000)]
    blob = pack_outcomes([("passed" if micros % 97 else "skipped", micros) for micros in durations])
    assert len(blob) <= 4 * 20_000


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises((ValueError, IndexError)):
        unpack_outcomes(pack_outcomes([("passed", 5), ("failed", 7)]), 3)


def test_an_outcome_that_is_none_is_refused() -> None:
    with pytest.raises(KeyError):
        pack_outcomes([("fine", 1)])
