"""Memory that nothing confirms is a candidate again; candidates that nobody looks at go, and may come back."""

from __future__ import annotations

import pytest

from kl_hooks.evidence.decay import DAY
from kl_hooks.model.lifecycle import FILE
from kl_hooks.records.events import Event, append_events
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.write import apply_verb as verb
from kl_hooks.records.write import create_record
from kl_hooks.upkeep.run import run
from tests.support import NOW, Checkout

ONLY = ("aged memory", "idle candidates")


def remember(repo: Checkout, pattern: str, *, approved: bool = False) -> str:
    ws = repo.workspace()
    said = {"title": pattern, "pattern": pattern, "authority": "human", "source": "receipts"}
    made = create_record(ws, ws.kinds["memory"], said)
    if approved:
        verb(ws, made.id, "approve")
    return made.id


@pytest.mark.requirement("A47", "A67")
def test_an_approved_memory_that_nothing_confirms_is_a_candidate_again(repo: Checkout) -> None:
    old, kept = remember(repo, "Test passes: a", approved=True), remember(repo, "Test passes: b", approved=True)
    later = repo.workspace(now=NOW + 91 * DAY)
    append_events(later, [Event("reinforced", kept, "another session")])
    assert [(one.what, one.id) for one in run(later, ONLY).changes] == [("demote", old)]
    assert get_record(later, old).status == "candidate"
    assert get_record(later, old).path == ""
    assert get_record(later, kept).status == "approved"
    assert run(later, ONLY).changes == ()


@pytest.mark.requirement("A47")
def test_a_candidate_that_nobody_looked_at_goes_and_may_come_back(repo: Checkout) -> None:
    idle = remember(repo, "Test passes: a")
    assert run(repo.workspace(now=NOW + 179 * DAY), ONLY).changes == ()
    later = repo.workspace(now=NOW + 181 * DAY)
    assert [(one.what, one.id) for one in run(later, ONLY).changes] == [("prune", idle)]
    assert list_records(later, RecordFilter(("memory",), expired=True)) == []
    assert remember(repo, "Test passes: a") == idle


@pytest.mark.requirement("A68")
def test_the_windows_are_numbers_and_0_switches_them_off(repo: Checkout) -> None:
    remember(repo, "Test passes: a", approved=True)
    remember(repo, "Test passes: b")
    repo.write(FILE, "memory_reinforce_window_days: 0\nMemoryCandidatePruningDays: 0\n")
    assert run(repo.workspace(now=NOW + 900 * DAY), ONLY).changes == ()
