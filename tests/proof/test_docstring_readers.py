"""Docstrings that installed code reads, which no code of the repository asks for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import _pytest.python
import pytest

import kl_hooks.errors
import pytest_kl.docstrings
from pytest_kl.docstrings import Docstrings
from tests.pytest_kl.recorded import environment, repository, run_pytest

from .test_left_behind import commit, impacted

PROGRAM = {
    "pytest.ini": "[pytest]\npythonpath = ../lib/site-packages\n",
    # code of the repository calls pytest, which makes the cases of unittest
    "conftest.py": """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    runtestprotocol(item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
""",
    "cases.py": """
import unittest
class Case(unittest.TestCase):
    def runTest(self):
        'Checks a thing.'
def described(): return Case().shortDescription()
def other():
    'Another thing.'
    return 1
""",
    "tools.py": """
from installed_server import Server
def add():
    'Add a thing.'
def build():
    server = Server()
    server.offer(add)
    return server
def listed(): return build().documents()
""",
    "copied.py": """
from contextlib import contextmanager
from unittest import mock
@contextmanager
def opened():
    'Opened.'
    yield mock.Mock()
def plain():
    'Plain.'
    return 1
""",
    "test_app.py": """
import unittest
import cases, copied, tools
def test_case(): assert cases.described() == 'Checks a thing.'
def test_other(): assert cases.other() == 1
def test_server(): assert tools.listed() == ['Add a thing.']
def test_build(): assert tools.build()
def test_copied():
    with copied.opened(): assert copied.plain() == 1
class TestOwn(unittest.TestCase):
    def test_own(self):
        'Own.'
        assert cases.other() == 1
""",
}
SERVER = """
class Server:
    def __init__(self): self.tools = []
    def offer(self, function): self.tools.append(function)
    def documents(self): return [tool.__doc__ for tool in self.tools]
"""


def recorded(tmp_path: Path, program: dict[str, str], name: str, installed: str) -> Path:
    """A program after a run of its tests, with a module that is installed for it."""
    site = tmp_path / "lib" / "site-packages"
    site.mkdir(parents=True)
    (site / name).write_text(installed)
    folder = repository(tmp_path / "program", program)
    assert run_pytest(folder).returncode == 0
    return folder


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_a_docstring_that_installed_code_reads_belongs_to_the_test(tmp_path: Path) -> None:
    folder = recorded(tmp_path, PROGRAM, "installed_server.py", SERVER)

    def stale_after(path: str, before: str, after: str) -> set[str]:
        text = PROGRAM[path].replace(before, after)
        assert text != PROGRAM[path]
        (folder / path).write_text(text)
        tests = impacted(folder)
        (folder / path).write_text(PROGRAM[path])
        return tests

    # whose docstring is read is known of a case, in which it is stored
    assert stale_after("cases.py", "Checks a", "Looks at a") == {"test_app.py::test_case"}
    # what a server has is not known: the tests that have the function, and read any docstring
    assert stale_after("tools.py", "Add a", "Add some") == {"test_app.py::test_server"}
    # a copy of a docstring at another object is not shown
    assert stale_after("copied.py", "Opened.", "Open.") == set()
    assert stale_after("copied.py", "Plain.", "Simple.") == set()
    # pytest itself makes the cases of unittest
    assert stale_after("test_app.py", "Own.", "My own.") == set()


SHOWN = {
    "pytest.ini": PROGRAM["pytest.ini"],
    "parts.py": '__all__ = ["a"]\ndef a():\n    """A."""\ndef b():\n    """B."""\n',
    "test_named.py": "import pkgutil\nimport parts\n"
    "def test_named(): assert pkgutil.resolve_name('parts.a')() is None\n",
    "test_shown.py": "import installed_pages, parts\n"
    "def test_shown(): assert installed_pages.page(parts) == {'a': 'A.'}\n",
}
PAGES = """
def page(module): return {name: getattr(module, name).__doc__ for name in module.__all__}
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_public_names_belong_to_who_shows_a_module_not_to_who_got_a_member(tmp_path: Path) -> None:
    folder = recorded(tmp_path, SHOWN, "installed_pages.py", PAGES)
    (folder / "parts.py").write_text(SHOWN["parts.py"].replace('["a"]', '["a", "b"]'))
    assert impacted(folder) == {"test_shown.py::test_shown"}


def test_neither_pytest_nor_the_recorder_is_searched_for_readers() -> None:
    """There are thousands of functions, and what they show of a test is no part of its result."""
    read = compile("def show(thing):\n    return thing.__doc__", "installed.py", "exec")
    readers = Docstrings(lambda path: None).readers
    assert [code.co_name for code in readers(read)] == ["show"]
    for module in (pytest_kl.docstrings, kl_hooks.errors, _pytest.python):
        own = compile("def show(thing):\n    return thing.__doc__", str(module.__file__), "exec")
        assert readers(own) == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_code_is_searched_for_names_where_texts_can_not_be_compared_with_bytes(
    tmp_path: Path,
) -> None:
    """`python -bb` makes an error of it."""
    data = "def data():\n    return b'a', (b'b', 'c'), 'd'\n"
    test = "import app\ndef test_data(): assert app.data()[0] == b'a'\n"
    folder = repository(tmp_path / "program", {"app.py": data, "test_app.py": test})
    command = [sys.executable, "-bb", "-m", "pytest", "-q", "-p", "pytest_kl.plugin"]
    done = subprocess.run(
        command, cwd=folder, env=environment({}), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    commit(folder, {"app.py": data + "def unused(): return 1\n"})
    assert impacted(folder) == set()
    commit(folder, {"app.py": data.replace("'d'", "'e'")})
    assert impacted(folder) == {"test_app.py::test_data"}
