"""Folding takes rows away and nothing that an answer rests on; the chain stays whole, and states
what was folded.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import DAY, iso
from kl_hooks.evidence.compaction import Run, all_runs, choose_compactable, compact
from kl_hooks.evidence.high_water import Marks, read_high_water
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.integrity import audit
from kl_hooks.evidence.ledger import RETAINED
from kl_hooks.evidence.provenance import worktree_state
from tests.support import NOW, Checkout

from .making import leave_run

pytestmark = pytest.mark.both_databases

NAMES = [f"test:t.py::test_{n}" for n in range(4)]
RUNS = st.lists(
    st.tuples(
        st.sampled_from(["pytest", "junit", "command", "arch"]),
        st.integers(0, 200),
        st.sampled_from(["T1", "T2", "T3"]),
        st.frozensets(st.sampled_from(NAMES)),
        st.sampled_from(["local", "imported"]),
        st.booleans(),
    ),
    max_size=RETAINED + 30,
)


def made(rows: list[tuple[str, int, str, frozenset[str], str, bool]]) -> list[Run]:
    return [
        Run(
            len(rows) - at,
            f"{at:064x}",
            f"{at:032x}",
            source,
            iso(NOW - age * DAY),
            origin,
            (tree,),
            tests,
            folded,
        )
        for at, (source, age, tree, tests, origin, folded) in enumerate(rows)
    ]


@given(RUNS, st.integers(0, 100))
def test_what_must_stay_stays(
    rows: list[tuple[str, int, str, frozenset[str], str, bool]], days: int
) -> None:
    runs = made(rows)
    removed = choose_compactable(runs, NOW, days, {"T1"}, {runs[-1].id[:60]} if runs else set())
    assert not days or not any(run in removed for run in runs[:RETAINED])
    assert all(
        run.source in ("pytest", "junit") and "T1" not in run.trees and not run.folded
        for run in removed
    )
    assert not runs or runs[-1] not in removed or runs[-1].id[:60] != f"{len(runs) - 1:064x}"[:60]
    for name in NAMES:
        words = [run for run in runs if name in run.tests and run.source in ("pytest", "junit")]
        assert not words or words[0] not in removed, "the newest word on a test"
    assert days or removed == []


@given(RUNS)
def test_folding_what_can_be_folded_leaves_nothing_to_fold(
    rows: list[tuple[str, int, str, frozenset[str], str, bool]],
) -> None:
    runs = made(rows)
    removed = {run.id for run in choose_compactable(runs, NOW, 30, set(), set())}
    after = [
        Run(
            r.seq,
            r.id,
            r.run,
            r.source,
            r.ended,
            r.origin,
            r.trees,
            frozenset() if r.id in removed else r.tests,
            r.id in removed or r.folded,
        )
        for r in runs
    ]
    assert choose_compactable(after, NOW, 30, set(), set()) == []


def filled(repo: Checkout) -> list[str]:
    """Ids of sixty runs of the same tests, oldest first."""
    old = repo.workspace(now=NOW - 200 * DAY)
    place, details = worktree_state(old.repo), {"t.py::test_b": {"message": "assert 1 == 2"}}
    for number in range(RETAINED + 10):
        tests = [("t.py::test_a", "passed", 10 + number), ("t.py::test_b", "failed", 3)]
        leave_run(old, tests, details=details, place=place)
    sync_evidence(old)
    return [entry.id for entry in reversed(repo.entries())]


def test_a_folded_receipt_keeps_its_id_and_the_chain_passes(repo: Checkout) -> None:
    ids = [key for key in filled(repo) if key]
    ws = repo.workspace()
    with ws.store.writing() as db, db.transaction():
        runs = all_runs(db)
        removed = [run.id for run in choose_compactable(runs, NOW, 90, set(), set())]
        assert removed == [key for key in ids if key in removed]
        assert len(removed) == 10
        assert compact(db, removed, NOW) == 10
        assert compact(db, removed, NOW) == 0, "folded once"
    with ws.store.reading() as db:
        done = audit(db, Marks(read_high_water(ws.state.high_water), None))
        assert db is not None
        assert [run.id for run in all_runs(db) if run.folded][::-1] == removed
    assert (done.problems, done.folded) == ((), 10)
    entry = next(one for one in repo.entries() if one.id == removed[0])
    assert (entry.receipt.id, entry.receipt.evidence, entry.folded) == (removed[0], (), iso(NOW))
    assert entry.receipt.result["counts"] == {"failed": 1, "passed": 1}
    shown = repo.kl("evidence", "show", removed[0][:12])
    assert "folded on" in shown.stdout
    plain = json.loads(repo.kl("evidence", "verify", "--format", "json").stdout)
    assert (plain["problems"], plain["folded"]) == ([], 10)
    exported = repo.kl("evidence", "export")
    assert removed[0] not in exported.stdout
    assert "10 receipts omitted" in exported.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "printed"),
    [
        (
            "UPDATE receipt SET folded = 'x', outcomes = NULL, test_list = NULL WHERE seq = 40",
            "one of the newest 50 never is",
        ),
        (
            "UPDATE receipt SET folded = 'x' WHERE seq = (SELECT MAX(seq) FROM receipt)",
            "part of its evidence is there",
        ),
        (
            (
                "UPDATE receipt SET folded = 'x', outcomes = NULL, test_list = NULL, source ="
                " 'command' WHERE seq = 1"
            ),
            "receipts of command never are",
        ),
    ],
)
@pytest.mark.share(3)
def test_a_fold_by_hand_shows(repo: Checkout, edit: str, printed: str) -> None:
    filled(repo)
    repo.edit(edit)
    done = repo.kl("evidence", "verify")
    assert done.returncode == 1
    assert printed in done.stdout
