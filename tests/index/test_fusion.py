"""Fusion: the formulas by hand, and what every method must keep to."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.documents.search import FUSIONS, Fused, fuse, rerank

LISTS = {"keyword": [("a", 0.8), ("b", 0.4)], "vector": [("b", 0.9), ("c", 0.45)]}
EQUAL = {"keyword": 0.5, "vector": 0.5}
IDS = st.sampled_from("abcdefgh")


@st.composite
def ranked_lists(draw: st.DrawFn) -> Mapping[str, list[tuple[str, float]]]:
    """Up to two lists, each with an ID once, best first."""
    names = draw(st.sets(st.sampled_from(("keyword", "vector"))))
    made = {}
    for name in sorted(names):
        ids = draw(st.lists(IDS, unique=True))
        scores = draw(st.lists(st.floats(0, 1), min_size=len(ids), max_size=len(ids)))
        made[name] = list(zip(ids, sorted(scores, reverse=True), strict=True))
    return made


def scores(method: str, weights: Mapping[str, float]) -> dict[str, float]:
    return {one.id: one.score for one in fuse(method, LISTS, lambda one: weights)}


@pytest.mark.requirement("D21")
def test_the_formulas() -> None:
    assert scores("rrf", EQUAL) == pytest.approx(
        {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62}, abs=1e-5
    )
    assert scores("weighted", {"vector": 0.6, "keyword": 0.4}) == pytest.approx(
        {"b": 0.6 * 0.9 + 0.4 * 0.4, "a": 0.4 * 0.8, "c": 0.6 * 0.45}, abs=1e-5
    )
    assert scores("simple", {}) == {"a": 0.8, "b": 0.9, "c": 0.45}
    # the first list in its order, then what only the other one has
    assert list(scores("cascade", {})) == ["a", "b", "c"]


@pytest.mark.requirement("D20", "D21")
@given(st.sampled_from(FUSIONS), ranked_lists(), st.floats(0.1, 0.5))
def test_what_every_method_keeps_to(
    method: str, lists: Mapping[str, list[tuple[str, float]]], keyword: float
) -> None:
    def weights(one: str) -> Mapping[str, float]:
        return {**EQUAL, "keyword": keyword}

    found = fuse(method, lists, weights)
    assert sorted(one.id for one in found) == sorted(
        {one for some in lists.values() for one, _ in some}
    )
    assert all(0 <= one.score <= 1.000001 for one in found)
    assert found == sorted(found, key=lambda one: (-one.score, one.id))
    assert method == "cascade" or found == fuse(method, dict(reversed(lists.items())), weights)
    # a list in which nothing is near lifts nothing: its best has its own score, not a full one
    weak = fuse("weighted", {"vector": [("a", 0.2)]}, lambda identifier: {"vector": 0.6})
    assert [one.score for one in weak] == [0.12]
    # what only one list can have counts as its own weights state
    own = fuse(
        "weighted",
        LISTS,
        lambda one: {"keyword": 0.7} if one == "a" else {"keyword": 0.4, "vector": 0.6},
    )
    assert next(one.score for one in own if one.id == "a") == 0.56
    # one list alone keeps its order, where its scores differ
    for name, some in lists.items():
        if len({score for _, score in some}) == len(some) and all(
            score > 1e-3 for _, score in some
        ):
            order = [one.id for one in fuse(method, {name: some}, weights)]
            assert method in ("weighted", "simple") or order == [one for one, _ in some]


@pytest.mark.requirement("D26")
def test_ranking_again_weighs_score_words_and_place() -> None:
    found = [Fused("a", 0.8, {}), Fused("b", 0.4, {})]
    again = rerank(found, ("round", "total"), {"a": "nothing of it", "b": "rounding totals"})
    assert [(one.id, one.score) for one in again] == [
        ("b", pytest.approx(0.5 * 0.4 + 0.3 + 0.2 / 1.1, abs=1e-5)),
        ("a", pytest.approx(0.5 * 0.8 + 0.2)),
    ]
    assert rerank([], (), {}) == []
    assert [one.id for one in rerank(found, (), {})] == ["a", "b"]
