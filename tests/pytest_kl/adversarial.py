"""A suite made to fool a recorder, and what a person decides about each of its tests.

`SUITE` maps a file's name to its text, `VERDICTS` a test to the verdict that was worked out by
hand.
"""

from __future__ import annotations

import pytest

SUITE = {
    "test_plain.py": """
import pytest

@pytest.fixture
def breaks_in_setup():
    raise RuntimeError("setup")

@pytest.fixture
def breaks_in_teardown():
    yield
    raise RuntimeError("teardown")

@pytest.fixture
def skips():
    pytest.skip("in setup")

def test_pass(): pass
def test_fail(): assert 1 == 2
def test_setup_error(breaks_in_setup): pass
def test_teardown_error(breaks_in_teardown): pass
def test_fail_and_teardown_error(breaks_in_teardown): assert 0
def test_skip(): pytest.skip("because")
def test_skip_in_setup(skips): pass
@pytest.mark.skip
def test_skip_mark(): assert 0
@pytest.mark.xfail
def test_xfail(): assert 0
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.xfail(strict=True)
def test_strict_xpass(): pass
@pytest.mark.xfail(strict=True)
def test_strict_xfail(): assert 0
@pytest.mark.xfail(raises=KeyError)
def test_xfail_other_exception(): raise ValueError
@pytest.mark.xfail(run=False)
def test_xfail_not_run(): raise SystemExit(0)
@pytest.mark.xfail
def test_xfail_in_setup(breaks_in_setup): pass
@pytest.mark.xfail
def test_xpass_and_teardown_error(breaks_in_teardown): pass
def test_imperative_xfail(): pytest.xfail("known")
def test_system_exit(): raise SystemExit(0)
@pytest.mark.parametrize("text", ["é/ü", "a b", "\\u202e", "\\n", "x::y"])
def test_text(text): pass
class TestClass:
    @classmethod
    def setup_class(cls): pass
    def test_method(self): pass
    def test_method_fails(self): assert not "€"
""",
    "test_again.py": """
import pytest
seen = {}

def attempt(name):
    seen[name] = seen.get(name, 0) + 1
    return seen[name]

@pytest.fixture
def second_setup():
    if attempt("setup") == 1:
        raise RuntimeError("first setup")

@pytest.fixture
def second_teardown():
    yield
    if attempt("teardown") == 1:
        raise RuntimeError("first teardown")

@pytest.mark.flaky(reruns=2)
def test_passes_at_second(): assert attempt("a") == 2
@pytest.mark.flaky(reruns=2)
def test_fails_always(): assert 0
@pytest.mark.flaky(reruns=2)
def test_passes_at_once(): pass
@pytest.mark.flaky(reruns=2)
def test_setup_at_second(second_setup): pass
@pytest.mark.flaky(reruns=2)
def test_teardown_at_second(second_teardown): pass
@pytest.mark.flaky(reruns=2)
def test_skips_at_second():
    if attempt("s") == 2:
        pytest.skip("enough")
    assert 0
""",
    "test_unit.py": """
import unittest

class Case(unittest.TestCase):
    def test_pass(self): pass
    def test_fail(self): self.fail("no")
    def test_error(self): raise ValueError
    @unittest.skip("never")
    def test_skip(self): pass
    def test_skip_inside(self): self.skipTest("now")
    @unittest.expectedFailure
    def test_expected_failure(self): self.fail("known")
    @unittest.expectedFailure
    def test_unexpected_success(self): pass
    def test_subtest_fails(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)
    def test_subtests_pass(self):
        for number in range(3):
            with self.subTest(number=number):
                pass
    def test_cleanup_fails(self):
        self.addCleanup(self.fail)

class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("class")
    def test_never(self): pass

class TearsDown(unittest.TestCase):
    def tearDown(self): raise RuntimeError("down")
    def test_pass(self): pass
""",
    "test_broken.py": "import nothing_of_that_name\n",
    "test_left_out.py": "import pytest\npytest.skip('not here', allow_module_level=True)\n",
    "sub/test_deep.py": "def test_pass(): pass\n",
}
VERDICTS = {
    "test_plain.py::test_pass": "passed",
    "test_plain.py::test_fail": "failed",
    "test_plain.py::test_setup_error": "error",
    "test_plain.py::test_teardown_error": "error",
    "test_plain.py::test_fail_and_teardown_error": "failed",
    "test_plain.py::test_skip": "skipped",
    "test_plain.py::test_skip_in_setup": "skipped",
    "test_plain.py::test_skip_mark": "skipped",
    "test_plain.py::test_xfail": "xfailed",
    "test_plain.py::test_xpass": "xpassed",
    "test_plain.py::test_strict_xpass": "failed",
    "test_plain.py::test_strict_xfail": "xfailed",
    "test_plain.py::test_xfail_other_exception": "failed",
    "test_plain.py::test_xfail_not_run": "xfailed",
    "test_plain.py::test_xfail_in_setup": "xfailed",
    "test_plain.py::test_xpass_and_teardown_error": "xpassed",
    "test_plain.py::test_imperative_xfail": "xfailed",
    "test_plain.py::test_system_exit": "failed",
    r"test_plain.py::test_text[\xe9/\xfc]": "passed",
    "test_plain.py::test_text[a b]": "passed",
    r"test_plain.py::test_text[\u202e]": "passed",
    r"test_plain.py::test_text[\n]": "passed",
    "test_plain.py::test_text[x::y]": "passed",
    "test_plain.py::TestClass::test_method": "passed",
    "test_plain.py::TestClass::test_method_fails": "failed",
    "test_again.py::test_passes_at_second": "flaky",
    "test_again.py::test_fails_always": "failed",
    "test_again.py::test_passes_at_once": "passed",
    "test_again.py::test_setup_at_second": "flaky",
    "test_again.py::test_teardown_at_second": "flaky",
    "test_again.py::test_skips_at_second": "skipped",
    "test_unit.py::Case::test_pass": "passed",
    "test_unit.py::Case::test_fail": "failed",
    "test_unit.py::Case::test_error": "failed",
    "test_unit.py::Case::test_skip": "skipped",
    "test_unit.py::Case::test_skip_inside": "skipped",
    "test_unit.py::Case::test_expected_failure": "xfailed",
    "test_unit.py::Case::test_unexpected_success": "failed",
    "test_unit.py::Case::test_subtest_fails": "failed",
    "test_unit.py::Case::test_subtests_pass": "passed",
    "test_unit.py::Case::test_cleanup_fails": "failed",
    "test_unit.py::Broken::test_never": "error",
    "test_unit.py::TearsDown::test_pass": "failed",
    "test_broken.py": "error",
    "test_left_out.py": "skipped",
    "sub/test_deep.py::test_pass": "passed",
}
if pytest.version_tuple >= (9, 0):  # the `subtests` fixture was added in pytest 9
    SUITE["test_sub.py"] = """
import pytest

def test_one_fails(subtests):
    for number in range(3):
        with subtests.test("of three", number=number):
            assert number != 1

def test_all_pass(subtests):
    with subtests.test(): pass

def test_one_skips(subtests):
    with subtests.test(): pytest.skip("not this one")

@pytest.mark.flaky(reruns=1)
def test_one_fails_once(subtests, tmp_path_factory, seen=[]):
    with subtests.test():
        seen.append(1)
        assert len(seen) == 2
    assert len(seen) == 2
"""
    VERDICTS |= {
        "test_sub.py::test_one_fails": "failed",
        "test_sub.py::test_all_pass": "passed",
        "test_sub.py::test_one_skips": "skipped",
        "test_sub.py::test_one_fails_once": "flaky",
    }
