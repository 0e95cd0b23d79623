"""Objectives from outside: made with tasks, counted on demand, reported in every package."""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout


def status(repo: Checkout) -> dict[str, object]:
    found = json.loads(repo.kl("objective", "status", "OBJ-0001", "--format", "json").stdout)[
        "objectives"
    ]
    assert len(found) == 1
    return dict(found[0])


@pytest.mark.requirement("A53", "A54", "A55")
def test_create_list_and_status_as_the_older_commands_did(repo: Checkout) -> None:
    made = repo.kl(
        "objective",
        "create",
        "--title",
        "A parser",
        "--tasks",
        "Lexer, Grammar,, ",
        "--task",
        "Docs, too",
    )
    assert made.returncode == 0, made.stderr
    assert (repo.root / ".kl/knowledge/objectives/OBJ-0001-a-parser.md").is_file()
    assert "OBJ-0001  active     A parser" in repo.kl("objective", "list").stdout
    found = status(repo)
    assert (found["percent"], found["remaining"]) == (0, ["Lexer", "Grammar", "Docs, too"])


@pytest.mark.requirement("A56")
def test_linking_moves_a_task_and_notes_the_session(repo: Checkout) -> None:
    repo.kl("objective", "new", "A parser", "--tasks", "Lexer,Grammar")
    done = repo.kl("objective", "link", "OBJ-0001", "lexer", "--done", env={"KL_SESSION": "s-1"})
    assert done.returncode == 0 and "50 % (1 of 2 tasks)" in done.stdout
    repo.kl("objective", "link", "OBJ-0001", "Printer", env={"KL_SESSION": "s-1"})
    found = status(repo)
    assert (found["completed"], found["remaining"], found["percent"]) == (
        ["Lexer"],
        ["Grammar", "Printer"],
        33,
    )
    fields = json.loads(repo.kl("objective", "show", "OBJ-0001", "--format", "json").stdout)[
        "fields"
    ]
    assert fields["sessions"] == ["s-1"]
    repo.kl("objective", "link", "OBJ-0001", "Lexer")
    assert status(repo)["percent"] == 0


def test_a_hand_edit_of_the_lists_counts_at_once(repo: Checkout) -> None:
    repo.kl("objective", "new", "A parser", "--tasks", "Lexer,Grammar")
    path = repo.root / ".kl/knowledge/objectives/OBJ-0001-a-parser.md"
    path.write_text(path.read_text().replace("- Lexer\n", "") + "\n## Completed\n\n- Lexer\n")
    assert status(repo)["percent"] == 50


@pytest.mark.requirement("A53")
def test_every_package_shows_active_objectives_and_five_tasks_at_most(repo: Checkout) -> None:
    repo.write("shop.py", "def total(items):\n    return sum(items)\n")
    repo.commit()
    repo.kl("objective", "new", "Zebra crossing", "--tasks", "a1,a2,a3,a4,a5,a6,a7")
    repo.kl("objective", "new", "Put aside")
    repo.kl("objective", "pause", "OBJ-0002")
    package = repo.kl("context", "round the total of items").stdout
    assert "OBJ-0001 Zebra crossing: 0 % (0 of 7 tasks)" in package
    assert "- a5" in package and "- a6" not in package and "… and 2 more" in package
    assert "OBJ-0002" not in package


def test_mistakes_are_reported_and_change_nothing(repo: Checkout) -> None:
    assert repo.kl("objective", "new").returncode == 2
    assert repo.kl("objective", "link", "OBJ-0009", "x").returncode == 2
    repo.kl("objective", "new", "A parser")
    assert repo.kl("objective", "link", "OBJ-0001", " ").returncode == 2
    assert "no tasks" in repo.kl("objective", "status").stdout


@pytest.mark.slow
@pytest.mark.requirement("A53")
def test_all_active_objectives_are_counted_and_the_smallest_budget_keeps_one_line(
    repo: Checkout,
) -> None:
    for number in range(16):
        repo.kl("objective", "new", f"Goal {number}", "--tasks", "x")
    repo.commit()
    package = repo.kl("context", "round the total of items").stdout
    assert "16 objectives are active" in package and "and 11 more active objectives" in package
    assert package.count("- [assumed · current] OBJ-") == 5
    for budget in ("256", "64tok"):
        small = repo.kl("context", "round the total of items", "--budget", budget).stdout
        assert "(+15 more active) " in small and "OBJ-0016" in small, small
    assert "OBJ-0016" in repo.kl("context", "zz").stdout, "whatever the words of the task are"
