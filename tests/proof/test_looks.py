"""Results rest on what tests look for: whether a file is there, its state, the names in a folder;
also where git ignores what comes.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from kl_hooks.evidence.executed import executed_from_dict, executed_to_dict
from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.pytest_kl.test_symbols import executed
from tests.support import run_in_process

TESTS = """\
import os, os.path, pathlib, shutil, sqlite3, tempfile
from unittest import mock

HERE = pathlib.Path(__file__).parent

def test_alone():
    assert tempfile.gettempdir() and shutil.which("git")

def test_path():
    assert not (HERE / "local.json").exists()

def test_function():
    assert not os.path.isfile(os.fsencode(HERE / "folder" / "local.ini"))

def test_folder():
    assert not (HERE / "override").is_dir()

def test_size():
    assert os.path.getsize(HERE / "page.html") and (HERE / "page.html").stat()

def test_access():
    assert not os.access(HERE / "tool.sh", os.X_OK) and not pathlib.Path(os.sep, "none").exists()

def test_state():
    assert os.stat(str(HERE / "page.html"))

def test_listing():
    assert os.listdir(HERE / "folder")

def test_import():
    try:
        import local_settings
    except ImportError:
        pass

def test_database():
    sqlite3.connect(f"file:{HERE}/my%20store.db?mode=ro", uri=True).close()

def test_variable():
    assert os.environ.get("APP_" + "MODE", "1") and os.environ["PATH"]
    os.environ.get("_"), os.environ.get("SHLVL"), os.environ.get("OLDPWD")

def test_own_variable(monkeypatch):
    monkeypatch.setenv("APP_OWN", "1")
    assert os.getenv("APP_OWN") and os.path.expandvars("$APP_ANY")

def test_copy():
    assert dict(os.environ) and {**os.environ}

def test_writes():
    env = dict(os.environ)
    env["APP_REGION"] = "eu"
    with mock.patch.dict(os.environ, {"APP_PATCHED": "1"}):
        assert {**os.environ, "APP_COLUMNS": "80"} and env

def test_settings():
    assert not [name for name in os.environ if name.startswith("SHOP_")]

def test_default():
    assert os.environ.setdefault("APP_DEFAULT", "1")

def test_where():
    assert pathlib.Path(__file__).resolve()
"""
FILES = {
    "test_a.py": TESTS,
    "folder/a.txt": "",
    "page.html": "<p>",
    "tool.sh": "exit\n",
    "sub/test_b.py": "def test_b():\n    pass\n",
    ".gitignore": "__pycache__\n.pytest_cache\n*.json\n*.ini\n*.tmp\nlocal_settings.py\n"
    "sub/conftest.py\nbuild\n",
}
NEW = {
    "local.json": {"test_path"},
    "folder/local.ini": {"test_function", "test_listing"},
    "folder/x.tmp": {"test_listing"},
    "override/page.html": {"test_folder"},
    "local_settings.py": {"test_import"},
    "sub/conftest.py": {"test_b"},
    "build/x.tmp": set(),
}
"""File that appears → tests that must run again."""
VARIABLES = {
    "APP_MODE": {"test_variable"},
    "APP_OWN": set(),
    "APP_ANY": {"test_own_variable"},
    "APP_REGION": set(),
    "APP_PATCHED": set(),
    "APP_COLUMNS": set(),
    "APP_DEFAULT": {"test_default"},
    "SHOP_NAME": {"test_settings"},
    "OTHER": set(),
}
"""Variable that is set → tests that must run again."""
CHANGED = {
    "page.html": {"test_size", "test_state"},
    "tool.sh": {"test_access"},
    "my store.db": {"test_database"},
    "folder/a.txt": set(),
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"),
]


def impacted(folder: Path, variables: Mapping[str, str] = MappingProxyType({})) -> set[str]:
    environ = environment({}) | dict(variables)
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environ)
    return {test["test"].partition("::")[2] for test in json.loads(done.stdout)["tests"]}


SET_BY_SHELLS = {"_": "/usr/bin/python3", "SHLVL": "2", "OLDPWD": "/"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in SET_BY_SHELLS:
        monkeypatch.delenv(name, raising=False)  # as where a program starts the run
    folder = repository(tmp_path / "looking", FILES)
    sqlite3.connect(folder / "my store.db").close()
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a store")
    return folder


def test_what_tests_look_for_reaches_them(project: Path) -> None:
    run_pytest(project)
    assert impacted(project) == set()
    for name, tests in NEW.items():
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        assert impacted(project) == tests, name
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    for name, tests in CHANGED.items():
        text = (project / name).read_text(encoding="utf-8")
        (project / name).write_text(f"{text}\n", encoding="utf-8")
        assert impacted(project) == tests, name
        (project / name).write_text(text, encoding="utf-8")
    (project / "tool.sh").chmod(0o755)
    assert impacted(project) == {"test_access"}
    (project / "tool.sh").chmod(0o644)
    assert impacted(project) == set()
    for name, tests in VARIABLES.items():
        assert impacted(project, {name: "2"}) == tests, name
    assert impacted(project, {"PATH": "/usr/bin:/bin:/usr/local/bin"}) == set()
    # what a shell sets for each command shows how the run was started
    assert impacted(project, SET_BY_SHELLS) == set()
    # what was there when the run was over is no news
    (project / "folder" / "x.tmp").touch()
    assert impacted(project) == {"test_listing"}
    run_pytest(project, "--kl-impacted")
    assert impacted(project) == set()


def test_what_was_absent_and_listed_is_in_the_file_of_a_run(project: Path) -> None:
    run_pytest(project)
    run = executed(project)
    assert {"local.json", "override", "local_settings.py", "conftest.py"} <= run.absent
    assert run.absent.isdisjoint(FILES)
    assert run.listed.keys() == {"folder/*"}
    again = executed_from_dict(json.loads(json.dumps(executed_to_dict(run))))
    assert (again.absent, again.listed) == (run.absent, run.listed)
