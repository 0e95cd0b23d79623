"""The budget is hard, skips what does not fit and goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.context.estimator import estimator_of, read_budget
from kl_hooks.context.fit import NO_ROOM, fit
from kl_hooks.context.render import NOTHING, STYLES
from kl_hooks.model.package import Budget, Candidate, Left
from tests.context.making import candidate, ranked, steady, text, unique

styles = st.sampled_from(sorted(STYLES))
budgets = st.one_of(
    st.integers(256, 6000).map(lambda n: Budget("characters", n, 0, "characters")),
    st.integers(64, 1500).map(lambda n: Budget("tokens", n, 0, "chars/4")),
)


@steady
@given(unique, budgets, styles, st.lists(text, max_size=3), st.lists(text, max_size=3))
def test_the_rendered_package_never_exceeds_its_budget(
    many: list[Candidate], budget: Budget, style: str, notes: list[str], reasons: list[str]
) -> None:
    left = [Left(f"x{n}", reason) for n, reason in enumerate(reasons)]
    fitted = fit(ranked(many), budget, STYLES[style], notes=notes, left=left)
    shown = fitted.page(STYLES[style], "cp-3f9a1c20b7de")
    used = estimator_of(budget).count(shown)
    assert used <= budget.total
    assert fitted.budget.used == used


@steady
@given(unique, budgets, styles)
def test_every_candidate_is_in_or_left_out_with_a_reason_in_order(
    many: list[Candidate], budget: Budget, style: str
) -> None:
    fitted = fit(ranked(many), budget, STYLES[style])
    shown, left = [c.ranked.candidate.id for c in fitted.chosen], [x.id for x in fitted.left]
    order = [c.id for c in many]
    assert sorted(shown + left) == sorted(order)
    assert shown == [i for i in order if i in set(shown)]
    assert left == [i for i in order if i in set(left)]
    assert all(x.reason for x in fitted.left)
    assert fit(ranked(many), budget, STYLES[style]) == fitted


@steady
@given(unique, styles)
def test_with_room_for_all_all_are_in_and_whole(many: list[Candidate], style: str) -> None:
    fitted = fit(ranked(many), Budget("characters", 10_000_000, 0, "characters"), STYLES[style])
    assert [c.ranked.candidate for c in fitted.chosen] == many
    assert {c.form for c in fitted.chosen} <= {"full"}


@pytest.mark.requirement("A19")
def test_a_long_item_does_not_hide_those_after_it() -> None:
    long = candidate("long", text="x" * 900, summary="y" * 900, title="z" * 900, id="function:" + "long" * 70)
    small = [candidate(f"small{n}") for n in range(3)]
    fitted = fit(ranked([long, *small]), read_budget("500"), STYLES["text"])
    assert [c.ranked.candidate for c in fitted.chosen] == small
    assert fitted.left[0].id == long.id and fitted.left[0].reason.startswith("did not fit")


@pytest.mark.requirement("E7")
def test_a_large_item_stands_there_as_one_line_with_its_id() -> None:
    large = candidate("large", text="def large()\n" + "    code\n" * 200, summary="def large(): does much")
    fitted = fit(ranked([large, candidate("small")]), read_budget("6000"), STYLES["text"])
    assert [c.form for c in fitted.chosen] == ["summary", "full"]
    shown = fitted.page(STYLES["text"])
    line = "- [guessed · not assessed · summary] function:shop.large  src/large.py:7\n  | def large(): does much\n"
    assert line in shown


def test_nothing_found_says_so_even_in_the_smallest_package() -> None:
    for style in STYLES.values():
        for smallest in ("256", "64tok"):
            assert NOTHING in fit([], read_budget(smallest), style).page(style)


def test_a_budget_that_holds_no_item_says_so() -> None:
    huge = candidate("x" * 300, text="y" * 300, summary="z" * 300)
    fitted = fit(ranked([huge]), read_budget("256"), STYLES["text"])
    assert fitted.chosen == () and NO_ROOM in fitted.page(STYLES["text"])


def test_what_was_left_out_is_counted_by_reason_with_the_way_to_ask() -> None:
    left = [Left("a", "below the floor: holds 0 of 3 words"), Left("b", "expired"), Left("c", "expired")]
    shown = fit(ranked([candidate("f")]), read_budget("6000"), STYLES["text"], left=left).page(
        STYLES["text"], "cp-3f9a1c20b7de"
    )
    assert "left out: 1 below the floor, 2 expired. Why: kl context why ID cp-3f9a1c20b7de\n" in shown
    assert shown.startswith("context package cp-3f9a1c20b7de   ") and "   1 of 4 items\n" in shown


@pytest.mark.parametrize("style", list(STYLES))
def test_notes_are_said_as_far_as_they_fit(style: str) -> None:
    fitted = fit([], read_budget("400"), STYLES[style], notes=["x" * 400, "Not searched: commits."])
    assert "x" * 200 not in fitted.page(STYLES[style])
    assert "Not searched: commits." in fitted.page(STYLES[style])
