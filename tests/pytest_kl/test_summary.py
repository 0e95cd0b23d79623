"""What the person at the terminal reads, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.git.worktree import WorktreeState
from pytest_kl import recorder
from tests.support import run_in_process

from .recorded import environment, git, only, repository, run_pytest

TEST = {"test_x.py": "def test_a(): pass\n"}


@pytest.mark.parametrize(
    ("place", "previous", "elsewhere", "line"),
    [
        (WorktreeState(tree="3f9a1c2" + "0" * 33), "", "", "kl: recording for tree 3f9a1c2"),
        (
            WorktreeState(tree="3f9a1c2" + "0" * 33, dirty=True, changed=2),
            "",
            "",
            "kl: recording for tree 3f9a1c2 + uncommitted changes (2 files)",
        ),
        (
            WorktreeState(),
            "",
            "/home/x/spool",
            "kl: recording, the tree is not known, stored in /home/x/spool",
        ),
        (
            WorktreeState(tree="3f9a1c2" + "0" * 33),
            "ab" * 16,
            "",
            (
                "kl: recording for tree 3f9a1c2; the run before (abababab) has no end and is no"
                " evidence of success"
            ),
        ),
    ],
)
def test_the_header(place: WorktreeState, previous: str, elsewhere: str, line: str) -> None:
    assert recorder.header_line(place, previous, elsewhere) == line


def test_trouble_is_one_harmless_line() -> None:
    line = recorder.failure_line("no\nspace \x1b[2J" + "x" * 900, started=False)
    assert line.startswith("kl: not recorded - no space \\x1b[2Jxxx")
    assert len(line) <= recorder.WIDTH
    assert recorder.failure_line("why", started=True).endswith(" incomplete - why")


def ours(text: str) -> list[str]:
    """The lines that we printed."""
    return [line for line in text.splitlines() if line.startswith("kl: ")]


def test_one_line_at_the_start_and_two_at_the_end_of_a_pass(tmp_path: Path) -> None:
    repository(tmp_path, TEST)
    lines = ours(run_pytest(tmp_path).stdout)
    run = only(tmp_path).opening
    short = run["run"][:8]
    assert lines == [
        f"kl: recording for tree {run['tree'][:7]}",
        f"kl: run {short}: 1 passed; recorded as passed",
        f"kl: kl evidence show {short}",
    ]


LOADED = """
import sys
def pytest_collection_modifyitems(items):
    print("loaded", [one for one in ("kl_hooks.proof.difference", "kl_hooks.evidence.ledger") if one in sys.modules])
"""


def test_the_header_names_what_was_edited_since_the_last_green_run(tmp_path: Path) -> None:
    repository(tmp_path, {**TEST, "shop.py": "PRICE = 1\n", "conftest.py": LOADED})

    def header(*args: str, forked: bool = True) -> list[str]:
        done = run_pytest(tmp_path, "-s", "--kl-symbols=off", *args, forked=forked)
        assert "loaded []" in done.stdout or forked, done.stdout
        return [line.partition(") ")[2] for line in ours(done.stdout) if "predates" in line]

    assert header() == []
    assert header() == []
    (tmp_path / "shop.py").write_text("PRICE = 2\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("No test needs it.\n", encoding="utf-8")
    # a run that is not green does not count; the note costs no database and no reading of code
    assert header("--collect-only", forked=False) == ["predates your last edit to shop.py"]
    git(tmp_path, "commit", "-qam", "Another price")
    assert header() == ["predates your last edit to shop.py"]
    git(tmp_path, "commit", "-q", "--amend", "-m", "The same content")
    assert header() == []
    git(tmp_path, "switch", "-qc", "other", "HEAD~")
    assert header() == [], "another branch is no edit"


def test_what_is_no_evidence_states_why(tmp_path: Path) -> None:
    repository(tmp_path, TEST)
    lines = ours(run_pytest(tmp_path, "--collect-only").stdout)
    assert len(lines) == 4
    assert lines[1].endswith(": no test was run; recorded as inconclusive")
    assert lines[2] == "kl: no evidence of success: --collect-only: tests were listed, not run"


@pytest.mark.parametrize(
    ("args", "count"), [(["-q"], 2), (["-qq"], 0), (["-qqq"], 0), (["-p", "no:terminal"], 0)]
)
@pytest.mark.share(2)
def test_it_is_as_quiet_as_pytest_was_asked_to_be(
    tmp_path: Path, args: list[str], count: int
) -> None:
    repository(tmp_path, TEST)
    done = run_pytest(tmp_path, *args)
    assert len(ours(done.stdout + done.stderr)) == count
    assert only(tmp_path).result["verdict"] == "passed"


CRASH = (
    "import os\nimport time\n\n\ndef test_a():\n    time.sleep(0.2)\n    os._exit(1)\n\n\ndef"
    " test_b(): pass\n"
)


@pytest.mark.once
@pytest.mark.parametrize(
    ("text", "args", "word"),
    [
        ("def test_a(): assert 0\n\n\ndef test_b(): pass\n", ["-x"], "interrupted"),
        ("import nowhere\n", [], "collection-error"),
        (CRASH, ["-n1", "--max-worker-restart=0"], "failed"),
        (TEST["test_x.py"], ["nowhere.py"], "usage-error"),
        (TEST["test_x.py"], ["--collect-only"], "inconclusive"),
        ("def test_a(): assert 0\n", [], "failed"),
    ],
)
@pytest.mark.share(3)
def test_the_list_of_evidence_has_the_same_word(
    tmp_path: Path, text: str, args: list[str], word: str
) -> None:
    repository(tmp_path, {"test_x.py": text})
    printed = ours(run_pytest(tmp_path, *args).stdout)
    assert [line.rpartition("recorded as ")[2] for line in printed if "recorded as" in line] == [
        word
    ]
    listed = run_in_process(
        ["evidence", "list", "--all", "--source", "pytest"], tmp_path, environment({})
    )
    assert listed.stdout.split()[4] == word
