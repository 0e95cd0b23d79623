"""`kl knowledge add --type adr`, IDs in front matter, lists and searches by topic and group, `kl knowledge stats`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout

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
    repo.write("docs/in/locks.md", ADR.replace("SQLite", "flock").replace("# Use", "---\nid: ADR-0042\n---\n\n# Use"))
    repo.write("docs/in/sign-in.md", "---\nid: FEAT-AUTH-12\n---\n\n# Sign in\n\n## Purpose\n\nLet people in.\n")
    repo.write("docs/in/other.md", "# Other\n\nNothing.\n")
    assert sorted(added(repo, "docs/in")) == [
        ("created", "decision", "ADR-0042"), ("created", "decision", "ADR-0043"),
        ("created", "feature", "FEAT-AUTH-12"),
    ]  # fmt: skip
    assert {one[0] for one in added(repo, "docs/in")} == {"skipped"}
    repo.write("plain.md", "# Use tabs\n\nBecause.\n")
    assert added(repo, "plain.md", "--type", "adr") == [("created", "decision", "ADR-0044")]
    assert added(repo, "plain.md", "--type", "adr", "--dry-run") == [("skipped", "decision", "ADR-0044")]


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
    (stack,), (failure,) = ids(filled, "guide", "list", "--topic", "stack"), ids(filled, "failure", "list")
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
        2, 2, {"current": 2}, {"rule": 1, "stack": 1},
    )  # fmt: skip
    assert found["uses"]["injected"] >= 1 and set(found["kinds"]) == {"decision", "failure", "guide"}
    text = filled.kl("knowledge", "stats").stdout
    assert "2 current; 2 human" in text and "1 rule, 1 stack" in text
