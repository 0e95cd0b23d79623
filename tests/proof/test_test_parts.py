"""What a test consists of, by its source: which edits change it, and which are others' business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kl_hooks.code.modules import ModuleIndex, module_names
from kl_hooks.model.claim import CitedTest
from kl_hooks.proof.test_parts import TestSource

FILE = "tests/test_a.py"
FILES = {
    "shop.py": "def f():\n    return 1\n",
    "tests/__init__.py": "",
    "tests/conftest.py": """\
import pytest
BASE = 1
@pytest.fixture
def base():
    return BASE
@pytest.fixture(autouse=True)
def clean():
    pass
@pytest.fixture
def unused():
    return 0
def pytest_runtest_call(item):
    pass
""",
    "tests/helpers.py": "LIMIT = 9\ndef check(a, b):\n    assert a == b < LIMIT\ndef "
    "other():\n    pass\n",
    FILE: """\
import os
import tests.data as data
from shop import f
from tests.helpers import check, other
from tests.stars import *
EXPECTED = 1
OTHER = 2
os.environ["MODE"] = "test"
def setup_module():
    pass
class Base:
    size = 1
    def helper(self):
        return 1
def test_f(base):
    '''Doc.'''
    check(f(), EXPECTED + data.ONE + STAR)
def test_g():
    assert OTHER
class TestA(Base):
    size = 2
    def setup_method(self):
        self.x = 1
    def test_b(self):
        assert self.size
    def test_c(self):
        assert self.x
""",
    "tests/data.py": "ONE = 1\n",
    "tests/stars.py": "STAR = 1\nMORE = 2\n",
}
F, B = f"{FILE}::test_f", f"{FILE}::TestA::test_b[x]"
CHANGES = {
    "the test": (F, FILE, "check(f(), EXPECTED", "check(f(), 0 * EXPECTED", "itself"),
    "a constant": (F, FILE, "EXPECTED = 1", "EXPECTED = 3", f"EXPECTED in {FILE}"),
    "an import": (F, FILE, "import f", "import g as f", f"f in {FILE}"),
    "a helper": (F, "tests/helpers.py", "a == b", "a != b", "check in tests/helpers.py"),
    "its constant": (F, "tests/helpers.py", "LIMIT = 9", "LIMIT = 8", "LIMIT in tests/helpers.py"),
    "a module": (F, "tests/data.py", "ONE = 1", "ONE = 2", "ONE in tests/data.py"),
    "a star": (F, "tests/stars.py", "STAR = 1", "STAR = 2", "STAR in tests/stars.py"),
    "a fixture": (F, "tests/conftest.py", "return BASE", "return 2", "base in tests/conftest.py"),
    "of a fixture": (F, "tests/conftest.py", "BASE = 1", "BASE = 2", "BASE in tests/conftest.py"),
    "autouse": (F, "tests/conftest.py", "clean():\n    pass", "clean():\n    1", "clean in"),
    "a hook": (
        F,
        "tests/conftest.py",
        "(item):\n    pass",
        "(item):\n    1",
        "pytest_runtest_call",
    ),
    "a statement": (F, FILE, '"test"', '"live"', f"(statements) in {FILE}"),
    "a setup": (F, FILE, "module():\n    pass", "module():\n    1", f"setup_module in {FILE}"),
    "a decorator": (F, FILE, "def test_f", "@skip\ndef test_f", "itself"),
    "a base": (B, FILE, "size = 1", "size = 3", f"Base in {FILE}"),
    "its class": (B, FILE, "size = 2", "size = 3", f"TestA in {FILE}"),
    "its setup": (B, FILE, "self.x = 1", "self.x = 2", f"TestA.setup_method in {FILE}"),
    "its method": (B, FILE, "assert self.size", "assert 1", "itself"),
    "unreadable": (F, "tests/helpers.py", "LIMIT = 9", "LIMIT =", "in tests/helpers.py"),
    "a sibling": (F, FILE, "assert OTHER", "assert not OTHER", ""),
    "its name": (F, FILE, "OTHER = 2", "OTHER = 3", ""),
    "a new test": (F, FILE, "class TestA", "def test_new():\n    other()\nclass TestA", ""),
    "a new import": (F, FILE, "import os\n", "import os, re\n", ""),
    "another helper": (F, "tests/helpers.py", "other():\n    pass", "other():\n    1", ""),
    "another fixture": (F, "tests/conftest.py", "return 0", "return 1", ""),
    "the code": (F, "shop.py", "return 1", "return 2", ""),
    "a docstring": (F, FILE, "Doc.", "Other.", ""),
    "a comment": (F, FILE, "EXPECTED = 1", "EXPECTED = 1  # one", ""),
    "a method beside": (B, FILE, "assert self.x", "assert not self.x", ""),
    "a new method": (B, FILE, "def test_c", "def test_d(self):\n        1\n    def test_c", ""),
}


REPORTED = ("test_f", "test_g", "TestA::test_b", "TestA::test_c")


def source(files: Mapping[str, str], reported: Sequence[str] = REPORTED) -> TestSource:
    return TestSource(
        lambda path: files[path].encode() if path in files else None,
        lambda: ModuleIndex(module_names(list(files))),
        lambda path: reported if path == FILE else (),
    )


def recorded(files: Mapping[str, str], test: str) -> CitedTest:
    return CitedTest(test, source(files).parts(test))


@pytest.mark.parametrize("name", CHANGES)
def test_an_edit_changes_a_test_where_the_test_uses_it(name: str) -> None:
    test, path, old, new, changed = CHANGES[name]
    assert FILES[path].count(old) == 1, old
    edited = {**FILES, path: FILES[path].replace(old, new)}
    change = source(edited).change(recorded(FILES, test), test)
    if changed in ("", "itself"):
        assert change == (f"the cited test {test} changed" if changed else "")
    else:
        assert change.endswith(f"changed, which the cited test {test} uses") and changed in change


NAMED = """\
import pytest
@pytest.fixture(autouse=True)
def test_env(): return 1
class TestA:
    @pytest.fixture(autouse=True)
    def test_mode(self): return 2
    def values(self): return self.test_data()
    def test_data(self): return 3
    def check_b(self): assert self.values()
    def test_b(self): assert self.values()
    def check_c(self): assert 4
    def test_c(self): assert 5
