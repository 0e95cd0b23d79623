"""Upkeep of memories: what would change, from records, Events and the time. Pure; done twice it is done once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kl_hooks.clock import micros
from kl_hooks.kinds.memory.events import tally_of
from kl_hooks.kinds.memory.tally import Tally
from kl_hooks.model.change import Change
from kl_hooks.model.lifecycle import Lifecycle
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event

MINED: Final = ("receipts", "transcript")
Events = Mapping[str, Sequence[Event]]
"""Id → its Events, in any order."""


def demotions(records: Sequence[Record], events: Events, now: int, numbers: Lifecycle) -> list[Change]:
    """Approved memories that were mined, and that nothing confirmed within the window, go back to the candidates.

    A session that shows it confirms, and so does approving or editing it; being given does not. What a person told
    stays: no receipt could ever confirm it. 0 days: none goes back.
    """
    days = numbers.memory_reinforce_window_days
    return [
        Change(
            "demote", one.id, "aged memory", f"nothing confirmed it for {_age(last, now)} days (window: {days})",
            "approved", "candidate",
        )
        for one, last in _last(records, events, "approved")
        if days and one.text("source") in MINED and numbers.old(now, last, days)
    ]  # fmt: skip


def prunings(records: Sequence[Record], events: Events, now: int, numbers: Lifecycle) -> list[Change]:
    """Candidates that nobody looked at and nothing confirmed for so long. 0 days: none is taken out."""
    days = numbers.memory_candidate_pruning_days
    return [
        Change("prune", one.id, "idle candidates", f"idle for {_age(last, now)} days (limit: {days})", "candidate")
        for one, last in _last(records, events, "candidate")
        if days and numbers.old(now, last, days)
    ]


def _last(records: Sequence[Record], events: Events, status: str) -> Iterator[tuple[Record, int]]:
    """Each record of this status with the last moment at which something confirmed it."""
    for one in records:
        if one.status == status and not one.archived and not one.broken:
            tally = tally_of(events.get(one.id, ()))
            yield one, _confirmed(one, tally)


def _confirmed(record: Record, tally: Tally) -> int:
    looked_at = tally.opened_at if record.status == "candidate" else ""
    said = (record.text("date"), record.text("updated"), tally.reinforced_at, tally.reviewed_at, looked_at)
    return max((moment for one in said if (moment := _moment(one)) is not None), default=0)


def _moment(text: str) -> int | None:
    return micros(text) if text else None


def _age(last: int, now: int) -> int:
    return (now - last) // 86_400_000_000
