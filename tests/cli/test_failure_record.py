"""Failures from outside: recorded once, counted ever after, told as warnings where they fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout


def recorded(repo: Checkout, *args: str) -> dict[str, Any]:
    done = repo.kl("failure", "record", "--format", "json", *args)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.requirement("B31")
def test_the_same_approach_again_is_counted_and_fills_in(repo: Checkout) -> None:
    first = recorded(repo, "Mock the database", "--symptom", "green tests, red build", "--severity", "HIGH")
    assert (first["occurrence_count"], first["status"]) == (1, "open")
    second = recorded(repo, " mock  the DATABASE ", "--prevention", "Use a real one", "--decision", "ADR-0001")
    assert second["id"] == first["id"] and second["occurrence_count"] == 2
    fields = second["fields"]
    assert (fields["severity"], fields["prevention"], fields["symptom"]) == (
        "high", "Use a real one", "green tests, red build",
    )  # fmt: skip
    assert len(list((repo.root / ".kl/knowledge/failures").iterdir())) == 1
    assert recorded(repo, "Mock the clock")["id"] != first["id"]
    shown = json.loads(repo.kl("failure", "show", first["id"], "--format", "json").stdout)
    assert shown["occurrence_count"] == 2 and shown["first_occurred"] <= shown["last_occurred"]
    assert "happened      twice" in repo.kl("failure", "show", first["id"]).stdout


def test_a_mitigated_failure_that_comes_back_is_open_again(repo: Checkout) -> None:
    made = recorded(repo, "Mock the database")
    assert repo.kl("failure", "mitigate", made["id"]).returncode == 2  # nothing prevents it yet
    assert repo.kl("failure", "mitigate", made["id"], "--prevention", "Use a real one").returncode == 0
    assert recorded(repo, "Mock the database")["status"] == "open"


@pytest.mark.requirement("B15", "B17")
def test_a_failure_that_fits_the_task_is_a_warning_in_its_package(repo: Checkout) -> None:
    made = recorded(repo, "Mock the database", "--prevention", "Use a real one")
    recorded(repo, "Mock the database")
    recorded(repo, "Polish the zebra")
    package = repo.kl("context", "write tests for the database with a mock").stdout
    assert f"{made['id']} Mock the database" in package
    assert "DO NOT REPEAT: this failed twice" in package and "Instead: Use a real one" in package
    assert "zebra" not in package


def test_bad_values_are_told_and_nothing_is_written(repo: Checkout) -> None:
    assert repo.kl("failure", "record", "  ").returncode == 2
    assert repo.kl("failure", "record", "X", "--file", "../../etc/passwd").returncode == 2
    assert not (repo.root / ".kl/knowledge/failures").exists()