"""
NAMED_INI = "[pytest]\npython_functions = check_*\n"


@pytest.mark.parametrize(
    ("number", "by_default", "by_configuration"),
    [
        ("1", "test_env", "test_env"),
        ("2", "TestA.test_mode", "TestA.test_mode"),
        ("3", "TestA.test_data", "TestA.test_data"),
        ("4", "TestA.check_c", ""),
        ("5", "", "TestA.test_c"),
    ],
)
def test_what_a_definition_is_called_does_not_make_it_another_test(
    number: str, by_default: str, by_configuration: str
) -> None:
    for test, config, changed in (
        ("test_b", {}, by_default),
        ("check_b", {"pytest.ini": NAMED_INI}, by_configuration),
    ):
        nodeid, files = f"{FILE}::TestA::{test}", {FILE: NAMED, **config}
        cited = CitedTest(nodeid, source(files, ()).parts(nodeid))
        change = source({**files, FILE: NAMED.replace(number, "9")}, ()).change(cited, nodeid)
        words = f"{changed} in {FILE} changed, which the cited test {nodeid} uses"
        assert change == (words if changed else "")
    # by no configuration that is known, but a run reported it
    nodeid = f"{FILE}::TestA::check_b"
    reported = ("TestA::check_b", "TestA::check_c")
    cited = CitedTest(nodeid, source({FILE: NAMED}, reported).parts(nodeid))
    edited = {FILE: NAMED.replace("4", "9")}
    assert source(edited, reported).change(cited, nodeid) == ""


def test_a_test_that_was_renamed_or_moved_is_the_same_one() -> None:
    renamed = {**FILES, FILE: FILES[FILE].replace("def test_f", "def test_h")}
    assert source(renamed).change(recorded(FILES, F), f"{FILE}::test_h") == ""
    moved = {("tests/test_z.py" if path == FILE else path): text for path, text in FILES.items()}
    assert source(moved).change(recorded(FILES, F), "tests/test_z.py::test_f") == ""
    for test in (f"{FILE}::test_h", f"{FILE}::TestZ::test_b", "tests/none.py::test_f"):
        assert (
            source(FILES).change(recorded(FILES, F), test) == f"the cited test {test} was removed"
        )


def test_the_parts_are_equal_on_every_python_and_many_are_one() -> None:
    digests = {part.name: part.digest for part in source(FILES).parts(F)}
    # pinned: of a claim that Python 3.11 recorded, 3.13 must find the same
    assert (digests[""], digests["EXPECTED"]) == ("232d040a7cd2b643", "17ca16590380c315")
    names = [f"N{number}" for number in range(300)]
    text = (
        "\n".join(f"{name} = 1" for name in names) + f"\ndef test_f():\n    {' + '.join(names)}\n"
    )
    many = recorded({FILE: text}, F)
    assert len(many.parts) == 2 and many.parts[1].name == "*"
    assert source({FILE: text.replace("N7 = 1", "N7 = 2")}).change(many, F)
