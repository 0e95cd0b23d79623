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
_LINKED: Final = "linked"
"""Name of the Event. Body: `task`, `done`, `was` (the list of the file it was on), `session`."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Tasks done and to do. Tasks are the same when they differ only in case and outer spaces."""

    completed: tuple[str, ...]
    remaining: tuple[str, ...]

    @property
    def percent(self) -> int:
        """completed / (completed + remaining), rounded down; 0 where there are no tasks."""
        total = len(self.completed) + len(self.remaining)
        return 100 * len(self.completed) // total if total else 0


@dataclass(frozen=True, slots=True)
class ReportedProgress:
    """The progress of an objective, with what agents report."""

    progress: Progress
    agents: dict[str, str]
    """Task, as it is listed → the agent that put it there."""


def progress_of(record: Record) -> Progress:
    """Return the progress of an objective as its file has it."""
    return Progress(record.many("completed"), record.many("remaining"))


def reported_progress(ws: Workspace, records: Sequence[Record]) -> dict[str, ReportedProgress]:
    """Return ID → the progress of each objective: the lists of its file, and the Events of agents folded into them."""
    events = events_by_record(ws, [one.id for one in records], (_LINKED,))
    return {one.id: _fold_events(progress_of(one), events[one.id]) for one in records}


def _fold_events(filed: Progress, events: Sequence[Event]) -> ReportedProgress:
    """The lists of the file with the Events of agents in them, in their order.

    An Event counts as long as the file has its task where it was when the agent reported: what a person has moved,
    added or removed since then is the person's word.
    """
    progress, agents = filed, dict[str, str]()
    for event in events:
        task, done = str(event.body.get("task", "")), bool(event.body.get("done"))
        if task and _list_of(filed, task) == event.body.get("was", ""):
            progress = with_task(progress, task, done=done)
            agents[_key(task)] = event.session.removeprefix("agent:")
    listed = {_key(one): one for one in (*progress.completed, *progress.remaining)}
    return ReportedProgress(progress, {listed[key]: name for key, name in agents.items() if key in listed})


def link_task(ws: Workspace, identifier: str, task: str, *, done: bool, session: str = "", by: str = "") -> Record:
    """Put a task on one list of an objective, take it off the other, and record the session that did it.

    Doing it again changes nothing. UsageProblem for an empty task or an unknown objective.
    """
    record = get_record(ws, identifier, "objective")
    if not task.strip():
        raise UsageProblem("the task is empty.", place=record.id, hint="Name the task.")
    before = progress_of(record)
    if agent := agent_author(ws, by):
        reported = reported_progress(ws, [record])[record.id].progress
        if with_task(reported, task, done=done) != reported:
            body = {"task": task.strip(), "done": done, "was": _list_of(before, task), "session": session}
            append_events(ws, [Event(_LINKED, record.id, agent, body)])
        return record
    sessions = tuple(dict.fromkeys([*record.many("sessions"), *([session] if session else [])]))
    after = with_task(before, task, done=done)
    if after == before and sessions == record.many("sessions"):
        return record
    raw: dict[str, Any] = {"remaining": list(after.remaining) or None, "completed": list(after.completed) or None}
    raw |= {"sessions": list(sessions)} if sessions else {}
    return change_record(ws, record, raw, how="link", by=by or session)


def with_task(progress: Progress, task: str, *, done: bool) -> Progress:
    """Return the lists with the task in one of them and not in the other, in the spelling that is listed already."""
    key = _key(task)
    spelled = next((one for one in (*progress.completed, *progress.remaining) if _key(one) == key), task.strip())
    target, source = (progress.completed, progress.remaining) if done else (progress.remaining, progress.completed)
    target = target if key in map(_key, target) else (*target, spelled)
    source = tuple(one for one in source if _key(one) != key)
    return Progress(target, source) if done else Progress(source, target)


def _list_of(progress: Progress, task: str) -> str:
    """The list that a task is on: `remaining`, `completed`, or empty for neither."""
    lists = (("completed", progress.completed), ("remaining", progress.remaining))
    return next((name for name, tasks in lists if _key(task) in map(_key, tasks)), "")


def _key(task: str) -> str:
    return task.strip().casefold()


def progress_summary(record: Record, progress: Progress, agents: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return an objective in a few lines: title, progress, at most five of the tasks that remain.

    `agents`: task → the agent that reported it.
    """
    done, total = len(progress.completed), len(progress.completed) + len(progress.remaining)
    state = f"{progress.percent} % ({done} of {total} tasks)" if total else "no tasks"
    lines = [f"{record.id} {record.title}: {state}"]
    lines += [f"- {task}{_reporter(agents, task)}" for task in progress.remaining[:_MAX_TASKS]]
    if len(progress.remaining) > _MAX_TASKS:
        lines.append(f"… and {len(progress.remaining) - _MAX_TASKS} more")
    reported = [task for task in progress.completed if task in agents]
    return lines + [f"- done: {task}{_reporter(agents, task)}" for task in reported[:_MAX_TASKS]]


def _reporter(agents: Mapping[str, str], task: str) -> str:
    return f" (reported by agent {one_line(agents[task], 40)})" if task in agents else ""


def objective_candidate(ws: Workspace, record: Record) -> Candidate:
    """Return an objective as a candidate for a context package: progress and the tasks that remain."""
    reported = reported_progress(ws, [record])[record.id]
    lines = progress_summary(record, reported.progress, reported.agents)
    return replace(record_candidate(ws, record), text="\n".join(lines), summary=lines[0])
