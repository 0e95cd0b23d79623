"""Roles by name, gates for a piece of work, features in a text: from outside."""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout


@pytest.mark.requirement("B17", "B33")
def test_the_two_roles_that_kl_brings(repo: Checkout) -> None:
    nothing = repo.kl("role", "show", "player")
    assert nothing.returncode == 2 and "kl seed --system" in nothing.stderr
    repo.kl("seed", "--system")
    text = repo.kl("role", "show", "player", "--context", "feature-build").stdout
    for heading in ("**Primary responsibility:**", "## MUST DO", "## MUST NOT DO", "## ASK BEFORE"):
        assert heading in text
    coach = json.loads(repo.kl("role", "show", "Coach", "--format", "json").stdout)
    assert "Write or change the code under review" in coach["fields"]["must_not_do"]
    assert 'Did you mean "player"?' in repo.kl("role", "show", "plyer").stderr
    repo.kl("role", "retire", coach["id"])
    assert repo.kl("role", "show", "coach").returncode == 2
    assert repo.kl("role", "show", coach["id"]).returncode == 0


@pytest.mark.slow
@pytest.mark.requirement("B34")
@pytest.mark.parametrize(
    ("task_type", "complexity", "demands"),
    [
        ("scaffolding", 2, "tests pass, lint is clean"),
        ("feature", 3, "tests pass, lint is clean, coverage at least 60 %"),
        (
            "feature",
            5,
            (
                "tests pass, lint is clean, coverage at least 75 %, architecture review at least 50"
                " of 100"
            ),
        ),
        (
            "Feature",
            10,
            (
                "tests pass, lint is clean, coverage at least 80 %, architecture review at least 70"
                " of 100"
            ),
        ),
        ("testing", 8, "tests pass, lint is clean"),
        ("docs", 1, "nothing is demanded"),
    ],
)
@pytest.mark.share(3)
def test_the_gates_that_kl_brings(
    repo: Checkout, task_type: str, complexity: int, demands: str
) -> None:
    repo.kl("seed", "--system")
    lines = repo.kl(
        "gate", "for", "--type", task_type, "--complexity", str(complexity)
    ).stdout.splitlines()
    assert len(lines) == 2 and lines[0].endswith(f": {demands}")
    assert lines[1] == "Gates hold for the whole session: do NOT adjust mid-session."


def test_a_gate_of_ones_own_counts_and_at_most_four_are_shown(repo: Checkout) -> None:
    for number in range(6):
        repo.kl(
            "gate", "new", f"Gate {number}", "--task-type", "painting", "--coverage-threshold", "60"
        )
    found = json.loads(repo.kl("gate", "for", "--type", "painting", "--format", "json").stdout)
    assert len(found["gates"]) == 4 and found["note"] == "do NOT adjust mid-session"
    assert repo.kl("gate", "for", "--type", "sculpting").returncode == 2
    assert (
        repo.kl("gate", "new", "X", "--task-type", "y", "--coverage-threshold", "6000").returncode
        == 2
    )


@pytest.mark.requirement("B32", "B35")
def test_features_in_a_text(repo: Checkout) -> None:
    repo.write("docs/features/FEAT-AUTH-12-sign-in.md", "# Sign-in\n")
    repo.write("features/FEAT-AUTH-13.md", "# Sign-out\n")
    done = repo.kl(
        "feature", "new", "Sign-in", "--id", "FEAT-AUTH-12", "--what-it-is-not", "Accounts"
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(
        repo.kl("feature", "detect", "do feat-auth-12, not FEAT-PAY-1", "--format", "json").stdout
    )
    assert answer["features"] == [
        {
            "id": "FEAT-AUTH-12",
            "title": "Sign-in",
            "record": True,
            "spec": "docs/features/FEAT-AUTH-12-sign-in.md",
            "related": ["FEAT-AUTH-13"],
        },
        {"id": "FEAT-PAY-1", "title": "", "record": False, "spec": None, "related": []},
    ]
    assert "names no feature" in repo.kl("feature", "detect", "nothing").stdout
