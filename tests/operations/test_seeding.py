"""Seeding under a policy: an agent makes no records of a document that it may not read, for these
would have the text under no rule.
"""

from __future__ import annotations

import pytest

from tests.operations.private_records import hide_private_records
from tests.support import Checkout

AGENT = {"KL_AGENT": "bot"}


@pytest.fixture
def documented(repo: Checkout) -> Checkout:
    """A repository in which nothing is seeded yet."""
    assert repo.kl("init", "--yes").returncode == 0
    repo.write("README.md", "# Shop\n\nA shop for tests. It sells nothing.\n")
    return repo


@pytest.mark.parametrize("effect", ["deny", "redact"])
@pytest.mark.parametrize("options", [(), ("--force",), ("--dry-run",)])
def test_an_agent_seeds_nothing_of_a_document_that_is_hidden_from_it(
    documented: Checkout, effect: str, options: tuple[str, ...]
) -> None:
    documented.write("plans/pay.md", "# Pay\n\n## Salaries\n\nBob earns 90,000 pounds.\n")
    (documented.root / "CLAUDE.md").symlink_to("plans/pay.md")
    hide_private_records(documented, effect, "plans")
    for shape in ("text", "json"):
        done = documented.kl("seed", *options, "--format", shape, env=AGENT)
        assert done.returncode == 2 and "denies it to you" in done.stderr
        assert "Salaries" not in done.stdout + done.stderr
    assert "Salaries" not in documented.kl("guide", "list").stdout
    assert documented.kl("seed").returncode == 0
    assert "Salaries" in documented.kl("guide", "list").stdout


def test_an_agent_seeds_what_it_may_read(documented: Checkout) -> None:
    hide_private_records(documented, "deny", "plans")
    assert "1 created" in documented.kl("seed", env=AGENT).stdout
    assert "14 created" in documented.kl("seed", "--system", env=AGENT).stdout


def test_the_same_seeds_of_two_branches_are_one_after_the_merge(repo: Checkout) -> None:
    repo.kl("init", "--yes")
    repo.commit()
    repo.git("branch", "other")
    for branch in ("", "other"):
        if branch:
            repo.git("checkout", "-q", branch)
        assert repo.kl("seed", "--system").returncode == 0
        repo.commit("Seed")
    repo.git("merge", "-q", "-m", "Merge", "main")
    checked = repo.kl("knowledge", "check")
    assert checked.returncode == 1
    assert "GATE-0007 is the same seed as GATE-0001." in checked.stdout
    assert "Let one of them go: kl seed --system" in checked.stdout
    # until somebody does, nobody is given a gate twice
    binding = repo.kl("context", "critical", "--top", "50").stdout
    assert "GATE-0001" in binding and "GATE-0007" not in binding
    assert repo.kl("seed", "--system").returncode == 0
    assert repo.kl("knowledge", "check").returncode == 0
    gates = repo.kl("gate", "list").stdout
    assert gates.count("active") == gates.count("retired") == 6
    # a second time nothing is left to do
    assert "14 seeds: 14 skipped" in repo.kl("seed", "--system").stdout
