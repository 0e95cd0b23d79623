"""A run from start to end: what is recorded of how it ended, and that recording changes nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .recorded import (
    PLUGIN,
    Recorded,
    environment,
    git,
    only,
    recorded,
    repository,
    run_pytest,
    shown,
)

TWO = {"test_two.py": "def test_a(): pass\ndef test_b(): pass\n"}
ONE_FAILS = {"test_two.py": "def test_a(): pass\ndef test_b(): assert 0, 'no good'\n"}


def run_in(
    folder: Path, files: dict[str, str], *args: str, exit_code: int = 0, **more: Any
) -> Recorded:
    """Makes the repository, runs pytest in it, and gives back the one record."""
    repository(folder, files)
    done = run_pytest(folder, *args, **more)
    assert done.returncode == exit_code, done.stdout + done.stderr
    return only(folder)


def test_a_clean_run_names_its_tree_its_selection_and_its_verdict(tmp_path: Path) -> None:
    run = run_in(tmp_path, TWO)
    tree = git(tmp_path, "rev-parse", "HEAD^{tree}")
    assert run.opening["tree"] == run.opening["tree_all"] == run.end["tree_end"] == tree
    assert run.opening["head"] == git(tmp_path, "rev-parse", "HEAD")
    assert (run.opening["branch"], run.opening["dirty"], run.end["moved"]) == ("main", False, False)
    assert (run.opening["source"], run.opening["observer"], run.opening["parent"]) == (
        "pytest",
        "pytest",
        None,
    )
    assert run.opening["environment"]["pytest"] == pytest.__version__
    assert run.end["selection"] == {"collected": 2, "deselected": 0, "selected": 2, "ran": 2}
    assert (run.result["verdict"], run.result["complete"], run.result["exit"]) == (
        "passed",
        True,
        0,
    )
    assert run.verdicts == {"test_two.py::test_a": "passed", "test_two.py::test_b": "passed"}
    assert run.end["tests"] == 2


def test_the_lines_name_the_first_test_and_then_the_one_that_starts_next(tmp_path: Path) -> None:
    run = run_in(tmp_path, TWO)
    first, second = "test_two.py::test_a", "test_two.py::test_b"
    assert [(row[0], row[1], row[-1]) for row in run.rows] == [
        ("s", first, first),
        ("t", first, second),
        ("t", second, None),
    ]


def test_a_failure_states_where_and_why_in_one_line(tmp_path: Path) -> None:
    run = run_in(tmp_path, ONE_FAILS, exit_code=1)
    detail = run.details["test_two.py::test_b"]
    assert (detail["path"], detail["line"]) == ("test_two.py", 2)
    assert detail["message"] == "AssertionError: no good assert 0"


def test_the_root_of_pytest_below_that_of_git_gives_ids_from_the_repository_root(
    tmp_path: Path,
) -> None:
    repository(
        tmp_path, {"lib/pytest.ini": "[pytest]\n", "lib/test_two.py": "def test_a(): assert 0\n"}
    )
    assert run_pytest(tmp_path / "lib").returncode == 1
    run = only(tmp_path)
    assert run.verdicts == {"lib/test_two.py::test_a": "failed"}
    assert run.opening["environment"]["rootdir"] == "lib"
    assert run.details["lib/test_two.py::test_a"]["path"] == "lib/test_two.py"


@pytest.mark.once
@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("args", "selection"),
    [
        (["-k", "test_a"], {"keyword": "test_a", "deselected": 1}),
        (["-m", "not slow"], {"markers": "not slow", "deselected": 0}),
        (
            ["--deselect", "test_two.py::test_b"],
            {"deselect": ["test_two.py::test_b"], "deselected": 1},
        ),
    ],
)
@pytest.mark.share(2)
def test_what_was_omitted_is_on_record(
    tmp_path: Path, workers: str, args: list[str], selection: dict[str, Any]
) -> None:
    run = run_in(tmp_path, TWO, "-n", workers, *args)
    printed = run.opening["selection"] | run.end["selection"]
    assert selection.items() <= printed.items()
    assert printed["collected"] == 2
    assert printed["args"][-len(args) :] == args
    assert run.result["verdict"] == "passed"
    assert run.end["selection"]["ran"] == len(run.verdicts) == 2 - selection["deselected"]


def test_last_failed_only_is_on_record(tmp_path: Path) -> None:
    repository(tmp_path, ONE_FAILS)
    assert run_pytest(tmp_path).returncode == 1
    assert run_pytest(tmp_path, "--lf").returncode == 1
    second = recorded(tmp_path)[1]
    assert second.opening["selection"]["lf"] is True
    assert (second.end["selection"]["collected"], second.end["selection"]["ran"]) == (1, 1)


def test_tests_that_vanish_without_being_deselected_are_counted(tmp_path: Path) -> None:
    files = {**TWO, "conftest.py": "def pytest_collection_modifyitems(items):\n    del items[1:]\n"}
    run = run_in(tmp_path, files)
    assert run.end["selection"] == {
        "collected": 2,
        "deselected": 0,
        "dropped": 1,
        "selected": 1,
        "ran": 1,
    }


@pytest.mark.parametrize(
    ("args", "exit_code", "how", "reason"),
    [
        (["--collect-only"], 0, "finished", "--collect-only"),
        (["-k", "nothing"], 5, "no-tests", "no test was selected"),
        (["test_two.py::test_missing"], 4, "usage-error", "exit status 4"),
        (["--setup-only"], 0, "finished", "2 of 2 selected tests gave no result"),
    ],
)
@pytest.mark.share(2)
def test_a_run_of_no_test_is_no_pass(
    tmp_path: Path, args: list[str], exit_code: int, how: str, reason: str
) -> None:
    run = run_in(tmp_path, TWO, *args, exit_code=exit_code)
    assert (run.result["how"], run.result["verdict"], run.result["exit"]) == (
        how,
        "inconclusive",
        exit_code,
    )
    assert reason in run.why
    assert run.verdicts == {}


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.share(2)
def test_a_collection_error_is_one(tmp_path: Path, workers: str) -> None:
    files = {**TWO, "test_bad.py": "import nothing_of_that_name\n"}
    run = run_in(tmp_path, files, "-n", workers, exit_code=1 if workers == "2" else 2)
    assert run.verdicts["test_bad.py"] == "error"
    assert run.result["verdict"] == "failed"
    assert "1 file could not be collected" in run.why
    assert "nothing_of_that_name" in run.details["test_bad.py"]["message"]
    if workers == "0":
        assert run.result["how"] == "collection-error"


def test_stopping_at_the_first_failure_is_on_record(tmp_path: Path) -> None:
    run = run_in(
        tmp_path, {"test_x.py": "def test_a(): assert 0\ndef test_b(): pass\n"}, "-x", exit_code=1
    )
    assert (run.result["verdict"], run.result["how"], run.result["complete"]) == (
        "failed",
        "interrupted",
        False,
    )
    assert "stopping after 1 failures" in run.why
    assert "1 of 2 selected tests gave no result: test_x.py::test_b" in run.why


def test_an_internal_error_is_no_pass(tmp_path: Path) -> None:
    files = {
        **TWO,
        "conftest.py": "def pytest_runtest_logfinish(nodeid):\n    raise RuntimeError(nodeid)\n",
    }
    run = run_in(tmp_path, files, exit_code=3)
    assert (run.result["how"], run.result["verdict"]) == ("internal-error", "inconclusive")


def test_another_plugin_failing_at_the_end_does_not_lose_the_record(tmp_path: Path) -> None:
    files = {**TWO, "conftest.py": "def pytest_sessionfinish():\n    raise RuntimeError('late')\n"}
    run = run_in(tmp_path, files, exit_code=1)
    assert (run.result["how"], run.result["verdict"]) == ("internal-error", "inconclusive")


def wait_for(folder: Path, name: str) -> None:
    """Until a file appears in the folder."""
    deadline = time.monotonic() + 60
    while not (folder / name).exists():
        assert time.monotonic() < deadline, f"{name} never came"
        time.sleep(0.02)


SLEEPS = {
    "test_slow.py": (
        """
