"""Progress of objectives: counted from two lists of tasks, stored nowhere.

A person's link of a task is written into the file. An agent's is an observation: an Event in its name, which every
progress counts and which leaves the file as people wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.events import Event, append_events, events_by_record
from kl_hooks.records.permissions import agent_author
from kl_hooks.records.query import get_record
from kl_hooks.records.retrieval import record_candidate
from kl_hooks.records.write import change_record

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_MAX_TASKS: Final = 5
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


def _list_of(progress: Progress, task: str) -> str:
    """Return the list that a task is on: `remaining`, `completed`, or empty for neither."""
    key = task.strip().casefold()
    for name, tasks in (("completed", progress.completed), ("remaining", progress.remaining)):
        if any(one.strip().casefold() == key for one in tasks):
            return name
    return ""


def with_task(progress: Progress, task: str, *, done: bool) -> Progress:
    """The lists with the task in one of them and not in the other: done, or still to do.

    Tasks are the same when they differ only in case and outer spaces; the spelling that is there stays.
    """
    key = task.strip().casefold()
    kept = next((t for t in (*progress.completed, *progress.remaining) if t.strip().casefold() == key), task.strip())
    goes_to, leaves = (progress.completed, progress.remaining) if done else (progress.remaining, progress.completed)
    here = goes_to if any(t.strip().casefold() == key for t in goes_to) else (*goes_to, kept)
    there = tuple(t for t in leaves if t.strip().casefold() != key)
    return Progress(here, there) if done else Progress(there, here)


def progress_summary(
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
    lines += [f"- {task}{_by(agents, task)}" for task in progress.remaining[:_MAX_TASKS]]
    if len(progress.remaining) > _MAX_TASKS:
        lines.append(f"… and {len(progress.remaining) - _MAX_TASKS} more")
    done = [task for task in progress.completed if task in agents]
    lines += [f"- done: {task}{_by(agents, task)}" for task in done[:_MAX_TASKS]]
    return lines


def _by(agents: Mapping[str, str], task: str) -> str:
    return f" (reported by agent {one_line(agents[task], 40)})" if task in agents else ""


_LINKED: Final = "linked"
"""Name of the Event. Body: `task`, `done`, `was` (the list of the file it was on), `session`."""


@dataclass(frozen=True, slots=True)
class ReportedProgress:
    """The progress of an objective, with what agents report."""

    progress: Progress
    agents: dict[str, str]
    """Task, as it is listed → the agent that put it where it is."""


def link_task(ws: Workspace, identifier: str, task: str, *, done: bool, session: str = "", by: str = "") -> Record:
    """The objective with the task on one of its lists and not on the other; the session that did it is noted.

    Doing it again changes nothing. UsageProblem for an empty task or an objective that is none.
    """
    record = get_record(ws, identifier, "objective")
    if not task.strip():
        raise UsageProblem("the task is empty.", place=record.id, hint="Say what has to be done.")
    seen = reported_progress(ws, [record])[record.id]
    after = with_task(seen.progress, task, done=done)
    if who := agent_author(ws, by):
        if after != seen.progress:
            body = {"task": task.strip(), "done": done, "was": _list_of(progress_of(record), task), "session": session}
            append_events(ws, [Event(_LINKED, record.id, who, body)])
        return record
    before = progress_of(record)
    sessions = tuple(dict.fromkeys([*record.many("sessions"), *([session] if session else [])]))
    after = with_task(before, task, done=done)
    if after == before and sessions == record.many("sessions"):
        return record
    raw: dict[str, Any] = {"remaining": list(after.remaining) or None, "completed": list(after.completed) or None}
    raw |= {"sessions": list(sessions)} if sessions else {}
    return change_record(ws, record, raw, how="link", by=by or session)


def reported_progress(ws: Workspace, records: Sequence[Record]) -> dict[str, ReportedProgress]:
    """ID → the progress of each objective: the lists of its file, and the Events of agents folded into them."""
    told = events_by_record(ws, [one.id for one in records], (_LINKED,))
    return {one.id: _fold_events(progress_of(one), told[one.id]) for one in records}


def objective_candidate(ws: Workspace, record: Record) -> Candidate:
    """An objective as it may be in a package: progress and the tasks that remain."""
    seen = reported_progress(ws, [record])[record.id]
    lines = progress_summary(record, seen.progress, seen.agents)
    return replace(record_candidate(ws, record), text="\n".join(lines), summary=lines[0])


def _fold_events(filed: Progress, events: Sequence[Event]) -> ReportedProgress:
    """The lists of the file with the Events of agents in them, in their order.

    An Event counts as long as the file has its task where it was when the agent reported: what a person has moved,
    added or removed since then is the person's word.
    """
    progress, agents = filed, dict[str, str]()
    for event in events:
        task, done = str(event.body.get("task", "")), bool(event.body.get("done"))
        if not task or _list_of(filed, task) != event.body.get("was", ""):
            continue
        progress = with_task(progress, task, done=done)
        agents[task.strip().casefold()] = event.session.removeprefix("agent:")
    listed = {one.strip().casefold(): one for one in (*progress.completed, *progress.remaining)}
    return ReportedProgress(progress, {listed[key]: name for key, name in agents.items() if key in listed})
