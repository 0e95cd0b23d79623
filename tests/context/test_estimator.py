"""Budgets as they are written, and what is too small."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.context.page import HALVES, QUARTERS, estimator_of, read_budget, write_budget
from kl_hooks.errors import UsageProblem
from kl_hooks.model.package import Budget
from tests.context.making import steady


@pytest.mark.parametrize(
    ("written", "budget"),
    [
        ("6000", Budget("characters", 6000, 0, "characters")),
        ("6,000", Budget("characters", 6000, 0, "characters")),
        (" 1500tok ", Budget("tokens", 1500, 0, "chars/4")),
        ("256", Budget("characters", 256, 0, "characters")),
        ("64tok", Budget("tokens", 64, 0, "chars/4")),
    ],
)
def test_budgets(written: str, budget: Budget) -> None:
    assert read_budget(written) == budget
    assert read_budget(write_budget(budget)) == budget


@pytest.mark.parametrize(
    "written", ["", "tok", "-1", "1.5", "6e3", "6000 tokens", "٦٠٠٠", "9" * 30, "1500TOK"]
)
def test_what_is_no_budget(written: str) -> None:
    with pytest.raises(
        UsageProblem, match=r"--budget: takes characters \(6000\) or tokens \(1500tok\), not"
    ):
        read_budget(written)


def test_too_small_a_budget_states_the_least_in_its_own_unit() -> None:
    with pytest.raises(UsageProblem, match=r"^--budget must be at least 64 tokens\.$"):
        read_budget("63tok")
    with pytest.raises(UsageProblem, match=r"^--budget must be at least 256 characters\.$"):
        read_budget("255")


@steady
@given(st.text())
def test_tokens_are_quarters_rounded_up(text: str) -> None:
    assert QUARTERS.count(text) * 4 - len(text) in range(4)
    assert estimator_of(Budget("tokens", 64, 0, "chars/4")) is QUARTERS


@pytest.mark.parametrize(("text", "tokens"), [("", 1), ("a", 2), ("ab", 2), ('a"', 3), ("é", 4)])
def test_in_a_json_prompt_a_token_is_two_characters_of_the_escaped_text(
    text: str, tokens: int
) -> None:
    assert HALVES.count(text) == tokens
