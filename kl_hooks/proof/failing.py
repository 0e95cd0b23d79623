"""The tests that fail now: those whose last result is a failure, whichever run had it.

A run of a part of the suite does not end what another run saw: a failing test stays known until it
passes or is removed. Of two results the newer one counts, unless only the older one is valid for
the content as it is now: what failed on another branch does not fail here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kl_hooks.evidence.executed import test_path
from kl_hooks.evidence.ledger import Entry, chain_head, failing_runs, results_of, selection_limits
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.evidence.snapshot import Snapshot, snapshot
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import OF_OTHERS, REFUTES, Evidence, Receipt
from kl_hooks.proof.facts import NOT_ASSESSED, VALID, Difference, Verdict
from kl_hooks.proof.other_runs import OtherRun, is_sound
from kl_hooks.proof.test_names import TestNames
from kl_hooks.workspace import Workspace, is_set_up

if TYPE_CHECKING:
    from kl_hooks.store.database import Database

_RUNS: Final = 200
"""Newest runs that are looked at."""
_COMPARED: Final = 5
"""Results of a test that are compared with the content of now: each run costs a question to git."""
_SOURCES: Final = ("pytest", "junit")

_LastResult = tuple[Evidence, Entry]
"""A result of a test, and the run that reported it."""
_Run = TypeVar("_Run")


class FailingTest(NamedTuple):
    """A test that fails now."""

    test: str
    """Node ID as the test is called now, or the path of a file that could not be collected."""
    failure: Evidence
    entry: Entry
    """The run that reported it."""
    verdict: Verdict
    """Whether the failure is valid for the content of now; else what changed since."""
    symbols: Mapping[str, str]
    """What the test executed in that run → the file; empty where that was not recorded."""

    @property
    def run(self) -> str:
        return self.entry.receipt.run

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        return {
            "test": self.test,
            "run": self.run,
            "outcome": self.failure.outcome,
            "state": self.verdict.state,
            "reason": self.verdict.reason,
        }


def last_results(
    runs: Iterable[tuple[_Run, Receipt]],
    settles: Callable[[_Run, Evidence], bool],
    is_whole: Callable[[_Run], bool],
) -> dict[str, tuple[Evidence, _Run]]:
    """Subject → the newest of its results in these runs (newest first) that decides, with its run:
    a failure, or a result that `settles` what an older run saw.

    A file that could not be collected is settled by a result of any test in it; a failure that
    other tests may have caused (`OF_OTHERS`) by a run in which all tests ran (`is_whole`).
    """
    last: dict[str, tuple[Evidence, _Run]] = {}
    passed_with_all: set[str] = set()
    for run, receipt in runs:
        reported: dict[str, tuple[Evidence, _Run]] = {}
        is_run_whole = is_whole(run)
        for evidence in receipt.evidence:
            subject = evidence.subject
            is_failure = evidence.outcome in REFUTES
            if not (is_failure or settles(run, evidence)):
                continue
            if is_run_whole and not is_failure:
                passed_with_all.add(subject)
            is_open = OF_OTHERS in evidence.detail and subject not in passed_with_all
            if subject in last and not (is_failure and is_open):
                continue
            if not (is_failure and any(other.startswith(f"{subject}::") for other in last)):
                reported[subject] = evidence, run
        last.update(reported)
    return last


_LATEST: Final[dict[tuple[Any, ...], list[FailingTest]]] = {}
"""The head of a chain of receipts and a content → its failing tests; the last answer alone, since a
package asks several times."""


def failing_tests(ws: Workspace, snapshot_of_store: Snapshot | None = None) -> list[FailingTest]:
    """Return the tests that fail now, newest failure first; none where kl was never used.

    `snapshot_of_store`: evidence that was read before. EnvironmentProblem where the store can't be
    read.
    """
    if snapshot_of_store is None:
        if not is_set_up(ws):
            return []
        with snapshot(ws) as read:
            return failing_tests(ws, read)
    place = worktree_state(ws.repo)
    waiting = tuple(entry.id for entry in snapshot_of_store.waiting)
    head = chain_head(snapshot_of_store.db) if snapshot_of_store.db else None
    key = (ws.root, head, waiting, place.trees, place.tree_all)
    # another thread may replace the answer at any moment
    answer = _LATEST.get(key)
    if answer is None:
        answer = list(_Content(ws, snapshot_of_store, place.trees).failing())
        _LATEST.clear()
        _LATEST[key] = answer
    return answer


class _Content:
    """What runs show of the content on disk."""

    def __init__(self, ws: Workspace, snapshot: Snapshot, trees: tuple[str, ...]) -> None:
        self._ws = ws
        self._seen = snapshot
        self._trees = trees
        self._differences: dict[str, Difference] = {}
        self._judged: dict[str, OtherRun] = {}

    def failing(self) -> Iterator[FailingTest]:
        runs = self._runs()
        here = [entry for entry in runs if self._is_here(entry)]
        # a result of this very content counts before a newer one of another
        last = _last_results(runs) | _last_results(here)
        failures = [pair for pair in last.values() if pair[0].outcome in REFUTES]
        for evidence, entry in sorted(failures, key=lambda pair: -pair[1].seq):
            subject = evidence.subject
            results = _results(subject, entry, runs)
            result, verdict = self._valid_result(results) if entry not in here else (None, _HERE)
            if result and result[0].outcome not in REFUTES:
                continue
            failure, run = result or (evidence, entry)
            name = self._name_now(subject.removeprefix("test:"), run)
            if name and not self._is_collected(name, run):
                yield FailingTest(name, failure, run, verdict, self._symbols(failure, run))

    def _runs(self) -> list[Entry]:
        """The newest runs of tests, newest first, with the results of tests that failed in one."""
        waiting = [entry for entry in self._seen.waiting if entry.receipt.source in _SOURCES]
        db = self._seen.db
        stored = (failing_runs(db, _RUNS, source) for source in _SOURCES) if db else ()
        by_age = sorted(
            (run_entry for runs in stored for run_entry in runs),
            key=lambda run_entry: -run_entry.seq,
        )
        return [*waiting, *by_age]

    def _is_here(self, entry: Entry) -> bool:
        return bool({entry.receipt.tree, entry.receipt.tree_all} & set(self._trees))

    def _valid_result(self, results: Iterable[_LastResult]) -> tuple[_LastResult | None, Verdict]:
        """The newest result that is valid for this content; else None, and why the newest is
        not.
        """
        newest: Verdict | None = None
        for evidence, entry in results:
            verdict = self._verdict(evidence, entry)
            if verdict.state == VALID:
                return (evidence, entry), verdict
            newest = newest or verdict
        return None, newest or Verdict(NOT_ASSESSED)

    def _verdict(self, evidence: Evidence, entry: Entry) -> Verdict:
        if self._is_here(entry):
            return _HERE
        if not is_sound(entry):
            return Verdict(NOT_ASSESSED, "its run did not end, or its content changed under way")
        name = evidence.subject.removeprefix("test:")
        return self._judge(entry).verdicts.get(name, Verdict(NOT_ASSESSED))

    def _judge(self, entry: Entry) -> OtherRun:
        run = entry.receipt.run
        if run not in self._judged:
            assert self._ws.repo is not None  # a sound run has the tree of a repository
            self._judged[run] = OtherRun.judged(
                self._ws,
                self._ws.repo,
                self._seen,
                entry,
                self._trees[0] if self._trees else "",
                None,
                self._differences,
            )
        return self._judged[run]

    def _name_now(self, nodeid: str, entry: Entry) -> str:
        """What the test is called now; empty where it was removed, or where its new name has
        results of its own.
        """
        if entry.receipt.source != "pytest":
            return nodeid  # a report names tests as its writer likes: they need not be paths
        path = test_path(nodeid)
        judged = self._judged.get(entry.receipt.run)
        if self._ws.exists(path) and not (judged and judged.removed(nodeid)):
            return nodeid
        if self._seen.db is None:
            return ""
        name = self._names.current(nodeid)
        if name == nodeid or results_of(self._seen.db, {name}, _RUNS):
            return ""
        return name

    @cached_property
    def _names(self) -> TestNames:
        """Of all failing tests, so that the sources of two runs are compared once."""
        return TestNames(self._ws, self._seen.db)

    def _is_collected(self, name: str, entry: Entry) -> bool:
        """Whether a newer run reported a test of a file that could not be collected."""
        db: Database | None = self._seen.db
        if "::" in name or db is None:
            return False
        sql = "SELECT nodeid FROM test WHERE SUBSTR(nodeid, 1, ?) = ?"
        tests = {str(row[0]) for row in db.rows(sql, (len(name) + 2, f"{name}::"))}
        newest = results_of(db, tests, _RUNS)[:1] if tests else []
        return any(run.seq > entry.seq for run in newest)

    def _symbols(self, failure: Evidence, entry: Entry) -> dict[str, str]:
        executed = self._seen.executed(entry)
        name = failure.subject.removeprefix("test:")
        if executed is None or name not in executed.tests:
            return {}
        symbols = (executed.symbols[at].symbol for at in executed.tests.indexes(name))
        return {symbol: executed.places.get(symbol, "") for symbol in symbols}


_HERE: Final = Verdict(VALID)


def _results(subject: str, newest: Entry, runs: Sequence[Entry]) -> Iterator[_LastResult]:
    """The newest results of a test, from this run on."""
    count = 0
    for entry in (one for one in runs if one.seq <= newest.seq):
        for evidence in entry.receipt.evidence:
            if evidence.subject == subject and (
                evidence.outcome in REFUTES or _settles(entry, evidence)
            ):
                yield evidence, entry
                count += 1
        if count >= _COMPARED:
            return


def _last_results(runs: Iterable[Entry]) -> dict[str, _LastResult]:
    return last_results(((entry, entry.receipt) for entry in runs), _settles, _is_whole)


def _settles(entry: Entry, evidence: Evidence) -> bool:
    """Whether a result that is no failure ends a failure that an older run saw.

    A skip does in a complete run that passed, as for the gate.
    """
    receipt = entry.receipt
    if receipt.moved or receipt.selection.get("weakened"):
        return False
    if evidence.outcome != "skipped":
        return True
    return _is_whole(entry)


def _is_whole(entry: Entry) -> bool:
    """Whether all tests ran, and none failed."""
    receipt = entry.receipt
    passed = receipt.result.get("complete") and receipt.result.get("verdict") == "passed"
    return bool(passed) and not selection_limits(receipt.selection)
