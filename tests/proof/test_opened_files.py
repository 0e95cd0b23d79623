"""Results rest on the files that tests open, as the plugin saw them, and on nothing that only lies
around.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

TESTS = """
import pathlib, subprocess, sys

HERE = pathlib.Path(__file__).parent

def test_alone():
    assert True

def test_reads():
    assert HERE.joinpath("data.json").read_text()

def test_starts_another():
    code = "import sys; print(open(sys.argv[1]).read())"
    assert subprocess.run([sys.executable, "-c", code, str(HERE / "other.json")], check=True)
"""

pytestmark = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"
)


def impacted(folder: Path) -> dict[str, str]:
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environment({}))
    assert done.returncode == 0, done.stderr
    return {
        one["test"].partition("::")[2]: one["reason"] for one in json.loads(done.stdout)["tests"]
    }


def test_what_was_opened_decides_and_processes_are_not_assessed(tmp_path: Path) -> None:
    files = {
        "data.json": "1\n",
        "other.json": "1\n",
        "third.yaml": "1\n",
        "NEWS.md": "1\n",
        "test_a.py": TESTS,
    }
    folder = repository(tmp_path / "files", files)
    run_pytest(folder)

    def change(name: str) -> dict[str, str]:
        git(folder, "checkout", "-q", ".")
        (folder / name).write_text("2\n", encoding="utf-8")
        return impacted(folder)

    # documentation that no test names: the whole suite is still proven
    assert change("NEWS.md") == {}
    assert run_in_process(["verify"], folder, environment({})).returncode == 0
    # which test of the run opened it is not recorded
    assert change("data.json").keys() == {"test_alone", "test_reads", "test_starts_another"}
    for name in ("third.yaml", "other.json"):
        found = change(name)
        assert found.keys() == {"test_starts_another"}
        assert (
            f"{name} changed, and what its processes opened was not recorded"
            in found["test_starts_another"]
        )
        assert run_in_process(["verify"], folder, environment({})).returncode == 1
