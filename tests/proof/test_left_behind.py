"""A new test that leaves something behind: results of tests that use it count no more, until both
ran in one run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

APP = """
import os
LIMIT = 3
CACHE = {}
class Settings: debug = False
def limit(): return LIMIT
def cached(): return CACHE.get("a")
def debug(): return Settings.debug
def mode(): return os.environ.get("APP_MODE_HERE")
def plain(): return 1
"""
USERS = """
import os
import app
def test_global(): assert app.limit() == 3
def test_dictionary(): assert app.cached() is None
def test_class(): assert not app.debug()
def test_function(): assert app.plain() == 1
"""
OTHERS = """
import app
def test_variable(): assert app.mode() is None
def test_nothing(): assert True
"""
LEAVING = """
import os, pytest
import app
def test_first(): app.LIMIT = 4
def test_second(): app.CACHE["a"] = 4
def test_third(): app.Settings.debug = True
def test_fourth(): app.plain = lambda: 2
def test_fifth(): os.environ["APP_MODE_HERE"] = "x"
"""
PUTTING_BACK = """
import app
def test_first(monkeypatch): monkeypatch.setattr(app, "LIMIT", 4)
"""
FILES = {"app.py": APP, "test_m.py": USERS, "test_n.py": OTHERS}

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on"
)


def verify(folder: Path) -> int:
    return run_in_process(["verify"], folder, environment({})).returncode


def impacted(folder: Path) -> set[str]:
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environment({}))
    return {entry["test"] for entry in json.loads(done.stdout)["tests"]}


def commit(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Edit")


def record(folder: Path, *args: str) -> int:
    return run_pytest(folder, *args, "-p", "no:randomly").returncode


def test_results_count_no_more_that_a_new_test_may_spoil(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", FILES)
    assert record(folder) == 0
    commit(folder, {"test_a.py": LEAVING})
    assert record(folder, "--kl-impacted") == 0  # the new tests alone
    assert verify(folder) == 1
    spoiled = {f"test_m.py::test_{way}" for way in ("global", "dictionary", "class", "function")}
    new = {
        f"test_a.py::test_{number}" for number in ("first", "second", "third", "fourth", "fifth")
    }
    assert impacted(folder) == {*spoiled, *new, "test_n.py::test_variable"}
    assert record(folder, "--kl-impacted") == 1
    assert verify(folder) == 1
    # what puts back what it changes spoils nothing
    commit(folder, {"test_a.py": PUTTING_BACK})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0


def test_all_results_rest_on_the_working_folder(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", FILES)
    assert record(folder) == 0
    changing = "import os\ndef test_moves(tmp_path): os.chdir(tmp_path)\n"
    commit(folder, {"test_a.py": changing})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 1
    assert len(impacted(folder)) == 7
    # they pass there, too
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0
    assert impacted(folder) == set()


def test_parts_of_one_suite_spoil_nothing_of_each_other(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", {**FILES, "test_a.py": LEAVING})
    for part in ("test_m.py", "test_a.py", "test_n.py"):
        assert record(folder, part) == 0
    assert verify(folder) == 0
    commit(folder, {"app.py": f"{APP}def later(): return 1\n"})
    assert verify(folder) == 0
    assert impacted(folder) == set()


def test_a_value_that_other_code_computed_may_be_spoiled(tmp_path: Path) -> None:
    """The test that gets the value needs no file that has what was left changed."""
    registry = "import functools\nMAKERS = []\n@functools.cache\ndef value(): return MAKERS[0]()\n"
    app = "import registry\nLIMIT = 3\ndef limit(): return LIMIT\nregistry.MAKERS.append(limit)\n"
    computing = "import app, registry\ndef test_computes(): registry.value()\n"
    getting = "import registry\ndef test_gets(): assert registry.value() == 3\n"
    folder = repository(
        tmp_path / "program",
        {"registry.py": registry, "app.py": app, "test_k.py": computing, "test_m.py": getting},
    )
    assert record(folder) == 0
    commit(folder, {"test_a.py": "import app\ndef test_first(): app.LIMIT = 4\n"})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 1
    assert impacted(folder) == {
        "test_a.py::test_first",
        "test_k.py::test_computes",
        "test_m.py::test_gets",
    }
    assert record(folder, "--kl-impacted") == 1
    assert verify(folder) == 1
