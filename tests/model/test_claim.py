"""The tier rule."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import (
    OLDER_TREE,
    REFUTED,
    Anchor,
    CitedTest,
    Claim,
    Confirmation,
    Observation,
    Support,
    Tier,
    are_independent,
    tier,
    tier_words,
)
from kl_hooks.model.claim import (
    TestPart as PartOfTest,
)
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
    assert tier(one._replace(run="1") for one in observations) < Tier.VERIFIED


@given(OBSERVATIONS)
def test_who_watched_and_what_the_environment_states_make_no_difference(
    observations: list[Observation],
) -> None:
    plain = [one._replace(attested=False) for one in observations]
    renamed = [one._replace(observer=f"o{n}", producer=f"ci:{n}") for n, one in enumerate(plain)]
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


def support(speaks: str, *observations: Observation) -> tuple[Support, ...]:
    return tuple(
        Support(observation, f"r{observation.run}", "passed", None, "2026-01-01", speaks)
        for observation in observations
    )


def claim(**values: object) -> Claim:
    return Claim("rounds once", "function:m.total", "local:me", "2026-01-01")._replace(**values)


def test_the_tier_of_an_older_content_is_never_the_first_word() -> None:
    assert tier_words("verified", "current") == ["verified", "current"]
    assert tier_words("verified", OLDER_TREE) == ["stale: verified on an older tree"]
    assert tier_words("verified", REFUTED) == ["refuted"]


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("", "src/a.py"),
        ("namespace:_", "src/a.py"),
        ("function:_.total", "total in src/a.py"),
        ("method:_.Cart._total", "Cart._total in src/a.py"),
        ("function:_._total", "_total in src/a.py"),
        ("function:X._.f:g", "X._.f:g in src/a.py"),
    ],
)
def test_an_anchor_is_named_by_its_symbol_and_file(symbol: str, name: str) -> None:
    assert Anchor("src/a.py", symbol, "aa").name == name


def test_what_a_claim_rests_on_as_plain_data() -> None:
    anchor = Anchor("src/a.py", "function:_.f", "aa")
    test = CitedTest(
        "test_a.py::test_x", (PartOfTest("", "", "bb"), PartOfTest("c.py", "fix", "cc"))
    )
    assert claim(rests_on=(anchor,), head="1234", tests=(test,)).basis_to_dict() == {
        "rests_on": [["src/a.py", "function:_.f", "aa"]],
        "head": "1234",
        "tests": [["test_a.py::test_x", [["", "", "bb"], ["c.py", "fix", "cc"]]]],
    }


def test_the_last_word_on_a_claim_is_that_of_its_newest_confirmation() -> None:
    stated = claim()
    assert (stated.since, stated.last_author) == ("2026-01-01", "local:me")
    confirmed = claim(confirmed=Confirmation("agent:bot", "2026-02-02"))
    assert (confirmed.since, confirmed.last_author) == ("2026-02-02", "agent:bot")
    assert confirmed.is_of_agent and not stated.is_of_agent
    assert claim(author="agent:bot").is_of_agent and not claim(author="bot:agent:").is_of_agent


def test_the_same_claim_made_twice_is_one_claim() -> None:
    # the ID is stored, so it never changes
    assert claim().id == digest("claim/1", ["rounds once", "function:m.total"])[:16]
    assert len(claim().id) == 16
    assert claim(author="other", made_at="2026-03-03").id == claim().id
    assert claim(text="rounds twice").id != claim().id


def test_the_tier_of_a_claim_follows_from_what_speaks_for_it() -> None:
    independent = (seen(), seen(run="2", way="distributed"))
    assert claim(support=support("for", *independent)).tier is Tier.VERIFIED
    assert claim(support=support("against", *independent)).tier is Tier.GUESSED
    mixed = support("for", seen()) + support("nothing", independent[1])
    assert claim(support=mixed).tier is Tier.INFERRED
    aged = claim(support=support("for", *independent), max_tier=Tier.INFERRED)
    assert aged.tier is Tier.INFERRED
    # two classes of evidence of one execution
    classes = support("for", seen(), seen("ExitCode", "kl run"))
    assert claim(support=classes).tier is Tier.INFERRED
    assert claim(support=classes, rule="classes").tier is Tier.VERIFIED
