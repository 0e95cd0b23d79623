"""Ledgers and receipts for the tests of this package: a real database, real spool files, receipts
of any shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from kl_hooks.clock import iso
from kl_hooks.evidence.capture import new_run_id, open_spool, opening_record
from kl_hooks.evidence.executed import Executed, SymbolHash, TestFile, TestSets, write_executed
from kl_hooks.evidence.plugin import SCHEMA
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.evidence.reads import Reads
from kl_hooks.git.worktree import WorktreeState
from kl_hooks.model.canonical import canonical
from kl_hooks.model.receipt import (
    EVIDENCE_CLASSES,
    FACT_CLASSES,
    TEST_OUTCOMES,
    Evidence,
    Receipt,
)
from kl_hooks.store.database import Database
from kl_hooks.store.sqlite import SqliteDatabase, open_sqlite
from kl_hooks.store.store import _split_statements
from kl_hooks.workspace import Workspace

RESERVED = ("class", "subject", "outcome", "duration_us", "executed")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMED = TEXT.filter(bool)
MICROS = st.integers(0, 2**62)
TIME = st.integers(0, 4_000_000_000_000_000).map(iso)
GIT_ID = st.text("0123456789abcdef", min_size=40, max_size=40)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
DETAIL = st.dictionaries(NAMED.filter(lambda key: key not in RESERVED), PLAIN, max_size=3)
EXECUTED = st.none() | st.text("0123456789abcdef", min_size=64, max_size=64)
TESTS = st.builds(
    Evidence,
    st.just("TestResult"),
    TEXT.map("test:".__add__),
    st.sampled_from(TEST_OUTCOMES),
    MICROS,
    EXECUTED,
    st.just({}) | DETAIL,
)
OTHERS = st.builds(
    Evidence, st.sampled_from(EVIDENCE_CLASSES), NAMED, NAMED, MICROS, EXECUTED, DETAIL
)
COUNTS = st.dictionaries(TEXT, st.integers(0, 99), max_size=3)
RESULT = st.builds(
    dict,
    exit=st.none() | st.integers(-9, 255),
    complete=st.booleans(),
    how=TEXT,
    verdict=NAMED,
    reasons=st.lists(TEXT, max_size=2),
    counts=COUNTS,
)
RECEIPTS = st.builds(
    Receipt,
    run=st.text("0123456789abcdef", min_size=32, max_size=32),
    source=NAMED,
    observer=NAMED,
    producer=NAMED,
    evidence=st.one_of(st.lists(TESTS), st.lists(OTHERS, max_size=4), st.lists(TESTS | OTHERS)).map(
        tuple
    ),
    started=TIME,
    ended=TIME,
    parent=st.none() | TEXT,
    tree=st.none() | GIT_ID,
    tree_all=st.none() | GIT_ID,
    tree_end=st.none() | GIT_ID,
    moved=st.booleans(),
    head=st.none() | GIT_ID,
    branch=st.none() | TEXT,
    dirty=st.booleans(),
    environment=DETAIL,
    selection=DETAIL,
    result=RESULT,
    folded_digest=st.just(""),  # of one whose evidence is complete
)
"""Every receipt that may be stored: any texts, any outcomes, any details."""


@contextmanager
def ledger(path: Path) -> Iterator[SqliteDatabase]:
    """An empty ledger in a file."""
    db = open_sqlite(path, write=True)
    try:
        for statement in (one for step in SCHEMA.steps for one in _split_statements(step)):
            db.execute(statement)
        yield db
    finally:
        db.close()


class Undone(Exception):
    """Raised to leave a transaction without a trace."""


@contextmanager
def tried(db: Database) -> Iterator[None]:
    """A transaction that leaves no trace."""
    try:
        with db.transaction():
            yield
            raise Undone
    except Undone:
        return


def leave_run(
    ws: Workspace,
    tests: Sequence[tuple[str, str, int]],
    *,
    details: Mapping[str, Any] | None = None,
    end: bool = True,
    run: str | None = None,
    place: WorktreeState | None = None,
    executed: Executed | None = None,
    selection: Mapping[str, Any] | None = None,
    further_environment: Mapping[str, Any] | None = None,
) -> str:
    """Leaves a run of tests (id, outcome, microseconds) in the spool as the pytest plugin does; the
    run's id.

    `executed`: what its tests executed.
    """
    run = run or new_run_id()
    place = place or worktree_state(ws.repo)
    writer = open_spool(ws, run)
    writer.record(
        opening_record(
            run,
            "pytest",
            "pytest",
            place,
            ws.clock.now(),
            ws.environ,
            selection=selection or {"args": ["-q"]},
            further_environment={"facts": sorted(FACT_CLASSES), **(further_environment or {})},
        )
    )
    for name, outcome, micros in tests:
        writer.line(
            canonical(["t", name, outcome, micros, (details or {}).get(name), None]).decode()
        )
    more = {}
    if executed is not None:
        more = {
            "executed": {"digest": write_executed(writer.path.parent, replace(executed, run=run))}
        }
    if end:
        writer.record(end_record(place, tests, iso(ws.clock.now())) | {"environment": more})
    writer.sync()
    writer.close()
    return run


def end_record(
    place: WorktreeState, tests: Sequence[tuple[str, str, int]], ended: str
) -> dict[str, Any]:
    """The last record of a run of tests."""
    counts = {
        outcome: sum(o == outcome for _, o, _ in tests) for outcome in {o for _, o, _ in tests}
    }
    bad = counts.keys() & {"failed", "error"}
    return {
        "t": "end",
        "ended": ended,
        "tree_end": place.tree,
        "moved": False,
        "tests": len(tests),
        "evidence": 0,
        "selection": {"collected": len(tests), "deselected": 0, "ran": len(tests)},
        "result": {
            "exit": int(bool(bad)),
            "complete": True,
            "how": "finished",
            "verdict": "failed" if bad else "passed",
            "reasons": [],
            "counts": counts,
        },
    }


def executed_sets(
    sets: Mapping[str, Mapping[str, str]],
    places: Mapping[str, str],
    hashes: Mapping[str, str] | None = None,
    **more: Any,
) -> Executed:
    """What tests executed: node ID → symbol → phase. `places` has every symbol; those without a
    hash get one.
    """
    symbols = sorted(places)
    index = {symbol: at for at, symbol in enumerate(symbols)}
    files: dict[str, dict[str, dict[int, str]]] = {}
    for nodeid, one in sets.items():
        found = files.setdefault(nodeid.partition("::")[0], {})
        found[nodeid] = {index[symbol]: phase for symbol, phase in one.items()}
    rows = tuple(
        SymbolHash(symbol, (hashes or {}).get(symbol, f"{index[symbol]:016x}"))
        for symbol in symbols
    )
    modules = {
        path: frozenset(index[one] for one in some)
        for path, some in more.pop("modules", {}).items()
    }
    tests = TestSets({path: TestFile.of(one) for path, one in files.items()})
    # a run with opened files alone is one of an earlier kl
    more.setdefault("reads", None if "files" in more else Reads())
    return Executed(
        "0" * 32,
        "sys.monitoring",
        rows,
        tests,
        modules,
        more.pop("imports", {}),
        dict(places),
        **more,
    )
