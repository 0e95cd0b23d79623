"""`kl knowledge`: status, list, search and health over every kind."""

from __future__ import annotations

import json
from typing import Any

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
    for title, about in (
        ("Feed bytes", "src/a.py"),
        ("Feed text", "function:a.feed"),
        ("Feed lines", "src/gone.py"),
    ):
        create_record(ws, ws.kinds["decision"], {"title": title, "governs": [about], **PRINTED})
    supersede(ws, "ADR-0001", "ADR-0002")
    create_record(
        ws, ws.kinds["memory"], {"title": "m", "pattern": "Feed slowly.", "authority": "agent"}
    )
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
    found = json.loads(known.kl("knowledge", "search", "--all", "feed", "--format", "json").stdout)[
        "records"
    ]
    assert {one["kind"] for one in found} == {"decision", "memory", "objective"}
    assert known.kl("knowledge", "search", "zebra").stdout == "no matches for: zebra\n"
    assert known.kl("knowledge", "list", "--kind", "memory").stdout.count("\n") == 1
    assert known.kl("knowledge", "list", "--kind", "memo").returncode == 2


@pytest.mark.slow
def test_health_states_what_speaks_against_what_and_can_fail(known: Checkout) -> None:
    assert health(known) == {"unanchored": ["ADR-0003"]}
    good = known.kl("knowledge", "health", "--fail-under", "66")
    assert (good.returncode, good.stdout.splitlines()[-1]) == (
        0,
        "2 of 3 live records healthy (66 %).",
    )
    bad = known.kl("knowledge", "health", "--fail-under", "67")
    assert bad.returncode == 1
    assert "fewer than 67 %" in bad.stderr


@pytest.mark.slow
def test_contradictions_by_what_records_name_only(known: Checkout) -> None:
    ws = known.workspace()
    create_record(
        ws, ws.kinds["decision"], {"title": "Feed text", "governs": ["function:a.feed"], **PRINTED}
    )
    assert "contradicted" not in health(known), "two decisions may govern one function"
    for number in (2, 4):
        path = next((known.root / ".kl/knowledge/decisions").glob(f"ADR-000{number}*"))
        rest = path.read_text().replace("supersedes: [ADR-0001]\n", "")
        path.write_text(rest.replace("governs:", "supersedes: [ADR-0001]\ngoverns:"))
    assert health(known)["contradicted"] == ["ADR-0002", "ADR-0004"]
    known.write(
        ".kl/architecture.yaml",
        "version: 1\nlayers:\n  - name: core\n    paths: [src/core/]\n    may_depend_on: []\n"
        "  - name: cli\n    paths: [src/cli/]\n    may_depend_on: [core]\n",
    )
    known.write("src/core/a.py", "A = 1\n")
    printed = {
        "title": "t",
        "pattern": "Use from cli import x.",
        "about": ["src/core/a.py"],
        "status": "approved",
    }
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
    assert (
        repo.kl("knowledge", "health", "--fail-under", "100").stdout
        == "0 of 0 live records healthy (100 %).\n"
    )
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
        (shown,) = [
            value for key, value in found.items() if isinstance(value, list) and key not in other
        ]
        assert (len(shown), found["total"]) == (1, total), command
    repo.write("src/a.py", "")
    for number in range(11):
        repo.write("src/a.py", f"A = {number}\n")
        repo.commit(f"change {number}")
    assert "… and 1 more commit:" in repo.kl("evidence", "show", "src/a.py").stdout
    found = json.loads(repo.kl("evidence", "show", "src/a.py", "--format", "json").stdout)
    assert (len(found["commits"]), found["total"]["commits"]) == (10, 11)


README = "# Shop\n\nA shop for tests. It sells nothing.\n\n## Installation\n\npip install shop\n"


@pytest.fixture
def seeded(repo: Checkout) -> Checkout:
    repo.write("README.md", README)
    repo.kl("seed")
    repo.kl("seed", "--system")
    repo.kl("guide", "new", "Mine")
    return repo


@pytest.mark.slow
@pytest.mark.requirement("B55")
def test_only_what_seeding_made_goes_and_it_can_be_sown_again(seeded: Checkout) -> None:
    guide = seeded.root / ".kl/knowledge/guides/GUIDE-0001-installation.md"
    guide.write_text(guide.read_text().replace("pip install shop", "Ask Ada."))
    dry = json.loads(seeded.kl("knowledge", "clear", "--dry-run", "--format", "json").stdout)
    assert (len(dry["removed"]), dry["edited"]) == (15, ["GUIDE-0001"])
    assert json.loads(
        seeded.kl("knowledge", "clear", "--project-only", "--yes", "--format", "json").stdout
    ) == {
        "schema": "kl.knowledge.clear/2",
        "dry_run": False,
        "removed": ["FACT-0001"],
        "edited": ["GUIDE-0001"],
    }
    assert "1 created, 1 skipped" in seeded.kl("seed").stdout
    seeded.kl("knowledge", "clear", "--force", "--yes")
    left = json.loads(seeded.kl("knowledge", "list", "--format", "json").stdout)["records"]
    assert [one["title"] for one in left] == ["Mine"]
    assert "14 created" in seeded.kl("seed", "--system").stdout
    assert "ROLE-0003" in seeded.kl("role", "list").stdout  # an id is never used again


