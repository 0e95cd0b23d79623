"""What hooks execute before the first test and after the last one, which may decide the exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import repository, run_pytest

from .test_left_behind import commit, impacted

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on"
)
FILES = {
    "app.py": "def complaints(): return 0\ndef other(): return 0\n",
    "test_a.py": "def test_a(): pass\n",
    "sub/test_b.py": "def test_b(): pass\n",
}
START = """
import app
def pytest_sessionstart(session):
    assert not app.complaints()
"""
FINISH = """
import app
def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = int(exitstatus) + app.complaints()
"""
WRAPPER = """
import app, pytest
@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session, exitstatus):
    yield
    session.exitstatus = int(exitstatus) + app.complaints()
"""
SUMMARY = """
import app
def pytest_terminal_summary(terminalreporter):
    terminalreporter._session.exitstatus = app.complaints()
"""
UNCONFIGURE = """
import app
def pytest_unconfigure(config):
    assert not app.complaints()
"""


@pytest.mark.parametrize(
    ("conftest", "args"),
    [
        pytest.param(START, (), id="before the first test"),
        pytest.param(FINISH, (), id="at the end of the session"),
        pytest.param(FINISH, ("-n", "1"), id="at the end of the session of a worker"),
        pytest.param(WRAPPER, (), id="around the end of the session"),
        pytest.param(SUMMARY, (), id="in the summary"),
        pytest.param(UNCONFIGURE, (), id="after the session"),
    ],
)
def test_what_a_hook_executes_reaches_all_tests_of_its_folder(
    tmp_path: Path, conftest: str, args: tuple[str, ...]
) -> None:
    folder = repository(tmp_path / "program", {**FILES, "conftest.py": conftest})
    assert run_pytest(folder, *args).returncode == 0
    commit(folder, {"app.py": FILES["app.py"].replace("other(): return 0", "other(): return 1")})
    assert impacted(folder) == set()
    commit(folder, {"app.py": FILES["app.py"].replace("return 0", "return 1", 1)})
    assert run_pytest(folder, *args).returncode != 0
    assert impacted(folder) == {"test_a.py::test_a", "sub/test_b.py::test_b"}


BROKEN = """
import sys
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "kl_hooks.proof.read_trace":
            raise ImportError(name)
sys.meta_path.insert(0, Broken())
"""


@pytest.mark.parametrize("before", ["", BROKEN], ids=["recorded", "the recording fails"])
def test_nothing_is_watched_any_more_where_a_program_called_pytest(
    tmp_path: Path, before: str
) -> None:
    folder = repository(tmp_path / "program", FILES)
    program = f"""{before}
import sys, pytest
assert pytest.main(["-p", "pytest_kl.plugin", "-q"]) == 0
from pytest_kl.tracer import HANDLERS
assert "kl" not in map(sys.monitoring.get_tool, range(6)) and not HANDLERS, HANDLERS
"""
    call = [sys.executable, "-c", program]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("recording stopped" in done.stdout) is bool(before), done.stdout
