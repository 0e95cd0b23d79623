"""The sieve: what is not shown at all, and why."""

from __future__ import annotations

import pytest
from hypothesis import given

from kl_hooks.context.fuse import Ranked, sift, stem
from kl_hooks.model.package import Candidate, Signals
from tests.context.making import candidate, ranked, steady, unique

TASK = Signals(
    keywords=("rounding", "checkout", "totals"), symbols=("shop.price.vat",), paths=("src/cart.py",)
)


def reasons(*items: Ranked) -> list[str]:
    return [left.reason for left in sift(list(items), TASK)[1]]


def at(place: int, found: Candidate, **parts: int) -> Ranked:
    return Ranked(found, 1000, parts or {"symbols": 1000}, place)


def test_expired_items_are_never_shown() -> None:
    assert reasons(at(1, candidate("total", freshness="expired"))) == ["expired"]


def test_the_same_text_is_shown_once() -> None:
    one, two = candidate("total", text="same total"), candidate("round", text="same total")
    other = candidate("totals", text="same total", kind="evidence")
    assert reasons(at(1, one), at(2, two), at(3, other)) == ["same text as function:shop.total"]


def test_failing_tests_with_one_message_are_all_named_and_give_it_once() -> None:
    tests = [
        candidate(f"t{n}", kind="failing test", text="AssertionError: rounding of totals")
        for n in range(3)
    ]
    shown, omissions = sift([at(n, one) for n, one in enumerate(tests, 1)], TASK)
    assert [one.candidate.text for one in shown] == [
        "AssertionError: rounding of totals",
        *["failed with the same message as function:shop.t0"] * 2,
    ]
    assert omissions == []


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (candidate("round_total"), 50),
        (candidate("total"), 10),
        (candidate("vat"), 50),
        (candidate("x", path="src/cart.py"), 50),
    ],
    ids=["two words", "one word near the top", "a name", "a file"],
)
def test_what_is_near_enough(found: Candidate, place: int) -> None:
    assert reasons(at(place, found)) == []


def test_what_is_too_far_is_omitted_with_its_distance() -> None:
    far, nothing = at(11, candidate("total")), at(1, candidate("x"))
    assert reasons(far, nothing) == [
        "below the relevance threshold: holds 1 of 3 words of the task",
        "below the relevance threshold: holds 0 of 3 words of the task",
    ]


@pytest.mark.parametrize(
    ("word", "cut"),
    [
        ("totals", "total"),
        ("rounding", "round"),
        ("settings", "set"),
        ("used", "used"),
        ("classes", "class"),
        ("entries", "entr"),
    ],
)
def test_stems(word: str, cut: str) -> None:
    assert stem(word) == cut


@steady
@given(unique)
def test_everything_is_shown_or_omitted_in_its_order(many: list[Candidate]) -> None:
    shown, left = sift(ranked(many), TASK)
    both = [(i.candidate.id, True) for i in shown] + [(x.id, False) for x in left]
    assert sorted(name for name, _ in both) == sorted(c.id for c in many)
    assert [i.candidate.id for i in shown] == [c.id for c in many if (c.id, True) in both]
