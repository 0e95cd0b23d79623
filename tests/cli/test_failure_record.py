"""Failures from outside: recorded once, counted ever after, reported as warnings where they fit."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import KL, Checkout


def recorded(repo: Checkout, *args: str) -> dict[str, Any]:
    done = repo.kl("failure", "record", "--format", "json", *args)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("option", ["--root-cause", "--cause"])
def test_the_cause_is_given_by_the_name_of_its_field_or_by_its_former_option(
    repo: Checkout, option: str
) -> None:
    made = recorded(repo, "Mock the database", option, "It hid a lock.")
    assert made["fields"]["root_cause"] == "It hid a lock."


def test_each_option_is_read_by_the_name_of_its_field(repo: Checkout) -> None:
    values = {
        "fix_applied": "Use a copy",
        "related_adrs": "ADR-0001",
        "task_id": "T-3",
        "file_path": "src/shop.py",
        "time_to_fix_minutes": "30",
    }
    options = [
        word for name, text in values.items() for word in (f"--{name.replace('_', '-')}", text)
    ]
    fields = recorded(repo, "Mock the database", *options)["fields"]
    shown = {name: str(fields[name]).strip("[]'") for name in values}
    assert shown == values


@pytest.mark.requirement("B31")
def test_the_same_approach_again_is_counted_and_fills_in(repo: Checkout) -> None:
    first = recorded(
        repo, "Mock the database", "--symptom", "green tests, red build", "--severity", "HIGH"
    )
    assert (first["occurrence_count"], first["status"]) == (1, "open")
    second = recorded(
        repo, " mock  the DATABASE ", "--prevention", "Use a real one", "--decision", "ADR-0001"
    )
    assert second["id"] == first["id"] and second["occurrence_count"] == 2
    fields = second["fields"]
    assert (fields["severity"], fields["prevention"], fields["symptom"]) == (
        "high",
        "Use a real one",
        "green tests, red build",
    )
    assert len(list((repo.root / ".kl/knowledge/failures").iterdir())) == 1
    assert recorded(repo, "Mock the clock")["id"] != first["id"]
    shown = json.loads(repo.kl("failure", "show", first["id"], "--format", "json").stdout)
    assert shown["occurrence_count"] == 2 and shown["first_occurred"] <= shown["last_occurred"]
    assert "happened      twice" in repo.kl("failure", "show", first["id"]).stdout


def test_a_mitigated_failure_that_comes_back_is_open_again(repo: Checkout) -> None:
    made = recorded(repo, "Mock the database")
    assert repo.kl("failure", "mitigate", made["id"]).returncode == 2  # nothing prevents it yet
    assert (
        repo.kl("failure", "mitigate", made["id"], "--prevention", "Use a real one").returncode == 0
    )
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


def test_bad_values_are_reported_and_nothing_is_written(repo: Checkout) -> None:
    assert repo.kl("failure", "record", "  ").returncode == 2
    assert repo.kl("failure", "record", "X", "--file", "../../etc/passwd").returncode == 2
    assert not (repo.root / ".kl/knowledge/failures").exists()


@pytest.mark.slow
@pytest.mark.requirement("B31")
def test_six_processes_that_record_a_failure_for_the_first_time_at_once_count_six(
    repo: Checkout,
) -> None:
    command = [*KL, "failure", "record", "Mock the database"]
    started = [
        subprocess.Popen(
            command,
            cwd=repo.root,
            env=dict(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    ended = [(one.communicate()[1], one.returncode) for one in started]
    assert ended == [(b"", 0)] * 6
    assert count_in(repo) == 6
    assert len(list((repo.root / ".kl/knowledge/failures").iterdir())) == 1


def count_in(repo: Checkout) -> int:
    """The live count of the one failure there."""
    (file,) = (repo.root / ".kl/knowledge/failures").iterdir()
    identifier = "-".join(file.stem.split("-")[:2])
    found: int = json.loads(repo.kl("failure", "show", identifier, "--format", "json").stdout)[
        "occurrence_count"
    ]
    return found


def cloned(repo: Checkout, folder: Path) -> Checkout:
    repo.git("clone", "-q", str(repo.root), str(folder))
    return Checkout(folder)


@pytest.mark.slow
@pytest.mark.requirement("B31")
def test_the_file_holds_a_base_count_and_every_clone_adds_its_own_events(
    repo: Checkout, tmp_path: Path
) -> None:
    made = recorded(repo, "Mock the database")
    repo.commit()
    for n in range(3):
        assert recorded(repo, "Mock the database", "--task", f"T-{n}")["occurrence_count"] == n + 2
    assert repo.git("status", "--short") == ""  # an occurrence is an Event
    other = cloned(repo, tmp_path / "other")
    assert count_in(other) == 1  # what the file states: the rest has not been written down yet
    assert "1 → 4" in repo.kl("knowledge", "gc").stdout
    assert repo.kl("knowledge", "gc", "--apply").returncode == 0
    assert "occurrence_count: 4" in (repo.root / made["path"]).read_text()
    assert count_in(repo) == 4 and "Nothing to do" in repo.kl("knowledge", "gc").stdout
    repo.commit()
    assert recorded(other, "Mock the database")["occurrence_count"] == 2
    other.git("pull", "-q")
    assert count_in(other) == 5  # four in the file, one here
    assert other.kl("knowledge", "gc", "--apply").returncode == 0
    other.commit()
    repo.git("pull", "-q", str(other.root), "main")
    assert recorded(repo, "Mock the database")["occurrence_count"] == 6
    # an older base count: what this clone saw is added all the same
    repo.git("checkout", "-q", "HEAD~1")
    assert count_in(repo) == 5


def test_a_review_writes_the_count_and_a_file_that_comes_back_goes_on_counting(
    repo: Checkout,
) -> None:
    made = recorded(repo, "Mock the database")
    recorded(repo, "Mock the database")
    assert (
        repo.kl("failure", "mitigate", made["id"], "--prevention", "Use a real one").returncode == 0
    )
    assert "occurrence_count: 2" in (repo.root / made["path"]).read_text()
    shown = repo.kl("failure", "show", made["id"])
    assert "occurrence" not in shown.stdout and "counted" not in shown.stdout
    assert (
        "occurrence_count"
        not in json.loads(repo.kl("failure", "show", made["id"], "--format", "json").stdout)[
            "fields"
        ]
    )
    assert repo.kl("failure", "delete", made["id"], "--yes").returncode == 0
    assert recorded(repo, "Mock the database")["occurrence_count"] == 3


def test_a_failure_written_with_new_or_imported_counts_from_there(repo: Checkout) -> None:
    made = json.loads(
        repo.kl("failure", "new", "A", "--approach", "Mock it", "--format", "json").stdout
    )
    assert recorded(repo, "Mock it")["occurrence_count"] == 2
    repo.write(
        "old.json",
        json.dumps({"approach": "Sleep in tests", "title": "Sleep", "occurrence_count": 4}),
    )
    assert repo.kl("knowledge", "import", "--kind", "failure", "old.json").returncode == 0
    assert recorded(repo, "sleep in tests")["occurrence_count"] == 5
    assert made["status"] == "open"
