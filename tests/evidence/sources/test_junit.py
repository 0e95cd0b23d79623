"""JUnit files: read, or refused with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.sources.junit import read_junit
from kl_hooks.hookspecs import FileOfEvidence

REPORT = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="2" tests="7">
<testcase classname="tests.test_a" name="test_ok" time="0.25"/>
<testcase classname="tests.test_a.TestB" name="test_bad[x-1]" time="0.5">
<failure message="assert 1 == 2">tb</failure></testcase>
<testcase classname="tests.test_a" name="test_skip"><skipped type="pytest.skip" message="no"/></testcase>
<testcase classname="tests.test_a" name="test_xfail"><skipped type="pytest.xfail" message="later"/></testcase>
<testcase classname="tests.test_a" name="test_teardown" time="0.1"/>
<testcase classname="tests.test_a" name="test_teardown" time="0.1">
<error message="failed on teardown">tb</error></testcase>
<testcase classname="tests.test_a" name="test_again"><failure message="first">tb</failure></testcase>
<testcase classname="tests.test_a" name="test_again"/>
</testsuite></testsuites>"""


def file(content: bytes, tree: str | None = None) -> FileOfEvidence:
    return FileOfEvidence("report.xml", content, "local:a@b", "2026-01-01T00:00:00.000000Z", tree)


def test_every_kind_of_case() -> None:
    (receipt,) = read_junit(file(REPORT))
    assert {e.subject: e.outcome for e in receipt.evidence} == {
        "test:tests/test_a.py::test_ok": "passed",
        "test:tests/test_a.py::TestB::test_bad[x-1]": "failed",
        "test:tests/test_a.py::test_skip": "skipped",
        "test:tests/test_a.py::test_xfail": "xfailed",
        "test:tests/test_a.py::test_teardown": "error",
        "test:tests/test_a.py::test_again": "flaky",
    }
    micros = {e.subject: e.duration_us for e in receipt.evidence}
    assert micros["test:tests/test_a.py::test_ok"] == 250_000
    bad = next(e for e in receipt.evidence if e.outcome == "failed")
    assert bad.detail["message"] == "assert 1 == 2"
    assert receipt.result["verdict"] == "failed"
    assert receipt.tree is None


def test_the_same_file_is_the_same_run_and_another_tree_another() -> None:
    (first,), (again,), (elsewhere,) = (
        read_junit(f) for f in (file(REPORT), file(REPORT), file(REPORT, "1" * 40))
    )
    assert first.run == again.run != elsewhere.run


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not XML"),
        (b"<testsuites>", "not XML"),
        (b"<html/>", "not a JUnit report"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><testsuites/>', "DOCTYPE"),
        (b'<?xml version="1.0" encoding="no-such"?><testsuites/>', "not XML"),
    ],
)
def test_what_is_none_is_refused_with_its_name(content: bytes, reason: str) -> None:
    with pytest.raises(UsageProblem, match=reason) as caught:
        read_junit(file(content))
    assert str(caught.value).startswith("report.xml: ")


@given(st.binary(max_size=200) | st.integers(0, len(REPORT)).map(lambda n: REPORT[:n]))
def test_any_bytes_are_a_report_or_a_usage_problem(content: bytes) -> None:
    try:
        assert read_junit(file(content))[0].source == "junit"
    except UsageProblem as problem:
        assert problem.exit_code == 2


def test_a_report_without_a_pass_proves_nothing() -> None:
    (receipt,) = read_junit(
        file(b"<testsuite><testcase name='a'><skipped/></testcase></testsuite>")
    )
    assert receipt.result["verdict"] == "inconclusive"
