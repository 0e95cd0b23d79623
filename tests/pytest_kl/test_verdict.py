"""One verdict per test: the fold by itself, and against a suite made to fool it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.receipt import TEST_OUTCOMES, worst_outcome
from pytest_kl.listener import TestState, word_of

from .adversarial import SUITE, VERDICTS
from .recorded import only, repository, run_pytest, shown

JUNIT = {"xpassed": "passed", "flaky": "passed"}
"""What JUnit's format has no word for."""
OTHERWISE = {
    # JUnit keeps the failed subtest of an attempt that was repeated
    "test_sub.py::test_one_fails_once": "failed",
    # and states nothing of the body that passed
    "test_plain.py::test_xpass_and_teardown_error": "xfailed",
}


@given(st.lists(st.sampled_from(("", *TEST_OUTCOMES)), max_size=8))
def test_the_worst_of_all_reports_counts_whatever_their_order(words: list[str]) -> None:
    test = TestState()
    for word in words:
        test.add(word)
    printed = [word for word in words if word]
    assert test.final()[0] == (worst_outcome(printed) if printed else "")


@given(st.lists(st.lists(st.sampled_from(TEST_OUTCOMES), min_size=1), min_size=1, max_size=4))
def test_only_the_last_attempt_counts_and_a_late_pass_is_flaky(attempts: list[list[str]]) -> None:
    test = TestState()
    for number, words in enumerate(attempts, 1):
        for word in words:
            test.add(word)
        if number < len(attempts):
            test.again()
        assert test.closed() is (number == len(attempts))
    verdict, detail = test.final()
    last = worst_outcome(attempts[-1])
    assert verdict == ("flaky" if last == "passed" and len(attempts) > 1 else last)
    assert (detail or {}).get("attempts", 1) == len(attempts)


def test_a_word_that_pytest_does_not_know_is_not_taken_for_a_pass() -> None:
    with pytest.raises(ValueError, match="wonderful"):
        word_of("call", "wonderful", False)


WORDS = [
    (("setup", "passed", False), ""),
    (("call", "passed", False), "passed"),
    (("teardown", "passed", False), ""),
    (("setup", "failed", False), "error"),
    (("call", "failed", False), "failed"),
    (("teardown", "failed", False), "error"),
    (("???", "failed", False), "failed"),
    (("call", "failed", True), "failed"),
    (("setup", "skipped", False), "skipped"),
    (("call", "skipped", False), "skipped"),
    (("call", "skipped", True), "xfailed"),
    (("call", "passed", True), "xpassed"),
]


@pytest.mark.parametrize(("given_", "word"), WORDS, ids=str)
def test_what_one_report_states(given_: tuple[str, str, bool], word: str) -> None:
    assert word_of(*given_) == word


def test_the_detail_is_that_of_the_report_that_counts() -> None:
    test = TestState()
    assert (test.final(), test.seconds) == (("", None), 0.0)
    test.add("passed", {"at": 1})
    test.add("failed", {"at": 2})
    test.add("failed", {"at": 3})
    test.add("skipped", {"at": 4})
    assert test.final() == ("failed", {"at": 2})
    test.again()
    assert not test.closed()
    assert test.final() == ("", {"attempts": 2}), "what the attempt said is forgotten"
    test.add("failed", {"at": 5})
    assert test.closed()
    assert test.final() == ("failed", {"at": 5, "attempts": 2})


def junit(path: Path) -> dict[tuple[str, str], str]:
    """(classname, name) → the worst that pytest's own JUnit file states of it."""
    found: dict[tuple[str, str], str] = {}
    for case in ET.parse(path).iter("testcase"):
        key = (case.get("classname", ""), case.get("name", ""))
        tags = {
            "xfailed"
            if child.get("type") == "pytest.xfail"
            else {"failure": "failed"}.get(child.tag, child.tag)
            for child in case
            if child.tag in ("failure", "error", "skipped")
        }
        words = [found[key]] if key in found else []
        found[key] = worst_outcome(
            words + [{"skipped": "skipped"}.get(tag, tag) for tag in tags] + ["passed"]
        )
    return found


def junit_name(nodeid: str) -> tuple[str, str]:
    """The names under which JUnit's file has a test."""
    bare, bracket, params = nodeid.partition("[")
    path, *names = bare.split("::")
    parts = [path.removesuffix(".py").replace("/", "."), *names]
    return ".".join(parts[:-1]), parts[-1] + bracket + params


@pytest.mark.parametrize("workers", ["0", "2"])
def test_every_verdict_of_the_adversarial_suite_is_the_one_worked_out_by_hand(
    tmp_path: Path, workers: str
) -> None:
    repository(tmp_path, {**SUITE, "sub/__init__.py": ""})
    args = [
        "-n",
        workers,
        "--continue-on-collection-errors",
        "--junitxml=out.xml",
        "-p",
        "no:cacheprovider",
    ]
    done = run_pytest(tmp_path, *args)
    assert done.returncode == 1, done.stdout + done.stderr
    run = only(tmp_path)
    assert run.verdicts == VERDICTS
    assert run.result["verdict"] == "failed"
    assert run.result["how"] == "finished"
    assert run.result["counts"] == {
        word: list(VERDICTS.values()).count(word) for word in TEST_OUTCOMES
    }
    receipt = shown(tmp_path, run.id)
    assert {one["subject"]: one["outcome"] for one in receipt["evidence"]} == {
        f"test:{nodeid}": verdict for nodeid, verdict in VERDICTS.items()
    }
    printed = junit(tmp_path / "out.xml")
    ours = {
        junit_name(nodeid): OTHERWISE.get(nodeid, JUNIT.get(verdict, verdict))
        for nodeid, verdict in run.verdicts.items()
    }
    assert printed == ours
