"""Turns from outside: numbered per feature and task, and a rejection is the first item the next
round hears.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout


def added(
    repo: Checkout, *args: str, feature: str = "FEAT-AUTH-12", task: str = "T-3"
) -> dict[str, Any]:
    done = repo.kl("turn", "add", "--feature", feature, "--task", task, "--format", "json", *args)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.requirement("B29")
def test_everything_that_can_be_recorded_of_a_turn_is_stored(repo: Checkout) -> None:
    made = added(
        repo,
        "--summary",
        "Did it",
        "--decision",
        "implemented",
        "--review",
        "REJECTED",
        "--feedback",
        "No test",
        "--mode",
        "continuing_work",
        "--blocker",
        "B1",
        "--criterion",
        "a = b=done",
        "--file",
        "src/a.py",
        "--tests-passed",
        "3",
        "--failed",
        "1",
        "--coverage",
        "71",
        "--arch-score",
        "60",
        "--lessons",
        "L",
        "--next",
        "N",
        "--progress",
        "half",
        "--started",
        "2026-01-01",
        "--seconds",
        "90",
    )
    assert made["id"] == "TURN-FEAT-AUTH-12-1"
    fields = made["fields"]
    assert fields["acceptance_criteria_status"] == {"a = b": "done"}
    assert (fields["turn_number"], fields["coach_decision"], fields["mode"]) == (
        1,
        "rejected",
        "continuing_work",
    )
    assert (
        fields["tests_passed"],
        fields["tests_failed"],
        fields["coverage"],
        fields["arch_score"],
    ) == (3, 1, 71, 60)


@pytest.mark.requirement("B30")
def test_the_next_round_starts_from_the_last_five_and_what_must_be_addressed(
    repo: Checkout,
) -> None:
    for number in range(1, 8):
        added(repo, "--summary", f"Round {number}", "--review", "approved")
    added(repo, task="T-4")
    added(repo, "--review", "rejected", "--feedback", "No test for UTF-8.")
    answer = json.loads(
        repo.kl(
            "turn", "continue", "--feature", "feat-auth-12", "--task", "T-3", "--format", "json"
        ).stdout
    )
    assert [one["fields"]["turn_number"] for one in answer["turns"]] == [4, 5, 6, 7, 8]
    assert answer["must_address"] == "No test for UTF-8." and answer["next"] == 9
    text = repo.kl("turn", "continue", "--feature", "FEAT-AUTH-12", "--task", "T-3").stdout
    assert text.endswith("## MUST ADDRESS (turn 8 was rejected)\n\nNo test for UTF-8.\n")
    assert "first" in repo.kl("turn", "continue", "--feature", "FEAT-PAY-1").stdout


@pytest.mark.requirement("B30", "B35")
def test_a_package_for_a_named_feature_holds_what_must_be_addressed(repo: Checkout) -> None:
    repo.write("docs/features/FEAT-AUTH-12-sign-in.md", "# Sign-in\n")
    added(repo, "--review", "rejected", "--feedback", "No test for UTF-8.")
    package = repo.kl("context", "go on with FEAT-AUTH-12").stdout
    assert "MUST ADDRESS" in package and "No test for UTF-8." in package
    assert "FEAT-AUTH-12 is specified in docs/features/FEAT-AUTH-12-sign-in.md" in package
    added(repo, "--review", "approved")
    assert "MUST ADDRESS" not in repo.kl("context", "go on with FEAT-AUTH-12").stdout


def test_bad_values_are_reported_and_nothing_is_written(repo: Checkout) -> None:
    more = [["--criterion", "x"], ["--coverage", "600"], ["--mode", "sideways"]]
    for args in [
        ["--feature", "auth"],
        ["--feature", "FEAT-A-1/../x"],
        ["--feature", "FEAT-A-B-C-D-1"],
        *(["--feature", "FEAT-A-1", *m] for m in more),
    ]:
        assert repo.kl("turn", "add", *args).returncode == 2, args
    assert json.loads(repo.kl("turn", "list", "--format", "json").stdout)["total"] == 0
