"""The history of a failure in earlier runs: how often it was seen, what ended it, and whether it is
flaky.

A failure is recognized by its signature: the exception's type, the innermost frame of the project
(a function, not a line), and the message without what differs from run to run. Every answer names
the runs that it rests on, because a wrong hint about a failure costs more than none: what can't be
compared is not mentioned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import micros
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.flaky import Attempt, Comparison
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.journal import unimported_captures
from kl_hooks.evidence.ledger import failed_results, results_of
from kl_hooks.evidence.spool_places import spool_places
from kl_hooks.git.worktree import differing_paths
from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.receipt import REFUTES, Evidence
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import name_list, one_line
from kl_hooks.proof.test_names import TestNames, ambiguous_name, matching_tests
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.store.database import Database

_RUNS: Final = 200
"""Runs that are looked at, newest first."""
FAILURES: Final = 2000
"""Failed results among which others of the same signature are looked for."""
_RELATED: Final = 20
"""Other tests with the same failure whose runs are read."""
_NAMED: Final = 3
_SHORT: Final = 8
"""Digits of a run or a commit that a person is shown."""
SECOND: Final = 1_000_000
# In this order: an address and an ID hold digits, a path holds numbers.
_VARIABLE: Final = (
    (lazy_pattern(r"\b0x[0-9a-fA-F]+"), "ADDRESS"),
    (lazy_pattern(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (lazy_pattern(r"(?:\b[A-Za-z]:)?(?:[\\/][\w.@+~-]+){2,}[\\/]?"), "PATH"),
    (lazy_pattern(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b"), "ID"),
    (lazy_pattern(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"), "N"),
    (lazy_pattern(r"\s+"), " "),
)


def normalize_message(text: str) -> str:
    """The message with addresses, IDs, paths and numbers replaced by a word each."""
    for pattern, word in _VARIABLE:
        text = pattern.sub(word, text)
    return text.strip()


def signature(evidence: Evidence) -> str:
    """16 hexadecimal digits by which a failure is recognized: of its exception, its innermost
    frame, its message.

    The frame is `path::qualified name`; of a result without one (JUnit, an earlier version) it is
    the path of the failure, or the test's own.
    """
    detail = evidence.detail
    message = str(detail.get("message") or "")
    kind = str(detail.get("exception") or message.partition(":")[0])
    frame = str(detail.get("frame") or detail.get("path") or evidence.subject.partition("[")[0])
    return digest("failure/1", [kind, frame, normalize_message(message)])[:16]


class Fix(NamedTuple):
    """The last failing run of a test, the next one that passed, and what changed between the two
    contents.
    """

    failed: Attempt
    passed: Attempt
    changed: tuple[str, ...]
    """Symbols where both runs recorded what they executed, else files; empty: not known."""
    commit: tuple[str, str] = ("", "")
    """Hash and subject of the commit with the content that passed; empty where there is none."""


class FailureHistory(NamedTuple):
    """What earlier runs show of one failure."""

    test: str
    """Node ID."""
    earlier: tuple[Attempt, ...]
    """Failed results with the same signature, newest first: of this test, and one each of others.
    """
    others: tuple[str, ...] = ()
    """Other tests that failed in the same way."""
    fix: Fix | None = None
    """How it ended the last time."""
    flaky: tuple[Attempt, Attempt] | None = None
    """A failure and a pass of this test on the same content in the same environment."""
    main: tuple[str, str, Attempt] | None = None
    """Branch, commit since which it fails there, and the newest such result; None where that is not
    known.
    """
    decisions: tuple[tuple[str, str], ...] = ()
    """ID and title of the accepted decisions that govern the file of the failure."""
    names: tuple[str, ...] = ()
    """What the test was called in earlier runs, newest first."""


def failure_histories(
    ws: Workspace, failures: Mapping[str, Evidence], current: str = "", branch: str = ""
) -> dict[str, FailureHistory]:
    """Return what earlier runs show of these failures (node ID → result); a failure without
    relatives is absent.

    `current`: the run that they are of, which is no earlier one. `branch`: the branch it is on,
    where its content is that of a commit: a failure there is not reported as one of that branch
    too. Changes nothing in the store.
    """
    waiting = [
        receipt
        for receipt, _ in unimported_captures(spool_places(ws))[0]
        if receipt.source == "pytest"
    ][::-1]
    with ws.store.reading() as db:
        if db:
            recorded_failures = failed_results(db, FAILURES)
        else:
            recorded_failures = []
        recorded_failures += [
            (one.run, evidence)
            for one in waiting
            for evidence in one.evidence
            if evidence.outcome in REFUTES
        ]
        by_signature: dict[str, dict[str, None]] = {}
        for run, evidence in recorded_failures:
            if run != current:
                by_signature.setdefault(signature(evidence), {})[
                    evidence.subject.removeprefix("test:")
                ] = None
        # names that other tests of this run have are theirs
        tests = TestNames(ws, db, [one for one in waiting if one.run != current])
        earlier = {
            test: tuple(name for name in tests.earlier(test) if name not in failures)
            for test in failures
        }
        names = {name: test for test, some in earlier.items() for name in some}
        wanted = {*failures, *names}
        for evidence in failures.values():
            wanted.update(list(by_signature.get(signature(evidence), ()))[:_RELATED])
        if db:
            stored = [one.receipt for one in results_of(db, wanted, _RUNS)]
        else:
            stored = []
        attempts = Comparison.attempts(
            [one for one in (*waiting, *stored) if one.run != current], wanted, names
        )
        changes = _Changes(ws, db)
        histories = {}
        for test, evidence in failures.items():
            mark = signature(evidence)
            others = [
                name for name in by_signature.get(mark, ()) if name != test and name in attempts
            ]
            history = _history(test, mark, attempts, others, changes, branch, earlier[test])
            if history.earlier or history.flaky:
                histories[test] = history
    return {test: _with_decisions(ws, one, failures[test]) for test, one in histories.items()}


class _TestRecord(NamedTuple):
    """The parts of `TestRecord`. Only a class derived from a named tuple can have `__test__`."""

    test: str
    attempts: tuple[Attempt, ...]
    """Newest first."""
    history: FailureHistory | None
    """None where it never failed, or its newest failure has no relatives."""
    names: tuple[str, ...] = ()
    """What it was called in earlier runs, newest first."""
    suspects: tuple[str, ...] = ()
    """Symbols that it rests on and that changed between its newest failure and the pass before;
    where recorded.
    """
    passed_before: Attempt | None = None
    distributions: Mapping[str, str] | None = None
    """Distribution → version, of what the files import that it needed when it ran last; None where
    that was not recorded.
    """


class TestRecord(_TestRecord):
    """The results of one test, and what earlier runs show of its newest failure."""

    __slots__ = ()
    __test__ = False

    @property
    def newest_failure(self) -> Attempt | None:
        return next((attempt for attempt in self.attempts if attempt.failed), None)


def record_of_test(ws: Workspace, name: str) -> TestRecord:
    """The record of a test, named by its node ID or by the end of it. UsageProblem for none, or for
    several.
    """
    sync_evidence(ws)
    with ws.store.reading() as db:
        asked = name.strip().removeprefix("test:")
        names = TestNames(ws, db)
        test = _test_named(db, names, asked) if db else ""
        if not test or db is None:
            raise UsageProblem(
                "no recorded run had a test of this name.", place=name, hint="See: kl evidence list"
            )
        earlier = names.earlier(test)
        wanted = {test, *earlier}
        receipts = [one.receipt for one in results_of(db, wanted, _RUNS)]
        attempts = tuple(
            Comparison.attempts(receipts, {test}, dict.fromkeys(earlier, test)).get(test, ())
        )
        failure, passed = _failure_and_pass(attempts)
        if failure and passed:
            suspects = _Changes(ws, db).symbols(failure, passed)[0]
        else:
            suspects = ()
        if attempts:
            distributions = Comparison(ws, db).imported(attempts[0])
        else:
            distributions = None
    if failure:
        histories = failure_histories(ws, {test: _as_named(test, failure)}, failure.receipt.run)
    else:
        histories = {}
    return TestRecord(test, attempts, histories.get(test), earlier, suspects, passed, distributions)


def _failure_and_pass(attempts: Sequence[Attempt]) -> tuple[Attempt | None, Attempt | None]:
    """The newest failure, and the pass before it."""
    failure = next((one for one in attempts if one.failed), None)
    if failure:
        older = attempts[attempts.index(failure) + 1 :]
    else:
        older = ()
    return failure, next((one for one in older if one.passed), None)


def changed_since_pass(ws: Workspace, tests: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return failing test → the symbols that it rests on and that changed since it passed, where
    runs recorded them.
    """
    changed: dict[str, tuple[str, ...]] = {}
    with ws.store.reading() as db:
        if db is None:
            return {}
        changes = _Changes(ws, db)
        recorded = TestNames(ws, db)
        names = {
            name: test for test in tests for name in recorded.earlier(test) if name not in tests
        }
        receipts = [one.receipt for one in results_of(db, {*tests, *names}, _RUNS)]
        for test, attempts in Comparison.attempts(receipts, set(tests), names).items():
            failure, passed = _failure_and_pass(attempts)
            if failure and passed:
                changed[test] = tuple(changes.symbols(failure, passed)[0])
    return changed


