"""A module of the suite may have any name: neither does kl load one before it, nor use it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from pytest_kl.own_imports import own_imports

from .recorded import git, only, repository, run_pytest

NOTES = """
import sys
import sys
from importlib import import_module
from pathlib import Path

def note(when):
    # what is private of the library stays: it is in C, and no suite names a module so
    names = {name.partition(".")[0] for name in sys.modules if not name.startswith("_")}
    with Path(__file__).with_name("loaded.txt").open("a") as notes:
        print(when, sorted(names - {"kl_hooks", "pytest_kl"}), file=notes)

note("imported")

def pytest_collection_finish():
    note("collected")

def pytest_runtest_teardown():
    note("tested")
"""


@pytest.mark.parametrize("args", [(), ("--kl-impacted",), ("-n", "1")])
def test_a_suite_has_the_modules_that_it_has_without_us(
    tmp_path: Path, args: tuple[str, ...]
) -> None:
    # files that processes open are watched from the first one on
    test = "import subprocess\n\n\ndef test_a(): subprocess.run(['true'])\ndef test_b(): pass\n"
    ignored = "loaded.txt\n__pycache__/\n"
    files = {"conftest.py": NOTES, "tests/test_a.py": test, ".gitignore": ignored}
    project = repository(tmp_path, files)
    (project / ".kl" / "config.yaml").write_text("version: 1\n", encoding="utf-8")
    notes = []
    for of_kl in (("--no-kl",), args[:1] if args[:1] == ("--kl-impacted",) else ()):
        run_pytest(project, *(args if args[:1] == ("-n",) else ()), *of_kl, forked=False)
        notes.append((project / "loaded.txt").read_text(encoding="utf-8").splitlines())
        (project / "loaded.txt").unlink()
    assert [_names(line) for line in notes[1]] == [_names(line) for line in notes[0]]
    assert notes[0][-1].startswith("tested")
    assert only(project).result["verdict"] == "passed"


def _names(note: str) -> set[str]:
    return {*note.split()}


NAMES = ("resource", "getpass", "ctypes", "sqlite3", "yaml")
"""Which kl imports, and pytest does not."""


@pytest.mark.once
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("folder", ["tests", "."])
def test_a_suite_may_have_a_module_of_that_name(tmp_path: Path, name: str, folder: str) -> None:
    test = (
        f"import {name} as first\n\n\ndef test():\n    import {name}\n"
        f"    assert {name} is first and first.KIND == 'own'\n"
    )
    files = {f"{folder}/{name}.py": "KIND = 'own'\n", f"{folder}/test_name.py": test}
    project = repository(tmp_path, {**files, "pytest.ini": "[pytest]\n"})
    (project / ".kl" / "config.yaml").write_text("version: 1\n", encoding="utf-8")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "a module with the name of another")
    assert run_pytest(project, forked=False).returncode == 0
    done = run_pytest(project, "--kl-impacted", "--kl-audit=off", forked=False)
    assert "1 deselected" in done.stdout
    assert only(project).result["how"] == "no-tests"  # the first run is in the store by now
    (project / folder / "test_name.py").write_text(test + "    assert True\n", encoding="utf-8")
    done = run_pytest(project, "--kl-impacted", forked=False)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


def test_pyyaml_has_its_part_in_c_where_a_suite_loads_it(tmp_path: Path) -> None:
    test = "import yaml\n\n\ndef test(): assert yaml.load('a: 1', yaml.CSafeLoader) == {'a': 1}\n"
    project = repository(tmp_path, {"test_yaml.py": test})
    (project / ".kl" / "config.yaml").write_text("version: 1\n", encoding="utf-8")
    done = run_pytest(project, forked=False)
    assert done.returncode == 0, done.stdout
    assert only(project).result["verdict"] == "passed"


def test_of_each_module_kl_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sched", raising=False)
    with own_imports():
        first = import_module("sched")
    assert "sched" not in sys.modules
    own_of_suite = import_module("sched")
    with own_imports():
        assert import_module("sched") is first is not own_of_suite
    assert sys.modules["sched"] is own_of_suite