import pathlib, time
def test_a(): pass
def test_b():
    pathlib.Path("started").touch()
    time.sleep(60)
"""
    )
}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.fault(
    "killed process",
    promised="the run is incomplete, never passed",
    injected="SIGINT and SIGKILL of pytest",
)
def test_a_run_that_is_stopped_from_outside_is_never_a_pass(
    tmp_path: Path, sent: signal.Signals
) -> None:
    repository(tmp_path, SLEEPS)
    command = [sys.executable, "-m", "pytest", *PLUGIN]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment({}), stdout=subprocess.DEVNULL
    ) as process:
        wait_for(tmp_path, "started")
        process.send_signal(sent)
    run = only(tmp_path)
    assert run.verdicts == {"test_slow.py::test_a": "passed"}
    assert run.rows[-1][-1] == "test_slow.py::test_b"  # what was running can be named
    if sent == signal.SIGKILL:
        assert not run.spool.ended
        receipt = shown(tmp_path, run.id)
        assert (receipt["result"]["how"], receipt["result"]["verdict"]) == (
            "killed",
            "inconclusive",
        )
        assert {one["subject"]: one["outcome"] for one in receipt["evidence"]} == {
            "test:test_slow.py::test_a": "passed",
            "test:test_slow.py::test_b": "error",
        }
    else:
        assert (run.result["how"], run.result["verdict"], run.result["exit"]) == (
            "interrupted",
            "inconclusive",
            2,
        )
        assert "KeyboardInterrupt" in run.why


def test_the_run_after_one_without_an_end_reports_it(tmp_path: Path) -> None:
    repository(
        tmp_path,
        {"test_x.py": "import os\ndef test_a():\n    if not os.path.exists('x'): os._exit(7)\n"},
    )
    assert run_pytest(tmp_path).returncode == 7
    (tmp_path / "x").touch()
    done = run_pytest(tmp_path)
    first = recorded(tmp_path)[0].opening["run"][:8]
    assert f"the run before ({first}) has no end and is no evidence of success" in done.stdout


@pytest.mark.parametrize("way", ["os._exit(3)", "os.kill(os.getpid(), 9)"])
@pytest.mark.fault(
    "killed process",
    promised="the test that crashed its worker has failed",
    injected="a worker of pytest-xdist ends within a test",
)
def test_a_test_that_crashes_its_worker_has_failed_and_the_others_have_their_verdicts(
    tmp_path: Path, way: str
) -> None:
    quiet = {f"test_{n}.py": "def test_a(): pass\ndef test_b(): pass\n" for n in range(3)}
    run = run_in(
        tmp_path,
        {**quiet, "test_c.py": f"import os\ndef test_dies(): {way}\n"},
        "-n",
        "2",
        exit_code=1,
    )
    assert run.verdicts.pop("test_c.py::test_dies") == "failed"
    assert "crashed while running" in run.details["test_c.py::test_dies"]["message"]
    assert run.end["selection"]["ran"] == 7
    assert run.result["verdict"] == "failed"


@pytest.mark.fault(
    "killed process",
    promised="tests that never ran are named",
    injected="a worker of pytest-xdist ends within a test",
)
def test_tests_that_a_crashed_worker_never_reached_are_named(tmp_path: Path) -> None:
    files = {"test_c.py": "import os\ndef test_dies(): os._exit(3)\ndef test_after(): pass\n"}
    run = run_in(tmp_path, files, "-n", "1", "--max-worker-restart=0", exit_code=1)
    assert run.verdicts == {"test_c.py::test_dies": "failed"}
    assert "1 of 2 selected tests gave no result: test_c.py::test_after" in run.why
    assert run.result["complete"] is False


def test_a_crash_that_is_repeated_and_then_passes_is_flaky(tmp_path: Path) -> None:
    body = """
