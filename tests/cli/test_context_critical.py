"""`kl context critical`: what binds every piece of work, and only what is in force."""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout


def made(repo: Checkout, *args: str) -> str:
    done = repo.kl(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


@pytest.mark.requirement("B15", "B16", "B18")
def test_what_binds_is_reported_under_its_heading(repo: Checkout) -> None:
    rule = made(
        repo, "decision", "new", "Parse with ast", "--context", "Speed.", "--decision", "Use ast."
    )
    made(repo, "decision", "new", "Not decided yet", "--context", "x", "--decision", "y")
    made(repo, "decision", "accept", rule)
    made(
        repo,
        "guide",
        "new",
        "Billing is apart",
        "--topic",
        "architecture",
        "--text",
        "Never call it.",
    )
    repo.kl("failure", "record", "Mock the clock", "--prevention", "Give the clock in.")
    made(repo, "guide", "new", "A shop", "--topic", "product", "--text", "It sells things.")
    text = repo.kl("context", "critical").stdout
    assert "## Architecture Decisions (MUST FOLLOW)" in text and "Parse with ast: Use ast." in text
    assert "Mock the clock: Give the clock in." in text and "A shop: It sells things." in text
    assert "Not decided yet" not in text and "Billing" not in text and "A shop" in text
    assert "Billing" in repo.kl("context", "critical", "--command", "feature-build").stdout
    found = json.loads(
        repo.kl("context", "critical", "--format", "json", "--task", "parse quickly").stdout
    )
    assert [one["id"] for one in found["architecture_decisions"]] == [rule]
    assert [one["id"] for one in found["relevant_adrs"]] == [rule]
    assert set(found) == {
        "schema",
        "omitted",
        "system_context",
        "quality_gates",
        "architecture_decisions",
        "failure_patterns",
        "successful_patterns",
        "similar_task_outcomes",
        "relevant_adrs",
        "applicable_patterns",
        "relevant_rules",
    }
    less = json.loads(
        repo.kl("context", "critical", "--format", "json", "--without", "system_context").stdout
    )
    assert "system_context" not in less


def test_what_was_edited_without_kl_and_not_committed_ranks_as_an_agent_s(repo: Checkout) -> None:
    rule = made(
        repo, "decision", "new", "Parse with ast", "--context", "Speed.", "--decision", "Use ast."
    )
    made(repo, "decision", "accept", rule)

    def authority() -> str:
        found = json.loads(repo.kl("context", "critical", "--format", "json").stdout)[
            "architecture_decisions"
        ]
        return str(found[0]["authority"])

    # a person typed it, and the file is as kl wrote it
    assert authority() == "human"
    file = next((repo.root / ".kl" / "knowledge" / "decisions").glob(f"{rule}*"))
    file.write_text(
        file.read_text(encoding="utf-8").replace("Use ast.", "Use libcst."), encoding="utf-8"
    )
    assert authority() == "agent"
    assert "ranks as an agent's" in repo.kl("context", "parse with ast", "--explain").stdout
    repo.commit()
    assert authority() == "human"


def test_nothing_is_reported_plainly(repo: Checkout) -> None:
    done = repo.kl("context", "critical")
    assert (done.returncode, done.stdout, "nothing binds work here yet" in done.stderr) == (
        0,
        "",
        True,
    )


def test_roles_gates_and_modes_are_given_to_who_asks_for_them(repo: Checkout) -> None:
    """They contain common words: a package that included them for their words would be full of
    them.
    """
    assert repo.kl("seed", "--system").returncode == 0
    repo.commit()
    made(repo, "fact", "new", "Totals", "--answer", "A change of totals is reviewed.")
    found = json.loads(
        repo.kl(
            "context", "review the change of totals and run the tests", "--format", "json"
        ).stdout
    )
    kinds = {one["kind"] for one in found["items"]}
    assert "fact" in kinds and not kinds & {"role", "gate", "mode", "turn"}
    assert "MUST NOT DO" in repo.kl("role", "show", "player").stdout


def failure(repo: Checkout, approach: str, severity: str, *more: str) -> str:
    made = repo.kl(
        "failure", "record", approach, "--severity", severity, "--prevention", "Do better.", *more
    )
    return made.stdout.split()[0]


@pytest.mark.slow
@pytest.mark.requirement("B15", "B16", "B17", "B18")
def test_failures_are_ordered_by_severity_recency_and_likeness_and_cuts_are_counted(
    repo: Checkout,
) -> None:
    names = {
        word: failure(repo, word, severity)
        for word, severity in (
            ("zebra crossing", "low"),
            ("apple pie", "high"),
            ("medium rare", "medium"),
            ("burnt toast", "critical"),
            ("yellow zebra", "high"),
        )
    }

    def order(*args: str) -> list[str]:
        found = json.loads(repo.kl("context", "critical", "--format", "json", *args).stdout)
        by_id = {identifier: word for word, identifier in names.items()}
        return [by_id[one["id"]] for one in found["failure_patterns"]]

    assert order()[0] == "burnt toast" and order()[-2:] == ["medium rare", "zebra crossing"]
    assert order("--task", "paint the zebra")[:3] == ["burnt toast", "yellow zebra", "apple pie"]
    assert order("--task", "bake an apple pie")[:3] == ["burnt toast", "apple pie", "yellow zebra"]
    assert order("--max-items", "1") == ["burnt toast"]
    assert (
        "… and 4 more: kl failure list" in repo.kl("context", "critical", "--max-items", "1").stdout
    )
    cut = json.loads(repo.kl("context", "critical", "--max-items", "1", "--format", "json").stdout)[
        "omitted"
    ]
    assert cut == {"failure_patterns": 4}


@pytest.mark.slow
@pytest.mark.requirement("B18", "B28", "B34", "B17")
def test_a_build_gets_gates_roles_and_the_overview_of_its_feature(repo: Checkout) -> None:
    assert repo.kl("seed", "--system").returncode == 0
    repo.kl(
        "feature",
        "new",
        "Auth",
        "--id",
        "FEAT-AUTH-1",
        "--purpose",
        "Log people in.",
        "--invariants",
        "No plain text.",
    )
    plain = repo.kl("context", "critical").stdout
    assert "do NOT adjust mid-session" in plain and "coverage at least 75 %" in plain
    assert "MUST NOT DO" not in plain and "Log people in." not in plain
    assert "Log people in." in repo.kl("context", "critical", "--feature", "FEAT-AUTH-1").stdout
    build = repo.kl(
        "context", "critical", "--command", "feature-build", "--feature", "feat-auth-1"
    ).stdout
    assert (
        "## Feature Overview" in build and "Log people in." in build and "No plain text." in build
    )
    assert build.count("## MUST NOT DO") == 2 and "# player" in build and "# coach" in build
    assert (
        "Log people in."
        in repo.kl("context", "critical", "--task", "go on with FEAT-AUTH-1").stdout
    )


def test_a_failure_that_an_agent_reported_is_shown_where_it_fits_the_task(repo: Checkout) -> None:
    repo.kl("failure", "record", "zebra crossing", env={"KL_AGENT": "bot"})
    assert "zebra crossing" not in repo.kl("context", "critical").stdout
    assert "zebra crossing" in repo.kl("context", "critical", "--task", "paint the zebra").stdout


def test_a_seeded_fact_is_not_given_twice(repo: Checkout) -> None:
    repo.write("README.md", "# Shop\n\nShop sells zebras to zoos. It ships them by rail.\n")
    repo.commit()
    repo.kl("seed")
    shown = repo.kl("context", "sell zebras", "--budget", "1500tok").stdout
    assert "sells zebras" in shown and "Project overview: Shop sells" not in shown


@pytest.mark.requirement("B16")
def test_a_feature_that_does_not_exist_is_refused(repo: Checkout) -> None:
    done = repo.kl("context", "critical", "--feature", "FEAT-NOPE-1")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "kl: FEAT-NOPE-1: there is no feature of this ID. See: kl feature list",
    )
