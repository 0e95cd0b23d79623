"""Which tests are expected: pytest's configuration as data, functions by syntax, and the union of
what was reported.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.git.files import path_matches
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.proof.defined_tests import (
    DefinedTests,
    defined_tests,
    defined_tests_from_dict,
    expected_names,
)
from kl_hooks.proof.expected_tests import Expected, compare_file
from kl_hooks.proof.pytest_config import (
    PytestConfig,
    PytestConfigs,
    name_matches,
)
from kl_hooks.proof.reported_tests import Reported
from tests.evidence.test_claims import run

DEFAULT = PytestConfig()


def config_of(**files: str) -> PytestConfig:
    """The root's configuration, of files given as name_with_underscores."""
    named = {name.replace("__", "."): text.encode() for name, text in files.items()}
    configs = PytestConfigs.of(named, named.get)
    assert not configs.unread
    return configs.by_folder.get("", DEFAULT)


CONFIGS: list[tuple[dict[str, str], tuple[str, tuple[str, ...]]]] = [
    ({}, ("", ())),
    ({"pyproject__toml": "[tool.other]\n"}, ("", ())),
    (
        {"pyproject__toml": "[tool.pytest.ini_options]\ntestpaths = ['a', 'b']\n"},
        ("pyproject.toml", ("a", "b")),
    ),
    (
        {"pyproject__toml": "[tool.pytest.ini_options]\ntestpaths = 'a \"b c\"'\n"},
        ("pyproject.toml", ("a", "b c")),
    ),
    ({"pyproject__toml": "[tool.pytest]\ntestpaths = ['a']\n"}, ("pyproject.toml", ("a",))),
    (
        {"pytest__ini": "", "pyproject__toml": "[tool.pytest.ini_options]\ntestpaths = ['a']\n"},
        ("pytest.ini", ()),
    ),
    (
        {"pytest__toml": "[pytest]\ntestpaths = ['a']\n", "pytest__ini": "[pytest]\n"},
        ("pytest.toml", ("a",)),
    ),
    ({"__pytest__ini": "[pytest]\ntestpaths = a\n"}, (".pytest.ini", ("a",))),
    (
        {"tox__ini": "[tox]\n", "setup__cfg": "[tool:pytest]\ntestpaths =\n    a\n    b\n"},
        ("setup.cfg", ("a", "b")),
    ),
    ({"tox__ini": "[pytest]\ntestpaths = %(x)s # c\n"}, ("tox.ini", ("%(x)s", "#", "c"))),
]


@pytest.mark.parametrize(("written", "expected"), CONFIGS, ids=str)
def test_configuration_is_read_in_pytests_order(
    written: dict[str, str], expected: tuple[str, Any]
) -> None:
    found = config_of(**written)
    assert (found.path, found.testpaths) == expected


@pytest.mark.parametrize(
    "text", [b"[tool", b"\xff\xfe", b"[tool.pytest.ini_options]\ntestpaths = '\"a'\n"], ids=str
)
def test_a_file_that_can_not_be_read_is_named(text: bytes) -> None:
    assert (
        PytestConfigs.of(["pyproject.toml"], lambda path: text)
        .unread[0]
        .startswith("pyproject.toml can't be read")
    )


def test_the_roots_configuration_decides_and_without_one_the_nearest() -> None:
    near = PytestConfig("a/pytest.ini")
    assert PytestConfigs({"a": near}).for_file("a/b/test_x.py") is near
    assert PytestConfigs({"a": near, "": DEFAULT}).for_file("a/b/test_x.py") is DEFAULT
    assert PytestConfigs({"a": near}).for_file("c/test_x.py") == DEFAULT
    assert near.collects("a/test_x.py") and not near.collects("b/test_x.py")


COLLECTS = [
    ({}, "test_a.py", True),
    ({}, "a/b_test.py", True),
    ({}, "a/tests.py", False),
    ({}, "build/test_a.py", False),
    ({}, ".tox/test_a.py", False),
    ({"testpaths": ("t",)}, "t/x/test_a.py", True),
    ({"testpaths": ("t",)}, "tt/test_a.py", False),
    ({"testpaths": ("./t/",)}, "t/test_a.py", True),
    ({"testpaths": (".",)}, "x/test_a.py", True),
    ({"testpaths": ("*/t",)}, "x/t/test_a.py", True),
    ({"testpaths": ("t/test_a.py",)}, "t/test_a.py", True),
    ({"testpaths": ("**/t",)}, "a/b/t/test_a.py", True),
    ({"python_files": ("t/*.py",)}, "a/t/x.py", True),
    ({"python_files": ("check_*",)}, "test_a.py", False),
    ({"norecursedirs": ("a/b",)}, "a/b/test_x.py", True),
]


