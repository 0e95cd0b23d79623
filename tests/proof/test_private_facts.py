"""What only this machine has: files that git ignores make their readers stale, variables of the
environment are named beside the verdict; both by digests that another clone can't make.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from kl_hooks.evidence.executed import executed_from_dict, executed_to_dict
from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.pytest_kl.test_symbols import executed
from tests.support import Done, run_in_process

TESTS = """\
import os, pathlib
import settings

HERE = pathlib.Path(__file__).parent

def test_ignored():
    assert (HERE / "local.cfg").read_text()

def test_written():
    (HERE / "out.cfg").write_text("1")
    assert (HERE / "out.cfg").read_text()

def test_size():
    with os.scandir(HERE / "data") as entries:
        assert sum(entry.stat().st_size for entry in entries)

def test_alone():
    pass

def test_subscript():
    assert os.environ["APP_MODE"]

def test_functions():
    assert os.getenv("APP_KIND") and os.environ.get("APP_MODE")

def test_copies(monkeypatch):
    monkeypatch.setenv("APP_OWN", "1")
    assert dict(os.environ) and {**os.environ} and os.environ.copy() and list(os.environ.items())
    assert "APP_MODE" in os.environ and os.environ["APP_OWN"] and os.environ["PATH"]
"""
FILES = {
    "test_a.py": TESTS,
    "settings.py": "import os\nLEVEL = os.environ.get('APP_LEVEL')\n",
    "data/x.bin": "1",
    ".gitignore": "__pycache__\n.pytest_cache\n*.cfg\n",
}
VARIABLES = MappingProxyType({"APP_MODE": "hunter2", "APP_KIND": "k", "APP_LEVEL": "1"})

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"),
]


def verify(folder: Path, variables: Mapping[str, str] = VARIABLES) -> Done:
    return run_in_process(["verify"], folder, environment({}) | dict(variables))


def impacted(folder: Path) -> dict[str, str]:
    environ = environment({}) | dict(VARIABLES)
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environ)
    tests = json.loads(done.stdout)["tests"]
    return {test["test"].partition("::")[2]: test["reason"] for test in tests}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = repository(tmp_path / "private", FILES)
    (folder / "local.cfg").write_text("password", encoding="utf-8")
    run_pytest(folder, env=VARIABLES)
    return folder


def test_ignored_files_reach_the_tests_that_read_them(project: Path) -> None:
    assert (verify(project).returncode, impacted(project)) == (0, {})
    # what a test writes is its own
    (project / "out.cfg").write_text("2", encoding="utf-8")
    assert (verify(project).returncode, impacted(project)) == (0, {})
    local = project / "local.cfg"
    local.write_text("changed", encoding="utf-8")
    reason = "local.cfg, which git ignores, changed since the test opened it"
    assert (verify(project).returncode, impacted(project)) == (1, {"test_ignored": reason})
    # no commit has it
    at_head = run_in_process(["verify", "--at", "HEAD"], project, environment({}))
    assert at_head.returncode == 0
    local.unlink()
    reason = "local.cfg, which the test opened and git ignores, is not there now"
    assert impacted(project) == {"test_ignored": reason}
    local.write_text("password", encoding="utf-8")
    assert impacted(project) == {}
    # the state of an entry is asked for in C
    (project / "data" / "x.bin").write_text("22", encoding="utf-8")
    assert impacted(project).keys() == {"test_size"}


GENERATED = {
    "test_a.py": "import app\n\ndef test_a():\n    assert app.version()\n",
    "test_b.py": "def test_b():\n    pass\n",
    "app.py": "import _version\n\ndef version():\n    return _version.NUMBER\n",
    ".gitignore": "__pycache__\n.pytest_cache\n_version.py\n",
}


def test_a_module_that_git_ignores_reaches_the_tests_that_import_it(tmp_path: Path) -> None:
    folder = repository(tmp_path / "generated", GENERATED)
    (folder / "_version.py").write_text("NUMBER = 1\n", encoding="utf-8")
    run_pytest(folder)
    assert (verify(folder).returncode, impacted(folder)) == (0, {})
    (folder / "_version.py").write_text("NUMBER = 22\n", encoding="utf-8")
    reason = "_version.py, which git ignores, changed since the test opened it"
    assert (verify(folder).returncode, impacted(folder)) == (1, {"test_a": reason})


GIT_READERS = """\
import pathlib

GIT = pathlib.Path(__file__).parent / ".git"

def test_head():
    assert (GIT / "HEAD").read_text().startswith("ref: refs/heads/")

def test_log():
    assert (GIT / "logs" / "HEAD").read_text()

def test_alone():
    pass
