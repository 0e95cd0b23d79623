"""Runs with the tests that failed in one of them: the same results as the whole receipts have, and
no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.evidence.ledger import append, failing_runs, recent
from kl_hooks.model.receipt import REFUTES, TEST_OUTCOMES, Evidence, Receipt
from kl_hooks.store.sqlite import SqliteDatabase
from tests.evidence.making import ledger, tried

RUN = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.tuples(st.sampled_from(TEST_OUTCOMES), st.booleans()),
    max_size=6,
)


def receipt(number: int, run: dict[str, tuple[str, bool]]) -> Receipt:
    evidence = tuple(
        Evidence("TestResult", f"test:{name}", what, 5, None, {"message": "m"} if reported else {})
        for name, (what, reported) in run.items()
    )
    return Receipt(
        f"{number:032x}",
        "pytest",
        "pytest",
        "local:x",
        evidence,
        "2027-01-01",
        "2027-01-01",
        result={"complete": True, "verdict": "passed"},
    )


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteDatabase]:
    with ledger(tmp_path_factory.mktemp("failing") / "kl.db") as db:
        yield db


@given(st.lists(RUN, max_size=5))
def test_what_it_gives_is_in_the_receipts(
    empty: SqliteDatabase, runs: list[dict[str, tuple[str, bool]]]
) -> None:
    with tried(db := empty):
        append(db, [receipt(number, run) for number, run in enumerate(runs)])
        whole, some = recent(db, 99, "pytest"), failing_runs(db, 99, "pytest")
        bad = {
            one.subject
            for entry in whole
            for one in entry.receipt.evidence
            if one.outcome in REFUTES
        }
        assert [entry.id for entry in some] == [entry.id for entry in whole]
        for one, other in zip(some, whole, strict=True):
            found = {e.subject: (e.outcome, dict(e.detail)) for e in one.receipt.evidence}
            expected = {e.subject: (e.outcome, dict(e.detail)) for e in other.receipt.evidence}
            assert {k: v for k, v in found.items() if k in bad} == {
                k: v for k, v in expected.items() if k in bad
            }
            assert all(expected[subject] == printed for subject, printed in found.items())


def test_a_row_that_was_edited_is_omitted(tmp_path: Path) -> None:
    with ledger(tmp_path / "kl.db") as db:
        with db.transaction():
            append(db, [receipt(n, {"a": ("failed", False)}) for n in range(3)])
            db.execute("UPDATE receipt SET outcomes = ? WHERE seq = 2", (b"x",))
        assert [entry.seq for entry in failing_runs(db, 9, "pytest")] == [3, 1]
