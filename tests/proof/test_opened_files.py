"""Results rest on the files that tests open and the folders that they list, as the plugin saw them,
and on nothing that only lies around.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.reads import STATES, STORED, TOUCHED, Read
from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.pytest_kl.test_symbols import executed
from tests.support import run_in_process

APP = """\
import functools, json, pathlib
HERE = pathlib.Path(__file__).parent
TABLE = json.loads((HERE / "table.json").read_text())
@functools.cache
def stored():
    return json.loads((HERE / "stored.json").read_text())
"""
CONFTEST = """\
import pathlib, pytest
HERE = pathlib.Path(__file__).parent
def pytest_collection_modifyitems(items):
    (HERE / "order.cfg").read_text()
@pytest.fixture(scope="session")
def wide():
    return (HERE / "wide.json").read_text()
"""
TESTS = """\
import ast, glob, io, linecache, os, pathlib, pkgutil, subprocess, sys, traceback, warnings
import pytest

HERE = pathlib.Path(__file__).parent

def test_alone():
    assert True

def test_reads():
    assert HERE.joinpath("data.json").read_text()

def test_wide(wide):
    assert wide

def test_source():
    exec((HERE / "cases" / "case.py").read_text(), {})

def test_lint():
    for path in HERE.glob("src/**/*.py"):
        ast.parse(path.read_bytes())

def test_listed():
    assert len(glob.glob(str(HERE / "cases" / "*.txt"))) == 1

def test_walked():
    assert [name for _, _, names in os.walk(HERE / "tree") for name in names] == ["leaf.bin"]

def test_plugins():
    assert [one.name for one in pkgutil.iter_modules([str(HERE / "plugins")])] == ["one"]

def test_resource():
    assert pkgutil.get_data("package", "resource.bin")

def test_resource_of_a_test_module():
    assert pkgutil.get_data(__name__, "own.bin")

def test_raw():
    with io.FileIO(HERE / "raw.bin") as file:
        assert file.read()

def test_line():
    assert linecache.getline(str(HERE / "lines.rows"), 1)

def test_line_again():
    assert linecache.getline(str(HERE / "lines.rows"), 1)

def test_traceback():
    import shown
    try:
        shown.fail()
    except ValueError:
        assert "# why" in traceback.format_exc()

def test_missing():
    with pytest.raises(FileNotFoundError):
        open(HERE / "local.ini")

def test_warns():
    with pytest.warns(UserWarning):
        warnings.warn("shows its source")
    warnings.showwarning("shows its source", UserWarning, str(HERE / "package" / "__init__.py"), 1)

def test_starts_another():
    code = "import sys; print(open(sys.argv[1]).read())"
    assert subprocess.run([sys.executable, "-c", code, str(HERE / "other.json")], check=True)
"""
LOOKING_TESTS = """\
import importlib, importlib.util, pytest, sys
import package

@pytest.fixture(scope="module")
def optional():
    return importlib.util.find_spec("hid" + "den")

def test_found():
    assert importlib.util.find_spec("pack" + "age")

def test_looks():
    assert not importlib.util.find_spec("extra" + "s")

def test_loads():
    with pytest.raises(ImportError):
        importlib.import_module("package.ex" + "_tra")

def test_asks(optional):
    assert optional is None

def test_empties():
    sys.meta_path = [finder for finder in sys.meta_path if isinstance(finder, type)]

def test_looks_after_that():
    assert not importlib.util.find_spec("la" + "ter")
"""
IMPORTING_TESTS = """\
def test_imports():
    import app
    assert app.TABLE == 1

def test_stored():
    import app
    assert app.stored() == 1

def test_stored_again():
    import app
    assert app.stored() == 1
