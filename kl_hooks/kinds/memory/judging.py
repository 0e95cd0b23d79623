"""Judging a memory by what came of it: verified, disproven, of use or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.kinds.memory.events import tallies
from kl_hooks.kinds.memory.giving import importance_today
from kl_hooks.kinds.memory.tally import DISPROVEN, OUTCOME, VERIFIED, Tally
from kl_hooks.kinds.memory.utility import PERCENT
from kl_hooks.kinds.memory.who import Reviewer
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, append_events
from kl_hooks.records.write import change_record

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def verified(ws: Workspace, record: Record, who: Reviewer) -> Record:
    """Notes that it was checked and holds."""
    made = change_record(ws, record, {"standing": "verified", "reason": None}, how="verify", by=who.name)
    append_events(ws, [Event(VERIFIED, record.id, who.name)])
    return made


def disproven(ws: Workspace, record: Record, reason: str, who: Reviewer) -> Record:
    """Notes that it was checked and does not hold, and why."""
    made = change_record(ws, record, {"standing": "disproven", "reason": reason}, how="disprove", by=who.name)
    append_events(ws, [Event(DISPROVEN, record.id, who.name, {"reason": made.text("reason")})])
    return made


def outcome(ws: Workspace, record: Record, result: str) -> tuple[Tally, int]:
    """Notes how a task ended that it was given to; its counters then, and its importance today in percent."""
    append_events(ws, [Event(OUTCOME, record.id, "", {"result": result})])
    tally = tallies(ws, [record.id])[record.id]
    return tally, importance_today(ws, record, tally) // PERCENT