@pytest.mark.slow
def test_without_consent_nothing_goes(seeded: Checkout) -> None:
    assert seeded.kl("knowledge", "clear").returncode != 0
    assert (
        len(
            json.loads(seeded.kl("knowledge", "clear", "--dry-run", "--format", "json").stdout)[
                "removed"
            ]
        )
        == 16
    )


@pytest.mark.slow
@pytest.mark.requirement("B55")
def test_any_record_is_shown_by_its_id(seeded: Checkout) -> None:
    assert "The coach reviews" in seeded.kl("knowledge", "show", "role-0001").stdout
    assert (
        json.loads(seeded.kl("knowledge", "show", "FACT-0001", "--format", "json").stdout)["kind"]
        == "fact"
    )
    assert seeded.kl("knowledge", "show", "FACT-0099").returncode == 2


SPEC = "# FEAT-PAY-1: Paying\n\n## Purpose\n\nPeople pay by card.\n"


@pytest.mark.requirement("B55", "B56")
def test_a_folder_of_specifications_becomes_features(repo: Checkout) -> None:
    repo.write("docs/features/FEAT-PAY-1-pay.md", SPEC)
    repo.write("docs/features/notes.md", "Nothing.\n")
    repo.write("docs/features/FEAT-PAY-2.txt", SPEC)
    dry = repo.kl("knowledge", "add", "docs/features", "--dry-run")
    assert "would be: 1 created" in dry.stdout and "notes.md" in dry.stderr
    assert "1 seed: 1 created" in repo.kl("knowledge", "add", "docs/features").stdout
    assert "1 seed: 1 skipped" in repo.kl("knowledge", "add", "docs/features").stdout
    found = json.loads(repo.kl("feature", "show", "FEAT-PAY-1", "--format", "json").stdout)
    assert found["fields"]["purpose"] == "People pay by card."
    repo.kl("feature", "ship", "FEAT-PAY-1")
    repo.write("docs/features/FEAT-PAY-1-pay.md", SPEC.replace("card", "cash"))
    repo.kl("knowledge", "add", "docs/features")
    found = json.loads(repo.kl("feature", "show", "FEAT-PAY-1", "--format", "json").stdout)
    assert (found["fields"]["purpose"], found["status"]) == ("People pay by cash.", "shipped")


def test_a_record_made_by_hand_is_left_alone(repo: Checkout) -> None:
    repo.kl("feature", "new", "Mine", "--id", "FEAT-PAY-1")
    repo.write("FEAT-PAY-1.md", SPEC)
    done = repo.kl("knowledge", "add", "FEAT-PAY-1.md", "--force")
    assert done.returncode == 0 and "made by hand" in done.stdout
    assert "Mine" in repo.kl("feature", "list").stdout


@pytest.mark.requirement("B55")
def test_an_overview_becomes_facts_and_guides(repo: Checkout) -> None:
    repo.write(
        "docs/overview.md",
        "# Shop\n\nA shop for tests, open to all.\n\n## Architecture\n\nTwo rooms and a door.\n",
    )
    repo.kl("knowledge", "add", "docs/overview.md", "--type", "project-overview")
    assert "What this project is" in repo.kl("fact", "list").stdout
    assert "Architecture" in repo.kl("guide", "list").stdout


def test_mistakes_are_reported_and_nothing_is_written(repo: Checkout) -> None:
    assert repo.kl("knowledge", "add", "none.md").returncode == 2
    assert repo.kl("knowledge", "add", ".", "--pattern", "../*.md").returncode == 2
    repo.write("x.md", "Nothing at all.\n")
    done = repo.kl("knowledge", "add", "x.md", "--type", "feature-spec")
    assert done.returncode == 0 and "no id such as" in done.stderr
    assert not (repo.root / ".kl/knowledge").exists()


ADR = "# Use SQLite\n\n## Status\n\nAccepted\n\n## Context\n\nLaptops.\n\n## Decision\n\nSQLite.\n"


