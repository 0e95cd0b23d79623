"""A review: keys, undo without end, and answers of a program."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.memory.deciding import Decision, Review, answers, step

KEYS = st.sampled_from(["a", "r", "s", "", "e", "u", "q", "?", "approve", "reject", "SKIP", "undo", "x", "  a "])


def test_keys_decide_in_order() -> None:
    review = Review(("A", "B", "C"))
    for key in ("a", "r", ""):
        review = step(review, key, "because" if key == "r" else "")
    assert review.at == ""
    assert review.decided == (Decision("A", "approve"), Decision("B", "reject", "", "because"))


def test_an_edited_text_goes_with_the_decision() -> None:
    review = step(step(Review(("A", "B")), "e", "better words"), "a")
    assert review.decided == (Decision("A", "approve", "better words"),)
    assert step(step(Review(("A",)), "e", "kept"), "s").decided == (Decision("A", "skip", "kept"),)


def test_undo_shows_the_one_before_again() -> None:
    review = step(step(Review(("A", "B")), "a"), "u")
    assert (review.at, review.decided) == ("A", ())
    assert step(Review(("A",)), "u") == Review(("A",))


@given(st.lists(KEYS, max_size=30))
def test_any_keys_leave_a_review_that_holds(keys: list[str]) -> None:
    review = Review(("A", "B", "C", "D"))
    for key in keys:
        review = step(review, key, "said")
    assert [one.id for one in review.made] == list(review.ids[: len(review.made)])
    assert {one.do for one in review.made} <= {"approve", "reject", "skip"}


@given(st.lists(st.sampled_from(["a", "r", "s"]), max_size=4), st.data())
def test_undo_undoes_exactly_the_last(keys: list[str], data: st.DataObject) -> None:
    review = Review(("A", "B", "C", "D", "E"))
    for key in keys:
        review = step(review, key)
    key = data.draw(st.sampled_from(["a", "r", "s"]))
    assert step(step(review, key), "u") == review


def test_answers_of_a_program() -> None:
    plain = {"answers": [
        {"id": "mem-3F9A1C2B", "do": "approve"}, {"id": "MEM-00000000", "do": "reject", "reason": "no"},
        {"id": "MEM-11111111", "do": "edit", "text": "words"},
    ]}  # fmt: skip
    assert answers(plain, "x") == (
        [
            Decision("MEM-3f9a1c2b", "approve"), Decision("MEM-00000000", "reject", "", "no"),
            Decision("MEM-11111111", "skip", "words"),
        ],
        [],
    )  # fmt: skip
    assert answers([], "x") == ([], [])


def test_everything_wrong_is_said_at_once() -> None:
    plain = [
        {"id": "MEM-00000000", "do": "approve"}, {"id": "mem-00000000", "do": "skip"}, {"do": "approve"}, "x",
        {"id": "MEM-00000001", "do": "praise"}, {"id": "MEM-00000002", "do": "edit"},
        {"id": "MEM-00000003", "do": "skip", "why": "?"}, {"id": "MEM-00000004", "do": "skip", "text": 4},
    ]  # fmt: skip
    made, problems = answers(plain, "file.json")
    assert [one.id for one in made] == ["MEM-00000000"]
    assert [problem.message.partition(":")[0] for problem in problems] == [f"answer {n}" for n in range(2, 9)]


PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "do", "answers", "x"]), inner),
)


@given(PLAIN)
def test_any_json_gets_an_answer(plain: Any) -> None:
    made, problems = answers(plain, "x")
    assert all(isinstance(one, Decision) for one in made) and all(problem.message for problem in problems)


@pytest.mark.parametrize("plain", [None, 3, "text", {}, {"answers": "x"}])
def test_no_list_is_one_problem(plain: Any) -> None:
    assert len(answers(plain, "x")[1]) == 1