def _test_named(db: Database, names: TestNames, name: str) -> str:
    """The recorded test of this node ID or end of one, under its name of now; empty for none.
    UsageProblem.
    """
    matching = matching_tests(name, [nodeid for (nodeid,) in db.rows("SELECT nodeid FROM test")])
    if not matching:
        cases = {
            new + str(nodeid).removeprefix(old)
            for new, old in names.unrecorded().items()
            for (nodeid,) in db.rows(
                "SELECT nodeid FROM test WHERE nodeid = ? OR SUBSTR(nodeid, 1, ?) = ?",
                (old, len(old) + 1, f"{old}["),
            )
        }
        matching = matching_tests(name, cases)
    matching = sorted({names.current(one) for one in matching})
    if len(matching) < 2:
        return "".join(matching)
    raise ambiguous_name(name, matching)


def _history(
    test: str,
    mark: str,
    attempts: Mapping[str, Sequence[Attempt]],
    others: Sequence[str],
    changes: _Changes,
    branch: str,
    names: tuple[str, ...],
) -> FailureHistory:
    own = attempts.get(test, ())
    earlier = [one for one in own if one.failed and signature(_as_named(test, one)) == mark]
    # a failure that is known from another source (JUnit), or of a run that moved, is no attempt
    alike = {
        name: next(
            (one for one in attempts[name] if one.failed and signature(one.result) == mark), None
        )
        for name in others
    }
    related = {name: one for name, one in alike.items() if one is not None}
    fixes = [
        fix
        for name in (test, *others)
        if (fix := _newest_fix(name, attempts.get(name, ()), mark, changes))
    ]
    flaky = changes.contradiction(own)
    main = _failing_on_main(test, own, mark, branch)
    return FailureHistory(
        test,
        (*earlier, *related.values()),
        tuple(related),
        next(iter(fixes), None),
        flaky,
        main,
        names=tuple(one for one in names if any(one == attempt.test for attempt in earlier)),
    )


