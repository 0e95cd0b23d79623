"""What an answer weighs: whole words, whole percents, a reason for every point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.decision.asked.significance import significance


@pytest.mark.parametrize(
    ("question", "answer", "percent"),
    [
        ("Which database should we use?", "PostgreSQL, because orders need transactions", 100),
        ("Which colour should the button have?", "blue", 0),
        ("Should we rename it?", "yes", 0),
        ("What about the cache?", "Redis", 10),
        ("Where do we restart?", "in the restaurant, at the end of the capital", 0),  # rest, api: parts of words
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
        "decides much": 60, "decides something": 10, "gives a reason": 25, "the question asks for a choice": 15,
        "an answer of ten words or more": 15,
    }  # fmt: skip
    assert found.percent == 100


@given(st.text(), st.text())
def test_any_words_have_a_whole_percent(question: str, answer: str) -> None:
    found = significance(question, answer)
    assert isinstance(found.percent, int) and 0 <= found.percent <= 100
    assert max(0, min(100, sum(points for points, _ in found.reasons))) == found.percent
