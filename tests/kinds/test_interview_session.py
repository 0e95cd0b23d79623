"""Gaps: what nobody has answered yet, the most important first; a gap ends when it is answered.

Facts out of answers: whole sentences with what they are about; no answer is lost.

The session: skip, back, quit; what was answered is never lost, whatever is typed.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.catalog import FACT
from kl_hooks.kinds.interview import (
    IMPORTANCES,
    INTERVIEWS,
    QUESTIONS,
    Question,
    Session,
    answered_keys,
    begin_session,
    facts_of_answer,
    open_questions,
    split_sentences,
)
from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.model.record import Record

OTHERS = ("decision",)
"""Kinds that questions name and that are not in this catalogue yet."""


@pytest.mark.requirement("B51")
def test_there_are_23_questions_and_each_names_kinds_and_fields_that_are_there() -> None:
    assert len(QUESTIONS) == len({one.key for one in QUESTIONS}) == 23
    assert Counter(one.category for one in QUESTIONS) == {
        "project_overview": 4,
        "architecture": 4,
        "domain": 2,
        "constraints": 3,
        "decisions": 2,
        "goals": 1,
        "role_customization": 3,
        "quality_gates": 2,
        "workflow_preferences": 2,
    }
    kinds = {kind.name: kind for kind in kl_kinds()}
    categories = FACT.by_name["category"].choices
    for one in QUESTIONS:
        assert (
            one.category in categories and one.importance in IMPORTANCES and one.asks.endswith("?")
        )
        for place in [*one.filled_by, *([one.adds_to] if one.adds_to else [])]:
            assert place.kind in OTHERS or place.field in kinds[place.kind].by_name, one.key
        if one.adds_to:
            assert kinds[one.adds_to.kind].by_name[one.adds_to.field].type == "lines"


@pytest.mark.requirement("B51")
def test_the_most_important_come_first_and_no_more_than_asked_for() -> None:
    found = open_questions(QUESTIONS, ())
    assert len(found) == 10 and {one.importance for one in found} == {"high"}
    everything = open_questions(QUESTIONS, (), most=100)
    order = [IMPORTANCES.index(one.importance) for one in everything]
    assert len(everything) == 23 and order == sorted(order)
    assert [one.key for one in open_questions(QUESTIONS, {"domain_terminology"}, "domain")] == [
        "business_rules"
    ]
    assert open_questions(QUESTIONS, (), most=0) == open_questions(QUESTIONS, (), most=-3) == []


def fact(key: str, source: str = "") -> Record:
    return Record("fact", "FACT-0001", {"answers": key, "source": source})


def test_every_gap_can_end() -> None:
    assert (
        open_questions(
            QUESTIONS, answered_keys(QUESTIONS, [fact(one.key) for one in QUESTIONS], {}), most=100
        )
        == []
    )


def test_a_record_of_another_kind_can_answer_and_what_arrived_with_kl_can_not() -> None:
    decision = Record("decision", "ADR-0001", {"decision": "SQLite."})
    assert answered_keys(QUESTIONS, [], {"decision": [decision]}) == {"tech_decisions"}
    shipped = Record("gate", "GATE-0001", {"coverage_threshold": 60, "source": "seed:system"})
    own = Record("gate", "GATE-0002", {"coverage_threshold": 70})
    assert answered_keys(QUESTIONS, [fact("purpose", "seed:system")], {"gate": [shipped]}) == set()
    assert answered_keys(QUESTIONS, [], {"gate": [shipped, own]}) == {"coverage_threshold"}
    guides = [Record("guide", "GUIDE-0001", {"topic": "architecture"})]
    assert answered_keys(QUESTIONS, [], {"guide": guides}) == {"architecture_summary"}


@pytest.mark.requirement("B53")
def test_three_to_five_questions_for_each_sort_of_review() -> None:
    assert set(INTERVIEWS) == {
        "",
        "architectural",
        "code-quality",
        "decision",
        "technical-debt",
        "security",
    }
    for mode in filter(None, INTERVIEWS):
        some = INTERVIEWS[mode]
        assert 3 <= len(some) <= 5 and all(
            one.category in FACT.by_name["category"].choices for one in some
        )
        assert not {one.key for one in some} & {one.key for one in QUESTIONS}


@pytest.mark.requirement("B54")
def test_sentences_of_ten_characters_with_their_category() -> None:
    answer = "It has three rooms. No! Readers come first, e.g. GeoJSON. Python 3.11 is the least."
    assert facts_of_answer(answer, "project_overview") == (
        "Project overview: It has three rooms.",
        "Project overview: Readers come first, e.g. GeoJSON.",
        "Project overview: Python 3.11 is the least.",
    )


def test_points_of_a_list_are_facts_of_their_own() -> None:
    assert split_sentences(
        "- never use pickle\n* ask before adding\n\n2. keep it under 200 MB\n"
    ) == (
        "never use pickle",
        "ask before adding",
        "keep it under 200 MB",
    )


def test_a_short_answer_is_a_fact_as_a_whole() -> None:
    assert facts_of_answer("80 %", "quality_gates") == ("Quality gates: 80 %",)
    assert facts_of_answer("  \n ", "quality_gates") == ()


@given(st.text(max_size=300))
def test_every_answer_with_words_gives_facts_on_one_line_each(answer: str) -> None:
    found = facts_of_answer(answer, "domain")
    assert bool(found) == bool(answer.split())
    assert all(one == " ".join(one.split()) for one in found)


SAMPLE = tuple(Question(f"q{n}", "domain", "high", f"What is {n}?", "Because.") for n in range(3))


def played(*lines: str) -> tuple[Session, list[str]]:
    session, events = begin_session(SAMPLE)
    names = [one.name for one in events]
    for line in lines:
        session, events = session.take_line(line)
        names += [one.name for one in events]
    return session, names


@pytest.mark.requirement("B52")
def test_a_session_from_the_first_question_to_the_summary() -> None:
    session, names = played("The first answer.", "", "Skip", "too late")
    assert names == [
        "intro",
        "question",
        "captured",
        "question",
        "skipped",
        "question",
        "skipped",
        "summary",
    ]
    assert session.answers == (("q0", "The first answer."),) and session.skipped == ("q1", "q2")
    assert session.ended == "done" and session.waiting is None


@pytest.mark.requirement("B52")
@pytest.mark.parametrize("word", ["quit", " Q ", "EXIT"])
def test_quit_ends_and_keeps_what_was_answered(word: str) -> None:
    session, names = played("An answer to keep.", word)
    assert session.ended == "quit" and names[-1] == "summary"
    assert session.answers == (("q0", "An answer to keep."),)


def test_back_asks_again_and_the_last_answer_counts() -> None:
    session, names = played("back", "First thoughts.", "b", "Second thoughts.")
    assert names[:4] == ["intro", "question", "info", "question"]
    assert session.answers == (("q0", "Second thoughts."),) and session.at == 1


def test_a_question_states_what_it_is_about() -> None:
    _, (intro, asked) = begin_session(SAMPLE)
    assert intro.total == 3
    assert (asked.number, asked.total, asked.text, asked.question) == (
        1,
        3,
        "What is 0?",
        SAMPLE[0],
    )


def test_without_questions_it_is_over_at_once() -> None:
    session, (event,) = begin_session(())
    assert session.ended == "done" and event.name == "info"


LINES = st.sampled_from(["", "s", "skip", "q", "b", "A whole answer.", "x"]) | st.text(max_size=12)


@given(st.lists(LINES, max_size=12))
def test_any_lines_end_in_a_sound_session(lines: list[str]) -> None:
    session, names = played(*lines)
    keys = [key for key, _ in session.answers]
    assert len(keys) == len(set(keys)) and not set(keys) & set(session.skipped)
    assert (names.count("summary") == 1) == bool(session.ended)
    assert session.waiting is None or not session.ended
