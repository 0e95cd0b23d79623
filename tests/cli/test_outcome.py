"""Outcomes from outside: captured from options or a task's file, found again by likeness."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout

TASK = """\
---
id: TASK-42
title: Sign-in with a second factor
status: completed
feature: FEAT-AUTH-12
review_cycles: 2
coverage: 0.82
priority: high
---

# Sign-in with a second factor

## Requirements

People sign in with a code from their phone.

## Acceptance criteria

- [x] codes end after 30 seconds

## Lessons learned

- Pin the clock in tests
- Codes are compared in constant time
"""


def captured(repo: Checkout, *args: str) -> dict[str, Any]:
    done = repo.kl("outcome", "capture", "--format", "json", *args)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.requirement("B25", "B26")
def test_everything_that_can_be_recorded_of_an_outcome_is_stored(repo: Checkout) -> None:
    made = captured(
        repo,
        "Sign-in",
        "--type",
        "REVIEW_FAILED",
        "--failure",
        "--task-id",
        "T-1",
        "--requirements",
        "R",
        "--summary",
        "S",
        "--approach",
        "A",
        "--pattern",
        "P1",
        "--pattern",
        "P2",
        "--problem",
        "Q",
        "--lesson",
        "L",
        "--tests-written",
        "--coverage",
        "70",
        "--review-cycles",
        "3",
        "--started",
        "2026-01-01T10:00:00Z",
        "--completed",
        "2026-01-01",
        "--minutes",
        "90",
        "--feature",
        "FEAT-AUTH-12",
        "--decision",
        "ADR-0001",
    )
    assert made["id"].startswith("OUT-") and len(made["id"]) == 12
    fields = made["fields"]
    assert {
        name: fields[name] for name in fields if name not in ("date", "status", "authority")
    } == {
        "title": "Sign-in",
        "outcome_type": "review_failed",
        "success": False,
        "task_id": "T-1",
        "task_requirements": "R",
        "summary": "S",
        "approach_used": "A",
        "patterns_used": ["P1", "P2"],
        "problems_encountered": ["Q"],
        "lessons_learned": ["L"],
        "tests_written": True,
        "test_coverage": 70,
        "review_cycles": 3,
        "started_at": "2026-01-01T10:00:00Z",
        "completed_at": "2026-01-01",
        "duration_minutes": 90,
        "feature_id": ["FEAT-AUTH-12"],
        "related_adr_ids": ["ADR-0001"],
    }


@pytest.mark.requirement("B55")
def test_a_task_file_states_most_of_it_and_options_win(repo: Checkout) -> None:
    repo.write("t.md", TASK)
    dry = captured(repo, "--from-task-file", "t.md", "--dry-run")
    assert dry["fields"]["task_id"] == "TASK-42"
    assert json.loads(repo.kl("outcome", "list", "--format", "json").stdout)["total"] == 0
    fields = captured(
        repo, "--from-task-file", "t.md", "--title", "Second factor", "--lesson", "Mine"
    )["fields"]
    assert (fields["title"], fields["success"], fields["test_coverage"]) == (
        "Second factor",
        True,
        82,
    )
    assert fields["lessons_learned"] == ["Mine"]
    assert (
        fields["task_requirements"].startswith("People sign in")
        and "30 seconds" in fields["task_requirements"]
    )


@pytest.mark.requirement("B27")
def test_the_nearest_tasks_come_first_and_no_more_than_asked_for(repo: Checkout) -> None:
    captured(repo, "Printing", "--requirements", "Print a list of prices on paper.")
    near = captured(
        repo,
        "Sign-in",
        "--requirements",
        "Sign in with a code from a phone.",
        "--lesson",
        "Pin the clock",
    )
    captured(repo, "Sign-out", "--requirements", "Leave, wherever the phone is.")
    found = json.loads(
        repo.kl("outcome", "similar", "sign in by phone code", "--format", "json").stdout
    )["outcomes"]
    assert found[0]["id"] == near["id"] and "Printing" not in [one["title"] for one in found]
    assert (
        len(
            json.loads(
                repo.kl("outcome", "similar", "phone", "--limit", "1", "--format", "json").stdout
            )["outcomes"]
        )
        == 1
    )
    assert "Pin the clock" in repo.kl("outcome", "similar", 'sign "in" AND ( phone*').stdout
    assert "no outcome" in repo.kl("outcome", "similar", "zebra").stdout


@pytest.mark.requirement("B27", "B28")
def test_a_similar_outcome_reaches_the_package(repo: Checkout) -> None:
    made = captured(
        repo,
        "Sign-in",
        "--requirements",
        "Sign in with a code from a phone.",
        "--lesson",
        "Pin the clock",
    )
    package = repo.kl("context", "sign in with a phone code").stdout
    assert made["id"] in package and "Pin the clock" in package


def test_strict_refuses_a_thin_outcome_and_bad_values_are_reported_at_once(repo: Checkout) -> None:
    assert repo.kl("outcome", "capture", "X", "--strict").returncode == 2
    wrong = repo.kl("outcome", "capture", "X", "--type", "TASK_DONE", "--started", "yesterday")
    assert wrong.returncode == 2 and "outcome_type" in wrong.stderr and "started_at" in wrong.stderr
    assert repo.kl("outcome", "capture", "--success").returncode == 2
    assert repo.kl("outcome", "capture", "--from-task-file", "none.md").returncode == 2
    assert json.loads(repo.kl("outcome", "list", "--format", "json").stdout)["total"] == 0


@pytest.mark.local_database
@pytest.mark.requirement("B27")
def test_an_outcome_has_its_id_even_while_the_store_can_not_be_written(repo: Checkout) -> None:
    captured(repo, "First", "--requirements", "Bake a cake.")
    database = repo.state / "kl.db"
    whole = database.read_bytes()
    database.write_bytes(b"this is no database" * 100)
    done = repo.kl(
        "outcome", "capture", "Second", "--requirements", "Bake a loaf.", "--format", "json"
    )
    assert done.returncode == 0 and "put aside" in done.stderr
    identifier = json.loads(done.stdout)["id"]
    database.write_bytes(whole)
    found = json.loads(repo.kl("outcome", "similar", "bake a loaf", "--format", "json").stdout)[
        "outcomes"
    ]
    assert found[0]["id"] == identifier and len(found) == 2
    assert not list((repo.state / "outcomes").iterdir())


def test_what_was_put_aside_and_spoilt_is_left_where_it_is(repo: Checkout) -> None:
    captured(repo, "First", "--requirements", "Bake a cake.")
    aside = repo.state / "outcomes"
    aside.mkdir()
    (aside / "OUT-00000001.json").write_text("[1]")
    (aside / "OUT-00000002.json").write_text(json.dumps({"raw": {"title": ""}}))
    (aside / "OUT-00000003.json").write_text(json.dumps({"raw": {"title": "Cake, too"}}))
    (aside / "notes.txt").write_text("mine")
    found = json.loads(repo.kl("outcome", "similar", "cake", "--format", "json").stdout)["outcomes"]
    assert {one["id"] for one in found} >= {"OUT-00000003"}
    assert sorted(path.name for path in aside.iterdir()) == [
        "OUT-00000001.json",
        "OUT-00000002.json",
        "notes.txt",
    ]


def test_an_outcome_is_a_success_or_a_failure_not_both(repo: Checkout) -> None:
    done = repo.kl("outcome", "capture", "Sign-in", "--success", "--failure")
    assert (done.returncode, "give one of them" in done.stderr) == (2, True)
    assert json.loads(repo.kl("outcome", "list", "--format", "json").stdout)["records"] == []
    captured(repo, "Sign-in", "--failure")
    assert "outcome type: task_failed" in repo.kl("outcome", "list").stdout
