"""Mining: what becomes a pattern, what is trivia, and that nothing depends on order or chance.

Commands that nothing is learned from.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.memory.miners import is_trivial, receipt_patterns
from kl_hooks.kinds.memory.patterns import Pattern

from .receipts import Story


def enough(story: Story) -> list[str]:
    """The patterns that are proposed."""
    return [one.text for one in receipt_patterns(story.entries, story.commits) if one.enough]


def one(story: Story, beginning: str) -> Pattern:
    return next(
        found
        for found in receipt_patterns(story.entries, story.commits)
        if found.text.startswith(beginning)
    )


@pytest.mark.requirement("A41")
def test_a_command_that_succeeds_in_two_sessions_is_a_pattern() -> None:
    story = Story()
    story.command("make build")
    story.command("make build")
    assert enough(story) == []
    story.days()
    story.command("make build")
    assert enough(story) == ["Shell command succeeds: make build"]
    found = one(story, "Shell command succeeds")
    assert ({s.proof for s in found.sightings}, len(found.sessions)) == ({"ExitCode"}, 2)


@pytest.mark.requirement("A41")
def test_a_command_that_fails_twice_in_a_row_is_a_pattern() -> None:
    story = Story()
    story.command("make lint", 1)
    story.command("make lint")
    story.command("make lint", 2)
    assert enough(story) == []
    story.command("make lint", 2)
    assert enough(story) == ["Shell command fails repeatedly: make lint"]


@pytest.mark.requirement("D52")
def test_classes_of_errors_rates_and_durations_of_commands_are_learnings() -> None:
    messages = {
        "timeout": "TimeoutError: timed out",
        "rate limit": "HTTP error 429: too many requests",
        "network": "Connection refused",
        "authentication": "error: 401 Unauthorized",
        "memory": "MemoryError",
        "token limit": "error: context length exceeded",
    }
    for name, message in messages.items():
        story = Story()
        story.command("make deploy", 1, tail=message)
        assert enough(story) == []
        story.command("make deploy", 1, tail=message)
        found = one(story, "Command fails with an error of the class")
        assert (found.text, found.enough) == (
            f"Command fails with an error of the class {name}: make deploy",
            True,
        )
        assert (found.category, len(found.sightings)) == ("failure_mode", 2)
    story = Story()
    for code in (1, 0, 1, 0, 0, 1):
        assert not any("half of its runs" in text for text in enough(story))
        story.command("make flaky", code)
    assert (
        one(story, "Command fails in half of its runs or more: make flaky").category
        == "anti_pattern"
    )
    for took, text in (
        (4_000_000, "Command is quick and never fails"),
        (61_000_000, "Command takes more than a minute"),
    ):
        story = Story()
        for _ in range(5):
            assert not any(found.startswith("Command") for found in enough(story))
            story.command("make check", took=took)
        assert one(story, text).enough
    assert not any("quick" in text for text in enough(story))


def test_a_command_that_somebody_stopped_has_not_failed() -> None:
    story = Story()
    story.command("make serve", 130)
    story.command("make serve", 143)
    assert receipt_patterns(story.entries, []) == []


def test_trivia_never_becomes_a_pattern() -> None:
    story = Story()
    for _ in range(5):
        for line in ("git status", "ls -la", "cd src", "echo hi", "sh -c 'ls | wc -l'"):
            story.command(line)
            story.command(line, 1)
        story.tests({"tests/test_a.py::test_a": "passed"})
        story.days()
    assert receipt_patterns(story.entries, []) == []


def test_a_long_command_is_cut_at_120_characters() -> None:
    story = Story()
    story.command("make " + "x" * 200)
    (found,) = receipt_patterns(story.entries, [])
    assert found.text == "Shell command succeeds: make " + "x" * 115 + "…"


@pytest.mark.requirement("A41")
def test_a_test_that_failed_and_has_passed_in_two_sessions_is_a_pattern() -> None:
    story = Story()
    story.tests({"tests/test_a.py::test_a": "passed", "tests/test_a.py::test_b": "passed"})
    story.tests({"tests/test_a.py::test_a": "failed", "tests/test_a.py::test_b": "passed"})
    story.tests({"tests/test_a.py::test_a": "passed", "tests/test_a.py::test_b": "passed"})
    assert enough(story) == []
    story.days()
    story.tests({"tests/test_a.py::test_a": "passed", "tests/test_a.py::test_b": "passed"})
    assert enough(story) == ["Test passes: tests/test_a.py::test_a"]
    story.tests({"tests/test_a.py::test_a": "failed"})
    assert enough(story) == []


def test_which_files_commits_write_often_is_no_pattern() -> None:
    story = Story()
    for _ in range(3):
        for _ in range(2):
            story.commit("Work", "pyproject.toml", "src/a.py")
        story.days()
    assert not receipt_patterns(story.entries, story.commits)


def test_a_failure_and_the_commit_that_ended_it_are_a_pattern() -> None:
    story = Story()
    story.tests({"t.py::test_bom": "passed", "t.py::test_x": "passed"})
    story.edit("broken")
    story.commit("Read faster", "src/names.py")
    story.tests(
        {"t.py::test_bom": "failed", "t.py::test_x": "failed"}, "UnicodeDecodeError: byte 0xff"
    )
    story.edit("mended")
    story.tests({"t.py::test_bom": "passed", "t.py::test_x": "passed"}, dirty=True)
    assert not any(
        "Fixed" in found.text for found in receipt_patterns(story.entries, story.commits)
    )
    commit = story.commit("Strip the BOM", "src/names.py", "tests/test_names.py", "README.md")
    found = one(story, "Fixed")
    assert found.text == (
        f"Fixed by commit {commit.sha[:8]} (Strip the BOM), which changed src/names.py: "
        "t.py::test_bom, t.py::test_x failed with: UnicodeDecodeError: byte 0xff"
    )
    assert found.enough and len(found.sessions) == 1
    assert [s.receipt for s in found.sightings] == [story.entries[1].id, story.entries[2].id]


def test_a_pass_with_files_that_no_commit_has_is_after_the_commit_and_not_by_it() -> None:
    story = Story()
    story.commit("Begin", "src/names.py")
    story.command("python -m tool", 1)
    story.edit("unrelated")
    commit = story.commit("Speed up", "src/other.py")
    story.command("python -m tool", tree_all="f" * 40)
    assert one(story, "Passed after").text.startswith(
        f"Passed after commit {commit.sha[:8]} (Speed up), which changed src/other.py: "
    )


def test_a_commit_that_can_not_have_fixed_it_is_not_named() -> None:
    story = Story()
    story.commit("Begin", "src/a.py")
    story.tests({"t.py::test_a": "passed", "t.py::test_b": "passed"})
    story.edit("broken")
    story.commit("Break", "src/a.py")
    story.tests({"t.py::test_a": "failed"})
    story.edit("other words")
    story.commit("Say it", "README.md", "tests/test_b.py", "uv.lock")
    story.tests({"t.py::test_a": "passed"})
    assert enough(story) == []
    story.edit("broken again")
    story.commit("Break again", "src/a.py")
    story.tests({"t.py::test_a": "failed"})
    story.edit("one")
    story.commit("One of two", "src/a.py")
    story.edit("two")
    story.commit("Two of two", "src/a.py")
    story.tests({"t.py::test_a": "passed"})
    assert not any("Fixed" in pattern for pattern in enough(story))


def test_work_in_progress_is_no_error_that_was_fixed() -> None:
    story = Story()
    story.tests({"t.py::test_a": "passed"})
    story.edit("half done")
    story.tests({"t.py::test_a": "failed"}, dirty=True)
    story.edit("done")
    story.tests({"t.py::test_a": "passed"}, dirty=True)
    story.commit("Do it", "src/a.py")
    assert enough(story) == []


def test_a_test_that_was_added_with_its_code_was_never_broken() -> None:
    story = Story()
    story.tests({"t.py::test_new": "failed"})
    story.edit("done")
    story.tests({"t.py::test_new": "passed"})
    story.commit("Add it", "src/a.py", "t.py")
    assert enough(story) == []


def test_a_pass_on_the_same_tree_is_no_fix() -> None:
    story = Story()
    story.commit("Begin", "src/a.py")
    story.tests({"t.py::test_a": "failed"})
    story.commit("Nothing in the tree", "src/a.py")
    story.tests({"t.py::test_a": "passed"})
    assert enough(story) == []


def test_a_command_has_its_fix_too() -> None:
    story = Story()
    story.command(
        "make docs", 2, "reading\nSphinxError: unknown directive 'tab'\nmake: *** [docs] 2"
    )
    story.edit("mended")
    story.command("make docs")
    story.commit("Add the tab extension", "docs/conf.py")
    assert one(story, "Fixed").text.endswith(
        "changed docs/conf.py: `make docs` failed with: SphinxError: unknown directive 'tab'"
    )


def test_a_run_belongs_to_the_session_of_the_run_around_it_and_an_agent_names_its_own() -> None:
    story = Story()
    outer = story.command("make test")
    story.who = "agent:other@box"
    story.command("make test", parent=outer.receipt.run)
    assert enough(story) == []
    story.command("make test", environment={"session": "s-1"})
    story.command("make test", environment={"session": "s-2"})
    assert one(story, "Shell command succeeds").sessions[1:] == ("agent:s-1", "agent:s-2")


def test_what_was_imported_or_never_ended_shows_nothing() -> None:
    story = Story()
    for _ in range(2):
        story.command("make build", origin="imported:x")
        story.command("make test", result={"complete": False})
        story.tests({"t.py::test_a": "failed"}, result={"complete": False})
        story.days()
    assert receipt_patterns(story.entries, []) == []


def test_the_order_in_which_receipts_are_given_changes_nothing() -> None:
    story = Story()
    for day in range(4):
        story.command("make build")
        story.command("make lint", day % 2)
        story.command("make lint", 1)
        story.tests({"t.py::test_a": "failed" if day == 1 else "passed"})
        story.commit(f"Work {day}", "src/a.py")
        story.commit(f"Work {day}", "src/a.py")
        story.days()
    expected = receipt_patterns(story.entries, story.commits)
    for seed in range(20):
        mixed, log = list(story.entries), list(story.commits)
        random.Random(seed).shuffle(mixed)
        random.Random(seed).shuffle(log)
        assert receipt_patterns(mixed, log) == expected


TRIVIAL = [
    "git status",
    "git -C sub log --oneline",
    "git commit -m 'x y'",
    "ls",
    "ls -la /tmp",
    "cd src",
    "echo hi",
    "pwd",
    "cat a b",
    "/bin/ls",
    "python --version",
    "make --help",
    "env A=1 ls",
    "sudo ls",
    "sh -c 'cd src && ls | wc -l'",
    "bash -lc 'git status'",
    "timeout 60 cat x",
    "git",
    "pip list",
    "docker ps -a",
    "true",
    "kl status",
    "",
    "   ",
]
REPORTING = [
    "pytest -q",
    "make build",
    "npm run build",
    "python -m build",
    "docker compose up -d",
    "pip install -e .",
    "cargo test",
    "sh -c 'cd src && make'",
    "env CI=1 tox -e py312",
    "uv sync",
    "git bisect run make",
    "./scripts/deploy.sh staging",
    "terraform plan",
    "sh -c 'make'",
    "timeout 60 make slow",
    "it's broken ( quoting",
]


@pytest.mark.requirement("A41")
@pytest.mark.parametrize("command", TRIVIAL)
def test_looking_around_is_trivial(command: str) -> None:
    assert is_trivial(command)


@pytest.mark.parametrize("command", REPORTING)
def test_building_and_testing_is_not(command: str) -> None:
    assert not is_trivial(command)


@given(st.text(max_size=200))
def test_any_line_gets_an_answer(command: str) -> None:
    assert is_trivial(command) in (True, False)
