"""What an answer weighs: whole words, whole percents, a reason for every point.

A question and its answer as the fields of a decision.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.significance import alternatives, assess_answer, significance, title
from kl_hooks.records.validate import validate


@pytest.mark.parametrize(
    ("question", "answer", "percent"),
    [
        ("Which database should we use?", "PostgreSQL, because orders need transactions", 100),
        ("Which colour should the button have?", "blue", 0),
        ("Should we rename it?", "yes", 0),
        ("What about the cache?", "Redis", 10),
        (
            "Where do we restart?",
            "in the restaurant, at the end of the capital",
            0,
        ),  # rest, api: parts of words
        ("What next?", "use it for now as planned", 0),  # a bare `for` or `as` is no reason
        ("What next?", "the queue, as it survives a restart", 45),
        ("How should we do error handling?", "one place for all", 25),
        ("", "", 0),
    ],
)
def test_points(question: str, answer: str, percent: int) -> None:
    assert significance(question, answer).percent == percent


def test_every_point_has_its_reason() -> None:
    answer = "REST API with caching, security, and validation too, because of latency"
    found = significance("Which api should we use?", answer)
    assert {why.partition(":")[0]: points for points, why in found.reasons} == {
        "decides much": 60,
        "decides something": 10,
        "gives a reason": 25,
        "the question asks for a choice": 15,
        "an answer of ten words or more": 15,
    }
    assert found.percent == 100


@given(st.text(), st.text())
def test_any_words_have_a_whole_percent(question: str, answer: str) -> None:
    found = significance(question, answer)
    assert isinstance(found.percent, int) and 0 <= found.percent <= 100
    assert max(0, min(100, sum(points for points, _ in found.reasons))) == found.percent


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (
            "Which database should we use for orders?",
            "PostgreSQL because of transactions",
            "Use PostgreSQL for orders",
        ),
        (
            "How should we cache sessions?",
            "We use Redis over Memcached.",
            "Use Redis for cache sessions",
        ),
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
    assert assess_answer(*asked).significance.percent == 35
    assert not assess_answer(*asked).worth
    assert assess_answer(*asked, threshold=35).worth


def test_ids_and_trigger_are_stored() -> None:
    found = assess_answer("Which api?", "REST", "task_review", source_task_id="TASK-7")
    assert (found.values["trigger"], found.values["source_task_id"]) == ("task_review", "TASK-7")


@given(
    st.text(min_size=1).filter(lambda t: bool(t.strip())),
    st.text(min_size=1).filter(lambda t: bool(t.strip())),
)
def test_any_question_and_answer_make_a_valid_record(question: str, answer: str) -> None:
    values, problems = validate(
        DECISION, assess_answer(question, answer).values, lambda name: (name, 0, 0)
    )
    assert problems == [] and values["title"]
