"""A question and its answer as the fields of a decision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.decision.asked.record import alternatives, record_decision, title
from kl_hooks.kinds.decision.kind import KIND
from kl_hooks.records.check import checked


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Which database should we use for orders?", "PostgreSQL because of transactions", "Use PostgreSQL for orders"),
        ("How should we cache sessions?", "We use Redis over Memcached.", "Use Redis for cache sessions"),
        ("Which queue?", "Let's go with RabbitMQ, it is known.", "Use RabbitMQ for queue"),
        ("What?", "one two three four five", "Use one two three"),
    ],
)
def test_titles(question: str, answer: str, expected: str) -> None:
    assert title(question, answer) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("PostgreSQL over MySQL and SQLite because it scales", ("MySQL", "SQLite")),
        ("REST instead of GraphQL, gRPC or SOAP.", ("GraphQL", "gRPC", "SOAP")),
        ("files rather than rows; rows vs. columns", ("rows", "columns")),
        ("it improves over time and is sent over HTTP", ()),
        ("nothing else", ()),
    ],
)
def test_what_it_was_chosen_over(answer: str, expected: tuple[str, ...]) -> None:
    assert alternatives(answer) == expected


def test_the_threshold_decides() -> None:
    asked = ("Which queue should we use?", "RabbitMQ, it is known here")
    assert record_decision(*asked).significance.percent == 35
    assert not record_decision(*asked).worth
    assert record_decision(*asked, threshold=35).worth


def test_ids_and_trigger_are_kept() -> None:
    found = record_decision("Which api?", "REST", "task_review", source_task_id="TASK-7")
    assert (found.values["trigger"], found.values["source_task_id"]) == ("task_review", "TASK-7")


@given(st.text(min_size=1).filter(lambda t: bool(t.strip())), st.text(min_size=1).filter(lambda t: bool(t.strip())))
def test_any_question_and_answer_make_a_valid_record(question: str, answer: str) -> None:
    values, problems = checked(KIND, record_decision(question, answer).values, lambda name: (name, 0, 0))
    assert problems == [] and values["title"]
