"""`kl context critical`: what binds every piece of work, and only what holds."""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout


def made(repo: Checkout, *args: str) -> str:
    done = repo.kl(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


@pytest.mark.requirement("B15", "B16", "B18")
def test_what_binds_is_told_under_its_heading(repo: Checkout) -> None:
    rule = made(repo, "decision", "new", "Parse with ast", "--context", "Speed.", "--decision", "Use ast.")
    made(repo, "decision", "new", "Not decided yet", "--context", "x", "--decision", "y")
    made(repo, "decision", "accept", rule)
    made(repo, "guide", "new", "Billing is apart", "--topic", "architecture", "--text", "Never call it.")
    repo.kl("failure", "record", "Mock the clock", "--prevention", "Give the clock in.")
    made(repo, "guide", "new", "A shop", "--topic", "product", "--text", "It sells things.")
    text = repo.kl("context", "critical").stdout
    assert "## Architecture Decisions (MUST FOLLOW)" in text and "Parse with ast: Use ast." in text
    assert "Mock the clock: Give the clock in." in text and "A shop: It sells things." in text
    assert "Not decided yet" not in text and "Billing" not in text and "A shop" in text
    assert "Billing" in repo.kl("context", "critical", "--command", "feature-build").stdout
    found = json.loads(repo.kl("context", "critical", "--format", "json", "--task", "parse quickly").stdout)
    assert [one["id"] for one in found["architecture_decisions"]] == [rule]
    assert [one["id"] for one in found["relevant_adrs"]] == [rule]
    assert set(found) == {
        "schema", "omitted", "system_context", "quality_gates", "architecture_decisions", "failure_patterns",
        "successful_patterns", "similar_task_outcomes", "relevant_adrs", "applicable_patterns", "relevant_rules",
    }  # fmt: skip
    less = json.loads(repo.kl("context", "critical", "--format", "json", "--without", "system_context").stdout)
    assert "system_context" not in less


def test_what_nobody_committed_ranks_as_an_agent_s(repo: Checkout) -> None:
    rule = made(repo, "decision", "new", "Parse with ast", "--context", "Speed.", "--decision", "Use ast.")
    made(repo, "decision", "accept", rule)

    def authority() -> str:
        found = json.loads(repo.kl("context", "critical", "--format", "json").stdout)["architecture_decisions"]
        return str(found[0]["authority"])

    assert authority() == "agent"
    assert "ranks as an agent's" in repo.kl("context", "parse with ast", "--explain").stdout
    repo.commit()
    assert authority() == "human"


def test_nothing_is_said_plainly(repo: Checkout) -> None:
    done = repo.kl("context", "critical")
    assert (done.returncode, done.stdout, "nothing binds work here yet" in done.stderr) == (0, "", True)


def test_roles_gates_and_modes_are_given_to_who_asks_for_them(repo: Checkout) -> None:
    """They hold common words: a package that held them for their words would be full of them."""
    assert repo.kl("seed", "--system").returncode == 0
    repo.commit()
    made(repo, "fact", "new", "Totals", "--answer", "A change of totals is reviewed.")
    found = json.loads(repo.kl("context", "review the change of totals and run the tests", "--format", "json").stdout)
    kinds = {one["kind"] for one in found["items"]}
    assert "fact" in kinds and not kinds & {"role", "gate", "mode", "turn"}
    assert "MUST NOT DO" in repo.kl("role", "show", "player").stdout
