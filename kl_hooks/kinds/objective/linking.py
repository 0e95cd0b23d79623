"""Linking: a task put on the list of what remains, or of what is completed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.objective.progress import linked, progress_of
from kl_hooks.model.record import Record
from kl_hooks.records.ask import find
from kl_hooks.records.write import change

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def link_task(ws: Workspace, identifier: str, task: str, *, done: bool, session: str = "", by: str = "") -> Record:
    """The objective with the task on one of its lists and not on the other; the session that did it is noted.

    Doing it again changes nothing. UsageProblem for an empty task or an objective that is none.
    """
    record = find(ws, identifier, "objective")
    if not task.strip():
        raise UsageProblem("the task is empty.", place=record.id, hint="Say what has to be done.")
    before = progress_of(record)
    after = linked(before, task, done=done)
    sessions = tuple(dict.fromkeys([*record.many("sessions"), *([session] if session else [])]))
    if after == before and sessions == record.many("sessions"):
        return record
    raw: dict[str, Any] = {"remaining": list(after.remaining) or None, "completed": list(after.completed) or None}
    raw |= {"sessions": list(sessions)} if sessions else {}
    return change(ws, record, raw, how="link", by=by or session)
