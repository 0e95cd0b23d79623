"""Where a record is written, whatever the repository is like, and that many at once do not disturb
each other.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kl_hooks.store.spool import read_spool

from .recorded import Recorded, git, only, recorded, repository, run_pytest

PASSES = {"test_x.py": "def test_a(): pass\n"}


def test_without_git_the_tests_run_and_one_line_states_what_is_missing(tmp_path: Path) -> None:
    repository(tmp_path, PASSES)
    (tmp_path / "bin").mkdir()
    done = run_pytest(
        tmp_path, env={"PATH": str(tmp_path / "bin"), "XDG_STATE_HOME": str(tmp_path / "state")}
    )
    assert done.returncode == 0
    assert "1 passed" in done.stdout
    assert [
        line
        for line in done.stdout.splitlines()
        if "git was not found" in line and line.startswith("kl: ")
    ]


@pytest.mark.parametrize("state", ["no git", "no commit", "detached"])
@pytest.mark.share(2)
def test_repositories_of_every_sort_are_recorded(tmp_path: Path, state: str) -> None:
    if state == "detached":
        repository(tmp_path, PASSES)
        git(tmp_path, "checkout", "-q", "--detach")
    else:
        (tmp_path / ".kl").mkdir()
        (tmp_path / "test_x.py").write_text(PASSES["test_x.py"], encoding="utf-8")
        if state == "no commit":
            git(tmp_path, "init", "-q")
    home = tmp_path.parent / "state"
    done = run_pytest(tmp_path, "-p", "no:cacheprovider", env={"XDG_STATE_HOME": str(home)})
    assert done.returncode == 0, done.stdout + done.stderr
    run = _newest(home) if state == "no git" else only(tmp_path)
    assert run.result["verdict"] == "passed"
    assert (run.opening["tree"] is None) == (state == "no git")
    assert (run.opening["head"] is None) == (state != "detached")
    assert run.opening["branch"] is None or state == "no commit"


def _newest(folder: Path) -> Recorded:
    path = max(folder.rglob("*.jsonl"), key=os.path.getmtime)
    return Recorded(read_spool(path), path)


def test_a_read_only_state_directory_sends_the_record_elsewhere_and_states_where(
    tmp_path: Path,
) -> None:
    project = repository(tmp_path / "p", PASSES)
    (project / ".git" / "kl").write_text("", encoding="utf-8")
    home = tmp_path / "state"
    done = run_pytest(project, "-p", "no:cacheprovider", env={"XDG_STATE_HOME": str(home)})
    assert done.returncode == 0
    assert str(home) in done.stdout
    assert _newest(home).result["verdict"] == "passed"


@pytest.mark.parametrize("named", ["file", "file/x"])
def test_a_quiet_run_states_too_where_its_record_is(tmp_path: Path, named: str) -> None:
    project, home = repository(tmp_path / "p", PASSES), tmp_path / "state"
    (tmp_path / "file").write_text("", encoding="utf-8")
    environ = {"XDG_STATE_HOME": str(home), "KL_STATE": str(tmp_path / named)}
    done = run_pytest(project, "-q", "-p", "no:cacheprovider", env=environ)
    assert done.returncode == 0
    assert f"1 passed; recorded as passed, stored in {home}/kl/" in done.stdout


@pytest.mark.slow
@pytest.mark.sweep
def test_sixteen_runs_at_once_keep_sixteen_records(tmp_path: Path) -> None:
    body = "import pytest\n@pytest.mark.parametrize('n', range(50))\ndef test_a(n): pass\n"
    repository(tmp_path, {"test_x.py": body})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: run_pytest(tmp_path, "-p", "no:cacheprovider"), range(16)))
    runs = recorded(tmp_path)
    assert len({run.opening["run"] for run in runs}) == 16
    assert all(len(run.verdicts) == 50 and run.result["verdict"] == "passed" for run in runs)


def test_settings_that_cannot_be_read_are_named_and_cost_no_record(tmp_path: Path) -> None:
    conflict = "version: 1\n<<<<<<< HEAD\nbudget: 300\n=======\nbudget: 400\n>>>>>>> other\n"
    repository(tmp_path, {**PASSES, ".kl/config.yaml": conflict})
    done = run_pytest(tmp_path)
    assert done.returncode == 0 and only(tmp_path).result["verdict"] == "passed"
    (line,) = [line for line in done.stdout.splitlines() if "config.yaml" in line]
    assert line == (
        "kl: recorded without the settings of this repository: .kl/config.yaml:2:1: "
        "unresolved merge conflict, to line 6. Keep one side or both, and delete the lines "
        "that git added."
    )
