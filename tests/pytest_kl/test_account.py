"""What a run is worth: no pass without its proof, and a reason for everything that is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.receipt import TEST_OUTCOMES
from pytest_kl.outcome import Ending, run_result

GREEN = Ending(exit=0, verdicts=("passed", "passed", "skipped"), ran=3, selected=3)


def test_a_clean_run_is_a_pass_and_needs_no_reason() -> None:
    assert run_result(GREEN) == {
        "exit": 0,
        "complete": True,
        "how": "finished",
        "verdict": "passed",
        "reasons": [],
        "counts": {
            "passed": 2,
            "skipped": 1,
            "xfailed": 0,
            "xpassed": 0,
            "flaky": 0,
            "error": 0,
            "failed": 0,
        },
    }


@pytest.mark.parametrize(
    ("change", "how", "reason"),
    [
        ({"exit": 1}, "finished", "exit status 1, yet no failure was reported"),
        ({"exit": 6}, "finished", "exit status 6"),
        ({"exit": None}, "interrupted", "pytest gave no exit status"),
        ({"exit": 3}, "internal-error", "exit status 3"),
        ({"internal_error": True, "exit": 3}, "internal-error", "pytest itself failed"),
        (
            {"exit": 4, "selected": None, "ran": 0, "verdicts": ()},
            "usage-error",
            "the collection did not finish",
        ),
        ({"exit": 5, "selected": 0, "ran": 0, "verdicts": ()}, "no-tests", "no test was selected"),
        ({"interrupted": "Ctrl-C"}, "interrupted", "stopped early: Ctrl-C"),
        ({"collect_only": True}, "finished", "--collect-only: tests were listed, not run"),
        ({"verdicts": ("skipped",) * 3}, "finished", "no test passed cleanly (3 skipped)"),
        ({"verdicts": ("flaky",) * 3}, "finished", "no test passed cleanly (3 flaky)"),
        ({"lost": ("a", "b")}, "finished", "2 of 3 selected tests gave no result: a, b"),
        ({"lost": tuple("abcde"), "selected": 8}, "finished", "gave no result: a, b, c and 2 more"),
    ],
)
def test_whatever_is_missing_for_a_pass_makes_it_inconclusive_and_is_named(
    change: dict[str, object], how: str, reason: str
) -> None:
    found = run_result(GREEN._replace(**change))  # type: ignore[arg-type]
    assert (found["verdict"], found["how"]) == ("inconclusive", how)
    assert reason in "; ".join(found["reasons"])


def test_an_exit_status_of_0_does_not_talk_a_failure_away() -> None:
    found = run_result(GREEN._replace(verdicts=("passed", "failed", "error")))
    assert found["verdict"] == "failed"
    assert "exit status 0 disagrees with 1 failed, 1 error" in found["reasons"]


def test_a_file_that_could_not_be_collected_is_an_error_even_if_nothing_ran() -> None:
    found = run_result(
        GREEN._replace(
            exit=2,
            verdicts=("error",),
            ran=0,
            lost=("a",),
            collection_errors=1,
            interrupted="x",
        )
    )
    assert (found["how"], found["verdict"], found["complete"]) == (
        "collection-error",
        "failed",
        False,
    )
    assert "1 file could not be collected" in found["reasons"]


def test_a_run_that_reported_nothing_is_no_pass() -> None:
    found = run_result(Ending(exit=0, verdicts=(), ran=0, selected=1, lost=()))
    assert (found["verdict"], found["reasons"]) == (
        "inconclusive",
        ["no test passed cleanly (nothing was reported)"],
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"selected": 1, "lost": ("a",), "ran": 0, "verdicts": ()},
            ["1 of 1 selected test gave no result: a"],
        ),
        ({"lost": tuple("abc")}, ["3 of 3 selected tests gave no result: a, b, c"]),
        (
            {"lost": tuple("abcd"), "selected": 4},
            ["4 of 4 selected tests gave no result: a, b, c and 1 more"],
        ),
        ({"collection_errors": 2}, ["2 files could not be collected"]),
        ({"imports": ("a is another copy", "b too")}, ["a is another copy", "b too"]),
        ({"raised": "ValueError"}, ["pytest failed after the tests: ValueError"]),
        ({"raised": "ValueError", "exit": 1}, ["pytest failed after the tests: ValueError"]),
        ({"exit": 1, "verdicts": ("passed", "failed")}, ["1 failed"]),
        (
            {"exit": 0, "verdicts": ("error", "error", "failed")},
            ["1 failed, 2 errors", "exit status 0 disagrees with 1 failed, 2 errors"],
        ),
        (
            {"exit": 5, "selected": 0, "ran": 0, "verdicts": ()},
            ["no test was selected", "exit status 5"],
        ),
        (
            {"exit": 0, "verdicts": ("skipped", "skipped", "xfailed"), "lost": ("a",)},
            [
                "1 of 3 selected tests gave no result: a",
                "no test passed cleanly (2 skipped, 1 xfailed)",
            ],
        ),
        (
            {"exit": 2, "interrupted": "Ctrl-C", "selected": None},
            ["stopped early: Ctrl-C", "the collection did not finish", "exit status 2"],
        ),
    ],
    ids=str,
)
def test_all_reasons_are_given_and_no_other(change: dict[str, object], expected: list[str]) -> None:
    assert run_result(GREEN._replace(**change))["reasons"] == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ("finished", True)),
        ({"lost": ("a",)}, ("finished", False)),
        ({"collect_only": True}, ("finished", False)),
        ({"exit": 5, "selected": 0, "ran": 0}, ("no-tests", True)),
        ({"exit": 4, "interrupted": "x", "collection_errors": 1, "ran": 0}, ("usage-error", False)),
        ({"exit": 2, "interrupted": "x", "collection_errors": 1}, ("interrupted", False)),
        ({"exit": 2, "collection_errors": 1}, ("finished", True)),
        ({"exit": 0, "internal_error": True}, ("internal-error", False)),
        ({"exit": 1, "collection_errors": 1, "ran": 0}, ("collection-error", False)),
    ],
    ids=str,
)
def test_how_it_ended_and_whether_it_is_complete(
    change: dict[str, object], expected: tuple[str, bool]
) -> None:
    found = run_result(GREEN._replace(**change))  # type: ignore[arg-type]
    assert (found["how"], found["complete"]) == expected


@given(
    st.builds(
        Ending,
        exit=st.sampled_from((None, 0, 1, 2, 3, 4, 5, 6, 77)),
        verdicts=st.lists(st.sampled_from(TEST_OUTCOMES), max_size=5),
        ran=st.integers(0, 5),
        selected=st.none() | st.integers(0, 5),
        lost=st.lists(st.text(max_size=3), max_size=5),
        collect_only=st.booleans(),
        interrupted=st.sampled_from(("", "why")),
        internal_error=st.booleans(),
        collection_errors=st.integers(0, 2),
    )
)
def test_no_pass_without_its_proof(ending: Ending) -> None:
    found = run_result(ending)
    proven = (
        ending.exit == 0
        and bool(ending.selected)
        and not ending.lost
        and "passed" in ending.verdicts
        and not {"failed", "error"} & set(ending.verdicts)
        and not (
            ending.collect_only
            or ending.interrupted
            or ending.internal_error
            or ending.collection_errors
        )
    )
    assert (found["verdict"] == "passed") <= proven
    assert (found["verdict"] == "passed") == (not found["reasons"])
    assert proven <= (found["verdict"] == "passed" or not ending.ran)
