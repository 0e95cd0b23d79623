"""Memory that nothing confirms is a candidate again; candidates that nobody looks at go, and may come back."""

from __future__ import annotations

import pytest

from kl_hooks.evidence.decay import DAY
from kl_hooks.model.lifecycle import FILE
from kl_hooks.records.ask import Wanted, every, find
from kl_hooks.records.events import Event, note
from kl_hooks.records.verbs import apply as verb
from kl_hooks.records.write import create
from kl_hooks.upkeep.run import run
from tests.support import NOW, Checkout

ONLY = ("aged memory", "idle candidates")


def remember(repo: Checkout, pattern: str, *, approved: bool = False) -> str:
    ws = repo.workspace()
    said = {"title": pattern, "pattern": pattern, "authority": "human", "source": "receipts"}
    made = create(ws, ws.kinds["memory"], said)
    if approved:
        verb(ws, made.id, "approve")
    return made.id


@pytest.mark.requirement("A47", "A67")
def test_an_approved_memory_that_nothing_confirms_is_a_candidate_again(repo: Checkout) -> None:
    old, kept = remember(repo, "Test passes: a", approved=True), remember(repo, "Test passes: b", approved=True)
    later = repo.workspace(now=NOW + 91 * DAY)
    note(later, [Event("reinforced", kept, "another session")])
    assert [(one.what, one.id) for one in run(later, ONLY).changes] == [("demote", old)]
    assert find(later, old).status == "candidate"
    assert find(later, old).path == ""
    assert find(later, kept).status == "approved"
    assert run(later, ONLY).changes == ()


@pytest.mark.requirement("A47")
def test_a_candidate_that_nobody_looked_at_goes_and_may_come_back(repo: Checkout) -> None:
    idle = remember(repo, "Test passes: a")
    assert run(repo.workspace(now=NOW + 179 * DAY), ONLY).changes == ()
    later = repo.workspace(now=NOW + 181 * DAY)
    assert [(one.what, one.id) for one in run(later, ONLY).changes] == [("prune", idle)]
    assert every(later, Wanted(("memory",), expired=True)) == []
    assert remember(repo, "Test passes: a") == idle


@pytest.mark.requirement("A68")
def test_the_windows_are_numbers_and_0_switches_them_off(repo: Checkout) -> None:
    remember(repo, "Test passes: a", approved=True)
    remember(repo, "Test passes: b")
    repo.write(FILE, "memory_reinforce_window_days: 0\nMemoryCandidatePruningDays: 0\n")
    assert run(repo.workspace(now=NOW + 900 * DAY), ONLY).changes == ()
