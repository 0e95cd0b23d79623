"""Progress of an objective: counted on demand; at most five of what remains is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.objective import Progress
from kl_hooks.model.record import Record


def objective(**values: tuple[str, ...]) -> Record:
    return Record("objective", "OBJ-0001", {"title": "A parser", "status": "active", **values})


@pytest.mark.requirement("A55")
def test_progress_is_the_part_that_is_done_and_nothing_without_tasks() -> None:
    assert Progress.of(objective()).percent == 0
    assert Progress.of(objective(remaining=("a", "b"), completed=("c",))).percent == 33
    assert Progress.of(objective(completed=("c",))).percent == 100


def summary(**values: tuple[str, ...]) -> list[str]:
    record = objective(**values)
    return Progress.of(record).summary(record)


@pytest.mark.requirement("A53")
def test_at_most_five_remaining_tasks_are_shown() -> None:
    assert summary(remaining=tuple("abcdefg"), completed=("x",)) == [
        "OBJ-0001 A parser: 12 % (1 of 8 tasks)",
        "- a",
        "- b",
        "- c",
        "- d",
        "- e",
        "… and 2 more",
    ]
    assert summary(remaining=tuple("abcde"))[-1] == "- e"
    assert summary() == ["OBJ-0001 A parser: no tasks"]


TASKS = st.sampled_from(["write", "Write ", "test", "ship"])


@given(st.lists(st.tuples(TASKS, st.booleans()), max_size=8))
def test_a_task_is_in_one_list_only_and_where_it_was_put_last(
    steps: list[tuple[str, bool]],
) -> None:
    progress = Progress((), ())
    for task, done in steps:
        progress = progress.with_task(task, done=done)
        assert progress.with_task(task, done=done) == progress
    keys = [one.strip().casefold() for one in (*progress.completed, *progress.remaining)]
    assert len(keys) == len(set(keys))
    last = {task.strip().casefold(): done for task, done in steps}
    assert {one.strip().casefold() for one in progress.completed} == {
        task for task, done in last.items() if done
    }


def test_the_spelling_that_is_there_stays() -> None:
    assert Progress((), ("Write the parser",)).with_task("write THE parser", done=True) == Progress(
        ("Write the parser",), ()
    )
