"""What pytest's own report adds to a failure that was seen before, and that it adds nothing
else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.model.receipt import Evidence
from kl_hooks.proof.other_runs import OtherRun
from kl_hooks.proof.since_pass import since_pass
from kl_hooks.workspace import open_workspace
from tests.support import run_in_process

from .recorded import environment, git, recorded, repository, run_pytest

SYMBOLS = hasattr(sys, "monitoring")
"""Whether executed symbols are recorded: from CPython 3.12 on."""
SOURCE = """
def total(lines):
    return {value}

def add(a, b):
    return check(a) + b

def check(a):
    __tracebackhide__ = True
    if a < 0:
        raise ValueError(f"negative: {{a}} at {{id(a):#x}}")
    return a
"""
TESTS = """
import shop

def test_total():
    assert shop.total([1]) == 1

def test_add():
    shop.add(0, 1)

def test_other():
    pass
"""


def shop(folder: Path, value: str) -> None:
    (folder / "shop.py").write_text(SOURCE.format(value=value), encoding="utf-8")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(
        tmp_path, {"shop.py": SOURCE.format(value="sum(lines)"), "test_shop.py": TESTS}
    )


def section(text: str) -> list[str]:
    """The lines below our heading, of the only failure that has one."""
    head, found, rest = text.partition(" kl: earlier failures ")
    assert found and "kl: earlier failures" not in rest, head
    lines = rest.split("\n")[1:]
    return lines[: next(at for at, line in enumerate(lines) if line.startswith(("kl: ", "=", "_")))]


def receipts(folder: Path) -> list[str]:
    """The runs of pytest in the store, oldest first, as a person names them."""
    done = run_in_process(["evidence", "list", "--format", "json"], folder, environment({}))
    found = [
        one["run"][:8] for one in json.loads(done.stdout)["receipts"] if one["source"] == "pytest"
    ]
    return found[::-1]


def test_a_failure_that_comes_back_shows_when_it_was_seen_and_what_ended_it(repo: Path) -> None:
    shop(repo, "len(lines) + 1")
    first = run_pytest(repo)
    assert "1 failed" in first.stdout and "earlier failures" not in first.stdout
    git(repo, "checkout", "-q", "shop.py")
    run_pytest(repo)
    failed, passed = receipts(repo)
    shop(repo, "len(lines) + 1")
    # a commit that is older than the failure did not end it; the content that failed was never
    # committed
    change = " after a change of shop.total" if SYMBOLS else ""
    assert (
        section(run_pytest(repo).stdout)[1] == f"it passed again{change} (runs {failed}, {passed})"
    )
    git(repo, "commit", "-qam", "Count lines")
    run_pytest(repo)
    shop(repo, "len(lines) * 1")
    git(repo, "commit", "-qam", "Count them right")
    run_pytest(repo)
    shop(repo, "len(lines) + 1  # again")
    runs = [one.id for one in recorded(repo)]
    what = "shop.total" if SYMBOLS else "shop.py"
    # from the spool, where these were not imported yet: the commit that ended it is not known there
    last = run_pytest(repo)
    when = recorded(repo)[0].opening["started"][:10]
    assert section(last.stdout) == [
        f"failed like this in 3 earlier runs, since {when} (last in run {runs[1]})",
        f"it passed again after a change of {what} (runs {runs[1]}, {runs[2]})",
    ]
    assert run_in_process(["evidence", "list"], repo, environment({})).returncode == 0
    commit = git(repo, "rev-parse", "HEAD")[:8]
    again = section(run_pytest(repo, "-n", "2").stdout)
    assert (
        again[1]
        == f'it passed again after a change of {what} in commit {commit} "Count them right" (runs'
        f" {runs[1]}, {runs[2]})"
    )


def test_the_innermost_frame_of_the_project_is_recorded_in_workers_too(repo: Path) -> None:
    (repo / "test_shop.py").write_text(TESTS.replace("add(0, 1)", "add(-1, 1)"), encoding="utf-8")
    for args in (("-n", "1"), ("--tb=no",)):
        run_pytest(repo, *args)
    seen = [one.details["test_shop.py::test_add"] for one in recorded(repo)]
    # not the helper that hides itself
    assert {(one["exception"], one["frame"]) for one in seen} == {("ValueError", "shop.py::add")}
    assert len(seen) == 2


def test_a_test_that_fails_and_passes_on_one_content_is_flaky(repo: Path) -> None:
    # chance is a file beside the repository: no run records what it holds
    luck = "(pathlib.Path.cwd().parent / 'luck').read_text()"
    flaky = f"import pathlib\n\ndef test_luck():\n    assert {luck} == 'good'\n"
    (repo / "test_shop.py").write_text(flaky, encoding="utf-8")
    git(repo, "commit", "-qam", "Luck")
    for luck in ("bad", "good", "bad"):
        (repo.parent / "luck").write_text(luck, encoding="utf-8")
        done = run_pytest(repo)
    runs = [one.id for one in recorded(repo)]
    lines = section(done.stdout)
    assert lines[0].startswith("failed like this once before, on ")
    assert lines[1:] == [
        f"flaky: it failed and passed on the same content (runs {runs[0]}, {runs[1]}); see: kl"
        " proof flaky"
    ]


def test_a_failure_on_main_is_named_on_another_branch_with_the_decision(repo: Path) -> None:
    decision = (
        "---\nid: ADR-0001\nkind: decision\nstatus: accepted\ntitle: No floats\ndate: 2026-01-02\n"
    )
    folder = repo / ".kl" / "knowledge" / "decisions"
    folder.mkdir(parents=True)
    text = (
        f"{decision}governs: [shop.py]\n---\n# No floats\n\n## Context\n\nMoney.\n\n##"
        " Decision\n\nIntegers.\n"
    )
    (folder / "ADR-0001-no-floats.md").write_text(text, encoding="utf-8")
    broken = TESTS.replace("add(0, 1)", "add(None, 1)")
    (repo / "shop.py").write_text(
        SOURCE.format(value="1").replace("check(a) + b", "a + b"), encoding="utf-8"
    )
    (repo / "test_shop.py").write_text(broken, encoding="utf-8")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "Broken")
    main = git(repo, "rev-parse", "HEAD")[:8]
    run_pytest(repo)
    assert "also fails" not in run_pytest(repo).stdout
    runs = [one.id for one in recorded(repo)]
    git(repo, "checkout", "-qb", "topic")
    lines = section(run_pytest(repo).stdout)
    assert lines[0].endswith(f"; also fails on main since {main} (run {runs[1]})")
    assert lines[1:] == ['ADR-0001 "No floats" governs this file']


def test_what_goes_wrong_in_looking_up_costs_nothing(repo: Path) -> None:
    shop(repo, "3")
    run_pytest(repo)
    spool = recorded(repo)[0].path
    (spool.parent.parent / "kl.db").write_bytes(b"no database")
    done = run_pytest(repo)
    assert done.returncode == 1
    assert "1 failed, 2 passed" in done.stdout
    assert "INTERNALERROR" not in done.stdout + done.stderr


def test_what_changed_since_it_passed_comes_before_all_else(repo: Path) -> None:
    assert "kl: changed since" not in run_pytest(repo).stdout
    passed = recorded(repo)[0].id[:8]
    shop(repo, "len(lines) + 1")
    what = "shop.total" if SYMBOLS else "shop.py"
    # in the run that fails first, which has no history
    text = run_pytest(repo).stdout
    line = f"kl: changed since it passed in run {passed}: {what}"
    assert line in text, text
    assert text.index(line) < text.index("= FAILURES =")
    assert "earlier failures" not in text
    # not since the runs that failed in between
    shop(repo, "len(lines)  +  1")
    assert line in run_pytest(repo).stdout


@pytest.mark.sweep
def test_of_many_runs_only_the_last_pass_is_compared(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, words in enumerate(((), ("-k", "add"), (), ("-k", "other"), ("-k", "add"))):
        shop(repo, f"sum(lines)  # {number}")
        run_pytest(repo, *words)
    last_pass = recorded(repo)[2].id
    shop(repo, "3")
    compared = list[str]()
    original = OtherRun.judged

    def counting(*arguments: Any) -> OtherRun:
        compared.append(arguments[3].receipt.run)
        return original(*arguments)

    monkeypatch.setattr(OtherRun, "judged", counting)
    failure = Evidence("TestResult", "test:test_shop.py::test_total", "failed", 0, None, {})
    ws = open_workspace(repo)
    answers = since_pass(ws, {"test_shop.py::test_total": failure})
    assert answers["test_shop.py::test_total"].passed.startswith(last_pass)
    assert [run[:8] for run in compared] == [last_pass]


def test_a_failure_without_any_change_is_reported_as_one(repo: Path) -> None:
    # what no recorder compares: the words of the command line
    luck = "import sys\n\ndef test_luck():\n    assert '--durations=1' not in sys.argv\n"
    (repo / "test_shop.py").write_text(luck, encoding="utf-8")
    run_pytest(repo)
    passed = recorded(repo)[0].id[:8]
    text = run_pytest(repo, "--durations=1").stdout
    assert f"kl: nothing that it executed changed since the pass in run {passed}\n" in text, text


def test_a_test_that_fails_without_the_uncommitted_changes_is_marked(repo: Path) -> None:
    shop(repo, "len(lines) + 1")
    git(repo, "commit", "-qam", "Count wrongly")
    run_pytest(repo)
    committed = recorded(repo)[0].id[:8]
    shop(repo, "len(lines) + 1  # as before")
    line = f"it fails without the uncommitted changes, too (run {committed})"
    assert section(run_pytest(repo).stdout)[0] == line
    # another failure is none of HEAD's
    shop(repo, "1 / 0")
    assert "without the uncommitted" not in run_pytest(repo).stdout
    # an edit of an edit fails without the second one: that shows nothing of the first
    git(repo, "commit", "-qam", "Divide")
    shop(repo, "int('x')")
    run_pytest(repo)
    shop(repo, "int('x' )")
    assert "without the uncommitted" not in run_pytest(repo).stdout
