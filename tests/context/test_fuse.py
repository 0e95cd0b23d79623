"""Fusion: one order of several lists, and the promises that order keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.context.fuse import PROFILES, TIER_BONUS, fuse, merge, reciprocal
from kl_hooks.model.claim import Tier
from kl_hooks.model.package import Candidate
from tests.context.making import candidate, candidates, steady, symbol

lists = st.dictionaries(st.sampled_from("abcd"), st.lists(candidates, max_size=6), max_size=4)


def places(lists_of: dict[str, list[Candidate]]) -> dict[str, int]:
    return {item.candidate.id: at for at, item in enumerate(fuse(lists_of))}


def test_what_two_lists_name_comes_before_what_one_names_first() -> None:
    a, b, c = candidate("a"), candidate("b"), candidate("c")
    assert list(places({"x": [a, b], "y": [c, b]})) == [
        "function:shop.b",
        "function:shop.a",
        "function:shop.c",
    ]


def test_a_verified_item_outranks_a_guessed_one_of_equal_likeness() -> None:
    proven, guessed = candidate("zz", tier=Tier.VERIFIED), candidate("aa")
    assert next(iter(places({"x": [guessed], "y": [proven]}))) == proven.id
    assert next(iter(places({"x": [guessed, proven]}))) == proven.id


def test_where_scores_are_equal_the_better_proven_one_comes_first() -> None:
    proven, guessed = candidate("zz", tier=Tier.VERIFIED), candidate("aa")
    found = fuse({"x": [guessed], "y": [proven]}, {"x": 0, "y": 0})
    assert [(i.candidate.id, i.score) for i in found] == [(proven.id, 0), (guessed.id, 0)]


def test_an_id_twice_in_one_list_counts_once_at_its_best_place() -> None:
    a = candidate("a")
    assert fuse({"x": [a, candidate("b"), a]})[0].parts == {"x": reciprocal(1)}


def test_the_parts_of_a_score_add_up_and_name_where_they_come_from() -> None:
    a = candidate("a", tier=Tier.INFERRED)
    item = fuse({"x": [a], "y": [candidate("b"), a]}, {"x": 50})[0]
    likeness = {"x": reciprocal(1, 50), "y": reciprocal(2)}
    bonus = sum(likeness.values()) * TIER_BONUS[Tier.INFERRED] // 100
    assert item.parts == {**likeness, "tier": bonus}
    assert (item.score, item.best) == (sum(item.parts.values()), 1)


def test_a_failing_test_comes_before_all_else_and_code_is_ranked_elsewhere() -> None:
    failing = candidate("t", id="test:t", kind="failing test", tier=Tier.INFERRED)
    found = fuse({"x": [candidate("a", tier=Tier.VERIFIED), symbol("code"), failing]})
    assert [item.candidate.id for item in found] == ["test:t", "function:shop.a"]
    assert found[1].parts["x"] == reciprocal(1) and found[0].parts["x"] == reciprocal(2)


def test_profiles_decide_what_comes_before_relevance() -> None:
    near = candidate("near", tier=Tier.GUESSED, authority="agent")
    proven = candidate("proven", tier=Tier.VERIFIED, authority="agent")
    written = candidate("written", tier=Tier.GUESSED, authority="human")
    lists = {
        "x": [
            near,
            candidate("y"),
            candidate("z"),
            *[candidate(f"n{n}") for n in range(40)],
            written,
            proven,
        ]
    }
    first = {
        name: fuse(lists, profile=name)[0].candidate.id.rpartition(".")[2] for name in PROFILES
    }
    assert first == {
        "blended": "near",
        "tier-first": "proven",
        "authority-first": "written",
        "rrf": "near",
        "weighted": "near",
        "quota": "near",
        "brief": "near",
    }
    tied = {"x": [candidate("a")], "y": [candidate("b", tier=Tier.VERIFIED)]}
    scores = [item.score for item in fuse(tied, profile="rrf")]
    assert scores[0] == scores[1] == reciprocal(1)
    assert [item.score for item in fuse({"x": lists["x"][:4]}, profile="weighted")] == [
        1_000_000,
        750_000,
        500_000,
        250_000,
    ]


def test_one_id_twice_is_one_item_with_all_reasons_and_the_best_proof() -> None:
    weak = candidate(
        "a", text="a longer text than the other", reasons=("named so", "both"), path="", line=0
    )
    proven = candidate(
        "a",
        tier=Tier.VERIFIED,
        freshness="current",
        reasons=("both", "passed"),
        path="p.py",
        line=3,
    )
    (item,) = fuse({"x": [weak], "y": [proven]})
    assert item.candidate == proven._replace(reasons=("named so", "both", "passed"))
    assert merge([weak, weak._replace(path="q.py", line=9)]).path == "q.py"


@steady
@given(lists, st.randoms())
def test_the_order_of_the_lists_does_not_matter(
    given_lists: dict[str, list[Candidate]], random: object
) -> None:
    names = list(given_lists)
    random.shuffle(names)  # type: ignore[attr-defined]
    assert fuse({name: given_lists[name] for name in names}) == fuse(given_lists)


@pytest.mark.slow
@steady
@given(lists)
def test_each_id_once_best_first_and_parts_add_up(given_lists: dict[str, list[Candidate]]) -> None:
    found = fuse(given_lists)
    assert len({item.candidate.id for item in found}) == len(found)
    assert {item.candidate.id for item in found} == {
        c.id for many in given_lists.values() for c in many
    }
    order = [(item.candidate.kind == "failing test", item.score) for item in found]
    assert order == sorted(order, reverse=True)
    assert all(item.score == sum(item.parts.values()) > 0 for item in found)


@steady
@given(st.lists(candidates, min_size=2, max_size=6, unique_by=lambda c: c.id), st.data())
def test_moving_up_in_a_list_never_costs_anything(
    many: list[Candidate], data: st.DataObject
) -> None:
    at = data.draw(st.integers(1, len(many) - 1))
    moved = [*many[: at - 1], many[at], many[at - 1], *many[at + 1 :]]
    other = {"other": data.draw(st.lists(candidates, max_size=4))}
    before = {i.candidate.id: i.score for i in fuse({"x": many, **other})}
    after = {i.candidate.id: i.score for i in fuse({"x": moved, **other})}
    assert after[many[at].id] >= before[many[at].id]
    assert after[many[at - 1].id] <= before[many[at - 1].id]


@steady
@given(st.lists(candidates, min_size=1, max_size=6, unique_by=lambda c: c.id), st.data())
def test_better_proof_never_costs_anything(many: list[Candidate], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(many) - 1))
    better = [*many[:at], many[at]._replace(tier=Tier.VERIFIED), *many[at + 1 :]]
    assert places({"x": better})[many[at].id] <= places({"x": many})[many[at].id]
