"""Proposals of skills under a policy: a reviewer approves only what he may read."""

from __future__ import annotations

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
