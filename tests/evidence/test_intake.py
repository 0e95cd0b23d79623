"""From spool records to a receipt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.evidence.journal import receipt_flaw, receipt_from_records
from kl_hooks.model.receipt import receipt_from_header

from .making import DETAIL, PLAIN, TEXT

OPEN: dict[str, Any] = {
    "t": "open",
    "schema": "kl.spool/1",
    "run": "ab" * 16,
    "source": "pytest",
    "observer": "pytest",
    "producer": "local:a@b",
    "parent": None,
    "started": "2026-01-01T00:00:00.000000Z",
    "tree": "1" * 40,
    "tree_all": "2" * 40,
    "head": "3" * 40,
    "branch": "main",
    "dirty": True,
    "environment": {"python": "3.12"},
    "selection": {"args": ["-q"]},
}
RESULT = {
    "exit": 0,
    "complete": True,
    "how": "finished",
    "verdict": "passed",
    "reasons": [],
    "counts": {"passed": 2},
}


def end(tests: int, evidence: int = 0) -> dict[str, Any]:
    return {
        "t": "end",
        "ended": "2026-01-01T00:00:09.000000Z",
        "tree_end": "1" * 40,
        "moved": False,
        "selection": {"ran": tests},
        "result": RESULT,
        "tests": tests,
        "evidence": evidence,
    }


def test_a_whole_run() -> None:
    rows = [
        ["t", "b.py::two", "passed", 7, None, None],
        ["t", "a.py::one", "passed", 5, None, "b.py::two"],
    ]
    receipt = receipt_from_records([OPEN, ["s", "b.py::two"], *rows, end(2)])
    assert receipt is not None
    assert [(e.subject, e.outcome, e.duration_us) for e in receipt.evidence] == [
        ("test:a.py::one", "passed", 5),
        ("test:b.py::two", "passed", 7),
    ], "tests stand in the order of their ids, so that equal sets of tests are equal lists"
    assert receipt.result == RESULT
    assert receipt.selection == {"args": ["-q"], "ran": 2}
    assert (receipt.tree, receipt.tree_all, receipt.dirty) == ("1" * 40, "2" * 40, True)


def test_the_last_line_of_a_test_counts() -> None:
    rows = [
        ["t", "a.py::one", "failed", 5, {"message": "no"}, None],
        ["t", "a.py::one", "flaky", 6, None, None],
    ]
    receipt = receipt_from_records([OPEN, *rows, end(2)])
    assert receipt is not None
    assert [(e.outcome, e.duration_us) for e in receipt.evidence] == [("flaky", 6)]


def test_a_killed_run_is_incomplete_and_names_the_test_that_was_running() -> None:
    receipt = receipt_from_records(
        [OPEN, ["s", "a.py::one"], ["t", "a.py::one", "passed", 5, None, "a.py::two"]]
    )
    assert receipt is not None
    assert {e.subject: e.outcome for e in receipt.evidence} == {
        "test:a.py::one": "passed",
        "test:a.py::two": "error",
    }
    assert receipt.result["complete"] is False
    assert receipt.result["how"] == "killed"
    assert receipt.result["verdict"] == "inconclusive"


def test_a_run_whose_records_were_lost_is_no_success() -> None:
    receipt = receipt_from_records([OPEN, ["t", "a.py::one", "passed", 5, None, None], end(2)])
    assert receipt is not None
    assert receipt.result["complete"] is False
    assert receipt.result["verdict"] == "inconclusive"
    assert "lost" in receipt.result["reasons"][-1]


@pytest.mark.parametrize(
    "records",
    [
        [],
        [end(0)],
        [{**OPEN, "schema": "kl.spool/9"}],
        [["t", "a", "passed", 1, None, None]],
        ["nonsense"],
    ],
    ids=["nothing", "no opening", "newer schema", "test first", "nonsense"],
)
def test_what_does_not_begin_with_an_opening_is_no_receipt(records: list[Any]) -> None:
    assert receipt_from_records(records) is None


def test_the_same_records_give_the_same_id() -> None:
    records = [OPEN, ["t", "a.py::one", "passed", 5, None, None], end(1)]
    first, again = receipt_from_records(records), receipt_from_records(list(records))
    assert first is not None
    assert again is not None
    assert first.id == again.id
    other = receipt_from_records([{**OPEN, "run": "cd" * 16}, *records[1:]])
    assert other is not None
    assert other.id != first.id


RECORD = st.one_of(
    PLAIN,
    st.tuples(st.sampled_from("st"), PLAIN, PLAIN, PLAIN, PLAIN, PLAIN).map(list),
    st.tuples(
        st.just("t"),
        TEXT,
        st.sampled_from(["passed", "fine"]),
        st.integers(),
        st.none() | DETAIL,
        TEXT,
    ).map(list),
    st.fixed_dictionaries(
        {"t": st.just("evidence")},
        optional=dict.fromkeys(("class", "subject", "outcome", "x"), PLAIN),
    ),
    st.fixed_dictionaries(
        {"t": st.just("end")},
        optional=dict.fromkeys(("ended", "result", "tests", "selection"), PLAIN),
    ),
)


@given(
    st.dictionaries(st.sampled_from(sorted(OPEN)), PLAIN, max_size=2),
    st.lists(RECORD, max_size=6),
    st.booleans(),
)
def test_whatever_the_records_are_a_receipt_is_well_made(
    changes: dict[str, Any], records: list[Any], ended: bool
) -> None:
    receipt = receipt_from_records([{**OPEN, **changes}, *records, *([end(1)] if ended else [])])
    if receipt is None:
        assert (
            changes
            or not ended
            or any(isinstance(r, dict) and r.get("t") == "end" for r in records)
        )
    else:
        assert receipt_flaw(receipt) == ""
        assert receipt_from_header(receipt.header(), receipt.evidence) == receipt


@pytest.mark.parametrize(
    "row",
    [
        ["t", "a", "passed", "5", None, None],
        ["t", "a", "passed", -5, None, None],
        ["t", 5, "passed", 5, None, None],
        ["t", ["a"], "passed", 5, None, None],
        ["t", "a", ["passed"], 5, None, None],
        ["t", "a", "passed", True, None, None],
        ["t", "a", "passed", 5, "x", None],
        ["t", "a", "passed", 5, None, 7],
        ["t", "a", "passed", 1 << 63, None, None],
    ],
)
def test_a_line_of_wrong_kinds_counts_as_lost(row: list[Any]) -> None:
    receipt = receipt_from_records([OPEN, row, end(1)])
    assert receipt is not None
    assert receipt.evidence == ()
    assert receipt.result["complete"] is False
