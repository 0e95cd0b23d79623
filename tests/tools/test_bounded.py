"""Answers fit, whatever they hold; what was omitted is reported; what fits is unchanged."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.tools.call import LONGEST_TEXT, MOST_CHARACTERS, bounded

PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=150),
    lambda inner: (
        st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=12)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=8), PLAIN, max_size=6), st.integers(400, 1500))
def test_any_answer_fits(result: dict[str, Any], most: int) -> None:
    made = bounded(result, most)
    assert len(json.dumps(made, sort_keys=True)) <= most
    if len(json.dumps(result, sort_keys=True)) <= most:
        assert made == result


@given(st.text(max_size=3000), st.integers(400, 1500))
def test_a_text_is_measured_as_it_is_written(text: str, most: int) -> None:
    for result in ({"text": text, "total": 1}, {"one": {"text": text, "more": [text]}}, text):
        assert len(json.dumps(bounded(result, most), sort_keys=True)) <= most


def test_signs_that_take_twelve_characters_each_are_cut_too() -> None:
    made = bounded({"text": "\U0001d54b" * 5000, "total": 1})
    assert made["total"] == 1
    stored = made["text"].partition(" … (")[0]
    assert made["text"] == f"{stored} … ({5000 - len(stored)} more characters)"
    assert MOST_CHARACTERS * 0.9 < len(json.dumps(made)) <= MOST_CHARACTERS


def test_lists_end_early_and_report_it() -> None:
    rows = [{"id": f"ADR-{n:04}", "title": "x" * 100} for n in range(1000)]
    made = bounded({"records": rows, "total": 1000})
    assert made["total"] == 1000
    assert made["records"] == rows[: len(made["records"])]
    assert made["omitted"] == {"records": 1000 - len(made["records"])}
    assert MOST_CHARACTERS * 0.9 < len(json.dumps(made)) <= MOST_CHARACTERS


def test_of_two_long_lists_each_keeps_its_first_items() -> None:
    names = [f"tests/test_{n}.py::test_it" for n in range(1000)]
    made = bounded({"tests": [{"test": name, "reason": "x" * 80} for name in names], "args": names})
    assert made["tests"] and made["args"]
    assert made["omitted"].keys() == {"tests", "args"}


def test_long_texts_are_cut_and_report_it() -> None:
    made = bounded({"text": "y" * 10_000, "many": {str(n): n for n in range(9)}})
    assert made["text"].endswith(f" … ({10_000 - LONGEST_TEXT} more characters)")
    assert made["many"] == {str(n): n for n in range(9)}
    assert len(json.dumps(bounded({str(n): n for n in range(9999)}))) <= MOST_CHARACTERS
