"""The tricks by which code under test can make pytest report 0: what is recorded of each.

The first can't be seen from inside the process, and the record states who observed it; the others
can, and none of them is recorded as a pass.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .recorded import only, repository, run_pytest, shown

FAILS = "def test_good(): pass\ndef test_bad(): assert 0\n"


def test_a_conftest_that_rewrites_outcomes_is_believed_as_an_observation_from_inside(
    tmp_path: Path,
) -> None:
    conftest = """
import pytest
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    report.outcome = "passed"
    return report
"""
    repository(tmp_path, {"test_f.py": FAILS, "conftest.py": conftest})
    assert run_pytest(tmp_path).returncode == 0
    run = only(tmp_path)
    assert run.opening["observer"] == "pytest"
    assert run.opening["environment"]["local_plugins"].keys() == {"conftest.py"}


@pytest.mark.parametrize("hook", ["pytest_sessionfinish", "pytest_unconfigure"])
def test_an_exit_status_changed_afterwards_disagrees_with_the_failures(
    tmp_path: Path, hook: str
) -> None:
    conftest = f"""
import pytest
kept = []
def pytest_sessionstart(session): kept.append(session)
@pytest.hookimpl(trylast=True)
def {hook}(): kept[0].exitstatus = 0
"""
    repository(tmp_path, {"test_f.py": FAILS, "conftest.py": conftest})
    assert run_pytest(tmp_path).returncode == 0
    result = only(tmp_path).result
    assert (result["exit"], result["verdict"]) == (0, "failed")
    assert "exit status 0 disagrees with 1 failed" in result["reasons"]


@pytest.mark.parametrize(
    "body", ["import os; os._exit(0)", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"]
)
def test_a_process_that_ends_itself_leaves_no_end(tmp_path: Path, body: str) -> None:
    repository(tmp_path, {"test_f.py": f"def test_good(): pass\ndef test_bad():\n    {body}\n"})
    run_pytest(tmp_path)
    run = only(tmp_path)
    assert not run.spool.ended
    assert run.verdicts == {"test_f.py::test_good": "passed"}
    assert run.rows[-1][-1] == "test_f.py::test_bad"


def test_pytest_exit_with_status_0_is_an_interruption(tmp_path: Path) -> None:
    body = (
        "import pytest\ndef test_good(): pass\ndef test_bad(): pytest.exit('enough',"
        " returncode=0)\n"
    )
    repository(tmp_path, {"test_f.py": body})
    assert run_pytest(tmp_path).returncode == 0
    run = only(tmp_path)
    assert (run.result["how"], run.result["verdict"], run.result["exit"]) == (
        "interrupted",
        "inconclusive",
        0,
    )
    assert "stopped early: enough" in run.why
    assert "1 of 2 selected tests gave no result: test_f.py::test_bad" in run.why


@pytest.mark.parametrize(
    ("mark", "word"), [("skip", "skipped"), ("xfail", "xfailed"), ("xfail(run=False)", "xfailed")]
)
@pytest.mark.share(2)
def test_nothing_but_skips_and_expected_failures_is_no_pass(
    tmp_path: Path, mark: str, word: str
) -> None:
    repository(
        tmp_path,
        {
            "test_f.py": (
                f"import pytest\npytestmark = pytest.mark.{mark}\ndef test_bad(): assert 0\n"
            )
        },
    )
    assert run_pytest(tmp_path).returncode == 0
    run = only(tmp_path)
    assert run.verdicts == {"test_f.py::test_bad": word}
    assert run.result["verdict"] == "inconclusive"
    assert f"no test passed cleanly (1 {word})" in run.why


@pytest.mark.parametrize("how", ["ini", "environment"])
def test_deselecting_the_failing_test_by_configuration_is_on_record(
    tmp_path: Path, how: str
) -> None:
    option = "--deselect=test_f.py::test_bad"
    ini = {"pytest.ini": f"[pytest]\naddopts = {option}\n"} if how == "ini" else {}
    repository(tmp_path, {"test_f.py": FAILS, **ini})
    env = {"PYTEST_ADDOPTS": option} if how == "environment" else {}
    assert run_pytest(tmp_path, env=env).returncode == 0
    run = only(tmp_path)
    selection = shown(tmp_path, run.id)["selection"]
    assert selection["addopts"] == [option]
    assert selection["deselect"] == ["test_f.py::test_bad"]
    assert (selection["collected"], selection["deselected"], selection["ran"]) == (2, 1, 1)


def test_dropping_tests_from_the_session_after_the_collection_loses_the_pass(
    tmp_path: Path,
) -> None:
    conftest = "def pytest_runtestloop(session):\n    del session.items[1:]\n"
    repository(tmp_path, {"test_f.py": FAILS, "conftest.py": conftest})
    assert run_pytest(tmp_path).returncode == 0
    assert "1 of 2 selected tests gave no result: test_f.py::test_bad" in only(tmp_path).why
