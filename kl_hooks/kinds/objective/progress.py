"""How far an objective is: counted from its two lists of tasks whenever somebody asks, stored nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line

SHOWN: Final = 5
"""Remaining tasks that are shown before `… and N more`."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Tasks done and to do."""

    completed: tuple[str, ...]
    remaining: tuple[str, ...]

    @property
    def percent(self) -> int:
        """completed / (completed + remaining), rounded down; 0 where there are no tasks."""
        total = len(self.completed) + len(self.remaining)
        return 100 * len(self.completed) // total if total else 0


def progress_of(record: Record) -> Progress:
    """The progress of an objective."""
    return Progress(record.many("completed"), record.many("remaining"))


def place_of(progress: Progress, task: str) -> str:
    """Return the list that a task is on: `remaining`, `completed`, or empty for neither."""
    key = task.strip().casefold()
    for name, tasks in (("completed", progress.completed), ("remaining", progress.remaining)):
        if any(one.strip().casefold() == key for one in tasks):
            return name
    return ""


def linked(progress: Progress, task: str, *, done: bool) -> Progress:
    """The lists with the task in one of them and not in the other: done, or still to do.

    Tasks are the same when they differ only in case and outer spaces; the spelling that is there stays.
    """
    key = task.strip().casefold()
    kept = next((t for t in (*progress.completed, *progress.remaining) if t.strip().casefold() == key), task.strip())
    goes_to, leaves = (progress.completed, progress.remaining) if done else (progress.remaining, progress.completed)
    here = goes_to if any(t.strip().casefold() == key for t in goes_to) else (*goes_to, kept)
    there = tuple(t for t in leaves if t.strip().casefold() != key)
    return Progress(here, there) if done else Progress(there, here)


def summary(
    record: Record, seen: Progress | None = None, agents: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """An objective in a few lines: title, progress, at most five of the tasks that remain.

    `seen`: its progress where more is known than its file says; `agents`: task → the agent that reported it.
    """
    progress = seen or progress_of(record)
    total = len(progress.completed) + len(progress.remaining)
    head = f"{record.id} {record.title}"
    lines = [
        f"{head}: {progress.percent} % ({len(progress.completed)} of {total} tasks)" if total else f"{head}: no tasks"
    ]
    lines += [f"- {task}{_by(agents, task)}" for task in progress.remaining[:SHOWN]]
    if len(progress.remaining) > SHOWN:
        lines.append(f"… and {len(progress.remaining) - SHOWN} more")
    done = [task for task in progress.completed if task in agents]
    lines += [f"- done: {task}{_by(agents, task)}" for task in done[:SHOWN]]
    return lines


def _by(agents: Mapping[str, str], task: str) -> str:
    return f" (reported by agent {one_line(agents[task], 40)})" if task in agents else ""