import os, pathlib, time
def test_x():
    seen = pathlib.Path("seen")
    if not seen.exists():
        seen.touch()
        time.sleep(1)  # rerunfailures learns over a socket that this test may be repeated
        os._exit(3)
"""
    run = run_in(
        tmp_path,
        {"test_c.py": body, "test_d.py": "def test_y(): pass\n"},
        "-n",
        "2",
        "--reruns",
        "1",
    )
    assert run.verdicts == {"test_c.py::test_x": "flaky", "test_d.py::test_y": "passed"}


def test_groups_of_xdist_are_not_part_of_a_tests_name(tmp_path: Path) -> None:
    body = (
        "import pytest\n@pytest.mark.xdist_group('g')\n@pytest.mark.parametrize('x', ['a@b'])\ndef"
        " test_x(x): pass\n"
    )
    run = run_in(tmp_path, {"test_g.py": body}, "-n", "1", "--dist", "loadgroup")
    assert run.verdicts == {"test_g.py::test_x[a@b]": "passed"}
    assert run.result["verdict"] == "passed"


def test_the_same_tests_on_every_worker_give_one_verdict_each(tmp_path: Path) -> None:
    body = "def test_a(worker_id): assert worker_id == 'gw0'\ndef test_b(): pass\n"
    run = run_in(tmp_path, {"test_e.py": body}, "-n", "2", "--dist", "each", exit_code=1)
    assert run.verdicts == {"test_e.py::test_a": "failed", "test_e.py::test_b": "passed"}


def test_files_edited_during_the_run_are_noticed(tmp_path: Path) -> None:
    files = {"data.txt": "a\n", "test_m.py": "def test_a(): open('data.txt', 'a').write('b')\n"}
    run = run_in(tmp_path, files)
    assert run.end["moved"] is True
    assert run.end["tree_end"] not in (None, run.opening["tree"])


def test_a_dirty_tree_has_the_id_that_its_commit_will_have(tmp_path: Path) -> None:
    repository(tmp_path, TWO)
    (tmp_path / "test_two.py").write_text("def test_c(): pass\n", encoding="utf-8")
    done = run_pytest(tmp_path)
    run = only(tmp_path)
    git(tmp_path, "commit", "-qam", "second")
    assert run.opening["tree"] == git(tmp_path, "rev-parse", "HEAD^{tree}")
    assert run.opening["dirty"] is True
    assert (
        f"kl: recording for tree {run.opening['tree'][:7]} + uncommitted changes (1 file)"
        in done.stdout
    )


def test_a_run_in_a_worktree_names_that_worktree_whatever_git_dir_states(tmp_path: Path) -> None:
    a = repository(tmp_path / "a", ONE_FAILS)
    git(a, "worktree", "add", "-q", "-b", "b", str(tmp_path / "b"))
    b = tmp_path / "b"
    (b / "test_two.py").write_text("def test_a(): pass\n", encoding="utf-8")
    git(b, "commit", "-qam", "mended")
    leak = {
        "GIT_DIR": str(a / ".git"),
        "GIT_WORK_TREE": str(a),
        "GIT_INDEX_FILE": str(a / ".git/index"),
    }
    touchy = (a / ".git/config", a / ".git/index", a / ".git/HEAD")
    before = [path.read_bytes() for path in touchy], git(a, "count-objects", "-v")
    assert run_pytest(b, env=leak).returncode == 0
    run = only(a)
    assert run.opening["tree"] == git(b, "rev-parse", "HEAD^{tree}")
    assert run.opening["branch"] == "b"
    assert ([path.read_bytes() for path in touchy], git(a, "count-objects", "-v")) == before


def test_the_run_that_started_this_one_is_named(tmp_path: Path) -> None:
    run = run_in(tmp_path, TWO, env={"KL_PARENT": "f" * 32})
    assert run.opening["parent"] == "f" * 32
    assert shown(tmp_path, run.id)["parent"] == "f" * 32
