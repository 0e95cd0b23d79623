"""`kl knowledge`: status, list, search and health over every kind."""

from __future__ import annotations

import json

import pytest

from kl_hooks.records.events import Event, append_events
from kl_hooks.records.write import create_record, supersede
from tests.support import Checkout

PRINTED = {"context": "Names.", "decision": "Feed them.", "status": "accepted"}


@pytest.fixture
def known(repo: Checkout) -> Checkout:
    """Three decisions, one of them superseded; a memory that waits; an objective."""
    repo.write("src/a.py", "def feed(name):\n    return name\n")
    repo.commit()
    ws = repo.workspace()
    for title, about in (("Feed bytes", "src/a.py"), ("Feed text", "function:a.feed"), ("Feed lines", "src/gone.py")):
        create_record(ws, ws.kinds["decision"], {"title": title, "governs": [about], **PRINTED})
    supersede(ws, "ADR-0001", "ADR-0002")
    create_record(ws, ws.kinds["memory"], {"title": "m", "pattern": "Feed slowly.", "authority": "agent"})
    create_record(ws, ws.kinds["objective"], {"title": "Feed everything"})
    return repo


def health(repo: Checkout) -> dict[str, list[str]]:
    found = json.loads(repo.kl("knowledge", "health", "--format", "json").stdout)["found"]
    sorts: dict[str, list[str]] = {}
    for one in found:
        sorts.setdefault(one["sort"], []).append(one["id"])
    return sorts


def test_status_counts_by_kind_and_states_what_waits(known: Checkout) -> None:
    done = known.kl("knowledge", "status")
    assert done.returncode == 0
    assert "decision       3   2 accepted, 1 superseded" in done.stdout
    assert "waiting for a person: 1 memory candidate." in done.stdout
    plain = json.loads(known.kl("knowledge", "status", "--format", "json").stdout)
    assert plain["waiting"] == {"memory": 1}
    known.kl("memory", "add", "Feed quickly.", "--agent")
    assert "waiting for a person: 2 memories candidate." in known.kl("knowledge", "status").stdout


@pytest.mark.requirement("B55")
def test_list_and_search_reach_every_kind(known: Checkout) -> None:
    listed = json.loads(known.kl("knowledge", "list", "--format", "json").stdout)["records"]
    assert {one["kind"] for one in listed} == {"decision", "memory", "objective"}
    found = json.loads(known.kl("knowledge", "search", "--all", "feed", "--format", "json").stdout)["records"]
    assert {one["kind"] for one in found} == {"decision", "memory", "objective"}
    assert known.kl("knowledge", "search", "zebra").stdout == "no matches for: zebra\n"
    assert known.kl("knowledge", "list", "--kind", "memory").stdout.count("\n") == 1
    assert known.kl("knowledge", "list", "--kind", "memo").returncode == 2


@pytest.mark.slow
def test_health_states_what_speaks_against_what_and_can_fail(known: Checkout) -> None:
    assert health(known) == {"unanchored": ["ADR-0003"]}
    good = known.kl("knowledge", "health", "--fail-under", "66")
    assert (good.returncode, good.stdout.splitlines()[-1]) == (0, "2 of 3 live records healthy (66 %).")
    bad = known.kl("knowledge", "health", "--fail-under", "67")
    assert bad.returncode == 1
    assert "fewer than 67 %" in bad.stderr


@pytest.mark.slow
def test_contradictions_by_subject_only(known: Checkout) -> None:
    ws = known.workspace()
    create_record(ws, ws.kinds["decision"], {"title": "Feed text", "governs": ["function:a.feed"], **PRINTED})
    assert health(known)["contradicted"] == ["ADR-0002", "ADR-0004"]
    known.write(
        ".kl/architecture.yaml",
        "version: 1\nlayers:\n  - name: core\n    paths: [src/core/]\n    may_depend_on: []\n"
        "  - name: cli\n    paths: [src/cli/]\n    may_depend_on: [core]\n",
    )
    known.write("src/core/a.py", "A = 1\n")
    printed = {"title": "t", "pattern": "Use from cli import x.", "about": ["src/core/a.py"], "status": "approved"}
    made = create_record(ws, ws.kinds["memory"], printed)
    assert made.id in health(known)["contradicted"]


def test_a_file_that_cannot_be_read_is_broken(known: Checkout) -> None:
    path = next((known.root / ".kl/knowledge/decisions").glob("ADR-0002*"))
    path.write_text(path.read_text().replace("status: accepted", "status: maybe"))
    assert health(known)["broken"] == ["ADR-0002"]


def test_unused_is_not_assessed_before_anything_was_given(known: Checkout) -> None:
    assert "not assessed: unused" in known.kl("knowledge", "health").stderr
    append_events(known.workspace(), [Event("injected", "ADR-0002")])
    assert "not assessed" not in known.kl("knowledge", "health").stderr


def test_where_nothing_is_known_everything_is_well(repo: Checkout) -> None:
    assert repo.kl("knowledge", "health", "--fail-under", "100").stdout == "0 of 0 live records healthy (100 %).\n"
    assert "nothing is known yet" in repo.kl("knowledge", "status").stdout


@pytest.mark.slow
def test_every_list_that_is_cut_states_how_many_there_are(repo: Checkout) -> None:
    for number in range(3):
        printed = ("--context", "Parsing is slow.", "--decision", f"Parser {number} is used.")
        assert repo.kl("decision", "new", f"Parser number {number}", *printed).returncode == 0
    for command in (
        ("knowledge", "search", "parser", "--all"),
        ("decision", "search", "parser", "--all"),
        ("knowledge", "related", "ADR-0001"),
    ):
        done = repo.kl(*command, "--limit", "1")
        total = 3 if "search" in command else 2
        assert f"these are the first 1 of {total}" in done.stderr, command
        found = json.loads(repo.kl(*command, "--limit", "1", "--format", "json").stdout)
        other = ("pages", "order", "claims")
        (shown,) = [value for key, value in found.items() if isinstance(value, list) and key not in other]
        assert (len(shown), found["total"]) == (1, total), command
    repo.write("src/a.py", "")
    for number in range(11):
        repo.write("src/a.py", f"A = {number}\n")
        repo.commit(f"change {number}")
    assert "… and 1 more commit:" in repo.kl("evidence", "show", "src/a.py").stdout
    found = json.loads(repo.kl("evidence", "show", "src/a.py", "--format", "json").stdout)
    assert (len(found["commits"]), found["total"]["commits"]) == (10, 11)