@pytest.mark.parametrize(("given_", "path", "expected"), COLLECTS, ids=str)
def test_what_is_collected(given_: dict[str, Any], path: str, expected: bool) -> None:
    assert DEFAULT._replace(**given_).collects(path) is expected


@given(st.text("ab/*?", max_size=12), st.text("ab/", max_size=12))
def test_a_glob_takes_all_levels(pattern: str, path: str) -> None:
    if path_matches(path, pattern):
        assert path_matches(f"{path}/more", pattern)
    assert path_matches(path, "**")


def test_names_and_differences() -> None:
    assert (
        name_matches("test_a", ("test",))
        and name_matches("a_spec", ("*_spec",))
        and not name_matches("a", ("test", "[b]"))
    )
    narrow = PytestConfig("tox.ini", testpaths=("a",))
    assert narrow.difference(DEFAULT) == "testpaths in tox.ini"
    assert DEFAULT.difference(narrow) == "testpaths in no configuration file"


SURE = """import pytest
from unittest import TestCase as Base
from unittest.mock import patch

linux = pytest.mark.skipif(True, reason="")


def test_plain(): pass
async def test_async(): pass
@linux
@pytest.mark.parametrize("a", [1])
@patch("os.name")
def test_marked(a): pass
class TestA:
    def test_in(self): pass
    class TestB:
        def test_deep(self): pass
class Odd(Base):
    def test_case(self): pass
    def check(self): pass
class Helper:
    def test_not_collected(self): pass
def helper(): pass
@pytest.fixture
def test_fixture(): pass
if __name__ == "__main__":
    test_plain()
"""
UNSURE = """import sys
from elsewhere import deco, Other, nottest
if sys.platform == "linux":
    def test_conditional(): pass
try:
    class TestTried:
        def test_x(self): pass
except Exception: pass
def test_twice(): pass
def test_twice(): pass
@deco
def test_decorated(): pass
def test_generator(): yield
def test_deleted(): pass
del test_deleted
def test_rebound(): pass
test_rebound = 1
def test_switched(): pass
test_switched.__test__ = False
def test_passed_on(): pass
nottest(test_passed_on)
def test_global(): pass
def helper():
    global test_global
class TestInit:
    def __init__(self): pass
    def test_x(self): pass
class TestOff:
    __test__ = False
    def test_x(self): pass
class TestOther(Other):
    def test_inherited(self): pass
class TestMeta(metaclass=Other):
    def test_x(self): pass
class TestChanged:
    def test_x(self): pass
TestChanged.test_x = None
class TestInside:
    def test_x(self): pass
    test_x = deco(test_x)
"""


def test_plain_functions_are_expected() -> None:
    certain, doubtful = expected_names(defined_tests(SURE.encode()), DEFAULT)
    names = {
        "test_plain",
        "test_async",
        "test_marked",
        "TestA::test_in",
        "TestA::TestB::test_deep",
        "Odd::test_case",
    }
    assert (set(certain), doubtful) == (names, [])


def test_what_is_unsure_is_not_expected() -> None:
    found = defined_tests(UNSURE.encode())
    certain, doubtful = expected_names(found, DEFAULT)
    assert certain == []
    assert len(doubtful) == 16
    assert expected_names(found, DEFAULT, ["TestOther::test_else"])[0] == [
        "TestOther::test_inherited"
    ], "collected"


@pytest.mark.parametrize(
    "line",
    [
        "globals()['test_x'] = 1",
        "exec('x')",
        "__test__ = False",
        "import sys\nsys.modules[__name__] = 1",
        "from x import *",
    ],
    ids=str,
)
def test_a_module_that_may_do_anything_is_unsure(line: str) -> None:
    assert expected_names(defined_tests(f"def test_x(): pass\n{line}\n".encode()), DEFAULT)[0] == []


@pytest.mark.parametrize(
    "text", ["def test_x(:", "x" * 2_000_000, "(" * 5000 + ")" * 5000], ids=len
)
def test_bad_source_is_an_answer(text: str) -> None:
    assert defined_tests(text.encode()).error


def test_what_is_cached_comes_back() -> None:
    found = defined_tests(SURE.encode())
    assert defined_tests_from_dict(found.plain()) == found
    for bad in (
        None,
        [],
        {},
        {"functions": {}, "classes": {}},
        {"functions": {"a": 1}, "classes": {}, "error": ""},
    ):
        assert defined_tests_from_dict(bad) is None


