"""Turns: rounds of work on a feature and task. The next one starts from the last ones and their feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.catalog import TURN
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.write import create_record

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_MAX_TURNS: Final = 5


def add_turn(ws: Workspace, feature: str, task: str, raw: Mapping[str, Any], by: str = "") -> Record:
    """Record a turn under the next number of its feature and task, with an ID of its feature.

    UsageProblem for an ID that is none of a feature; Problems as `create_record`.
    """
    feature, task = feature.strip().upper(), " ".join(task.split())
    # the ID of a turn has that of its feature in it, so both must be IDs
    if not feature.startswith("FEAT-") or not all(map(RECORD_ID.fullmatch, (feature, f"TURN-{feature}-1"))):
        raise UsageProblem("is no id of a feature.", place=feature or "--feature", hint="Such as FEAT-AUTH-12.")
    # expired and archived ones too: their numbers are taken, and a citation must not come to mean another turn
    turns = list_records(ws, RecordFilter((TURN.name,), archived=True, expired=True))
    number = next_number(turns, feature, task)
    title = " ".join(f"{feature} {task} turn {number}".split())
    values = {**raw, "title": title, "feature_id": feature, "turn_number": number}
    values |= {"task_id": task} if task else {}
    return create_record(ws, TURN, values, asked=next_id([one.id for one in turns], feature), by=by)


def last_turns(turns: Sequence[Record], feature: str, task: str = "", most: int = _MAX_TURNS) -> list[Record]:
    """Return the last turns of this feature and task, the oldest first."""
    found = _turns_of(turns, feature, task)
    return sorted(found, key=lambda one: (one.number("turn_number"), one.text("date"), one.id))[-most:]


def next_number(turns: Sequence[Record], feature: str, task: str = "") -> int:
    """Return the number of the next turn of this feature and task, from 1."""
    return max((one.number("turn_number") for one in _turns_of(turns, feature, task)), default=0) + 1


def next_id(known: Sequence[str], feature: str) -> str:
    """Return `TURN-FEAT-AUTH-12-3`: counted per feature, over all its tasks, so that two tasks never share an ID."""
    prefix = f"TURN-{feature}-"
    numbers = [one.removeprefix(prefix) for one in known if one.startswith(prefix)]
    return f"{prefix}{max((int(number) for number in numbers if number.isdigit()), default=0) + 1}"


def _turns_of(turns: Sequence[Record], feature: str, task: str) -> list[Record]:
    wanted = (feature.strip().casefold(), task.strip().casefold())
    return [
        one for one in turns
        if (one.text("feature_id").strip().casefold(), one.text("task_id").strip().casefold()) == wanted
    ]  # fmt: skip


def is_rejected(turn: Record) -> bool:
    """Return True where the review rejected the turn."""
    return turn.text("coach_decision") == "rejected"


def continuation(turns: Sequence[Record]) -> str:
    """Return Markdown for whoever does the next turn; empty where there was none. `turns`: from `last_turns`."""
    if not turns:
        return ""
    last = turns[-1]
    task = f", {last.text('task_id')}" if last.text("task_id") else ""
    lines = [f"## Earlier turns of {last.text('feature_id')}{task}"]
    for one in turns:
        lines += ["", *_turn_lines(one, feedback=one is not last)]
    if is_rejected(last):
        feedback = last.text("coach_feedback") or "The last turn was rejected without feedback: ask what is missing."
        lines += ["", f"## MUST ADDRESS (turn {last.number('turn_number')} was rejected)", "", feedback]
    if last.text("what_to_try_next"):
        lines += ["", "## To try next", "", last.text("what_to_try_next")]
    return "\n".join(lines) + "\n"


def _turn_lines(turn: Record, *, feedback: bool) -> list[str]:
    review = turn.text("coach_decision") or "not reviewed"
    tests = [f"{turn.number(name)} {word}" for name, word in (("tests_passed", "passed"), ("tests_failed", "failed"))
             if name in turn.values]  # fmt: skip
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
