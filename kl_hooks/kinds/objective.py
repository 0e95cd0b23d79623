"""Progress of objectives: counted from two lists of tasks, stored nowhere.

A person's link of a task is written into the file. An agent's is an observation: an Event in its name, which every
progress counts and which leaves the file as people wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.record import Record
from kl_hooks.model.text import counted, one_line
from kl_hooks.records.events import Event, append_events, events_by_record
from kl_hooks.records.permissions import agent_author
from kl_hooks.records.query import get_record

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
    agents: Mapping[str, str] = field(default_factory=dict)
    """Task, as it is listed → the agent that put it there."""

    @classmethod
    def of(cls, record: Record) -> Progress:
        """Return the progress of an objective as its file has it."""
        return cls(record.many("completed"), record.many("remaining"))

    @property
    def percent(self) -> int:
        """completed / (completed + remaining), rounded down; 0 where there are no tasks."""
        total = len(self.completed) + len(self.remaining)
        return 100 * len(self.completed) // total if total else 0

    def with_task(self, task: str, *, done: bool) -> Progress:
        """Return it with the task in one list and not in the other, in the spelling that is listed already."""
        key = _key(task)
        spelled = next((one for one in (*self.completed, *self.remaining) if _key(one) == key), task.strip())
        target, source = (self.completed, self.remaining) if done else (self.remaining, self.completed)
        target = target if key in map(_key, target) else (*target, spelled)
        source = tuple(one for one in source if _key(one) != key)
        completed, remaining = (target, source) if done else (source, target)
        return replace(self, completed=completed, remaining=remaining)

    def list_of(self, task: str) -> str:
        """Return the list that a task is on: `remaining`, `completed`, or empty for neither."""
        lists = (("completed", self.completed), ("remaining", self.remaining))
        return next((name for name, tasks in lists if _key(task) in map(_key, tasks)), "")

    def summary(self, record: Record) -> list[str]:
        """Return an objective in a few lines: title, progress, at most five of the tasks that remain."""
        done, total = len(self.completed), len(self.completed) + len(self.remaining)
        state = f"{self.percent} % ({done} of {counted(total, 'task')})" if total else "no tasks"
        lines = [f"{record.id} {record.title}: {state}"]
        lines += [f"- {task}{self._reporter(task)}" for task in self.remaining[:_MAX_TASKS]]
        if len(self.remaining) > _MAX_TASKS:
            lines.append(f"… and {len(self.remaining) - _MAX_TASKS} more")
        reported = [task for task in self.completed if task in self.agents]
        return lines + [f"- done: {task}{self._reporter(task)}" for task in reported[:_MAX_TASKS]]

    def _reporter(self, task: str) -> str:
        return f" (reported by agent {one_line(self.agents[task], 40)})" if task in self.agents else ""


def reported_progress(ws: Workspace, records: Sequence[Record]) -> dict[str, Progress]:
    """Return ID → the progress of each objective: the lists of its file, and the Events of agents folded into them."""
    events = events_by_record(ws, [one.id for one in records], (_LINKED,))
    return {one.id: _fold_events(Progress.of(one), events[one.id]) for one in records}


def _fold_events(filed: Progress, events: Sequence[Event]) -> Progress:
    """The lists of the file with the Events of agents in them, in their order.

    An Event counts as long as the file has its task where it was when the agent reported: what a person has moved,
    added or removed since then is the person's word.
    """
    progress, agents = filed, dict[str, str]()
    for event in events:
        task, done = str(event.body.get("task", "")), bool(event.body.get("done"))
        if task and filed.list_of(task) == event.body.get("was", ""):
            progress = progress.with_task(task, done=done)
            agents[_key(task)] = event.session.removeprefix("agent:")
    listed = {_key(one): one for one in (*progress.completed, *progress.remaining)}
    return replace(progress, agents={listed[key]: name for key, name in agents.items() if key in listed})


def _key(task: str) -> str:
    return task.strip().casefold()


def link_task(ws: Workspace, identifier: str, task: str, *, done: bool, session: str = "", by: str = "") -> Record:
    """Put a task on one list of an objective, take it off the other, and record the session that did it.

    Doing it again changes nothing. UsageProblem for an empty task or an unknown objective.
    """
    record = get_record(ws, identifier, "objective")
    if not task.strip():
        raise UsageProblem("the task is empty.", place=record.id, hint="Name the task.")
    before = Progress.of(record)
    # ADR-0018: a link is an observation, so an agent's counts at once, and the file stays as people wrote it
    if agent := agent_author(ws, by):
        reported = reported_progress(ws, [record])[record.id]
        if reported.with_task(task, done=done) != reported:
            body = {"task": task.strip(), "done": done, "was": before.list_of(task), "session": session}
            append_events(ws, [Event(_LINKED, record.id, agent, body)])
        return record
    sessions = tuple(dict.fromkeys([*record.many("sessions"), *([session] if session else [])]))
    after = before.with_task(task, done=done)
    if after == before and sessions == record.many("sessions"):
        return record
    raw: dict[str, Any] = {"remaining": list(after.remaining) or None, "completed": list(after.completed) or None}
    raw |= {"sessions": list(sessions)} if sessions else {}
    from kl_hooks.records.write import change_record  # here: before a compaction an agent's hook only reads

    return change_record(ws, record, raw, how="link", by=by or session)
