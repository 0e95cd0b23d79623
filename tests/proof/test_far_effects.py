"""Edits of files that a test reaches by no import of its own: the whole suite fails after each, so
the result of the test must not be valid.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

POOL = """
import multiprocessing, pytest
from concurrent.futures import ProcessPoolExecutor
@pytest.fixture(scope="session")
def pool():
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        yield pool
"""
SERVER = """
import atexit, subprocess, sys
CODE = "import helper, sys\\nfor line in sys.stdin: print(helper.double(int(line)), flush=True)"
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
SERVER = subprocess.Popen([sys.executable, "-c", CODE], **PIPES)
atexit.register(SERVER.kill)
def ask(x):
    print(x, file=SERVER.stdin, flush=True)
    return int(SERVER.stdout.readline())
"""
HELPER = {"helper.py": "def double(x): return 2 * x\n"}
TRIPLE = {"helper.py": "def double(x): return 3 * x\n"}
PACKAGE = {"pkg/__init__.py": "", "pkg/late.py": "def value(): return 1\n"}
LATE = {"test_z.py": "import pkg\ndef test_late(): assert pkg.late.value() == 1\n"}
SPACE = {"left/space/one.py": "", "conftest.py": "import sys\nsys.path.insert(0, 'left')\n"}

EDITS: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "a process that an import started": (
        HELPER
        | {"app.py": SERVER, "test_a.py": "import app\ndef test_asks(): assert app.ask(2) == 4\n"},
        TRIPLE,
        "test_asks",
    ),
    "a process that another test started": (
        HELPER
        | {
            "conftest.py": POOL,
            "test_a.py": "def test_starts(pool): assert pool.submit(abs, 1).result() == 1\n",
            "test_b.py": "import helper\n"
            "def test_maps(pool): assert pool.submit(helper.double, 2).result() == 4\n",
            # the one during which the pool ends
            "test_c.py": "def test_last(): pass\n",
        },
        TRIPLE,
        "test_maps",
    ),
    "an import of a helper of another test": (
        PACKAGE
        | LATE
        | {"aid.py": "import pkg.late\n", "test_a.py": "import aid\ndef test_a(): pass\n"},
        {"aid.py": "X = 1\n"},
        "test_late",
    ),
    "another file of tests that is removed": (
        PACKAGE
        | LATE
        | {"aid.py": "import pkg.late\n", "test_a.py": "import aid\ndef test_a(): pass\n"},
        {"test_a.py": ""},
        "test_late",
    ),
    "a mark of a package in the root": (
        {"a/__init__.py": "", "a/test_a.py": "def test_a(): assert __name__ == 'a.test_a'\n"},
        {"__init__.py": "# a package\n"},
        "test_a",
    ),
    "a folder that becomes part of a namespace package": (
        SPACE
        | {"test_a.py": "import space.one\ndef test_p(): assert len([*space.__path__]) == 1\n"},
        {"space/two.py": "X = 1\n"},
        "test_p",
    ),
    "the same in a folder whose name ends so": (
        {"myspace/__init__.py": "X = 1\n", "myspace/src/space/deep/one.py": ""}
        | {
            "conftest.py": "import sys, myspace\nsys.path.insert(0, 'myspace/src')\n",
            "test_a.py": "import space.deep.one\n"
            "def test_p(): assert len([*space.__path__]) == 1\n",
        },
        {"space/two.py": "X = 1\n"},
        "test_p",
    ),
}

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on"
)


@pytest.mark.parametrize(("files", "edit", "test"), EDITS.values(), ids=EDITS)
@pytest.mark.share(2)
def test_a_far_effect_makes_the_test_stale(
    files: dict[str, str], edit: dict[str, str], test: str, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "program", files)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    for path, text in edit.items():
        file = folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text) if text else file.unlink()
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Edit")
    done = run_in_process(["proof", "impacted"], folder, environment({}))
    assert f"::{test}" in done.stdout, done.stdout
    assert run_pytest(folder, "-p", "no:kl", "-p", "no:randomly").returncode != 0


LISTINGS = """
import sys
count = [0]
def hook(event, args):
    if event == "os.listdir" and str(args[0]).startswith("/proc/self/task"):
        count[0] += 1
sys.addaudithook(hook)
def pytest_unconfigure():
    sys.__stdout__.write(f"asked for children {count[0]} times\\n")
"""
STARTS = "import subprocess, sys\ndef test_{}(): subprocess.run([sys.executable, '-c', ''])\n"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="CPython 3.11 has no sys.monitoring")
def test_where_no_test_starts_a_process_nobody_looks_for_processes(tmp_path: Path) -> None:
    many = "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_n(n): pass\n"
    folder = repository(tmp_path / "program", {"conftest.py": LISTINGS, "test_a.py": many})
    assert "asked for children 0 times" in run_pytest(folder).stdout
    (folder / "test_b.py").write_text(STARTS.format("b") + "def test_later(): pass\n")
    later = run_pytest(folder).stdout
    assert "asked for children" in later
    assert "asked for children 0 times" not in later
