"""Memories that nothing confirmed for long go back to the candidates; candidates that nobody looked at go.

Which ones is decided by `kinds.memory.upkeep`, from records and their Events; here it is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.kinds.memory.upkeep import demotions, prunings
from kl_hooks.records import retention as records_upkeep
from kl_hooks.records.events import Event, list_events
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.write import apply_verb as verb

if TYPE_CHECKING:
    from kl_hooks.model.change import Change
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.model.record import Record
    from kl_hooks.workspace.open import Workspace

AGED: Final = "aged memory"
IDLE: Final = "idle candidates"
KIND: Final = "memory"


def look_aged(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Approved memories that are to be candidates again."""
    return demotions(*_known(ws), now, numbers)


def look_idle(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Candidates that are to go."""
    return prunings(*_known(ws), now, numbers)


def _known(ws: Workspace) -> tuple[list[Record], Mapping[str, Sequence[Event]]]:
    """All memories, and the Events of each."""
    happened: dict[str, list[Event]] = {}
    for one in list_events(ws):
        happened.setdefault(one.record, []).append(one)
    return list_records(ws, RecordFilter((KIND,), expired=True)), happened


def demote(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Takes each back to the candidates: its file goes, git keeps it."""
    for one in changes:
        if any(record.status == one.old for record in get_records(ws, [one.id])):
            verb(ws, one.id, "demote", {"reason": one.reason}, by="upkeep")


def prune(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Takes them out of the state, all or none; one that was approved or refused meanwhile stays."""
    still = {record.id for record in get_records(ws, [one.id for one in changes]) if record.status == "candidate"}
    records_upkeep.purge_records(ws, [one for one in changes if one.id in still], now)
