"""Progress: of objectives, counted from two lists of tasks and stored nowhere, and of work in
turns.

A person's link of a task is written into the file. An agent's is an observation: an Event in its
name, which every progress counts and which leaves the file as people wrote it. The next turn of a
feature and task starts from the last ones and their feedback.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.catalog import TURN
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.model.text import counted, one_line
from kl_hooks.records.events import Event, append_events, events_by_record
from kl_hooks.records.permissions import agent_author
from kl_hooks.records.query import RecordFilter, get_record, list_records

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
        if not total:
            return 0
        return 100 * len(self.completed) // total

    def with_task(self, task: str, *, done: bool) -> Progress:
        """Return it with the task in one list and not in the other, in the spelling that is listed
        already.
        """
        key = _key(task)
        spelled = next(
            (one for one in (*self.completed, *self.remaining) if _key(one) == key), task.strip()
        )
        if done:
            target = self.completed
            source = self.remaining
        else:
            target = self.remaining
            source = self.completed
        if key not in map(_key, target):
            target = (*target, spelled)
        source = tuple(one for one in source if _key(one) != key)
        completed, remaining = (target, source) if done else (source, target)
        return replace(self, completed=completed, remaining=remaining)

    def list_of(self, task: str) -> str:
        """Return the list that a task is on: `remaining`, `completed`, or empty for neither."""
        lists = (("completed", self.completed), ("remaining", self.remaining))
        return next((name for name, tasks in lists if _key(task) in map(_key, tasks)), "")

    def summary(self, record: Record) -> list[str]:
        """Return an objective in a few lines: title, progress, at most five of the tasks that
        remain.
        """
        done = len(self.completed)
        total = len(self.completed) + len(self.remaining)
        if total:
            state = f"{self.percent} % ({done} of {counted(total, 'task')})"
        else:
            state = "no tasks"
        lines = [f"{record.id} {record.title}: {state}"]
        lines += [f"- {task}{self._reporter(task)}" for task in self.remaining[:_MAX_TASKS]]
        if len(self.remaining) > _MAX_TASKS:
            lines.append(f"… and {len(self.remaining) - _MAX_TASKS} more")
        reported = [task for task in self.completed if task in self.agents]
        return lines + [f"- done: {task}{self._reporter(task)}" for task in reported[:_MAX_TASKS]]

    def _reporter(self, task: str) -> str:
        if task not in self.agents:
            return ""
        return f" (reported by agent {one_line(self.agents[task], 40)})"


def reported_progress(ws: Workspace, records: Sequence[Record]) -> dict[str, Progress]:
    """Return ID → the progress of each objective: the lists of its file, and the Events of agents
    folded into them.
    """
    events = events_by_record(ws, [one.id for one in records], (_LINKED,))
    return {one.id: _fold_events(Progress.of(one), events[one.id]) for one in records}


def _fold_events(filed: Progress, events: Sequence[Event]) -> Progress:
    """The lists of the file with the Events of agents in them, in their order.

    An Event counts as long as the file has its task where it was when the agent reported: what a
    person has moved, added or removed since then is the person's word.
    """
    progress = filed
    agents = dict[str, str]()
    for event in events:
        task = str(event.body.get("task", ""))
        done = bool(event.body.get("done"))
        if task and filed.list_of(task) == event.body.get("was", ""):
            progress = progress.with_task(task, done=done)
            agents[_key(task)] = event.session.removeprefix("agent:")
    listed = {_key(one): one for one in (*progress.completed, *progress.remaining)}
    return replace(
        progress, agents={listed[key]: name for key, name in agents.items() if key in listed}
    )


def _key(task: str) -> str:
    return task.strip().casefold()


def link_task(
    ws: Workspace, identifier: str, task: str, *, done: bool, session: str = "", author: str = ""
) -> Record:
    """Put a task on one list of an objective, take it off the other, and record the session that
    did it.

    Doing it again changes nothing. UsageProblem for an empty task or an unknown objective.
    """
    record = get_record(ws, identifier, "objective")
    if not task.strip():
        raise UsageProblem("the task is empty.", place=record.id, hint="Name the task.")
    before = Progress.of(record)
    # ADR-0018: a link is an observation, so an agent's counts at once, and the file stays as people
    # wrote it
    if agent := agent_author(ws, author):
        reported = reported_progress(ws, [record])[record.id]
        if reported.with_task(task, done=done) != reported:
            body = {
                "task": task.strip(),
                "done": done,
                "was": before.list_of(task),
                "session": session,
            }
            append_events(ws, [Event(_LINKED, record.id, agent, body)])
        return record
    sessions = tuple(dict.fromkeys([*record.many("sessions"), *([session] if session else [])]))
    after = before.with_task(task, done=done)
    if after == before and sessions == record.many("sessions"):
        return record
    raw: dict[str, Any] = {
        "remaining": list(after.remaining) or None,
        "completed": list(after.completed) or None,
    }
    if sessions:
        raw |= {"sessions": list(sessions)}
    # here: before a compaction an agent's hook only reads
    from kl_hooks.records.write import change_record

    return change_record(ws, record, raw, how="link", by=author or session)


_MAX_TURNS: Final = 5


def add_turn(
    ws: Workspace, feature: str, task: str, raw: Mapping[str, Any], author: str = ""
) -> Record:
    """Record a turn under the next number of its feature and task, with an ID of its feature.

    UsageProblem for an ID that is none of a feature; Problems as `create_record`.
    """
    # hooks of agents read the progress and write no record
    from kl_hooks.records.write import create_record

    feature, task = feature.strip().upper(), " ".join(task.split())
    # the ID of a turn has that of its feature in it, so both must be IDs
    if not feature.startswith("FEAT-") or not all(
        map(RECORD_ID.fullmatch, (feature, f"TURN-{feature}-1"))
    ):
        raise UsageProblem(
            "is no id of a feature.", place=feature or "--feature", hint="Such as FEAT-AUTH-12."
        )
    # expired and archived ones too: their numbers are taken, and a citation must not come to mean
    # another turn
    turns = list_records(ws, RecordFilter((TURN.name,), archived=True, expired=True))
    number = next_number(turns, feature, task)
    title = " ".join(f"{feature} {task} turn {number}".split())
    values = {**raw, "title": title, "feature_id": feature, "turn_number": number}
    if task:
        values |= {"task_id": task}
    return create_record(
        ws, TURN, values, asked=next_id([one.id for one in turns], feature), by=author
    )


def last_turns(
    turns: Sequence[Record], feature: str, task: str = "", most: int = _MAX_TURNS
) -> list[Record]:
    """Return the last turns of this feature and task, the oldest first."""
    matching = _turns_of(turns, feature, task)
    return sorted(
        matching, key=lambda turn: (turn.number("turn_number"), turn.text("date"), turn.id)
    )[-most:]


def next_number(turns: Sequence[Record], feature: str, task: str = "") -> int:
    """Return the number of the next turn of this feature and task, from 1."""
    return (
        max((one.number("turn_number") for one in _turns_of(turns, feature, task)), default=0) + 1
    )


def next_id(known_ids: Sequence[str], feature: str) -> str:
    """Return `TURN-FEAT-AUTH-12-3`: counted per feature, over all its tasks, so that two tasks
    never share an ID.
    """
    prefix = f"TURN-{feature}-"
    numbers = [turn_id.removeprefix(prefix) for turn_id in known_ids if turn_id.startswith(prefix)]
    return f"{prefix}{max((int(number) for number in numbers if number.isdigit()), default=0) + 1}"


def _turns_of(turns: Sequence[Record], feature: str, task: str) -> list[Record]:
    wanted = (feature.strip().casefold(), task.strip().casefold())
    return [
        one
        for one in turns
        if (one.text("feature_id").strip().casefold(), one.text("task_id").strip().casefold())
        == wanted
    ]


def is_rejected(turn: Record) -> bool:
    """Return True where the review rejected the turn."""
    return turn.text("coach_decision") == "rejected"


def continuation(turns: Sequence[Record]) -> str:
    """Return Markdown for the next turn; empty where there was none. `turns`: from `last_turns`."""
    if not turns:
        return ""
    last = turns[-1]
    if last.text("task_id"):
        task = f", {last.text('task_id')}"
    else:
        task = ""
    lines = [f"## Earlier turns of {last.text('feature_id')}{task}"]
    for turn in turns:
        lines += ["", *_turn_lines(turn, feedback=turn is not last)]
    if is_rejected(last):
        feedback = (
            last.text("coach_feedback")
            or "The last turn was rejected without feedback: ask what is missing."
        )
        lines += [
            "",
            f"## MUST ADDRESS (turn {last.number('turn_number')} was rejected)",
            "",
            feedback,
        ]
    if last.text("what_to_try_next"):
        lines += ["", "## To try next", "", last.text("what_to_try_next")]
    return "\n".join(lines) + "\n"


def _turn_lines(turn: Record, *, feedback: bool) -> list[str]:
    review = turn.text("coach_decision") or "not reviewed"
    tests = [
        f"{turn.number(name)} {word}"
        for name, word in (("tests_passed", "passed"), ("tests_failed", "failed"))
        if name in turn.values
    ]
    lines = [", ".join([f"### Turn {turn.number('turn_number')}: {review}", *tests]), ""]
    lines += [text for text in (turn.text("player_summary"), turn.text("progress_summary")) if text]
    if feedback and is_rejected(turn) and turn.text("coach_feedback"):
        lines.append(f"Feedback: {turn.text('coach_feedback')}")
    lines += [f"- blocked by: {one}" for one in turn.many("blockers_found")]
    if turn.text("lessons_from_turn"):
        lines.append(f"Learned: {turn.text('lessons_from_turn')}")
    criteria = turn.values.get("acceptance_criteria_status")
    if isinstance(criteria, Mapping):
        lines += [f"- {name}: {state}" for name, state in criteria.items()]
    return lines
