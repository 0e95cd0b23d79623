"""Upkeep: what is demoted, pruned and purged, and that a second look finds nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import iso
from kl_hooks.kinds.memory.tally import INJECTED, OPENED, REINFORCED, REVIEWED
from kl_hooks.kinds.memory.upkeep import demotions, prunings
from kl_hooks.model.lifecycle import Lifecycle
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event

DAY = 86_400_000_000
START = 1_800_000_000_000_000
NUMBERS = Lifecycle()


def memory(status: str = "approved", **values: str) -> Record:
    known = {"title": "T", "pattern": "P", "status": status, "date": iso(START), "source": "receipts", **values}
    return Record("memory", "MEM-00000001", known)


def event(name: str, day: int) -> Event:
    return Event(name, "MEM-00000001", "s1", {}, iso(START + day * DAY))


@pytest.mark.requirement("A47")
@pytest.mark.parametrize(
    ("happened", "day", "demoted"),
    [
        ((), 90, False), ((), 91, True),
        ((event(REINFORCED, 50),), 140, False), ((event(REINFORCED, 50),), 141, True),
        ((event(REVIEWED, 60),), 150, False), ((event(REVIEWED, 60),), 151, True),
        ((event(INJECTED, 80), event(OPENED, 80)), 91, True),
    ],
)  # fmt: skip
def test_an_approved_memory_ages(happened: tuple[Event, ...], day: int, demoted: bool) -> None:
    found = demotions([memory()], {"MEM-00000001": happened}, START + day * DAY, NUMBERS)
    assert [one.what for one in found] == ["demote"] * demoted


def test_what_a_person_told_does_not_age() -> None:
    assert demotions([memory(source="2026-11-22/3f9a1c")], {}, START + 9999 * DAY, NUMBERS) == []


@pytest.mark.requirement("A47")
def test_an_idle_candidate_is_taken_out_and_one_that_was_looked_at_is_not() -> None:
    one = memory("candidate")
    assert prunings([one], {}, START + 180 * DAY, NUMBERS) == []
    assert [c.what for c in prunings([one], {}, START + 181 * DAY, NUMBERS)] == ["prune"]
    assert prunings([one], {one.id: [event(OPENED, 10)]}, START + 181 * DAY, NUMBERS) == []
    assert prunings([memory(), memory("rejected")], {}, START + 999 * DAY, NUMBERS) == []


@given(st.sampled_from(["approved", "candidate", "rejected"]), st.integers(0, 400), st.integers(0, 400))
def test_what_was_done_is_not_asked_for_again(status: str, seen: int, day: int) -> None:
    now, happened = START + day * DAY, {"MEM-00000001": [event(REINFORCED, seen)]}
    some = [memory(status)]
    for change in demotions(some, happened, now, NUMBERS):
        some = [one.with_values(status=change.new, updated=iso(now)) for one in some]
    assert demotions(some, happened, now, NUMBERS) == []
    gone = {change.id for change in prunings(some, happened, now, NUMBERS)}
    assert prunings([one for one in some if one.id not in gone], happened, now, NUMBERS) == []


def test_zero_days_switch_a_rule_off() -> None:
    off = replace(NUMBERS, memory_reinforce_window_days=0, memory_candidate_pruning_days=0)
    some = [memory(), memory("candidate")]
    late = START + 9999 * DAY
    assert [*demotions(some, {}, late, off), *prunings(some, {}, late, off)] == []
