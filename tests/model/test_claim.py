"""The tier rule."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.claim import Observation, Tier, are_independent, tier
from kl_hooks.model.receipt import EVIDENCE_CLASSES, HARD_CLASSES

LINUX = ("cpython", "3.13", "linux-x86_64")


def seen(
    kind: str = "TestResult",
    observer: str = "pytest",
    producer: str = "me",
    run: str = "1",
    hard: bool = True,
    environment: tuple[str, ...] = LINUX,
    way: str = "serial",
    attested: bool = False,
) -> Observation:
    return Observation(kind, observer, producer, run, hard, "", environment, way, attested)


TABLE = {
    "nothing": ([], "guessed"),
    "an assertion": ([seen("AgentAssertion", hard=False)], "assumed"),
    "two assertions by two people": (
        [
            seen("AgentAssertion", "a", "a", hard=False),
            seen("AgentAssertion", "b", "b", hard=False),
        ],
        "assumed",
    ),
    "one test run": ([seen()], "inferred"),
    "a decision": ([seen("ADR", "people", hard=False)], "inferred"),
    "a memory": ([seen("RepositoryMemory", "people", hard=False)], "inferred"),
    "the evidence graph": ([seen("EvidenceGraph", "kl", hard=False)], "inferred"),
    "two tests of one run": ([seen(), seen()], "inferred"),
    "its own exit code": ([seen(), seen("ExitCode")], "inferred"),
    "two runs by one producer": ([seen(), seen(run="2")], "inferred"),
    "words name another producer": ([seen(), seen(run="2", producer="ci:github:7")], "inferred"),
    "two attested producers": (
        [seen(attested=True), seen(run="2", producer="ci", attested=True)],
        "verified",
    ),
    "one of two producers is attested, the other is this store": (
        [seen(), seen(run="2", producer="ci", attested=True)],
        "verified",
    ),
    "two runs of one attested producer": (
        [seen(producer="ci", attested=True), seen(run="2", producer="ci", attested=True)],
        "inferred",
    ),
    "the parent process": ([seen(), seen("ExitCode", "kl run")], "inferred"),
    "a command beside a run": ([seen(), seen("ExitCode", "kl run", run="2", way="")], "inferred"),
    "another interpreter": (
        [seen(), seen(run="2", environment=("cpython", "3.12", "linux-x86_64"))],
        "verified",
    ),
    "another implementation": (
        [seen(), seen(run="2", environment=("pypy", "3.13", "linux-x86_64"))],
        "verified",
    ),
    "another machine": (
        [seen(), seen(run="2", environment=("cpython", "3.13", "linux-aarch64"))],
        "verified",
    ),
    "an unknown interpreter": (
        [seen(), seen(run="2", environment=("cpython", "", "linux-x86_64"))],
        "inferred",
    ),
    "an unknown environment": ([seen(), seen(run="2", environment=())], "inferred"),
    "two workers": ([seen(), seen(run="2", way="distributed")], "verified"),
    "an unknown way": ([seen(way="distributed"), seen(run="2", way="")], "inferred"),
    "two seeds": (
        [seen(way="serial random:x:1"), seen(run="2", way="serial random:x:2")],
        "verified",
    ),
    "one seed twice": (
        [seen(way="serial random:x:1"), seen(run="2", way="serial random:x:1")],
        "inferred",
    ),
    "its own report file": ([seen(), seen(observer="junit", run="2")], "inferred"),
    "a validator": ([seen(), seen("Validator", "arch", run="3")], "verified"),
    "git": ([seen(), seen("GitHistory", "git", run="3", environment=(), way="")], "verified"),
    "flaky twice": ([seen(hard=False), seen(run="2", way="distributed", hard=False)], "guessed"),
    "one good, one flaky": ([seen(), seen(run="2", way="distributed", hard=False)], "inferred"),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.requirement("A35", "A36", "A37")
def test_table(name: str) -> None:
    observations, expected = TABLE[name]
    assert tier(observations).word == expected


@pytest.mark.requirement("A36")
def test_with_the_rule_of_classes_two_classes_are_enough_and_two_runs_are_not() -> None:
    assert tier([seen(), seen("ExitCode")], "classes") is Tier.VERIFIED
    assert tier([seen(), seen(run="2", way="distributed")], "classes") is Tier.INFERRED


OBSERVATIONS = st.lists(
    st.builds(
        Observation,
        st.sampled_from(EVIDENCE_CLASSES),
        st.sampled_from("ab"),
        st.sampled_from("xy"),
        st.sampled_from("12"),
        st.booleans(),
        st.just(""),
        st.sampled_from([(), ("cpython", "3.13"), ("cpython", ""), ("cpython", "3.12")]),
        st.sampled_from(["", "serial", "distributed"]),
        st.booleans(),
    ),
    max_size=4,
)


@given(OBSERVATIONS)
def test_order_does_not_matter(observations: list[Observation]) -> None:
    assert len({tier(order) for order in permutations(observations)}) == 1


@given(OBSERVATIONS)
def test_independence_is_mutual_and_nothing_is_independent_of_itself(
    observations: list[Observation],
) -> None:
    for one in observations:
        assert not are_independent(one, one)
        assert all(
            are_independent(one, other) == are_independent(other, one) for other in observations
        )


@given(OBSERVATIONS)
def test_one_execution_is_one_observation(observations: list[Observation]) -> None:
    assert tier(replace(one, run="1") for one in observations) < Tier.VERIFIED


@given(OBSERVATIONS)
def test_who_watched_and_what_the_environment_states_make_no_difference(
    observations: list[Observation],
) -> None:
    plain = [replace(one, attested=False) for one in observations]
    renamed = [replace(one, observer=f"o{n}", producer=f"ci:{n}") for n, one in enumerate(plain)]
    assert tier(renamed) == tier(plain)


@given(OBSERVATIONS, OBSERVATIONS)
def test_more_evidence_never_lowers_it(few: list[Observation], more: list[Observation]) -> None:
    assert tier(few + more) >= tier(few)


@given(OBSERVATIONS)
@pytest.mark.requirement("A36")
def test_verified_needs_two_independent_hard_ones(observations: list[Observation]) -> None:
    hard = [o for o in observations if o.hard and o.kind in HARD_CLASSES]
    pairs = any(are_independent(a, b) for a in hard for b in hard)
    assert (tier(observations) is Tier.VERIFIED) == pairs
