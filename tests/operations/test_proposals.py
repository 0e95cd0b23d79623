"""Proposals of skills under a policy: a reviewer approves only what he may read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.operations.private_records import hide_private_records
from tests.support import Checkout

AGENT = {"KL_AGENT": "bot"}


def propose(repo: Checkout, name: str, *options: str) -> str:
    """Propose a skill as a person; return its ID."""
    given = ("--description", "Fills in forms.", "--instructions", "1. Do it.", *options)
    assert repo.kl("proposal", "new", name, *given).returncode == 0
    identifier = repo.kl("proposal", "list").stdout.split()[0]
    assert repo.kl("proposal", "submit", identifier).returncode == 0
    return identifier


@pytest.fixture
def reviewed(repo: Checkout) -> Checkout:
    """A repository in which an agent reviews proposals."""
    assert repo.kl("init", "--yes").returncode == 0
    repo.git("config", "kl.reviewers", "bot")
    return repo


@pytest.mark.parametrize("effect", ["deny", "redact"])
@pytest.mark.parametrize("shape", ["text", "json"])
def test_a_reviewer_does_not_approve_a_proposal_that_is_hidden_from_him(
    reviewed: Checkout, effect: str, shape: str
) -> None:
    identifier = propose(reviewed, "lantern", "--requires", "harbor", "--tag", "private")
    hide_private_records(reviewed, effect, "plans")
    done = reviewed.kl("proposal", "approve", identifier, "--format", shape, env=AGENT)
    assert done.returncode == 2 and "denies it to you" in done.stderr
    assert "harbor" not in done.stdout + done.stderr and "lantern" not in done.stdout + done.stderr
    assert "approved" not in reviewed.kl("proposal", "show", identifier).stdout


def test_what_is_proposed_with_an_approved_proposal_is_stated(reviewed: Checkout) -> None:
    identifier = propose(reviewed, "forms", "--requires", "fonts")
    hide_private_records(reviewed, "deny", "plans")
    done = reviewed.kl("proposal", "approve", identifier, env=AGENT)
    assert done.returncode == 0, done.stderr
    assert "fonts, which forms needs" in done.stderr and "kl skill adopt" in done.stderr


def test_a_proposal_that_expired_is_not_approved_before_somebody_read_it_again(
    repo: Checkout,
) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    identifier = propose(repo, "pdf-forms", "--instructions", "Fill it in.")
    assert repo.kl("proposal", "edit", identifier, "--expires", "2020-01-01").returncode == 0
    refused = repo.kl("proposal", "approve", identifier)
    assert refused.returncode == 2 and "expired on 2020-01-01." in refused.stderr
    hint = refused.stderr.partition("then: kl ")[2].split()
    assert repo.kl(*hint).returncode == 0
    assert repo.kl("proposal", "approve", identifier).returncode == 0


def test_pages_that_are_near_an_approved_proposal_are_no_skills_to_propose(repo: Checkout) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    repo.write("docs/forms.md", "# Forms\n\nPdf forms are filled in page by page.\n")
    repo.commit()
    options = ("--instructions", "Fill it in.", "--requires", "pdf-tools")
    identifier = propose(repo, "pdf-forms", *options)
    assert repo.kl("proposal", "approve", identifier).returncode == 0
    titles = [row["title"] for row in listed(repo)]
    assert sorted(titles) == ["pdf-forms", "pdf-tools"]


def listed(repo: Checkout) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(repo.kl("proposal", "list", "--format", "json").stdout)[
        "records"
    ]
    return rows