"""
FILES = {
    "app.py": APP,
    "conftest.py": CONFTEST,
    "test_a.py": TESTS,
    "test_b.py": IMPORTING_TESTS,
    "test_c.py": LOOKING_TESTS,
    "table.json": "1\n",
    "stored.json": "1\n",
    "wide.json": "1\n",
    "order.cfg": "1\n",
    "data.json": "1\n",
    "own.bin": "1\n",
    "raw.bin": "1\n",
    "lines.rows": "1\n",
    "shown.py": "def fail():\n    raise ValueError  # why\n",
    "other.json": "1\n",
    "third.yaml": "1\n",
    "NEWS.md": "1\n",
    "cases/case.py": "X = 1\n",
    "cases/one.txt": "1\n",
    "src/deep/lib.py": "X = 1\n",
    "tree/branch/leaf.bin": "1\n",
    "plugins/one.py": "X = 1\n",
    "package/__init__.py": "# source\n",
    "package/resource.bin": "1\n",
}
STARTS_ANOTHER = "test_starts_another"
"""Of which not all is seen: it is always among the tests to run."""
IMPORTS_APP = {"test_imports", "test_stored", "test_stored_again"}
CHANGES: dict[str, set[str]] = {
    "data.json": {"test_reads"},
    "wide.json": {"test_wide"},
    "table.json": IMPORTS_APP,
    "stored.json": {"test_stored", "test_stored_again"},
    "cases/case.py": {"test_source"},
    "src/deep/lib.py": {"test_lint"},
    "package/resource.bin": {"test_resource"},
    "own.bin": {"test_resource_of_a_test_module"},
    "raw.bin": {"test_raw"},
    "lines.rows": {"test_line", "test_line_again"},
    # a warning shows a line of it
    "package/__init__.py": set(),
    "third.yaml": set(),
    "other.json": set(),
}
ADDED: dict[str, set[str]] = {
    "src/more/new.py": {"test_lint"},
    "src/more/new.txt": set(),
    "cases/two.txt": {"test_listed"},
    "cases/two.csv": set(),
    "tree/branch/new.bin": {"test_walked"},
    "tree/twig/new.cfg": {"test_walked"},
    "plugins/two/__init__.py": {"test_plugins"},
    "local.ini": {"test_missing"},
    "extras.py": {"test_looks"},
    "extras/__init__.py": {"test_looks"},
    "extras/deep.py": {"test_looks"},
    "extras.txt": set(),
    "ex_tra.py": set(),
    "package/ex_tra.py": {"test_loads"},
    "hidden.py": {"test_asks"},
    "later.py": {"test_looks_after_that"},
}

pytestmark = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = repository(tmp_path_factory.mktemp("reads") / "files", FILES)
    done = run_pytest(folder)
    assert "26 passed" in done.stdout, done.stdout
    return folder


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Executed:
    return executed(folder)


def impacted(folder: Path) -> dict[str, str]:
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environment({}))
    assert done.returncode == 0, done.stderr
    return {
        one["test"].partition("::")[2]: one["reason"] for one in json.loads(done.stdout)["tests"]
    }


def change(folder: Path, name: str, text: str = "") -> dict[str, str]:
    """The tests to run where a file is edited or added."""
    git(folder, "reset", "-q", "--hard")
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    new = text or f"{'# ' if name.endswith('.py') else ''}2\n"
    path.write_text(new, encoding="utf-8")
    git(folder, "add", "-A")
    return impacted(folder)


def test_a_comment_reaches_the_test_that_shows_its_line(folder: Path, recorded: Executed) -> None:
    stale = change(folder, "shown.py", FILES["shown.py"].replace("why", "how"))
    assert stale.keys() == {"test_traceback", STARTS_ANOTHER}


def test_reads_are_noted_with_what_read_them(recorded: Executed) -> None:
    reads = recorded.reads
    assert reads is not None
    reads_of_tests = {name.partition("::")[2]: read for name, read in reads.tests.items()}
    states = {
        name: {r for r in read if r.path in (STATES, STORED, TOUCHED)}
        for name, read in reads_of_tests.items()
    }
    of_test = {
        name: read - states[name] for name, read in reads_of_tests.items() if read - states[name]
    }
    assert of_test == {
        "test_reads": {Read("data.json")},
        "test_wide": {Read("wide.json")},
        "test_stored": {Read("stored.json")},
        "test_source": {Read("cases/case.py")},
        "test_lint": {Read("src", "**/*.py"), Read("src/deep/lib.py")},
        "test_listed": {Read("cases", "*.txt")},
        "test_walked": {Read("tree", "*"), Read("tree", "branch"), Read("tree/branch", "*")},
        "test_plugins": {Read("", "plugins"), Read("plugins", "*")},
        "test_resource": {Read("package/resource.bin")},
        "test_resource_of_a_test_module": {Read("own.bin")},
        "test_raw": {Read("raw.bin")},
        "test_line": {Read("lines.rows")},
        "test_line_again": {Read("lines.rows")},
        "test_traceback": {Read("shown.py"), Read("test_a.py")},
        "test_missing": {Read("local.ini")},
        "test_looks": {Read("", "extras"), Read("", "extras.py")},
        "test_loads": {Read("package", "ex_tra"), Read("package", "ex_tra.py")},
        "test_asks": {Read("", "hidden"), Read("", "hidden.py")},
        "test_looks_after_that": {Read("", "later"), Read("", "later.py")},
        # by its process
        "test_starts_another": {Read("other.json")},
    }
    assert Read(STORED, "app.py:stored()") in states["test_stored_again"]
    assert reads.modules == {
        "app.py": {Read("table.json")},
        "conftest.py": {Read("order.cfg")},
    }
    assert set(reads.values) == {
        f"function:test_b.{name}" for name in ("test_stored", "test_stored_again")
    }


@pytest.mark.slow
def test_a_change_reaches_the_tests_that_read_it_and_no_others(
    folder: Path, recorded: Executed
) -> None:
    for name, expected in {**CHANGES, **ADDED}.items():
        assert change(folder, name).keys() == {*expected, STARTS_ANOTHER}, name
    every = change(folder, "order.cfg")
    assert len(every) == 26
    assert every["test_alone"] == "order.cfg changed, which the test opened"


def test_documentation_that_nobody_opened_and_processes(folder: Path, recorded: Executed) -> None:
    # documentation that no test names: the whole suite is still proven
    assert change(folder, "NEWS.md") == {}
    assert run_in_process(["verify"], folder, environment({})).returncode == 0
    reason = change(folder, "other.json")[STARTS_ANOTHER]
    assert reason == "other.json changed, which the test opened"
    # it may have looked for others that are not there yet, or read them by another way
    reason = change(folder, "data.json")[STARTS_ANOTHER]
    assert reason == "data.json changed, and what its processes opened was not recorded"
    assert run_in_process(["verify"], folder, environment({})).returncode == 1


@pytest.mark.slow
def test_a_file_that_no_event_shows_is_a_note_beside_the_verdict(tmp_path: Path) -> None:
    files = {"tests/test_a.py": "def test_a(): pass\n", "tests/data/c.pem": "1\n"}
    folder = repository(tmp_path / "certificates", files)
    run_pytest(folder)
    assert "note:" not in run_in_process(["verify"], folder, environment({})).stdout
    (folder / "tests/data/c.pem").write_text("2\n", encoding="utf-8")
    git(folder, "commit", "-qam", "another certificate")
    done = run_in_process(["verify"], folder, environment({}))
    note = (
        "tests/data/c.pem changed; files that C libraries open, or that are only probed, are not"
        " recorded"
    )
    assert (done.returncode, f"note: {note}\n" in done.stdout) == (0, True), done.stdout
    done = run_in_process(["verify", "--format", "json"], folder, environment({}))
    assert json.loads(done.stdout)["notes"] == [note]
    run_pytest(folder)
    assert "note:" not in run_in_process(["verify"], folder, environment({})).stdout


LINKING = {
    "AGENTS.md": "Old.\n",
    "docs/other.md": "Other.\n",
    "src/app.py": "",
    "test_app.py": """
