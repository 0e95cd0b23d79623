"""Facts out of answers: whole sentences with what they are about; nothing said is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.records.interview.sentences import facts, sentences


@pytest.mark.requirement("B54")
def test_sentences_of_ten_characters_with_their_category() -> None:
    answer = "It has three rooms. No! Readers come first, e.g. GeoJSON. Python 3.11 is the least."
    assert facts(answer, "project_overview") == (
        "Project overview: It has three rooms.",
        "Project overview: Readers come first, e.g. GeoJSON.",
        "Project overview: Python 3.11 is the least.",
    )


def test_points_of_a_list_are_facts_of_their_own() -> None:
    assert sentences("- never use pickle\n* ask before adding\n\n2. keep it under 200 MB\n") == (
        "never use pickle", "ask before adding", "keep it under 200 MB",
    )  # fmt: skip


def test_a_short_answer_is_a_fact_as_a_whole() -> None:
    assert facts("80 %", "quality_gates") == ("Quality gates: 80 %",)
    assert facts("  \n ", "quality_gates") == ()


@given(st.text(max_size=300))
def test_every_answer_with_words_gives_facts_on_one_line_each(answer: str) -> None:
    found = facts(answer, "domain")
    assert bool(found) == bool(answer.split())
    assert all(one == " ".join(one.split()) for one in found)
