"""The session: skip, back, quit; what was answered is never lost, whatever is typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.records.interview.question import Question
from kl_hooks.records.interview.session import Session, begin, take

QUESTIONS = tuple(Question(f"q{n}", "domain", "high", f"What is {n}?", "Because.") for n in range(3))


def played(*lines: str) -> tuple[Session, list[str]]:
    session, events = begin(QUESTIONS)
    names = [one.name for one in events]
    for line in lines:
        session, events = take(session, line)
        names += [one.name for one in events]
    return session, names


@pytest.mark.requirement("B52")
def test_a_session_from_the_first_question_to_the_summary() -> None:
    session, names = played("The first answer.", "", "Skip", "too late")
    assert names == ["intro", "question", "captured", "question", "skipped", "question", "skipped", "summary"]
    assert session.answers == (("q0", "The first answer."),) and session.skipped == ("q1", "q2")
    assert session.ended == "done" and session.waiting is None


@pytest.mark.requirement("B52")
@pytest.mark.parametrize("word", ["quit", " Q ", "EXIT"])
def test_quit_ends_and_keeps_what_was_said(word: str) -> None:
    session, names = played("An answer to keep.", word)
    assert session.ended == "quit" and names[-1] == "summary"
    assert session.answers == (("q0", "An answer to keep."),)


def test_back_asks_again_and_the_last_answer_counts() -> None:
    session, names = played("back", "First thoughts.", "b", "Second thoughts.")
    assert names[:4] == ["intro", "question", "info", "question"]
    assert session.answers == (("q0", "Second thoughts."),) and session.at == 1


def test_a_question_says_what_it_is_about() -> None:
    _, (intro, asked) = begin(QUESTIONS)
    assert intro.total == 3
    assert (asked.number, asked.total, asked.text, asked.question) == (1, 3, "What is 0?", QUESTIONS[0])


def test_without_questions_it_is_over_at_once() -> None:
    session, (event,) = begin(())
    assert session.ended == "done" and event.name == "info"


LINES = st.sampled_from(["", "s", "skip", "q", "b", "A whole answer.", "x"]) | st.text(max_size=12)


@given(st.lists(LINES, max_size=12))
def test_any_lines_end_in_a_sound_session(lines: list[str]) -> None:
    session, names = played(*lines)
    keys = [key for key, _ in session.answers]
    assert len(keys) == len(set(keys)) and not set(keys) & set(session.skipped)
    assert (names.count("summary") == 1) == bool(session.ended)
    assert session.waiting is None or not session.ended