import pathlib
HERE = pathlib.Path(__file__).parent
def test_reads(): assert (HERE / "CLAUDE.md").read_text()
def test_target(): assert (HERE / "AGENTS.md").read_text()
def test_alone(): assert True
""",
}


@pytest.mark.parametrize(
    ("target", "tests"),
    [
        ("docs/other.md", {"test_reads", "test_target"}),
        ("", {"test_reads", "test_target"}),
        ("src", {"test_reads", "test_target", "test_alone"}),
        ("/etc/hostname", {"test_reads", "test_target", "test_alone"}),
    ],
)
def test_a_link_to_a_document_concerns_who_reads_it(
    tmp_path: Path, target: str, tests: set[str]
) -> None:
    folder = repository(tmp_path / "program", LINKING)
    link = folder / "CLAUDE.md"
    link.symlink_to("AGENTS.md")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "A link")
    assert run_pytest(folder).returncode == 0
    link.unlink()
    if target:
        link.symlink_to(target)
    assert impacted(folder).keys() == tests
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Another one")
    assert impacted(folder).keys() == tests


def test_a_new_link_to_a_document_concerns_nobody_who_did_not_look_for_it(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", LINKING | {"test_app.py": "def test_alone(): ...\n"})
    assert run_pytest(folder).returncode == 0
    (folder / "CLAUDE.md").symlink_to("AGENTS.md")
    assert impacted(folder) == {}
