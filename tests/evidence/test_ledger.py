"""Receipts in a real database: they come back as they were stored, and cost little."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.high_water import chain_at
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.journal import receipt_flaw
from kl_hooks.evidence.ledger import (
    CHAIN_START,
    append,
    chain_head,
    chain_link,
    entries_of_tree,
    entry_of_run,
    find_receipt,
    list_digest,
    recent,
)
from kl_hooks.model.receipt import TEST_OUTCOMES, Evidence, Receipt
from kl_hooks.store.database import Database
from tests.support import Checkout
from tests.team_server import opened_repository

from .making import RECEIPTS, leave_run, ledger, tried
from .test_claims import run

SAME = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
"""The database is shared by all examples, each of which leaves it as it was."""


@pytest.fixture(params=["sqlite", "postgresql"])
def db(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Database]:
    if request.param == "sqlite":
        with ledger(tmp_path / "kl.db") as made:
            yield made
        return
    with opened_repository(request.getfixturevalue("one_database"), request.node.name) as shared:
        yield shared


def seen(name: str, outcome: str = "passed", **detail: object) -> Evidence:
    return Evidence("TestResult", f"test:{name}", outcome, 5, None, detail)


@SAME
@given(st.lists(RECEIPTS, max_size=3, unique_by=lambda r: r.run))
@pytest.mark.requirement("A34")
def test_receipts_come_back_as_they_were_stored(db: Database, receipts: list[Receipt]) -> None:
    assert [receipt_flaw(r) for r in receipts] == [""] * len(receipts)
    with tried(db):
        assert append(db, receipts) == len(receipts)
        found = recent(db, 10)[::-1]
        assert [e.receipt for e in found] == receipts
        assert [e.id for e in found] == [r.id for r in receipts] == [e.receipt.id for e in found]
        assert [e.receipt.evidence_digest for e in found] == [r.evidence_digest for r in receipts]


@SAME
@given(RECEIPTS)
def test_the_same_receipt_is_stored_once(db: Database, receipt: Receipt) -> None:
    with tried(db):
        assert [append(db, [receipt, receipt]), append(db, [receipt])] == [1, 0]
        assert chain_head(db) == (1, chain_link(CHAIN_START, receipt.id))


def test_details_can_not_pretend_to_be_the_facts(db: Database) -> None:
    lies = {
        "outcome": "passed",
        "subject": "test:other",
        "duration_us": 0,
        "class": "ADR",
        "executed": "x",
    }
    receipt = run(
        evidence=(Evidence("TestResult", "test:a.py::one", "failed", 5, None, lies),)
    ).receipt
    append(db, [receipt])
    (back,) = recent(db, 1)[0].receipt.evidence
    assert (back.subject, back.outcome, back.duration_us) == ("test:a.py::one", "failed", 5)
    assert recent(db, 1)[0].receipt.id == receipt.id


def test_a_newline_in_a_name_makes_no_other_list_of_it(db: Database) -> None:
    names = [
        ["a.py::x\nb.py::y"],
        ["a.py::x", "b.py::y"],
        ["a.py::x\nb.py::y", "c.py::z"],
        ["a.py::x", "b.py::y\nc.py::z"],
    ]
    assert len({list_digest(one) for one in names}) == 4
    receipts = [run(f"{n}f", evidence=tuple(map(seen, one))).receipt for n, one in enumerate(names)]
    append(db, receipts)
    assert [e.receipt for e in recent(db, 9)[::-1]] == receipts


def test_what_is_no_test_is_beside_the_column(db: Database) -> None:
    other = Evidence("Validator", "check:arch", "clean")
    receipt = run(evidence=(*(seen(f"a.py::t{n}") for n in range(100)), other)).receipt
    append(db, [receipt])
    assert recent(db, 1)[0].receipt == receipt
    assert db.row("SELECT COUNT(*) FROM evidence") == (1,)


def test_an_outcome_that_no_column_knows_is_stored_all_the_same(db: Database) -> None:
    receipt = run(evidence=(seen("a.py::one"), seen("b.py::two", "dreamt"))).receipt
    append(db, [receipt])
    assert recent(db, 1)[0].receipt == receipt


def test_the_chain_covers_order_and_origin(db: Database) -> None:
    one, two = run("a1").receipt, run("a2").receipt
    append(db, [one])
    append(db, [two], "imported:receipts")
    first = chain_link(CHAIN_START, one.id)
    assert chain_head(db) == (2, chain_link(first, two.id, "imported:receipts"))
    assert chain_link(first, two.id) != chain_link(first, two.id, "imported:receipts")
    assert [chain_at(db, n) for n in (0, 1, 3)] == [CHAIN_START, first, None]


def test_found_by_the_beginning_of_its_id_or_its_run(db: Database) -> None:
    one, two = run("ab").receipt, run("cd").receipt
    append(db, [one, two])
    for given_ in (one.id, one.id[:8], one.run[:6], f"r-{one.run[:6]}", one.id[:8].upper()):
        assert find_receipt(db, given_).receipt == one
    for given_, reason in (
        ("ffff" * 16, "no receipt"),
        ("ab", "4 hexadecimal"),
        ("zzzz", "4 hexadecimal"),
        ("", "4"),
    ):
        with pytest.raises(UsageProblem, match=reason):
            find_receipt(db, given_)
    append(db, [one._replace(started="2026-01-01T00:00:00.5Z")])
    with pytest.raises(UsageProblem, match="several"):
        find_receipt(db, one.run[:6])


def test_of_tree_finds_either_tree(db: Database) -> None:
    here, there = run("a1", tree="1" * 40), run("a2", tree="2" * 40, tree_all="1" * 40)
    append(db, [here.receipt, there.receipt, run("a3", tree="3" * 40).receipt])
    assert [e.receipt.run[:2] for e in entries_of_tree(db, ("1" * 40,))] == ["a2", "a1"]
    assert entries_of_tree(db, ()) == []


def test_an_import_does_not_hide_the_run_of_the_same_name(db: Database) -> None:
    own, forged = run("c1").receipt, run("c1", observer="kl run").receipt
    append(db, [own])
    append(db, [forged], "imported:receipts")
    found = entry_of_run(db, own.run)
    assert found is not None
    assert found.receipt == own
    assert entry_of_run(db, "ee" * 16) is None


@pytest.mark.local_database
@pytest.mark.slow
@pytest.mark.sweep
def test_an_unchanged_run_of_20000_tests_costs_at_most_4_bytes_a_test(repo: Checkout) -> None:
    dice = random.Random(5)
    names = [
        f"tests/area_{n % 40}/test_module_{n % 400}.py::TestThing::test_case_{n}[{n % 7}]"
        for n in range(20_000)
    ]
    usual = [dice.lognormvariate(6.5, 1.2) for _ in names]
    words = dice.choices(TEST_OUTCOMES[:3], (97, 2, 1), k=len(names))

    def one_more_run() -> int:
        times = (int(micros * dice.lognormvariate(0, 0.15)) for micros in usual)
        leave_run(repo.workspace(), list(zip(names, words, times, strict=True)))
        assert sync_evidence(repo.workspace()).receipts >= 1
        return (repo.state / "kl.db").stat().st_size

    first = one_more_run()
    runs = 3
    for _ in range(runs):
        last = one_more_run()
    assert (last - first) / runs / len(names) <= 4
    assert last > first
    newest = repo.entries()[0].receipt
    assert [(e.subject, e.outcome) for e in newest.evidence] == sorted(
        zip((f"test:{n}" for n in names), words, strict=True)
    )