"""


def test_files_that_git_writes_reach_the_tests_that_read_them(tmp_path: Path) -> None:
    folder = repository(tmp_path / "git", {"test_a.py": GIT_READERS})
    run_pytest(folder)
    assert (verify(folder).returncode, impacted(folder)) == (0, {})
    git(folder, "commit", "-q", "--allow-empty", "-m", "Nothing")
    log = ".git/logs/HEAD, which git writes, changed since the test opened it"
    assert (verify(folder).returncode, impacted(folder)) == (1, {"test_log": log})
    git(folder, "checkout", "-q", "-b", "other")
    head = ".git/HEAD, which git writes, changed since the test opened it"
    assert impacted(folder) == {"test_log": log, "test_head": head}


def test_variables_with_another_value_are_named_beside_the_verdict(project: Path) -> None:
    assert "note" not in verify(project).stdout
    done = verify(project, {**VARIABLES, "APP_MODE": "other", "TERM": "x"})
    assert done.returncode == 0
    readers = "test_a.py::test_functions, test_a.py::test_subscript"
    assert (
        f"note: the variable APP_MODE has another value now; it was read by {readers}\n"
        in done.stdout
    )
    assert done.stdout.count("note") == 1
    done = verify(project, {"APP_MODE": "hunter2", "APP_KIND": "k"})
    assert (
        "note: the variable APP_LEVEL is not set now; it was read by settings.py\n" in done.stdout
    )
    # a commit is judged without the environment of this shell
    at_head = run_in_process(["verify", "--at", "HEAD"], project, environment({}))
    assert (at_head.returncode, "note" in at_head.stdout) == (0, False)


def test_what_only_this_shell_sets_has_a_hint(tmp_path: Path) -> None:
    tests = (
        "import os\n\ndef test_color():\n    assert 'NO_BLUE' not in os.environ\n\n"
        "def test_shop():\n    assert not [name for name in os.environ if name.startswith('SHOP_')]\n"
    )
    folder = repository(tmp_path / "shell", {"test_a.py": tests, "test_b.py": "def test_b(): ..."})
    run_pytest(folder)
    done = verify(folder, {"NO_BLUE": "1"})
    assert done.returncode == 1
    assert "the variable NO_BLUE is set now, which the test looked for\n" in done.stdout
    assert "hint: without what this shell sets: env -u NO_BLUE kl verify\n" in done.stdout
    done = verify(folder, {"SHOP_NAME": "1", "SHOP_PORT": "2", "OTHER": "3"})
    assert done.returncode == 1
    assert "a variable SHOP_* is set now, which the test looked for\n" in done.stdout
    assert "hint: without what this shell sets: env -u SHOP_NAME -u SHOP_PORT kl verify\n" in (
        done.stdout
    )
    assert verify(folder, {}).returncode == 0


def test_values_are_stored_as_digests_of_this_clone(project: Path) -> None:
    run = executed(project)
    assert run.private.keys() == {
        "local.cfg",
        "/environ/set/APP_MODE",
        "/environ/set/APP_KIND",
        "/environ/set/APP_LEVEL",
    }
    again = executed_from_dict(json.loads(json.dumps(executed_to_dict(run))))
    assert again == run
    assert "hunter2" not in json.dumps(executed_to_dict(run))
    # with another key nothing is compared
    verify(project)
    git_dir = Path(git(project, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    (git_dir / "kl" / "spool.key").write_bytes(b"x" * 32)
    (project / "local.cfg").write_text("changed", encoding="utf-8")
    done = verify(project, {})
    assert (done.returncode, "note" in done.stdout) == (0, False)


BESIDE = """\
import pathlib

def test_reads():
    assert (pathlib.Path(__file__).parent / "local.txt").read_text()

def test_alone():
    pass
"""


def test_a_run_beside_untracked_files_is_compared_where_these_are_others_now(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "untracked", {"test_a.py": BESIDE})
    (folder / "local.txt").write_text("1", encoding="utf-8")
    run_pytest(folder)
    assert verify(folder).stdout.count("proven") == 1
    new = folder / "test_new.py"
    new.write_text("def test_new(): ...\n", encoding="utf-8")
    done = verify(folder)
    assert done.returncode == 0
    assert "all 2 tests executed nothing that changed; 0 ran here" in done.stdout
    assert "test_new.py is untracked, and was not there when the tests ran" in done.stdout
    assert impacted(folder).keys() == {"test_new"}
    # the same run: its tests are not those of what is there now
    (folder / "local.txt").write_text("2", encoding="utf-8")
    assert verify(folder).returncode == 1
    assert impacted(folder)["test_reads"] == "local.txt changed, which the test opened"
    # nor is it a commit without the file
    assert run_in_process(["verify", "--at", "HEAD"], folder, environment({})).returncode == 1
