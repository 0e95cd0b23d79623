"""The history of a failure in earlier runs: how often it was seen, what ended it, and whether it is flaky.

A failure is recognized by its signature: the exception's type, the innermost frame of the project (a function, not a
line), and the message without what differs from run to run. Every answer names the runs that it rests on, because a
wrong hint about a failure costs more than none: what can't be compared is not mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import micros
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.executed import Executed, executed_of_run, read_pending
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.journal import unimported_captures
from kl_hooks.evidence.ledger import failed_results, failing_runs, results_of
from kl_hooks.git.worktree import differing_paths
from kl_hooks.model.canonical import digest
from kl_hooks.model.receipt import REFUTES, Evidence, Receipt
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import name_list, one_line
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.store.database import Database

RUNS: Final = 200
"""Runs that are looked at, newest first."""
FAILURES: Final = 2000
"""Failed results among which others of the same signature are looked for."""
_RELATED: Final = 20
"""Other tests with the same failure whose runs are read."""
_NAMED: Final = 3
_SHORT: Final = 8
"""Digits of a run or a commit that a person is shown."""
SECOND: Final = 1_000_000
_VOLATILE: Final = frozenset(
    {"pid", "ci", "agent", "session", "imported", "executed", "way", "untracked", "changes", "rootdir"}
)
"""Keys of a receipt's environment in which two runs of the same environment may differ."""
# In this order: an address and an ID hold digits, a path holds numbers.
_VARIABLE: Final = (
    (re.compile(r"\b0x[0-9a-fA-F]+"), "ADDRESS"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"(?:\b[A-Za-z]:)?(?:[\\/][\w.@+~-]+){2,}[\\/]?"), "PATH"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b"), "ID"),
    (re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"), "N"),
    (re.compile(r"\s+"), " "),
)


def normalize_message(text: str) -> str:
    """The message with addresses, IDs, paths and numbers replaced by a word each."""
    for pattern, word in _VARIABLE:
        text = pattern.sub(word, text)
    return text.strip()


def signature(evidence: Evidence) -> str:
    """16 hexadecimal digits by which a failure is recognized: of its exception, its innermost frame, its message.

    The frame is `path::qualified name`; of a result without one (JUnit, an earlier version) it is the path of the
    failure, or the test's own.
    """
    detail = evidence.detail
    message = str(detail.get("message") or "")
    kind = str(detail.get("exception") or message.partition(":")[0])
    frame = str(detail.get("frame") or detail.get("path") or evidence.subject.partition("[")[0])
    return digest("failure/1", [kind, frame, normalize_message(message)])[:16]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One result of a test."""

    receipt: Receipt
    result: Evidence

    @property
    def run(self) -> str:
        """The digits of the run that a person is shown."""
        return self.receipt.run[:_SHORT]

    @property
    def failed(self) -> bool:
        return self.result.outcome in REFUTES

    @property
    def passed(self) -> bool:
        return self.result.outcome == "passed"


@dataclass(frozen=True, slots=True)
class Fix:
    """The last failing run of a test, the next one that passed, and what changed between the two contents."""

    failed: Attempt
    passed: Attempt
    changed: tuple[str, ...]
    """Symbols where both runs recorded what they executed, else files; empty: not known."""
    commit: tuple[str, str] = ("", "")
    """Hash and subject of the commit with the content that passed; empty where there is none."""


@dataclass(frozen=True, slots=True)
class FailureHistory:
    """What earlier runs show of one failure."""

    test: str
    """Node ID."""
    earlier: tuple[Attempt, ...]
    """Failed results with the same signature, newest first: of this test, and one each of others."""
    others: tuple[str, ...] = ()
    """Other tests that failed in the same way."""
    fix: Fix | None = None
    """How it ended the last time."""
    flaky: tuple[Attempt, Attempt] | None = None
    """A failure and a pass of this test on the same content in the same environment."""
    main: tuple[str, str, Attempt] | None = None
    """Branch, commit since which it fails there, and the newest such result; None where that is not known."""
    decisions: tuple[tuple[str, str], ...] = ()
    """ID and title of the accepted decisions that govern the file of the failure."""


def failure_histories(
    ws: Workspace, failures: Mapping[str, Evidence], current: str = "", branch: str = ""
) -> dict[str, FailureHistory]:
    """Return what earlier runs show of these failures (node ID → result); a failure without relatives is absent.

    `current`: the run that they are of, which is no earlier one. `branch`: the branch it is on, where its content is
    that of a commit: a failure there is not reported as one of that branch too. Changes nothing in the store.
    """
    waiting = [receipt for receipt, _ in unimported_captures(ws)[0] if receipt.source == "pytest"][::-1]
    with ws.store.reading() as db:
        known = failed_results(db, FAILURES) if db else []
        known += [(one.run, evidence) for one in waiting for evidence in one.evidence if evidence.outcome in REFUTES]
        by_signature: dict[str, dict[str, None]] = {}
        for run, evidence in known:
            if run != current:
                by_signature.setdefault(signature(evidence), {})[evidence.subject.removeprefix("test:")] = None
        wanted = set(failures)
        for evidence in failures.values():
            wanted.update(list(by_signature.get(signature(evidence), ()))[:_RELATED])
        stored = [one.receipt for one in results_of(db, wanted, RUNS)] if db else []
        attempts = _attempts([one for one in (*waiting, *stored) if one.run != current], wanted)
        changes = _Changes(ws, db)
        found = {}
        for test, evidence in failures.items():
            mark = signature(evidence)
            others = [name for name in by_signature.get(mark, ()) if name != test and name in attempts]
            made = _history(test, mark, attempts, others, changes, branch)
            if made.earlier or made.flaky:
                found[test] = made
    return {test: _with_decisions(ws, one, failures[test]) for test, one in found.items()}


@dataclass(frozen=True, slots=True)
class TestRecord:
    """The results of one test, and what earlier runs show of its newest failure."""

    __test__ = False  # no test class, whatever its name
    test: str
    attempts: tuple[Attempt, ...]
    """Newest first."""
    history: FailureHistory | None
    """None where it never failed, or its newest failure has no relatives."""
    suspects: tuple[str, ...] = ()
    """Symbols that it rests on and that changed between its newest failure and the pass before; where recorded."""
    passed_before: Attempt | None = None

    @property
    def newest_failure(self) -> Attempt | None:
        return next((one for one in self.attempts if one.failed), None)


def record_of_test(ws: Workspace, name: str) -> TestRecord:
    """The record of a test, named by its node ID or by the end of it. UsageProblem for none, or for several."""
    sync_evidence(ws)
    with ws.store.reading() as db:
        test = _test_named(db, name.strip().removeprefix("test:")) if db else ""
        if not test or db is None:
            raise UsageProblem("no recorded run had a test of this name.", place=name, hint="See: kl evidence list")
        receipts = [one.receipt for one in results_of(db, {test}, RUNS)]
        attempts = tuple(_attempts(receipts, {test}).get(test, ()))
        failure = next((one for one in attempts if one.failed), None)
        older = attempts[attempts.index(failure) + 1 :] if failure else ()
        passed = next((one for one in older if one.passed), None)
        suspects = _Changes(ws, db).symbols(test, failure, passed)[0] if failure and passed else ()
    found = failure_histories(ws, {test: failure.result}, failure.receipt.run) if failure else {}
    return TestRecord(test, attempts, found.get(test), suspects, passed)


def _test_named(db: Database, name: str) -> str:
    # not LIKE: `_` is in most names, and a wildcard there (SQLite)
    rows = db.rows("SELECT nodeid FROM test WHERE nodeid = ?1 OR SUBSTR(nodeid, -LENGTH(?1)) = ?1", (name,))
    found = sorted(nodeid for (nodeid,) in rows if nodeid == name or nodeid.removesuffix(name).endswith(("/", ":")))
    if name in found or len(found) < 2:
        return name if name in found else "".join(found)
    hint = f"Use one of: {name_list(found, _NAMED)}"
    raise UsageProblem(f"ambiguous ({len(found)} tests end like this).", place=name, hint=hint)


def _attempts(receipts: Sequence[Receipt], wanted: set[str]) -> dict[str, list[Attempt]]:
    """Test → its results, newest first, of runs that ended and on known content."""
    found: dict[str, list[Attempt]] = {}
    for receipt in receipts:
        if receipt.tree is None or receipt.moved:
            continue
        for one in receipt.evidence:
            name = one.subject.removeprefix("test:")
            if name in wanted and one.kind == "TestResult":
                found.setdefault(name, []).append(Attempt(receipt, one))
    return found


def _history(
    test: str, mark: str, attempts: Mapping[str, Sequence[Attempt]], others: Sequence[str], changes: _Changes,
    branch: str,
) -> FailureHistory:  # fmt: skip
    own = attempts.get(test, ())
    earlier = [one for one in own if one.failed and signature(one.result) == mark]
    # a failure that is known from another source (JUnit), or of a run that moved, is no attempt
    alike = {
        name: next((one for one in attempts[name] if one.failed and signature(one.result) == mark), None)
        for name in others
    }
    related = {name: one for name, one in alike.items() if one is not None}
    fixes = [fix for name in (test, *others) if (fix := _newest_fix(name, attempts.get(name, ()), mark, changes))]
    flaky = _contradiction(test, own, changes)
    main = _failing_on_main(own, mark, branch)
    return FailureHistory(
        test, (*earlier, *related.values()), tuple(related), next(iter(fixes), None), flaky, main
    )  # fmt: skip


def _newest_fix(test: str, attempts: Sequence[Attempt], mark: str, changes: _Changes) -> Fix | None:
    """The newest change from this failure to a pass in the same environment, where the content changed."""
    passed: Attempt | None = None
    for one in attempts:
        if one.passed:
            passed = one
        elif one.failed:
            if passed is not None and signature(one.result) == mark and _environment(one) == _environment(passed):
                changed = changes.between(test, one, passed)
                # nothing changed: it passed by chance, and nothing can be learned from that
                if changed is None or changed:
                    return Fix(one, passed, changed or (), changes.commit(one, passed))
            passed = None  # what the pass ended is this failure, not an older one
    return None


def _environment(one: Attempt) -> str:
    """Digest of everything in the environment that may make a test behave otherwise."""
    known = {key: value for key, value in one.receipt.environment.items() if key not in _VOLATILE}
    return digest("environment/1", known)


class _Changes:
    """What differs between the contents of two runs."""

    def __init__(self, ws: Workspace, db: Database | None) -> None:
        self._ws, self._db = ws, db
        self._known: dict[str, Executed | None] = {}

    def between(self, test: str, one: Attempt, other: Attempt) -> tuple[str, ...] | None:
        """What differs: symbols where both runs recorded them, else files. Empty: nothing does. None: not known."""
        a, b = one.receipt, other.receipt
        if (a.tree, a.tree_all) == (b.tree, b.tree_all):
            return ()
        changed, complete = self.symbols(test, one, other)
        if changed or complete:
            return changed
        # untracked files are in no tree that git has
        if self._ws.repo is None or not a.tree or not b.tree or {a.tree_all, b.tree_all} - {a.tree, b.tree, None}:
            return None
        return self._paths(a.tree, b.tree)

    def symbols(self, test: str, one: Attempt, other: Attempt) -> tuple[tuple[str, ...], bool]:
        """(the symbols on which the test rests in one of these runs and that differ, whether all could be compared).

        A run that fails stops early, so the sets themselves are never equal: the union is compared, by what the other
        run has recorded of the symbol for whichever test.
        """
        a, b = self._executed(one.receipt), self._executed(other.receipt)
        if a is None or b is None or test not in a.tests or test not in b.tests:
            return (), False
        hashes = [dict(found.symbols) for found in (a, b)]
        needed = {found.symbols[at].symbol for found in (a, b) for at in found.dependencies(test)}
        known = [name for name in needed if all(name in some for some in hashes)]
        changed = sorted(name for name in known if hashes[0][name] != hashes[1][name])
        files = a.closure(test) | b.closure(test)
        unknown = any(path in files for found in (a, b) for path in found.unknown)
        # what the processes of a test ran and read is not recorded
        seen = not unknown and test not in a.incomplete and test not in b.incomplete
        return tuple(changed), seen and len(known) == len(needed) and a.files == b.files

    def _executed(self, receipt: Receipt) -> Executed | None:
        if receipt.run not in self._known:
            stored = executed_of_run(self._db, receipt.run) if self._db else None
            # a run that waits in the spool has its file there too
            self._known[receipt.run] = stored or read_pending(self._ws, receipt.run, receipt.environment)
        return self._known[receipt.run]

    @cache  # noqa: B019 - an object of one question
    def _paths(self, tree: str, other: str) -> tuple[str, ...] | None:
        from kl_hooks.git.run import GitFailed

        assert self._ws.repo is not None
        try:
            found = differing_paths(self._ws.repo, tree, other)
        except GitFailed:  # git does not have the second one
            return None
        return None if found is None else tuple(found)

    def commit(self, failed: Attempt, passed: Attempt) -> tuple[str, str]:
        """Hash and subject of the commit that ended the failure; two empty texts where none is known to have.

        One that is older than the failure was checked out again, and ended nothing.
        """
        sql = "SELECT sha, subject, at FROM commit_log WHERE tree = ? ORDER BY at, sha"
        rows = self._db.rows(sql, (passed.receipt.tree,)) if self._db else []
        # a commit has whole seconds; the one that the failure was seen on may be of the very second
        made = [
            row for row in rows
            if row[0] != failed.receipt.head and micros(str(row[2])) + SECOND > micros(failed.receipt.ended)
        ]  # fmt: skip
        return (str(made[0][0]), str(made[0][1])) if made else ("", "")


def _contradiction(test: str, attempts: Sequence[Attempt], changes: _Changes) -> tuple[Attempt, Attempt] | None:
    """The newest failure and pass in one environment where nothing differs that the test depends on.

    A pass on a second attempt is both.
    """
    counted = [one for one in attempts if one.failed or one.passed]
    for one, other in pairwise(counted):
        if one.failed != other.failed and _environment(one) == _environment(other):
            changed, complete = changes.symbols(test, one, other)
            if complete and not changed:
                return (one, other) if one.failed else (other, one)
    seen: dict[tuple[Any, ...], dict[bool, Attempt]] = {}
    for one in attempts:
        if one.result.outcome == "flaky":
            return one, one
        if not (one.failed or one.passed):
            continue
        group = seen.setdefault((one.receipt.tree, one.receipt.tree_all, _environment(one)), {})
        group.setdefault(one.failed, one)
        if len(group) == 2:
            return group[True], group[False]
    return None


_MAIN: Final = ("main", "master")
"""Branches that others start from."""


def _failing_on_main(attempts: Sequence[Attempt], mark: str, branch: str) -> tuple[str, str, Attempt] | None:
    """Branch, the commit since which the test fails there in the same way, and the newest result of it."""
    for name in _MAIN:
        there = [one for one in attempts if one.receipt.branch == name and not one.receipt.dirty and one.receipt.head]
        if name == branch or not there or not there[0].failed or signature(there[0].result) != mark:
            continue
        first = there[0]
        for one in there:
            if not one.failed:
                break
            first = one
        return name, str(first.receipt.head), there[0]
    return None


def _with_decisions(ws: Workspace, history: FailureHistory, failure: Evidence) -> FailureHistory:
    """The same history with the accepted decisions that govern the file in which it was raised."""
    from kl_hooks.records.liveness import live_records
    from kl_hooks.records.query import RecordFilter, list_records

    path = str(failure.detail.get("frame") or failure.detail.get("path") or "").partition("::")[0]
    if not path or "decision" not in ws.kinds:
        return history
    # only what a person accepted: the text of anything else is nobody's decision
    found = live_records(ws, list_records(ws, RecordFilter(("decision",), ("accepted",))))
    govern = [one for one in found if any(_covers(pattern, path) for pattern in one.many("governs"))]
    return replace(history, decisions=tuple((one.id, one.text("title")) for one in govern))


def record_to_dict(record: TestRecord) -> dict[str, Any]:
    """`kl.proof.why/1`."""
    history, failure = record.history, record.newest_failure
    return {
        "schema": "kl.proof.why/1", "test": record.test,
        "results": [
            {
                "run": one.receipt.run, "outcome": one.result.outcome, "ended": one.receipt.ended,
                "tree": one.receipt.tree, "head": one.receipt.head, "branch": one.receipt.branch,
                "dirty": one.receipt.dirty,
            }
            for one in record.attempts
        ],
        "failure": {**failure.result.detail, "signature": signature(failure.result)} if failure else None,
        "history": history_lines(history) if history else [],
        "earlier": [one.receipt.run for one in history.earlier] if history else [],
        "changed": list(record.suspects),
        "passed_before": record.passed_before.receipt.run if record.passed_before else None,
        "fix": _fix_to_dict(history.fix) if history and history.fix else None,
        "flaky": [one.receipt.run for one in history.flaky] if history and history.flaky else [],
        "decisions": [name for name, _ in history.decisions] if history else [],
    }  # fmt: skip


def _fix_to_dict(fix: Fix) -> dict[str, Any]:
    return {
        "failed": fix.failed.receipt.run, "passed": fix.passed.receipt.run, "changed": list(fix.changed),
        "commit": fix.commit[0], "subject": fix.commit[1],
    }  # fmt: skip


def _covers(pattern: str, path: str) -> bool:
    name = pattern.removeprefix("file:")
    return path == name or (name.endswith("/") and path.startswith(name))


def history_lines(history: FailureHistory) -> list[str]:
    """At most three lines for a person who reads the failure: how often, what ended it, who decided."""
    lines = [_seen_line(history)]
    if history.flaky:
        failed, passed = history.flaky
        lines.append(
            f"flaky: it failed and passed on the same content (runs {failed.run}, {passed.run}); see: kl proof flaky"
            if failed is not passed
            else f"flaky: it passed on a second attempt (run {failed.run}); see: kl proof flaky"
        )
    elif history.fix:
        lines.append(_fix_line(history.fix))
    if history.decisions:
        first = "; ".join(f'{name} "{one_line(title, 60)}"' for name, title in history.decisions[:2])
        verb = "govern" if len(history.decisions) > 1 else "governs"
        lines.append(f"{first} {verb} this file")
    return [line for line in lines if line]


def _seen_line(history: FailureHistory) -> str:
    parts = []
    if history.earlier:
        newest, oldest = history.earlier[0], min(history.earlier, key=lambda one: one.receipt.ended)
        runs = len({one.receipt.run for one in history.earlier})
        place = f" in {name_list(history.others, 1)}" if len(history.earlier) == len(history.others) else ""
        times = "once before" if runs == 1 else f"in {runs} earlier runs"
        since = f"on {oldest.receipt.ended[:10]}" if runs == 1 else f"since {oldest.receipt.ended[:10]}"
        which = f"run {newest.run}" if runs == 1 else f"last in run {newest.run}"
        parts.append(f"failed like this {times}{place}, {since} ({which})")
    if history.main:
        branch, commit, attempt = history.main
        parts.append(f"also fails on {branch} since {commit[:_SHORT]} (run {attempt.run})")
    return "; ".join(parts)


def _fix_line(fix: Fix) -> str:
    sha, subject = fix.commit
    names = [split_id(one)[1] for one in fix.changed]
    what = f"after a change of {name_list(names, _NAMED)}" if names else ""
    commit = f'in commit {sha[:_SHORT]} "{one_line(subject, 60)}"' if sha else ""
    return " ".join(filter(None, ("it passed again", what, commit, f"(runs {fix.failed.run}, {fix.passed.run})")))


@dataclass(frozen=True, slots=True)
class FlakyTest:
    """A test with different outcomes where nothing that it depends on differs."""

    test: str
    failed: Attempt
    passed: Attempt
    failures: int
    runs: int
    """Runs on the contents and in the environments in which both outcomes were seen."""

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the share of failures, 95 % (Wilson's score interval)."""
        return wilson_interval(self.failures, self.runs)

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval
        return {
            "test": self.test, "failures": self.failures, "runs": self.runs, "rate": self.failures / self.runs,
            "low": round(low, 4), "high": round(high, 4),
            "failed": self.failed.receipt.run, "passed": self.passed.receipt.run,
        }  # fmt: skip


def wilson_interval(hits: int, number: int, z: float = 1.96) -> tuple[float, float]:
    """The score interval of a share (E. B. Wilson 1927, JASA 22:209): sound for few runs and for shares near 0."""
    share, square = hits / number, z * z / number
    middle, spread = share + square / 2, z * sqrt(share * (1 - share) / number + square / number / 4)
    return max(0.0, (middle - spread) / (1 + square)), min(1.0, (middle + spread) / (1 + square))


def flaky_tests(ws: Workspace) -> list[FlakyTest]:
    """The tests that passed and failed on one content in one environment, most failures first."""
    with ws.store.reading() as db:
        receipts = [one.receipt for one in failing_runs(db, RUNS, "pytest")] if db else []
        tests = {one.subject.removeprefix("test:") for receipt in receipts for one in receipt.evidence}
        changes, found = _Changes(ws, db), []
        for test, attempts in _attempts(receipts, tests).items():
            if pair := _contradiction(test, attempts, changes):
                found.append(FlakyTest(test, *pair, *_counts(attempts, pair)))
    return sorted(found, key=lambda one: (-one.failures / one.runs, one.test))


def _counts(attempts: Sequence[Attempt], pair: tuple[Attempt, Attempt]) -> tuple[int, int]:
    """(failures, runs) where both outcomes were seen; a pass on a second attempt is a failure that was repeated.

    The witnesses count together, whatever else differs between their contents.
    """
    together = {one.receipt.tree for one in pair}
    groups: dict[tuple[Any, ...], list[Attempt]] = {}
    for one in attempts:
        if one.failed or one.passed or one.result.outcome == "flaky":
            content = ("both",) if one.receipt.tree in together else (one.receipt.tree, one.receipt.tree_all)
            key = (*content, _environment(one))
            groups.setdefault(key, []).append(one)
    mixed = [some for some in groups.values() if any(not a.passed for a in some) and any(not a.failed for a in some)]
    return sum(not a.passed for some in mixed for a in some), sum(map(len, mixed))
