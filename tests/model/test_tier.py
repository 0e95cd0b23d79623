"""The tier rule."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.receipt import CLASSES, HARD
from kl_hooks.model.tier import Observation, Tier, independent, tier


def seen(kind: str = "TestResult", observer: str = "pytest", producer: str = "me", run: str = "1", hard: bool = True):
    return Observation(kind, observer, producer, run, hard)


TABLE = {
    "nothing": ([], "guessed"),
    "an assertion": ([seen("AgentAssertion", hard=False)], "assumed"),
    "two assertions by two people": (
        [seen("AgentAssertion", "a", "a", hard=False), seen("AgentAssertion", "b", "b", hard=False)],
        "assumed",
    ),
    "one test run": ([seen()], "inferred"),
    "a decision": ([seen("ADR", "people", hard=False)], "inferred"),
    "the evidence graph": ([seen("EvidenceGraph", "kl", hard=False)], "inferred"),
    "two tests of one run": ([seen(), seen()], "inferred"),
    "its own exit code": ([seen(), seen("ExitCode")], "inferred"),
    "two runs by one producer": ([seen(), seen(run="2")], "inferred"),
    "two runs by two producers": ([seen(), seen(run="2", producer="ci")], "verified"),
    "the parent process": ([seen(), seen("ExitCode", "kl run", run="0")], "verified"),
    "its own report file": ([seen(), seen(observer="junit", run="2")], "inferred"),
    "a report file of somebody else": ([seen(), seen(observer="junit", run="2", producer="ci")], "verified"),
    "a validator": ([seen(), seen("Validator", "arch", run="3")], "verified"),
    "flaky twice": ([seen(hard=False), seen(run="2", producer="ci", hard=False)], "guessed"),
    "one good, one flaky": ([seen(), seen(run="2", producer="ci", hard=False)], "inferred"),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.requirement("A35", "A36", "A37")
def test_table(name: str) -> None:
    observations, expected = TABLE[name]
    assert tier(observations).word == expected


OBSERVATIONS = st.lists(
    st.builds(
        Observation,
        st.sampled_from(CLASSES),
        st.sampled_from("ab"),
        st.sampled_from("xy"),
        st.sampled_from("12"),
        st.booleans(),
    ),
    max_size=4,
)


@given(OBSERVATIONS)
def test_order_does_not_matter(observations: list[Observation]) -> None:
    assert len({tier(order) for order in permutations(observations)}) == 1


@given(OBSERVATIONS, OBSERVATIONS)
def test_more_evidence_never_lowers_it(few: list[Observation], more: list[Observation]) -> None:
    assert tier(few + more) >= tier(few)


@given(OBSERVATIONS)
@pytest.mark.requirement("A36")
def test_verified_needs_two_independent_hard_ones(observations: list[Observation]) -> None:
    hard = [o for o in observations if o.hard and o.kind in HARD]
    pairs = any(independent(a, b) for a in hard for b in hard)
    assert (tier(observations) is Tier.VERIFIED) == pairs
