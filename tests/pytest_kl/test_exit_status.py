"""The exit status that pytest really ends with, and the record that must agree: a test for each
trick.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.evidence.journal import receipt_from_records
from tests.support import HERE

from .recorded import (
    NEIGHBOURS,
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

PASSES = {"test_x.py": "def test_a(): pass\n"}
WRAPPER = (
    "import os, sys, pytest\n@pytest.hookimpl(wrapper=True, tryfirst=True)\ndef"
    " pytest_cmdline_main():\n    "
)


def run_with(folder: Path, conftest: str, exit_code: int) -> tuple[Recorded, str]:
    """A suite that passes, with this conftest; the record and what was printed."""
    repository(folder, {**PASSES, "conftest.py": conftest})
    done = run_pytest(folder)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    return only(folder), done.stdout + done.stderr


def is_refuted(run: Recorded, printed: str, why: str) -> bool:
    """True where the run is no evidence, for this reason, and the person is informed after pytest's
    own summary.
    """
    recorded = (run.result["verdict"], run.result["exit"]) == ("inconclusive", 1) and why in run.why
    return recorded and f"kl: run {run.id}: now recorded as inconclusive: {why}" in printed


@pytest.mark.parametrize(
    "conftest",
    [
        "def pytest_unconfigure(): raise RuntimeError('late')",
        (
            "import pytest\n@pytest.hookimpl(trylast=True)\ndef pytest_unconfigure(): raise"
            " RuntimeError('late')"
        ),
        (
            "def late(): raise RuntimeError('late')\ndef pytest_configure(config):"
            " config.add_cleanup(late)"
        ),
        (
            "def late(): raise RuntimeError('late')\ndef pytest_unconfigure(config):"
            " config.add_cleanup(late)"
        ),
        WRAPPER + "yield\n    raise RuntimeError('late')",
    ],
    ids=["unconfigure", "last unconfigure", "cleanup", "cleanup added late", "cmdline_main"],
)
@pytest.mark.share(2)
def test_an_exception_after_the_tests(tmp_path: Path, conftest: str) -> None:
    run, printed = run_with(tmp_path, conftest, 1)
    assert is_refuted(run, printed, "pytest failed after the tests: RuntimeError: late")


@pytest.mark.parametrize("way", ["sys.exit(7)", "raise SystemExit(7)"])
def test_an_exit_in_a_cleanup(tmp_path: Path, way: str) -> None:
    late = f"import sys\ndef late(): {way}\ndef pytest_configure(config): config.add_cleanup(late)"
    run, _ = run_with(tmp_path, late, 7)
    assert (run.result["verdict"], run.result["exit"]) == ("inconclusive", 7)
    assert "pytest failed after the tests: SystemExit: 7" in run.why


def test_a_status_that_a_wrapper_around_pytest_returns(tmp_path: Path) -> None:
    run, printed = run_with(tmp_path, WRAPPER + "yield\n    return 1", 1)
    assert is_refuted(run, printed, "exit status 1, yet no failure was reported")


@pytest.mark.parametrize("where", ["conftest.py", "cleanup"])
@pytest.mark.parametrize("status", [0, 6])
@pytest.mark.share(2)
def test_a_process_that_ends_itself_at_exit(tmp_path: Path, where: str, status: int) -> None:
    at_exit = f"import atexit, os\ndef late(): os._exit({status})\n"
    at_exit += (
        "atexit.register(late)"
        if where == "conftest.py"
        else "def pytest_unconfigure(): atexit.register(late)"
    )
    run, _ = run_with(tmp_path, at_exit, status)
    assert not run.spool.ended
    receipt = receipt_from_records(run.spool.records)
    assert receipt is not None
    assert (receipt.result["how"], receipt.result["verdict"]) == ("killed", "inconclusive")
    assert {one.outcome for one in receipt.evidence} == {"passed"}


def test_an_exception_at_exit_that_python_itself_ignores_is_none(tmp_path: Path) -> None:
    run, _ = run_with(
        tmp_path, "import atexit, sys\natexit.register(sys.exit, 5)\natexit.register(int, 'x')", 0
    )
    assert run.result["verdict"] == "passed"


def test_a_usage_error_keeps_its_status(tmp_path: Path) -> None:
    conftest = "import pytest\ndef pytest_collection(): raise pytest.UsageError('no')"
    repository(tmp_path, {**PASSES, "conftest.py": conftest})
    assert run_pytest(tmp_path).returncode == 4
    assert (only(tmp_path).result["how"], only(tmp_path).result["exit"]) == ("usage-error", 4)


TWICE = """
import json, pathlib, sys, pytest
ARGS = {args!r}
spool = pathlib.Path(".git/kl/spool")
ends = lambda: sorted('"t":"end"' in path.read_text() for path in spool.glob("*.jsonl"))
assert pytest.main([*ARGS, "test_x.py"]) == 0
assert ends() == [True]  # ended with its session, not with this process
pathlib.Path("test_y.py").write_text("def test_b(): assert 0\\n")
assert pytest.main([*ARGS, "test_y.py"]) == 1
assert ends() == [True, True]
raise SystemExit(9)
"""


@pytest.mark.parametrize("way", ["script", "interactive"])
def test_runs_inside_a_longer_process_end_with_their_sessions(tmp_path: Path, way: str) -> None:
    repository(tmp_path, {**PASSES, "twice.py": TWICE.format(args=[*NEIGHBOURS, *PLUGIN])})
    if way == "script":
        command, text = [sys.executable, "twice.py"], ""
    else:
        command, text = (
            [sys.executable, "-i", "-m", "pytest", *NEIGHBOURS, *PLUGIN, "-q"],
            "exit(9)\n",
        )
    env = environment({"PYTHONPATH": f"{HERE}"})
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, input=text
    )
    assert done.returncode == 9, done.stdout + done.stderr
    verdicts = [run.result["verdict"] for run in recorded(tmp_path)]
    assert verdicts == (["passed", "failed"] if way == "script" else ["passed"])
    if way == "script":
        first, second = recorded(tmp_path)
        assert first.opening["run"] != second.opening["run"]
        assert second.verdicts == {"test_y.py::test_b": "failed"}


def test_a_run_inside_a_test_of_the_program_ends_with_its_session(tmp_path: Path) -> None:
    inner = """
