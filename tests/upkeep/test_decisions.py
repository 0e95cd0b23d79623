"""Superseded decisions are archived: moved whole, found when searched for, and shown to nobody unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.evidence.decay import DAY
from kl_hooks.model.lifecycle import FILE
from kl_hooks.records.events import list_events
from kl_hooks.records.write import create_record, supersede
from kl_hooks.upkeep.run import look, run
from tests.support import NOW, Checkout

ONLY = ("superseded decisions",)
SAID = {"context": "Names.", "decision": "Feed them.", "status": "accepted"}


@pytest.fixture
def decided(repo: Checkout) -> Checkout:
    """ADR-0001, superseded by ADR-0002."""
    ws = repo.workspace()
    for title in ("Feed bytes", "Feed text"):
        create_record(ws, ws.kinds["decision"], {"title": title, **SAID})
    supersede(ws, "ADR-0001", "ADR-0002")
    return repo


@pytest.mark.requirement("A25", "A67")
def test_it_moves_to_the_archive_and_is_still_found(decided: Checkout) -> None:
    ws = decided.workspace()
    (change,) = look(ws, ONLY).changes
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
    assert [one.body["policy"] for one in list_events(ws, "ADR-0001", "upkeep")] == ["superseded decisions"]


@pytest.mark.requirement("A22")
def test_its_number_is_never_used_again(decided: Checkout) -> None:
    decided.kl("knowledge", "gc", "--apply")
    ws = decided.workspace()
    assert create_record(ws, ws.kinds["decision"], {"title": "Third", **SAID}).id == "ADR-0003"


@pytest.mark.requirement("A68")
def test_it_stays_for_the_days_that_were_asked_for(decided: Checkout) -> None:
    decided.write(FILE, "AdrRetentionDays: 10\n")
    assert look(decided.workspace(), ONLY).changes == ()
    assert len(look(decided.workspace(now=NOW + 12 * DAY), ONLY).changes) == 1


def test_nothing_in_the_archive_is_overwritten(decided: Checkout) -> None:
    (change,) = look(decided.workspace(), ONLY).changes
    (decided.root / change.new).parent.mkdir()
    (decided.root / change.new).write_text("mine")
    (one,) = run(decided.workspace(), ONLY).looked
    assert not one.applied
    assert "is there already" in one.trouble
    assert (decided.root / change.new).read_text() == "mine"
    assert (decided.root / change.old).exists()


def test_an_archive_that_is_a_link_is_refused(decided: Checkout, tmp_path: Path) -> None:
    (change,) = look(decided.workspace(), ONLY).changes
    (decided.root / change.new).parent.symlink_to(tmp_path)
    (one,) = run(decided.workspace(), ONLY).looked
    assert "is a link" in one.trouble
    assert (decided.root / change.old).exists()


def test_an_imported_decision_is_retained_from_the_day_its_successor_was_decided(repo: Checkout) -> None:
    repo.write(FILE, "adr_retention_days: 30\n")
    ws = repo.workspace()
    old = {"title": "Old", **SAID, "date": "2015-01-01", "status": "superseded", "superseded_by": ["ADR-0002"]}
    new = {"title": "New", **SAID, "date": "2026-12-31", "supersedes": ["ADR-0001"]}  # 15 days before NOW
    create_record(ws, ws.kinds["decision"], old)
    create_record(ws, ws.kinds["decision"], new)
    assert look(ws, ONLY).changes == ()
    (change,) = look(repo.workspace(now=NOW + 20 * DAY), ONLY).changes
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