def _as_named(test: str, attempt: Attempt) -> Evidence:
    """The result of a test that had another name, as if it had been raised under this one."""
    result, (old, new) = attempt.result, (_frame_of(attempt.test), _frame_of(test))
    frame = str(result.detail.get("frame") or "")
    if attempt.test == test or not f"{frame}.<locals>.".startswith(f"{old}.<locals>."):
        return result._replace(subject=f"test:{test}")
    return result._replace(
        subject=f"test:{test}",
        detail={**result.detail, "frame": new + frame.removeprefix(old)},
    )


def _frame_of(test: str) -> str:
    path, _, name = test.partition("[")[0].partition("::")
    return f"{path}::{name.replace('::', '.')}"


def _newest_fix(test: str, attempts: Sequence[Attempt], mark: str, changes: _Changes) -> Fix | None:
    """The newest change from this failure to a pass in the same environment, where the content
    changed.
    """
    passed: Attempt | None = None
    for attempt in attempts:
        if attempt.passed:
            passed = attempt
        elif attempt.failed:
            same = passed is not None and attempt.environment == passed.environment
            if passed is not None and same and signature(_as_named(test, attempt)) == mark:
                changed = changes.between(attempt, passed)
                # nothing changed: it passed by chance, and nothing can be learned from that
                if changed is None or changed:
                    return Fix(attempt, passed, changed or (), changes.commit(attempt, passed))
            passed = None  # what the pass ended is this failure, not an older one
    return None


class _Changes(Comparison):
    """What differs between the contents of two runs, and the commits in between."""

    def between(self, attempt: Attempt, other: Attempt) -> tuple[str, ...] | None:
        """What differs: symbols where both runs recorded them, else files. Empty: nothing does.
        None: not known.
        """
        a = attempt.receipt
        b = other.receipt
        if (a.tree, a.tree_all) == (b.tree, b.tree_all):
            return ()
        changed, complete = self.symbols(attempt, other)
        if changed or complete:
            return changed
        # untracked files are in no tree that git has
        if (
            self._ws.repo is None
            or not a.tree
            or not b.tree
            or {a.tree_all, b.tree_all} - {a.tree, b.tree, None}
        ):
            return None
        return self._paths(a.tree, b.tree)

    @cache  # noqa: B019 - an object of one question
    def _paths(self, tree: str, other: str) -> tuple[str, ...] | None:
        from kl_hooks.git.run import GitFailed

        assert self._ws.repo is not None
        try:
            paths = differing_paths(self._ws.repo, tree, other)
        except GitFailed:  # git does not have the second one
            return None
        if paths is None:
            return None
        return tuple(paths)

    def commit(self, failed: Attempt, passed: Attempt) -> tuple[str, str]:
        """Hash and subject of the commit that ended the failure; two empty texts where none is
        known to have.

        One that is older than the failure was checked out again, and ended nothing.
        """
        sql = "SELECT sha, subject, at FROM commit_log WHERE tree = ? ORDER BY at, sha"
        if self._db:
            rows = self._db.rows(sql, (passed.receipt.tree,))
        else:
            rows = []
        # a commit has whole seconds; the one that the failure was seen on may be of the very second
        candidates = [
            row
            for row in rows
            if row[0] != failed.receipt.head
            and micros(str(row[2])) + SECOND > micros(failed.receipt.ended)
        ]
        if not candidates:
            return ("", "")
        return (str(candidates[0][0]), str(candidates[0][1]))