import pathlib, subprocess
pytest_plugins = ["pytester"]
def test_inner(pytester):
    subprocess.run(["git", "init", "-q"], check=True)
    pytester.mkdir(".kl")
    pytester.makepyfile("def test_deep(): pass")
    pytester.runpytest_inprocess("-p", "pytest_kl.plugin").assert_outcomes(passed=1)
    (path,) = pathlib.Path(".git/kl/spool").glob("*.jsonl")
    assert '"t":"end"' in path.read_text()
"""
    project = repository(tmp_path / "p", {"test_nest.py": inner})
    done = run_pytest(project, "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "t"))
    assert done.returncode == 0, done.stdout
    assert only(project).result["verdict"] == "passed"


def test_a_reader_of_the_previous_release_takes_no_unfinished_run_for_a_pass(
    tmp_path: Path,
) -> None:
    """It reads the last `end`; what the process writes before that must not look like one."""
    conftest = (
        "import atexit, os, shutil\natexit.register(lambda: shutil.copytree('.git/kl/spool',"
        " 'copy'))"
    )
    run_with(tmp_path, conftest, 0)
    (copy,) = (tmp_path / "copy").glob("*.jsonl")
    kinds = [json.loads(line[65:]) for line in copy.read_text().splitlines()]
    assert not any(isinstance(one, dict) and one["t"] == "end" for one in kinds)


def receipts(folder: Path, *command: str) -> tuple[dict[str, Any], dict[str, Any], int]:
    """`kl run -- COMMAND`: the receipt of the command and that of pytest, and the exit code."""
    kl = [sys.executable, "-m", "kl_hooks", "run", "--", *command]
    env = environment({"PYTEST_ADDOPTS": f"-p xdist {' '.join(PLUGIN)} -p no:cacheprovider"})
    done = subprocess.run(kl, cwd=folder, env=env, capture_output=True, text=True, check=False)
    found = {run.opening["source"]: shown(folder, run.opening["run"]) for run in recorded(folder)}
    shutil.rmtree(folder / ".git/kl")
    return found["command"], found["pytest"], done.returncode


def test_the_process_that_was_started_is_pytest_or_is_around_it(tmp_path: Path) -> None:
    repository(tmp_path, PASSES)
    python, run_module = (
        sys.executable,
        "import runpy; runpy.run_module('pytest', run_name='__main__')",
    )
    script = tmp_path / "bin" / "pytest"
    script.parent.mkdir()
    script.write_text(
        f"#!{python}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n"
    )
    script.chmod(0o755)
    git(tmp_path, "add", "-A")
    shapes: dict[str, tuple[list[str], bool, int]] = {
        "python -m pytest": ([python, "-m", "pytest"], True, 0),
        "pytest": ([str(script), "-W", "ignore"], True, 0),
        "exec": (["sh", "-c", f"exec {python} -m pytest"], True, 0),
        "runpy, as coverage does": ([python, "-c", run_module], True, 0),
        "workers": ([python, "-m", "pytest", "-n", "1"], True, 0),
        "shell": (["sh", "-c", f"{python} -m pytest && false"], False, 1),
    }
    for name, (command, same, exit_code) in shapes.items():
        outer, inner, code = receipts(tmp_path, *command)
        assert inner["result"]["verdict"] == "passed", (name, inner["result"])
        assert (outer["evidence"][0]["pid"] == inner["environment"]["pid"]) is same, name
        assert code == outer["evidence"][0]["exit"] == exit_code, name
        assert isinstance(inner["environment"]["pid"], int)
        assert inner["parent"] == outer["run"]
    assert os.getpid() != inner["environment"]["pid"]
