"""Superseded decisions are archived: moved whole, found when searched for, and shown to nobody
unasked.

Upkeep: what is demoted, pruned and purged, and that a second look finds nothing.

Memory that nothing confirms is a candidate again; candidates that nobody looks at go, and may come
back.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import DAY, iso
from kl_hooks.kinds.memory.review import INJECTED, OPENED, REINFORCED, REVIEWED
from kl_hooks.model.lifecycle import LIFECYCLE_FILE, Lifecycle
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, append_events, list_events
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.write import apply_verb as verb
from kl_hooks.records.write import create_record, supersede
from kl_hooks.upkeep.policies import demotions, prunings
from kl_hooks.upkeep.run import apply_policies, preview
from tests.support import NOW, Checkout

ONLY = ("superseded decisions",)
PRINTED = {"context": "Names.", "decision": "Feed them.", "status": "accepted"}


@pytest.fixture
def decided(repo: Checkout) -> Checkout:
    """ADR-0001, superseded by ADR-0002."""
    ws = repo.workspace()
    for title in ("Feed bytes", "Feed text"):
        create_record(ws, ws.kinds["decision"], {"title": title, **PRINTED})
    supersede(ws, "ADR-0001", "ADR-0002")
    return repo


@pytest.mark.requirement("A25", "A67")
def test_it_moves_to_the_archive_and_is_still_found(decided: Checkout) -> None:
    ws = decided.workspace()
    (change,) = preview(ws, ONLY).changes
    assert (change.what, change.id) == ("archive", "ADR-0001")
    assert change.reason.startswith("superseded by ADR-0002 since ")
    before = (decided.root / change.old).read_bytes()
    done = decided.kl("knowledge", "gc", "--apply")
    assert done.returncode == 0, done.stderr
    assert not (decided.root / change.old).exists()
    assert (decided.root / change.new).read_bytes() == before
    assert decided.kl("knowledge", "gc").stdout == "Nothing to do.\n"
    assert "ADR-0001" in decided.kl("decision", "search", "--all", "bytes").stdout
    assert "ADR-0001" not in decided.kl("decision", "list").stdout
    package = decided.kl("context", "feed bytes and text").stdout
    assert "ADR-0002" in package
    assert "] ADR-0001" not in package
    assert [one.body["policy"] for one in list_events(ws, "ADR-0001", "upkeep")] == [
        "superseded decisions"
    ]


@pytest.mark.requirement("A22")
def test_its_number_is_never_used_again(decided: Checkout) -> None:
    decided.kl("knowledge", "gc", "--apply")
    ws = decided.workspace()
    assert create_record(ws, ws.kinds["decision"], {"title": "Third", **PRINTED}).id == "ADR-0003"


@pytest.mark.requirement("A68")
def test_it_stays_for_the_days_that_were_asked_for(decided: Checkout) -> None:
    decided.write(LIFECYCLE_FILE, "AdrRetentionDays: 10\n")
    assert preview(decided.workspace(), ONLY).changes == ()
    assert len(preview(decided.workspace(now=NOW + 12 * DAY), ONLY).changes) == 1


def test_nothing_in_the_archive_is_overwritten(decided: Checkout) -> None:
    (change,) = preview(decided.workspace(), ONLY).changes
    (decided.root / change.new).parent.mkdir()
    (decided.root / change.new).write_text("mine")
    (one,) = apply_policies(decided.workspace(), ONLY).results
    assert not one.applied
    assert "is there already" in one.trouble
    assert (decided.root / change.new).read_text() == "mine"
    assert (decided.root / change.old).exists()


def test_an_archive_that_is_a_link_is_refused(decided: Checkout, tmp_path: Path) -> None:
    (change,) = preview(decided.workspace(), ONLY).changes
    (decided.root / change.new).parent.symlink_to(tmp_path)
    (one,) = apply_policies(decided.workspace(), ONLY).results
    assert "is a link" in one.trouble
    assert (decided.root / change.old).exists()


def test_an_imported_decision_is_retained_from_the_day_its_successor_was_decided(
    repo: Checkout,
) -> None:
    repo.write(LIFECYCLE_FILE, "adr_retention_days: 30\n")
    ws = repo.workspace()
    old = {
        "title": "Old",
        **PRINTED,
        "date": "2015-01-01",
        "status": "superseded",
        "superseded_by": ["ADR-0002"],
    }
    new = {
        "title": "New",
        **PRINTED,
        "date": "2026-12-31",
        "supersedes": ["ADR-0001"],
    }  # 15 days before NOW
    create_record(ws, ws.kinds["decision"], old)
    create_record(ws, ws.kinds["decision"], new)
    assert preview(ws, ONLY).changes == ()
    (change,) = preview(repo.workspace(now=NOW + 20 * DAY), ONLY).changes
    assert change.reason.startswith("superseded by ADR-0002 since 2026-12-31")


def test_what_is_in_the_archive_governs_nothing(decided: Checkout) -> None:
    decided.write("src/a.py", "def f(): pass\n")
    for name in ("ADR-0001", "ADR-0002"):
        decided.kl("decision", "edit", name, "--governs", "src/a.py")
    page = decided.kl("graph", "show", "src/a.py").stdout.splitlines()
    assert "written of it  2 adr_governs" in [line.rstrip() for line in page]
    assert decided.kl("knowledge", "gc", "--apply").returncode == 0
    page = decided.kl("graph", "show", "src/a.py").stdout.splitlines()
    assert "written of it  1 adr_governs" in [line.rstrip() for line in page]


ONE_DAY = 86_400_000_000
START = 1_800_000_000_000_000
NUMBERS = Lifecycle()


def memory(status: str = "approved", **values: str) -> Record:
    known = {
        "title": "T",
        "pattern": "P",
        "status": status,
        "date": iso(START),
        "source": "receipts",
        **values,
    }
    return Record("memory", "MEM-00000001", known)


def event(name: str, day: int) -> Event:
    return Event(name, "MEM-00000001", "s1", {}, iso(START + day * ONE_DAY))


@pytest.mark.requirement("A47")
@pytest.mark.parametrize(
    ("happened", "day", "demoted"),
    [
        ((), 90, False),
        ((), 91, True),
        ((event(REINFORCED, 50),), 140, False),
        ((event(REINFORCED, 50),), 141, True),
        ((event(REVIEWED, 60),), 150, False),
        ((event(REVIEWED, 60),), 151, True),
        ((event(INJECTED, 80), event(OPENED, 80)), 91, True),
    ],
)
def test_an_approved_memory_ages(happened: tuple[Event, ...], day: int, demoted: bool) -> None:
    found = demotions([memory()], {"MEM-00000001": happened}, START + day * ONE_DAY, NUMBERS)
    assert [one.what for one in found] == ["demote"] * demoted


def test_what_a_person_reported_does_not_age() -> None:
    assert (
        demotions([memory(source="2026-11-22/3f9a1c")], {}, START + 9999 * ONE_DAY, NUMBERS) == []
    )


@pytest.mark.requirement("A47")
def test_an_idle_candidate_is_taken_out_and_one_that_was_looked_at_is_not() -> None:
    one = memory("candidate")
    assert prunings([one], {}, START + 180 * ONE_DAY, NUMBERS) == []
    assert [c.what for c in prunings([one], {}, START + 181 * ONE_DAY, NUMBERS)] == ["prune"]
    assert prunings([one], {one.id: [event(OPENED, 10)]}, START + 181 * ONE_DAY, NUMBERS) == []
    assert prunings([memory(), memory("rejected")], {}, START + 999 * ONE_DAY, NUMBERS) == []


@given(
    st.sampled_from(["approved", "candidate", "rejected"]), st.integers(0, 400), st.integers(0, 400)
)
def test_what_was_done_is_not_asked_for_again(status: str, seen: int, day: int) -> None:
    now, happened = START + day * ONE_DAY, {"MEM-00000001": [event(REINFORCED, seen)]}
    some = [memory(status)]
    for change in demotions(some, happened, now, NUMBERS):
        some = [one.with_values(status=change.new, updated=iso(now)) for one in some]
    assert demotions(some, happened, now, NUMBERS) == []
    removed = {change.id for change in prunings(some, happened, now, NUMBERS)}
    assert prunings([one for one in some if one.id not in removed], happened, now, NUMBERS) == []


def test_zero_days_switch_a_rule_off() -> None:
    off = NUMBERS._replace(memory_reinforce_window_days=0, memory_candidate_pruning_days=0)
    some = [memory(), memory("candidate")]
    late = START + 9999 * ONE_DAY
    assert [*demotions(some, {}, late, off), *prunings(some, {}, late, off)] == []


MEMORY_POLICIES = ("aged memory", "idle candidates")


def remember(repo: Checkout, pattern: str, *, approved: bool = False) -> str:
    ws = repo.workspace()
    printed = {"title": pattern, "pattern": pattern, "authority": "human", "source": "receipts"}
    made = create_record(ws, ws.kinds["memory"], printed)
    if approved:
        verb(ws, made.id, "approve")
    return made.id


@pytest.mark.requirement("A47", "A67")
def test_an_approved_memory_that_nothing_confirms_is_a_candidate_again(repo: Checkout) -> None:
    old, stored = (
        remember(repo, "Test passes: a", approved=True),
        remember(repo, "Test passes: b", approved=True),
    )
    later = repo.workspace(now=NOW + 91 * DAY)
    append_events(later, [Event("reinforced", stored, "another session")])
    assert [(one.what, one.id) for one in apply_policies(later, MEMORY_POLICIES).changes] == [
        ("demote", old)
    ]
    assert get_record(later, old).status == "candidate"
    assert get_record(later, old).path == ""
    assert get_record(later, stored).status == "approved"
    assert apply_policies(later, MEMORY_POLICIES).changes == ()


@pytest.mark.requirement("A47")
def test_a_candidate_that_nobody_looked_at_goes_and_may_come_back(repo: Checkout) -> None:
    idle = remember(repo, "Test passes: a")
    assert apply_policies(repo.workspace(now=NOW + 179 * DAY), MEMORY_POLICIES).changes == ()
    later = repo.workspace(now=NOW + 181 * DAY)
    assert [(one.what, one.id) for one in apply_policies(later, MEMORY_POLICIES).changes] == [
        ("prune", idle)
    ]
    assert list_records(later, RecordFilter(("memory",), expired=True)) == []
    assert remember(repo, "Test passes: a") == idle


@pytest.mark.requirement("A68")
def test_the_windows_are_numbers_and_0_switches_them_off(repo: Checkout) -> None:
    remember(repo, "Test passes: a", approved=True)
    remember(repo, "Test passes: b")
    repo.write(LIFECYCLE_FILE, "memory_reinforce_window_days: 0\nMemoryCandidatePruningDays: 0\n")
    assert apply_policies(repo.workspace(now=NOW + 900 * DAY), MEMORY_POLICIES).changes == ()
