"""Counters are folds, importance follows the stated formula, decay never compounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import iso
from kl_hooks.kinds.memory import review as names
from kl_hooks.kinds.memory.review import (
    ReviewItem,
    Support,
    Tally,
    importance_of,
    tally_of,
)
from kl_hooks.model.claim import Tier
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event


def happened(name: str, at: str, session: str = "", body: dict[str, object] | None = None) -> Event:
    return Event(name, "MEM-00000001", session, body or {}, at)


EVENTS = st.builds(
    happened,
    st.sampled_from(
        [
            names.REINFORCED,
            names.INJECTED,
            names.OPENED,
            names.OUTCOME,
            names.REVIEWED,
            names.VERIFIED,
            names.DISPROVEN,
            "x",
        ]
    ),
    st.integers(0, 4 * 10**15).map(iso),
    st.sampled_from(["s1", "s2", "s3"]),
    st.fixed_dictionaries(
        {},
        optional={
            "receipts": st.lists(st.sampled_from(["r1", "r2", "r3", "r4"]), max_size=3),
            "proof": st.sampled_from(["ExitCode", "TestResult"]),
            "result": st.sampled_from(["positive", "negative", "neither"]),
        },
    ),
)


@pytest.mark.requirement("D49")
@given(st.lists(EVENTS), st.data())
def test_a_fold_in_pieces_is_the_fold_of_the_whole(
    events: list[Event], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(events)))
    whole = tally_of(events)
    assert tally_of(events[at:], tally_of(events[:at])) == whole
    assert whole.injected == sum(e.name == names.INJECTED for e in events)
    assert whole.reinforcement == len({e.session for e in events if e.name == names.REINFORCED})
    results = [e.body.get("result") for e in events if e.name == names.OUTCOME]
    assert (whole.positive, whole.negative) == (
        results.count("positive"),
        results.count("negative"),
    )


def test_of_very_many_receipts_the_newest_are_stored() -> None:
    events = [
        happened(names.REINFORCED, iso(n), "s", {"receipts": [f"r{n}"], "proof": "ExitCode"})
        for n in range(1, 250)
    ]
    receipts = [receipt for receipt, _ in tally_of(events).receipts]
    assert (len(receipts), receipts[0], receipts[-1]) == (200, "r50", "r249")


@pytest.mark.requirement("A44")
def test_a_session_reinforces_once_however_often_it_is_reported() -> None:
    event = happened(names.REINFORCED, iso(5), "s1", {"receipts": ["r1"], "proof": "ExitCode"})
    other = happened(
        names.REINFORCED, iso(9), "s2", {"receipts": ["r1", "r2"], "proof": "ExitCode"}
    )
    tally = tally_of([event, event, other, event])
    assert tally.reinforcement == 2
    assert tally.receipts == (("r1", "ExitCode"), ("r2", "ExitCode"))
    assert tally.reinforced_at == iso(9)


def test_being_given_is_no_access() -> None:
    assert tally_of([happened(names.INJECTED, iso(9))]).opened_at == ""


@pytest.mark.requirement("D49")
def test_being_given_without_a_word_on_it_lowers_nothing() -> None:
    given_often = Tally(injected=500)
    assert importance_of(90, given_often) == importance_of(90, Tally()) == 900_000
    assert (
        importance_of(90, Tally(injected=9, negative=5)) < 900_000
        and importance_of(50, Tally(positive=5)) > 500_000
    )


@pytest.mark.requirement("D49")
def test_a_second_word_of_one_person_does_not_raise_and_that_of_another_does() -> None:
    words = [
        happened(names.VERIFIED, iso(n), who) for n, who in enumerate(("ada", "ada", "bob"), 1)
    ]
    assert [importance_of(20, tally_of(words[:n])) for n in (1, 2, 3)] == [
        350_000,
        350_000,
        500_000,
    ]
    assert tally_of([*words, happened(names.DISPROVEN, iso(9), "ada")]).verified == 0


@pytest.mark.requirement("D49")
def test_what_weighs_much_and_is_asked_for_is_ready_for_the_project() -> None:
    asked = tally_of([happened(names.OPENED, iso(n)) for n in (1, 2)])
    once = tally_of([happened(names.OPENED, iso(1))])
    candidate = Record("memory", "MEM-00000001", {"status": "candidate"})

    def item(tally: Tally, importance: int) -> ReviewItem:
        return ReviewItem(candidate, tally, Support(Tier.ASSUMED, ()), (), importance)

    assert item(asked, 70).ready and not item(asked, 69).ready and not item(once, 90).ready
    assert (
        not item(asked, 90)._replace(record=replace(candidate, values={"status": "approved"})).ready
    )


@pytest.mark.requirement("D49")
def test_verifying_raises_and_disproving_ends_it() -> None:
    assert importance_of(50, Tally(verifiers=frozenset({"ada"}))) == 650_000
    assert importance_of(95, Tally(verifiers=frozenset("abc"))) == 1_000_000
    assert importance_of(90, Tally(disproven=1)) == 50_000