_MAIN: Final = ("main", "master")
"""Branches that others start from."""


def _failing_on_main(
    test: str, attempts: Sequence[Attempt], mark: str, branch: str
) -> tuple[str, str, Attempt] | None:
    """Branch, the commit since which the test fails there in the same way, and the newest result of
    it.
    """
    for name in _MAIN:
        there = [
            attempt
            for attempt in attempts
            if attempt.receipt.branch == name and not attempt.receipt.dirty and attempt.receipt.head
        ]
        if (
            name == branch
            or not there
            or not there[0].failed
            or signature(_as_named(test, there[0])) != mark
        ):
            continue
        first = there[0]
        for attempt in there:
            if not attempt.failed:
                break
            first = attempt
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
    decisions = live_records(ws, list_records(ws, RecordFilter(("decision",), ("accepted",))))
    govern = [
        decision
        for decision in decisions
        if any(_covers(pattern, path) for pattern in decision.many("governs"))
    ]
    return history._replace(
        decisions=tuple((decision.id, decision.text("title")) for decision in govern)
    )


def _covers(pattern: str, path: str) -> bool:
    name = pattern.removeprefix("file:")
    return path == name or (name.endswith("/") and path.startswith(name))


def history_lines(history: FailureHistory) -> list[str]:
    """At most three lines for a person who reads the failure: how often, what ended it, who
    decided.
    """
    lines = [_seen_line(history)]
    if history.flaky:
        failed, passed = history.flaky
        lines.append(
            f"flaky: it failed and passed on the same content (runs {failed.run}, {passed.run});"
            " see: kl proof flaky"
            if failed is not passed
            else f"flaky: it passed on a second attempt (run {failed.run}); see: kl proof flaky"
        )
    elif history.fix:
        lines.append(_fix_line(history.fix))
    if history.decisions:
        first = "; ".join(
            f'{name} "{one_line(title, 60)}"' for name, title in history.decisions[:2]
        )
        if len(history.decisions) > 1:
            verb = "govern"
        else:
            verb = "governs"
        lines.append(f"{first} {verb} this file")
    return [line for line in lines if line]


def _seen_line(history: FailureHistory) -> str:
    parts = []
    if history.earlier:
        newest = history.earlier[0]
        oldest = min(history.earlier, key=lambda earlier: earlier.receipt.ended)
        runs = len({earlier.receipt.run for earlier in history.earlier})
        if len(history.earlier) == len(history.others):
            place = f" in {name_list(history.others, 1)}"
        else:
            place = ""
        if runs == 1:
            times = "once before"
        else:
            times = f"in {runs} earlier runs"
        if runs == 1:
            since = f"on {oldest.receipt.ended[:10]}"
        else:
            since = f"since {oldest.receipt.ended[:10]}"
        if runs == 1:
            which = f"run {newest.run}"
        else:
            which = f"last in run {newest.run}"
        if history.names:
            name = f", as {name_list(history.names, 1)}"
        else:
            name = ""
        parts.append(f"failed like this {times}{place}, {since} ({which}{name})")
    if history.main:
        branch, commit, attempt = history.main
        parts.append(f"also fails on {branch} since {commit[:_SHORT]} (run {attempt.run})")
    return "; ".join(parts)


def _fix_line(fix: Fix) -> str:
    sha, subject = fix.commit
    names = [split_id(one)[1] for one in fix.changed]
    if names:
        what = f"after a change of {name_list(names, _NAMED)}"
    else:
        what = ""
    if sha:
        commit = f'in commit {sha[:_SHORT]} "{one_line(subject, 60)}"'
    else:
        commit = ""
    return " ".join(
        filter(
            None, ("it passed again", what, commit, f"(runs {fix.failed.run}, {fix.passed.run})")
        )
    )