def ids(repo: Checkout, *args: str) -> list[str]:
    done = repo.kl(*args, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [str(one["id"]) for one in json.loads(done.stdout)["records"]]


def added(repo: Checkout, *args: str) -> list[tuple[str, str, str]]:
    done = repo.kl("knowledge", "add", *args, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [(one["what"], one["kind"], one["id"]) for one in json.loads(done.stdout)["seeds"]]


@pytest.mark.requirement("B55", "B56")
def test_decisions_and_specifications_are_recognized_by_their_text(repo: Checkout) -> None:
    repo.write("docs/in/storage.md", ADR)
    repo.write(
        "docs/in/locks.md",
        ADR.replace("SQLite", "flock").replace("# Use", "---\nid: ADR-0042\n---\n\n# Use"),
    )
    repo.write(
        "docs/in/sign-in.md",
        "---\nid: FEAT-AUTH-12\n---\n\n# Sign in\n\n## Purpose\n\nLet people in.\n",
    )
    repo.write("docs/in/other.md", "# Other\n\nNothing.\n")
    assert sorted(added(repo, "docs/in")) == [
        ("created", "decision", "ADR-0042"),
        ("created", "decision", "ADR-0043"),
        ("created", "feature", "FEAT-AUTH-12"),
    ]
    assert {one[0] for one in added(repo, "docs/in")} == {"skipped"}
    repo.write("plain.md", "# Use tabs\n\nBecause.\n")
    assert added(repo, "plain.md", "--type", "adr") == [("created", "decision", "ADR-0044")]
    assert added(repo, "plain.md", "--type", "adr", "--dry-run") == [
        ("skipped", "decision", "ADR-0044")
    ]


@pytest.mark.requirement("B56")
def test_a_whole_document_becomes_passages(repo: Checkout) -> None:
    text = (
        "# Running\n\n## Restart\n\nThe zebra restarts by itself.\n\n## Logs\n\nThe giraffe writes"
        " them.\n"
    )
    repo.write("runbook/run.md", text)
    done = repo.kl("knowledge", "add", "runbook", "--type", "full-doc")
    assert done.returncode == 0 and "3 chunks" in done.stdout
    found = json.loads(repo.kl("search", "zebra", "--kind", "document", "--format", "json").stdout)[
        "results"
    ]
    assert found and "giraffe" not in json.dumps(found), "a passage, not the document"
    assert repo.kl("knowledge", "add", "runbook", "--type", "full-doc", "--dry-run").returncode == 2


@pytest.fixture
def filled(repo: Checkout) -> Checkout:
    repo.kl("guide", "new", "Zebra stack", "--topic", "technology_stack", "--text", "Python zebra.")
    repo.kl("guide", "new", "Zebra rule", "--topic", "rule", "--text", "Never zebra.")
    repo.kl("failure", "record", "Mock the zebra")
    repo.kl("decision", "new", "Use zebra", "--context", "c", "--decision", "d")
    repo.kl("decision", "accept", "ADR-0001")
    return repo


@pytest.mark.requirement("B55")
def test_lists_and_searches_by_topic_and_group(filled: Checkout) -> None:
    (stack,), (failure,) = (
        ids(filled, "guide", "list", "--topic", "stack"),
        ids(filled, "failure", "list"),
    )
    assert ids(filled, "guide", "search", "zebra", "--topic", "stack") == [stack]
    for word in ("technology_stack", "stack", "Technology-Stack"):
        assert ids(filled, "knowledge", "list", "--group", word) == [stack]
        assert ids(filled, "knowledge", "search", "zebra", "--topic", word) == [stack]
    assert ids(filled, "knowledge", "list", "--group", "failure_patterns") == [failure]
    assert ids(filled, "knowledge", "search", "zebra", "--group", "adrs") == ["ADR-0001"]
    done = filled.kl("knowledge", "list", "--group", "technology_stak")
    assert done.returncode == 2 and "technology_stack" in done.stderr
    assert filled.kl("guide", "list", "--topic", "adrs").returncode == 2


@pytest.mark.requirement("B55")
def test_stats_count_kinds_statuses_topics_and_uses(filled: Checkout) -> None:
    filled.kl("context", "zebra stack and rule of zebra")
    found: dict[str, Any] = json.loads(filled.kl("knowledge", "stats", "--format", "json").stdout)
    assert (found["schema"], found["records"]) == ("kl.knowledge.stats/1", 4)
    guide = found["kinds"]["guide"]
    assert (guide["records"], guide["files"], guide["statuses"], guide["topics"]) == (
        2,
        2,
        {"current": 2},
        {"rule": 1, "stack": 1},
    )
    assert found["uses"]["injected"] >= 1 and set(found["kinds"]) == {
        "decision",
        "failure",
        "guide",
    }
    text = filled.kl("knowledge", "stats").stdout
    assert "2 current; 2 human" in text and "1 rule, 1 stack" in text
