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


def last_turns(turns: Sequence[Record], feature: str, task: str = "", most: int = _MAX_TURNS) -> list[Record]:
    """The last turns of this feature and task, the oldest first."""
    return sorted(_of(turns, feature, task), key=_order)[-most:]


def next_number(turns: Sequence[Record], feature: str, task: str = "") -> int:
    """The number that the next turn of this feature and task has, from 1."""
    return max((one.number("turn_number") for one in _of(turns, feature, task)), default=0) + 1


def next_id(known: Sequence[str], feature: str) -> str:
    """`TURN-FEAT-AUTH-12-3`: counted per feature, over all its tasks, so that two tasks never share an id."""
    begins = f"TURN-{feature}-"
    taken = [one[len(begins) :] for one in known if one.startswith(begins)]
    return f"{begins}{max((int(n) for n in taken if n.isdigit()), default=0) + 1}"


def is_rejected(turn: Record) -> bool:
    """True where the review sent it back."""
    return turn.text("coach_decision") == "rejected"


def continuation(turns: Sequence[Record]) -> str:
    """Markdown for whoever does the next round; empty where there was none. `turns`: as `last_turns` gives them."""
    if not turns:
        return ""
    last = turns[-1]
    lines = [
        f"## Earlier turns of {last.text('feature_id')}" + (f", {last.text('task_id')}" if last.text("task_id") else "")
    ]
    for one in turns:
        lines += ["", *_turn(one, feedback=one is not last)]
    if is_rejected(last):
        feedback = last.text("coach_feedback") or "The last turn was rejected without feedback: ask what is missing."
        lines += ["", f"## MUST ADDRESS (turn {last.number('turn_number')} was rejected)", "", feedback]
    if last.text("what_to_try_next"):
        lines += ["", "## To try next", "", last.text("what_to_try_next")]
    return "\n".join(lines) + "\n"


def _turn(turn: Record, *, feedback: bool) -> list[str]:
    review = turn.text("coach_decision") or "not reviewed"
    tests = [f"{turn.number(name)} {word}" for name, word in (("tests_passed", "passed"), ("tests_failed", "failed"))
             if name in turn.values]  # fmt: skip
    head = ", ".join([f"### Turn {turn.number('turn_number')}: {review}", *tests])
    lines = [head, ""]
    lines += [text for text in (turn.text("player_summary"), turn.text("progress_summary")) if text]
    if feedback and is_rejected(turn) and turn.text("coach_feedback"):
        lines.append(f"Feedback: {turn.text('coach_feedback')}")
    lines += [f"- blocked by: {one}" for one in turn.many("blockers_found")]
    if turn.text("lessons_from_turn"):
        lines.append(f"Learned: {turn.text('lessons_from_turn')}")
    criteria = turn.values.get("acceptance_criteria_status")
    if criteria and not isinstance(criteria, str | int | tuple):
        lines += [f"- {name}: {state}" for name, state in criteria.items()]
    return lines


def _of(turns: Sequence[Record], feature: str, task: str) -> list[Record]:
    def same(given: str, wanted: str) -> bool:
        return given.strip().casefold() == wanted.strip().casefold()

    return [one for one in turns if same(one.text("feature_id"), feature) and same(one.text("task_id"), task)]


def _order(turn: Record) -> tuple[int, str, str]:
    return turn.number("turn_number"), turn.text("date"), turn.id


def add_turn(ws: Workspace, feature: str, task: str, raw: Mapping[str, Any], by: str = "") -> Record:
    """The new record. UsageProblem for a feature that has no id of one; Problems as `create_record`."""
    feature, task = feature.strip().upper(), " ".join(task.split())
    if not feature.startswith("FEAT-") or not all(map(RECORD_ID.fullmatch, (feature, f"TURN-{feature}-1"))):
        raise UsageProblem("is no id of a feature.", place=feature or "--feature", hint="Such as FEAT-AUTH-12.")
    turns = list_records(ws, RecordFilter((TURN.name,), archived=True, expired=True))
    number = next_number(turns, feature, task)
    title = " ".join(f"{feature} {task} turn {number}".split())
    values = {**raw, "title": title, "feature_id": feature, "turn_number": number}
    values |= {"task_id": task} if task else {}
    return create_record(ws, TURN, values, asked=next_id([one.id for one in turns], feature), by=by)
