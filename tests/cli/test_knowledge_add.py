"""`kl knowledge add` from outside: documents become records, once."""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout

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
        "docs/overview.md", "# Shop\n\nA shop for tests, open to all.\n\n## Architecture\n\nTwo rooms and a door.\n"
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
