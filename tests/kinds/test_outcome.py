"""A task's own file as an outcome: any bytes give fields or problems with a place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.task_file import read_task_file
from kl_hooks.model.problem import Problems


def test_without_front_matter_the_sections_speak() -> None:
    raw = read_task_file(
        "t.md",
        b"# Sign-in\n\n## Description\n\nPeople sign in.\n\n## Problems\n\n- slow\n\n## Issues\n\n-"
        b" late\n",
    )
    assert raw == {
        "title": "Sign-in",
        "task_requirements": "People sign in.",
        "problems_encountered": ["slow", "late"],
    }


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ("blocked", ("task_blocked", False)),
        ("In-Review", ("phase_completed", True)),
        ("odd", (None, None)),
    ],
)
def test_the_status_states_how_it_ended(status: str, ended: tuple[str | None, bool | None]) -> None:
    raw = read_task_file("t.md", f"---\nstatus: {status}\n---\n".encode())
    assert (raw.get("outcome_type"), raw.get("success")) == ended


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(
        lambda t: f"---\n{t}\n---\n## Summary\n{t}".encode("utf-8", "replace")
    )
)
def test_any_bytes_are_fields_or_problems(data: bytes) -> None:
    try:
        assert isinstance(read_task_file("t.md", data), dict)
    except Problems as problems:
        assert all(one.path == "t.md" for one in problems.problems)