BODY = st.sampled_from(["pass", "assert True", "x = 1"])
WRAPPED = st.sampled_from(
    [
        "if x:\n    def {0}(): pass\n",
        "try:\n    def {0}(): pass\nfinally: pass\n",
        "@odd\ndef {0}(): pass\n",
        "def {0}(): pass\n{0} = odd({0})\n",
        "def {0}(): pass\ndef {0}(): pass\n",
        "for {0} in y: pass\ndef {0}(): pass\n",
        "with x:\n    def {0}(): pass\n",
        "class {0}: pass\ndef {0}(): pass\n",
        "import {0}\ndef {0}(): pass\n",
        "def {0}(): pass\nprint({0})\n",
        "while x:\n    def {0}(): pass\n",
        "def {0}(): pass\ndel {0}\n",
    ]
)
NAMES = st.sampled_from(["test_a", "test_b", "test_c", "test_d"])


@given(st.lists(st.tuples(NAMES, WRAPPED), max_size=4), st.lists(NAMES, max_size=4), st.booleans())
def test_a_conditional_redefined_or_decorated_function_is_never_missing(
    odd: list[tuple[str, str]], plain: list[str], seen: bool
) -> None:
    text = "".join(form.format(name) for name, form in odd) + "".join(
        f"def {name}(): pass\n" for name in plain
    )
    found = defined_tests(text.encode())
    reported = Reported("/r", {"t.py": {"test_z"}} if seen else {}, everything=True)
    lost, _ = compare_file("t.py", found, DEFAULT, reported)
    unsure = {name for name, _ in odd} | {name for name in plain if plain.count(name) > 1}
    assert not {one.name for one in lost} & {f"t.py::{name}" for name in unsure}
    if seen:
        assert {one.name for one in lost} == {
            f"t.py::{name}" for name in plain if name not in unsure
        }


def receipt(names: list[str], **selection: Any) -> Receipt:
    evidence = tuple(Evidence("TestResult", f"test:{name}", "passed") for name in names)
    return run(evidence=evidence, selection=selection).receipt


TESTS = st.lists(
    st.sampled_from(["a.py::test_a", "a.py::test_b[1]", "b.py::test_a", "b.py::TestX::test_y"]),
    max_size=3,
)
RUNS = st.lists(
    st.tuples(TESTS, st.sampled_from([{}, {"left_out": {"files": 1}}, {"lf": True}])), max_size=4
)
BOTH = DefinedTests(
    {"test_a": True, "test_b": True, "TestX::test_y": True, "test_odd": False}, {"TestX": "plain"}
)
CONTENT = Expected(
    "/r", {"a.py": (DEFAULT, ""), "b.py": (DEFAULT, "")}, {"a.py": BOTH, "b.py": BOTH}
)


def assessed(runs: list[tuple[list[str], dict[str, Any]]]) -> set[str]:
    reported = Reported("/r")
    for names, limits in runs:
        reported.add(receipt(names, **limits), limits)
    return {one.name for one in CONTENT.assess(reported.close()).missing}


@given(RUNS, RUNS)
def test_more_runs_never_make_more_missing(few: list[Any], more: list[Any]) -> None:
    before, after = assessed(few), assessed(few + more)
    files = {name for name in before if "::" not in name}
    assert all(name in before or name.partition("::")[0] in files for name in after)


@given(RUNS)
def test_the_order_of_runs_makes_no_difference(runs: list[Any]) -> None:
    assert assessed(runs) == assessed(runs[::-1])


def test_paths_are_those_of_the_repository() -> None:
    reported = Reported("/srv/repo")
    reported.add(
        run(
            environment={"rootdir": "/srv"}, evidence=receipt(["repo/t/a.py::test_x"]).evidence
        ).receipt,
        {},
    )
    reported.add(
        run(
            environment={"rootdir": "sub"}, evidence=receipt(["sub/../t/b.py::test_x"]).evidence
        ).receipt,
        {},
    )
    assert reported.tests == {"t/a.py": {"test_x"}, "t/b.py": {"test_x"}}
    assert not reported.everything, "it started from another folder"


def test_a_skipped_folder_or_file_was_collected() -> None:
    reported = Reported("/r", skipped={"a.py", "sub"})
    content = Expected(
        "/r", dict.fromkeys(("a.py", "sub/b.py"), (DEFAULT, "")), {"a.py": BOTH, "sub/b.py": BOTH}
    )
    assert content.assess(reported).missing == ()
