"""Linking: a task put on the list of what remains, or of what is completed.

A person's link is written into the file. An agent's is an observation: an Event in its name, which every progress
counts and which leaves the file as people wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.objective.progress import Progress, linked, place_of, progress_of, summary
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.records.ask import find
from kl_hooks.records.events import Event, note
from kl_hooks.records.folds import happened
from kl_hooks.records.guard import agent_of
from kl_hooks.records.retrieve import candidate
from kl_hooks.records.write import change

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

LINKED: Final = "linked"
"""Name of the Event. Body: `task`, `done`, `was` (the list of the file it was on), `session`."""


@dataclass(frozen=True, slots=True)
class Reported:
    """The progress of an objective, with what agents report."""

    progress: Progress
    agents: dict[str, str]
    """Task, as it is listed → the agent that put it where it is."""


def link_task(ws: Workspace, identifier: str, task: str, *, done: bool, session: str = "", by: str = "") -> Record:
    """The objective with the task on one of its lists and not on the other; the session that did it is noted.

    Doing it again changes nothing. UsageProblem for an empty task or an objective that is none.
    """
    record = find(ws, identifier, "objective")
    if not task.strip():
        raise UsageProblem("the task is empty.", place=record.id, hint="Say what has to be done.")
    seen = reported(ws, [record])[record.id]
    after = linked(seen.progress, task, done=done)
    if who := agent_of(ws, by):
        if after != seen.progress:
            body = {"task": task.strip(), "done": done, "was": place_of(progress_of(record), task), "session": session}
            note(ws, [Event(LINKED, record.id, who, body)])
        return record
    before = progress_of(record)
    sessions = tuple(dict.fromkeys([*record.many("sessions"), *([session] if session else [])]))
    after = linked(before, task, done=done)
    if after == before and sessions == record.many("sessions"):
        return record
    raw: dict[str, Any] = {"remaining": list(after.remaining) or None, "completed": list(after.completed) or None}
    raw |= {"sessions": list(sessions)} if sessions else {}
    return change(ws, record, raw, how="link", by=by or session)


def reported(ws: Workspace, records: Sequence[Record]) -> dict[str, Reported]:
    """ID → the progress of each objective: the lists of its file, and the Events of agents folded into them."""
    told = happened(ws, [one.id for one in records], (LINKED,))
    return {one.id: fold(progress_of(one), told[one.id]) for one in records}


def objective_candidate(ws: Workspace, record: Record) -> Candidate:
    """An objective as it may be in a package: progress and the tasks that remain."""
    seen = reported(ws, [record])[record.id]
    lines = summary(record, seen.progress, seen.agents)
    return replace(candidate(ws, record), text="\n".join(lines), summary=lines[0])


def fold(filed: Progress, events: Sequence[Event]) -> Reported:
    """The lists of the file with the Events of agents in them, in their order.

    An Event counts as long as the file has its task where it was when the agent reported: what a person has moved,
    added or removed since then is the person's word.
    """
    progress, agents = filed, dict[str, str]()
    for event in events:
        task, done = str(event.body.get("task", "")), bool(event.body.get("done"))
        if not task or place_of(filed, task) != event.body.get("was", ""):
            continue
        progress = linked(progress, task, done=done)
        agents[task.strip().casefold()] = event.session.removeprefix("agent:")
    listed = {one.strip().casefold(): one for one in (*progress.completed, *progress.remaining)}
    return Reported(progress, {listed[key]: name for key, name in agents.items() if key in listed})
