"""What agents give, compared with schemas: everything wrong at once, and never an internal
error.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.errors import UsageProblem
from kl_hooks.tools.call import checked_arguments, read_arguments
from kl_hooks.tools.tool import LARGEST_INPUT, Tool


def line(text: str, **more: Any) -> dict[str, Any]:
    """A text."""
    return {"type": "string", "description": text, **more}


def number(text: str, default: int, least: int, most: int) -> dict[str, Any]:
    """A whole number with a default."""
    return {
        "type": "integer",
        "description": text,
        "minimum": least,
        "maximum": most,
        "default": default,
    }


def flag(text: str) -> dict[str, Any]:
    """True or false; false by default."""
    return {"type": "boolean", "description": text, "default": False}


def several(text: str) -> dict[str, Any]:
    """A list of texts; a single text is a list of one."""
    return {"type": "array", "items": {"type": "string"}, "description": text}


TOOL = Tool(
    "thing_do",
    "Does it.",
    {
        "id": line("Its id."),
        "status": line("s", enum=["a", "b"]),
        "limit": number("Most.", 5, 1, 9),
        "all": flag("All."),
        "tags": several("Tags."),
        "map": {"type": "object"},
    },
    lambda ws, given: None,
    ("id",),
    also={"identifier": "id"},
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=10,
)


def test_defaults_other_names_and_single_texts() -> None:
    assert checked_arguments(TOOL, {"identifier": "X", "tags": "one", "status": None}) == {
        "id": "X",
        "tags": ["one"],
        "limit": 5,
        "all": False,
    }


def test_everything_wrong_is_reported_at_once() -> None:
    with pytest.raises(UsageProblem) as problem:
        checked_arguments(
            TOOL,
            {"statsu": "a", "limit": 99, "all": 1, "tags": [1], "status": "c", "map": {"a": 1}},
        )
    printed = problem.value.reason
    for part in (
        '"statsu" is no argument. Did you mean "status"?',
        '"limit" must be a whole number from 1 to 9.',
        '"all" must be true or false.',
        '"tags" must be a list of texts.',
        '"status" must be one of: a, b.',
        '"map" must be an object of texts.',
        '"id" is missing.',
    ):
        assert part in printed
    assert problem.value.hint == "It takes: id, status, limit, all, tags, map."


@pytest.mark.parametrize(
    "text",
    [
        b"[",
        b"[]",
        b'"x"',
        b"{'id': 1}",
        b"\xff",
        b'{"id": NaN}',
        b'{"a":' * 50_000,
        b" " * (LARGEST_INPUT + 1),
        b"1" * 9000,
    ],
    ids=lambda text: text[:10],
)
def test_what_is_no_object_is_refused_with_a_reason(text: bytes) -> None:
    with pytest.raises(UsageProblem) as problem:
        read_arguments(text)
    assert problem.value.place == "arguments"


def test_nothing_is_an_empty_object() -> None:
    assert read_arguments(b" \n") == {}


@given(st.dictionaries(st.sampled_from([*TOOL.takes, "identifier", "other"]), VALUES))
def test_any_values_are_taken_or_refused(values: dict[str, Any]) -> None:
    try:
        made = checked_arguments(TOOL, values)
    except UsageProblem:
        return
    assert isinstance(made["id"], str)
    assert 1 <= made["limit"] <= 9
    assert all(isinstance(tag, str) for tag in made.get("tags", ()))


@given(st.binary(max_size=200) | st.text(max_size=80).map(str.encode))
def test_any_bytes_are_an_object_or_refused(text: bytes) -> None:
    try:
        assert isinstance(read_arguments(text), dict)
    except UsageProblem:
        return
