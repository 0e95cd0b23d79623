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


VITEST = b"""<?xml version="1.0" encoding="UTF-8" ?>
<testsuites name="vitest tests" tests="4" failures="2" errors="0" time="1.185">
    <testsuite name="test/broken.test.mjs" tests="1" failures="1" errors="0" skipped="0" time="0">
        <testcase classname="test/broken.test.mjs" name="test/broken.test.mjs" time="0">
            <failure message="Failed to load url ./missing.mjs" type="Error">
Error: Failed to load url ./missing.mjs
            </failure>
        </testcase>
    </testsuite>
    <testsuite name="test/cart.test.mjs" tests="3" failures="1" errors="0" skipped="1" time="0.007">
        <testcase classname="test/cart.test.mjs" name="Cart &gt; has a total" time="0.001">
        </testcase>
        <testcase classname="test/cart.test.mjs" name="Cart &gt; fails" time="0.004">
            <failure message="expected 3 to be 4 // Object.is equality" type="AssertionError">
            </failure>
        </testcase>
        <testcase classname="test/cart.test.mjs" name="Cart &gt; is skipped" time="0">
            <skipped/>
        </testcase>
    </testsuite>
</testsuites>"""
"""From vitest 2.1, shortened."""
JEST = b"""<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jest tests" tests="3" failures="1" errors="1" time="0.319">
  <testsuite name="Cart" errors="0" failures="1" skipped="1" time="0.213" tests="3">
    <testcase classname="Cart has a total" name="Cart has a total" time="0.001" file="jt/cart.test.cjs">
    </testcase>
    <testcase classname="Cart fails" name="Cart fails" time="0.001" file="jt/cart.test.cjs">
      <failure>Error: expect(received).toBe(expected) // Object.is equality

Expected: 4</failure>
    </testcase>
    <testcase classname="Cart is skipped" name="Cart is skipped" time="0" file="jt/cart.test.cjs">
      <skipped/>
    </testcase>
  </testsuite>
  <testsuite name="jt/broken.test.cjs" errors="1" failures="0" skipped="0" time="0" tests="0">
    <testcase classname="Test suite failed to run" name="jt/broken.test.cjs" time="0" file="jt/broken.test.cjs">
      <error>  Cannot find module './missing'</error>
    </testcase>
  </testsuite>
</testsuites>"""
"""From jest 29 with jest-junit 16, which was asked for files and for suites that failed to run."""


NEXTEST = b"""<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="0" time="0.027">
    <testsuite name="cart" tests="2" disabled="0" errors="0" failures="1">
        <testcase name="tests::has_a_total" classname="cart" time="0.009"></testcase>
        <testcase name="tests::fails" classname="cart" time="0.008">
            <failure message="thread 'tests::fails' panicked at src/lib.rs:9:9" type="test failure with exit code 101"/>
        </testcase>
    </testsuite>
    <testsuite name="cart::shop" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="is_free" classname="cart::shop" time="0.01"></testcase>
    </testsuite>
</testsuites>"""
"""Written by the description of the format, https://nexte.st/docs/machine-readable/junit/."""


@pytest.mark.parametrize(
    ("report", "results"),
    [
        (
            NEXTEST,
            {
                "test:cart::tests::has_a_total": ("passed", ""),
                "test:cart::tests::fails": (
                    "failed",
                    "thread 'tests::fails' panicked at src/lib.rs:9:9",
                ),
                "test:cart::shop::is_free": ("passed", ""),
            },
        ),
        (
            VITEST,
            {
                "test:test/broken.test.mjs": ("failed", "Failed to load url ./missing.mjs"),
                "test:test/cart.test.mjs::Cart > has a total": ("passed", ""),
                "test:test/cart.test.mjs::Cart > fails": (
                    "failed",
                    "expected 3 to be 4 // Object.is equality",
                ),
                "test:test/cart.test.mjs::Cart > is skipped": ("skipped", ""),
            },
        ),
        (
            JEST,
            {
                "test:jt/broken.test.cjs": ("error", "Cannot find module './missing'"),
                "test:jt/cart.test.cjs::Cart has a total": ("passed", ""),
                "test:jt/cart.test.cjs::Cart fails": (
                    "failed",
                    "Error: expect(received).toBe(expected) // Object.is equality",
                ),
                "test:jt/cart.test.cjs::Cart is skipped": ("skipped", ""),
            },
        ),
        (
            JEST.replace(b' file="jt/cart.test.cjs"', b"").replace(
                b' file="jt/broken.test.cjs"', b""
            ),
            {
                "test:Test suite failed to run::jt/broken.test.cjs": (
                    "error",
                    "Cannot find module './missing'",
                ),
                "test:Cart has a total": ("passed", ""),
                "test:Cart fails": (
                    "failed",
                    "Error: expect(received).toBe(expected) // Object.is equality",
                ),
                "test:Cart is skipped": ("skipped", ""),
            },
        ),
    ],
    ids=["nextest", "vitest", "jest", "jest without files"],
)
def test_reports_of_javascript_name_tests_by_their_files(
    report: bytes, results: dict[str, tuple[str, str]]
) -> None:
    (receipt,) = read_junit(file(report))
    assert {
        evidence.subject: (evidence.outcome, evidence.detail.get("message", ""))
        for evidence in receipt.evidence
    } == results


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
