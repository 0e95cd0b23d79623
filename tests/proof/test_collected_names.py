"""Which definitions of a test file are tests: by what runs reported, the source, and pytest's
configuration of a content.
"""

from __future__ import annotations

from pathlib import Path

from kl_hooks.git.worktree import STAGED
from kl_hooks.proof.collected_names import collected_names, reported_names
from kl_hooks.proof.difference import difference
from kl_hooks.proof.pytest_config import PytestConfig
from kl_hooks.workspace import open_workspace
from tests.support import checkout

SOURCE = b"""\
import unittest
import pytest
from base import Base
def test_a(): pass
def tests(): yield 1
def check_a(): pass
@pytest.fixture
def test_client(): pass
class TestA:
    def test_a(self): pass
    def help(self): pass
class TestB(Base):
    def test_b(self): pass
class Case(unittest.TestCase):
    def test_c(self): pass
class Settings:
    test_d = 1
class TestMade:
    __test__ = False
    def test_e(self): pass
"""


def test_what_leaves_no_doubt_is_a_test() -> None:
    sure = {"test_a", "TestA", "TestA.test_a", "TestB", "Case", "Case.test_c"}
    assert collected_names(SOURCE, PytestConfig()) == sure
    reported = reported_names(["t.py::TestB::test_b[x::y]", "t.py::check_a", "t.py::test_client"])
    assert reported == {"TestB::test_b", "check_a", "test_client"}
    # a fixture is none, whatever an earlier run reported
    assert collected_names(SOURCE, PytestConfig(), reported) == {*sure, "TestB.test_b", "check_a"}
    checks = PytestConfig(python_functions=("check_*",), python_classes=("Settings",))
    assert collected_names(SOURCE, checks) == {"check_a", "Settings", "Case", "Case.test_c"}
    assert collected_names(b"def test_a(:", PytestConfig()) == frozenset()


def test_the_configuration_of_the_other_content_decides(tmp_path: Path, home: Path) -> None:
    ini = "[pytest]\npython_functions = {}\n"
    repo = checkout(tmp_path / "repo", {"deep/pytest.ini": ini.format("committed")})
    repo.write("deep/pytest.ini", ini.format("staged"))
    repo.git("add", "deep/pytest.ini")
    repo.write("deep/pytest.ini", ini.format("here"))
    ws = open_workspace(repo.root)
    assert ws.repo is not None
    for other, name in (("HEAD", "committed"), (STAGED, "staged"), (None, "here")):
        found = difference(ws, ws.repo, {}, other)
        assert found.pytest_config("deep/test_a.py").python_functions == (name,), other
        assert found.pytest_config("test_a.py") == PytestConfig()
