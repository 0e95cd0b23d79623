"""Which tests a change reaches, and what the recorded runs prove of each changed symbol."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any, Final

from kl_hooks.code.modules import module_names
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.evidence.executed import COVERAGE, Executed, test_path, why_not_recorded
from kl_hooks.evidence.flaky import FlakyPasses
from kl_hooks.evidence.ledger import Entry, recent
from kl_hooks.evidence.provenance import ci, worktree_state
from kl_hooks.evidence.shared_names import lasting_name
from kl_hooks.evidence.snapshot import Snapshot, newest_first
from kl_hooks.git.commits import count_since
from kl_hooks.git.files import tree_contains
from kl_hooks.git.repository import Repository, merge_base
from kl_hooks.git.worktree import STAGED, staged_tree, tree_of_revision
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES
from kl_hooks.model.symbol import is_test_path, split_id
from kl_hooks.proof.content_policy import expected_of_content
from kl_hooks.proof.content_source import content_source
from kl_hooks.proof.difference import difference, states_since
from kl_hooks.proof.facts import NOT_ASSESSED, STALE, VALID, FileChange, Verdict
from kl_hooks.proof.failed_tests import FailedTests
from kl_hooks.proof.gate import facts_of_content
from kl_hooks.proof.gate_verdict import for_environment
from kl_hooks.proof.left_behind import compared_runs
from kl_hooks.proof.other_runs import OtherRun, environments_of
from kl_hooks.proof.repeated_failures import results_of_content
from kl_hooks.proof.run_rules import judge_run
from kl_hooks.proof.test_names import (
    TestNames,
    ambiguous_name,
    matching_tests,
    moved_tests,
)
from kl_hooks.workspace import Workspace

PROVEN: Final = "proven"
NEVER: Final = "never exercised"
_IMPORTED: Final = 10
"""Newest reports that are asked: of coverage, and of test results."""
EXECUTABLE: Final = ("function:", "method:", "property:", "type:", "interface:", "namespace:")


class Content(NamedTuple):
    """A content that is asked about."""

    trees: tuple[str, ...]
    other: str | None
    """As `git.worktree.changed_files` takes it: a tree, `STAGED`, or None for what is on disk."""
    before: str = ""
    """The revision that it is compared with."""


def content_of(ws: Workspace, rev: str = "", *, staged: bool = False, changed: str = "") -> Content:
    """What is on disk, what is staged, a revision, or what `A...B` names. UsageProblem,
    EnvironmentProblem.
    """
    repo = repository_of(ws)
    before, _, after = changed.partition("...") if "..." in changed else (changed, "", "")
    if after or rev:
        name = after or rev
        tree = tree_of_revision(repo, name)
        if tree is None:
            raise UsageProblem(
                f"{name!r} is not a revision of this repository.", hint="See: git log --oneline"
            )
        if before and after:
            start = merge_base(repo, before, after)
        else:
            start = before or f"{name}^"
        return Content((tree,), tree, start)
    if staged:
        tree = staged_tree(repo).tree
        if tree is None:
            raise EnvironmentProblem(
                "the index has conflicts.", place=str(ws.root), hint="See: git status"
            )
        return Content((tree,), STAGED, before or "HEAD")
    return Content(worktree_state(repo).trees, None, before or "HEAD")


def repository_of(ws: Workspace) -> Repository:
    if ws.repo is None:
        raise EnvironmentProblem(
            "not a git repository.", place=str(ws.root), hint="Run it inside a repository."
        )
    return ws.repo


class Result(NamedTuple):
    """The newest result of a test, and whether it is valid for a content."""

    run: str
    """Empty where it must run again whatever earlier runs showed; `reason` states why."""
    outcome: str
    state: str
    reason: str = ""
    symbols: tuple[str, ...] = ()

    def shows_more_than(self, newer: Result) -> bool:
        """Whether an older result is the better reason for a rerun: what changed since the test
        passed, where it failed later. The edit that failed may be undone.
        """
        return (
            self.state == STALE and self.outcome not in REFUTES and newer.outcome in REFUTES
        ) and newer.state != VALID

    @property
    def settled(self) -> bool:
        """Whether there is no need to run the test again."""
        return self.state == VALID and self.outcome not in (*REFUTES, "flaky")

    @property
    def has_failed(self) -> bool:
        """Whether it is a failure that is valid for the content."""
        return self.state == VALID and self.outcome in REFUTES


class Runs:
    """The recorded runs as far as they speak about one content, newest first."""

    def __init__(
        self, ws: Workspace, snapshot: Snapshot, content: Content, *, transfers: bool = True
    ) -> None:
        """`transfers`: whether runs of other contents are looked at too."""
        repo = repository_of(ws)
        environments = environments_of(ws, repo, content.other)
        direct = results_of_content(
            snapshot, snapshot.of_tree(content.trees), content.trees, environments
        )
        if transfers:
            runs = compared_runs(ws, repo, snapshot, content.trees, content.other, direct)
        else:
            runs = list(direct.values())
        self._direct = {run.original.id: run for run in runs if run.is_own}
        by_id = {run.original.id: run for run in runs}
        self.parts = [
            by_id[one.id] for one in newest_first(part.original for part in by_id.values())
        ]
        self.names = TestNames(ws, snapshot.db)
        self.flaky = FlakyPasses(ws, snapshot.db, self.names.pairs)
        self._ws = ws
        self._repo = repo
        self._seen = snapshot
        self._content = content
        self._ages: dict[str, int | None] = {}

    def age(self, head: str | None) -> int | None:
        """Commits since a commit; None where git does not know it."""
        if head and head not in self._ages:
            self._ages[head] = count_since(self._repo, head)
        if not head:
            return None
        return self._ages[head]

    @cached_property
    def imported(self) -> list[tuple[Entry, Executed]]:
        """The newest imported coverage data: which tests executed a symbol, without outcomes."""
        if self._seen.db:
            entries = recent(self._seen.db, _IMPORTED, COVERAGE)
        else:
            entries = []
        executed_by_entry = ((entry, self._seen.executed(entry)) for entry in entries)
        return [(entry, executed) for entry, executed in executed_by_entry if executed is not None]

    @cached_property
    def reported(self) -> dict[str, Result]:
        """Node ID → its newest result in imported reports (JUnit), which is valid for no content
        but that of the report; of tests that no run recorded.
        """
        newest: dict[str, Result] = {}
        for entry in recent(self._seen.db, _IMPORTED, "junit") if self._seen.db else ():
            for evidence in entry.receipt.evidence:
                name = evidence.subject.removeprefix("test:")
                result = Result(entry.receipt.run, evidence.outcome, NOT_ASSESSED)
                newest.setdefault(name, result)
        return {name: result for name, result in newest.items() if name not in self.results}

    @cached_property
    def results(self) -> dict[str, Result]:
        """Lasting node ID → its newest valid result; where there is none, its newest one, or the
        newest that shows what changed since the test passed.

        What the gate counts as failed on this content comes before any result. A file that could
        not be collected has its path as its name, and its tests must run again.
        """
        newest = self._failures_of_gate()
        collected: set[str] = set()
        for part in self.parts:
            here: dict[str, Result] = {}
            for evidence in part.original.receipt.evidence:
                nodeid = evidence.subject.removeprefix("test:")
                verdict = part.verdicts.get(nodeid)
                name = lasting_name(nodeid)
                if verdict is None or name in collected:
                    continue
                earlier = newest.get(name)
                result = Result(part.original.receipt.run, evidence.outcome, *verdict)
                if earlier and (earlier.state == VALID or verdict.state != VALID):
                    if result.shows_more_than(earlier):
                        newest[name] = result
                    continue
                file = newest.get(test_path(name))
                if file and file.has_failed and name != test_path(name):
                    why = f"its file could not be collected in run {file.run[:8]}"
                    result = result._replace(state=STALE, reason=why)
                # of several tests of one name the one that must run again
                if name not in here or not result.settled:
                    here[name] = result
            newest |= here
            collected |= {
                test_path(name)
                for name, result in here.items()
                if "::" in name and result.state == VALID
            }
        return newest

    def _failures_of_gate(self) -> dict[str, Result]:
        """What failed on this content and must run to settle it, by the gate's own rule: also in
        runs that did not reach their end, such as one that a collection error ended.
        """
        entries = self._seen.of_tree(self._content.trees)
        # the rule asks for the configuration of the content, which costs
        if not any(
            evidence.outcome in REFUTES for entry in entries for evidence in entry.receipt.evidence
        ):
            return {}
        other = self._content.other
        trees = self._content.trees
        expected = cache(partial(expected_of_content, self._ws, self._repo, trees, other or ""))
        content = facts_of_content(self._repo, self._seen, trees, other, expected)
        facts = for_environment(content, self._direct.values())
        failures = FailedTests.of([judge_run(run) for run in facts.runs], facts)
        to_run = {
            lasting_name(test.name): Result("", "error", VALID, test.reason)
            for test in failures.tests_to_run()
        }
        return to_run | {
            lasting_name(failure.test): Result(failure.run, "failed", VALID)
            for failure in failures.counting
        }

    def judged(self, name: str, result: Result) -> Result:
        """This very result, of a run that another content is judged by, as it is for this one."""
        verdict = self._verdicts.get(result.run, {}).get(name)
        if verdict is not None:
            return Result(result.run, result.outcome, *verdict)
        return self.results.get(
            name, result._replace(state=NOT_ASSESSED, reason="it was not recorded before")
        )

    @cached_property
    def _verdicts(self) -> dict[str, dict[str, Verdict]]:
        """Run → lasting node ID → the verdict of its result; of several tests of one name that of
        the invalid one.
        """
        verdict_of: dict[str, dict[str, Verdict]] = {}
        for part in self.parts:
            here = verdict_of[part.original.receipt.run] = {}
            for nodeid, verdict in part.verdicts.items():
                if here.setdefault(lasting_name(nodeid), verdict).state == VALID:
                    here[lasting_name(nodeid)] = verdict
        return verdict_of

    def removed(self, nodeid: str) -> bool:
        """Whether this content has the test no more."""
        return any(part.removed(nodeid) for part in self.parts)

    def names_now(self, tests: Iterable[str]) -> list[str]:
        """These tests as this content has them: renamed ones under their name of now, removed ones
        not at all.
        """
        now = (self.names.current(one) if self.removed(one) else one for one in tests)
        return [one for one in dict.fromkeys(now) if not self.removed(one)]

    def earlier_name(self, nodeid: str) -> str:
        """What a test was called before it was moved or renamed; empty where its content names no
        one test.

        Only a hint: another folder has other `conftest.py` files, so its earlier results are none
        of this test.
        """
        return next((names[nodeid] for names in self._earlier_names if nodeid in names), "")

    @cached_property
    def _earlier_names(self) -> list[dict[str, str]]:
        """Of each run: test functions of this content → their names there, where these differ."""
        source = content_source(self._repo, self._content.other or "", untracked=True)
        return [moved_tests(part.changes.changes.values(), source.text) for part in self.parts]


class SymbolState(NamedTuple):
    """What the recorded runs prove of a changed symbol."""

    symbol: str
    path: str
    line: int
    state: str
    """`PROVEN`, `STALE`, `NEVER`, `NOT_ASSESSED`."""
    reason: str
    tests: tuple[str, ...] = ()
    """Those that prove it, or that must run to."""

    @property
    def needs_test(self) -> bool:
        """Whether no run of the tests that there are would prove it."""
        return self.state == NEVER and not self.tests

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        return {**self._asdict(), "tests": list(self.tests)}


def symbol_states(
    ws: Workspace, snapshot: Snapshot, content: Content, paths: Sequence[str] = (), origin: str = ""
) -> list[SymbolState]:
    """The state of each symbol that differs from `content.before`, by file and line.

    `paths`: only those in these files and folders. `origin`: `ci`, where only runs of CI jobs
    count.
    """
    repo = repository_of(ws)
    states = {
        path: pair
        for path, pair in states_since(repo, content.before, content.other).items()
        if _below(path, paths)
    }
    if not states:
        return []
    content_difference = difference(ws, repo, states, content.other)
    runs = Runs(ws, snapshot, content)
    parts = [one for one in runs.parts if not origin or _is_of_ci(one.original, ws.environ)]
    names = module_names(
        sorted(
            path
            for path in {
                *content_source(repo, content.other or "").blobs,
                *content_difference.changes,
            }
            if path.endswith(".py")
        )
    )
    answer: list[SymbolState] = []
    for change in content_difference.changes.values():
        if change.is_python and change.symbols_now is not None:
            answer += _states_of(change, names.get(change.path, change.path), parts, runs.flaky)
    answer = [one._replace(tests=tuple(runs.names_now(one.tests))) for one in answer]
    return sorted(answer, key=lambda one: (one.path, one.line, one.symbol))


def unmatched_paths(ws: Workspace, content: Content, paths: Sequence[str]) -> list[str]:
    """Those of these files and folders that neither the content nor the one before it has."""
    if not paths:
        return []
    repo = repository_of(ws)
    trees = [
        tree_of_revision(repo, content.before) if content.before else None,
        content.other if content.other != STAGED else None,
    ]
    return [
        path
        for path in paths
        if not (content.other in (None, STAGED) and os.path.lexists(repo.top / path))
        and not any(tree and tree_contains(repo, tree, path.rstrip("/")) for tree in trees)
    ]


def _below(path: str, paths: Sequence[str]) -> bool:
    return not paths or any(
        path == one.rstrip("/") or path.startswith(f"{one.rstrip('/')}/") for one in paths
    )


def _is_of_ci(entry: Entry, environ: Mapping[str, str]) -> bool:
    """A run that a key of a CI signed; in the CI's own job also one that was recorded there."""
    here = entry.origin == "local" and entry.receipt.producer.startswith("ci:")
    return entry.origin.startswith("ci:") or (here and ci(environ) is not None)


def changed_symbols(change: FileChange) -> Iterator[tuple[str, str]]:
    """The symbols of a changed file that tests can execute and that differ: name, with `_` for the
    module, and content hash.
    """
    new = change.symbols_now
    old = change.symbols_before
    for local, value in new.hashes.items() if new is not None else ():
        # a rename of the file is a change of all it defines: links by content could name the wrong
        # one of two
        same = old is not None and not old.error and old.hashes.get(local) == value
        # an empty body, as of an `__init__.py`, holds nothing that a test could prove
        if not same and local.startswith(EXECUTABLE):
            yield local, value


def _states_of(
    change: FileChange, module: str, parts: Sequence[OtherRun], flaky: FlakyPasses
) -> Iterator[SymbolState]:
    """The symbols of one file that differ."""
    new = change.symbols_now
    assert new is not None
    if new.error:
        yield SymbolState(
            change.path, change.path, 0, NOT_ASSESSED, f"it can't be read: {new.error}"
        )
    for local, value in changed_symbols(change):
        kind, _, name = local.partition(":")
        symbol = f"{kind}:{module}{name.removeprefix('_')}"
        state, reason, tests = state_of(change.path, local, value, parts, flaky)
        if (
            state == NEVER
            and is_test_path(change.path)
            and name.rpartition(".")[2].startswith(("test", "Test"))
        ):
            # no other test is asked to execute a test
            reason = "it has not run yet"
            tests = (f"{change.path}::{name.removeprefix('_.').replace('.', '::')}",)
        yield SymbolState(symbol, change.path, new.lines.get(local, 0), state, reason, tests)


def state_of(
    path: str,
    local: str,
    value: str,
    parts: Sequence[OtherRun],
    flaky: FlakyPasses,
    among: Collection[str] | None = None,
) -> tuple[str, str, tuple[str, ...]]:
    """What runs (newest first) prove of a symbol with this content hash: state, reason, and the
    tests that do or would.

    `local`: its name in the file, with `_` for the module. `among`: only these tests count. A pass
    of a flaky test proves nothing.
    """
    stale: tuple[str, str, tuple[str, ...]] | None = None
    for part in parts:
        executed = part.executed
        symbols = part.symbols
        if symbols is not None:
            index = symbols.find(path, local)
        else:
            index = None
        if executed is None or index is None:
            continue
        users = [test for test in _users(executed, index) if among is None or test in among]
        is_same = executed.symbols[index].content_hash == value
        state = _state_in_run(part, users, is_same, flaky)
        if state is not None and state[0] == PROVEN:
            return state
        # the newest run that has it names the reason
        stale = stale or state
    if stale is not None:
        return stale
    recorded = [part.executed for part in parts if part.executed is not None]
    if not recorded:
        return (
            NOT_ASSESSED,
            f"no run with executed symbols was recorded{why_unrecorded(parts)}",
            (),
        )
    if any(path in executed.unknown for executed in recorded):
        return NOT_ASSESSED, "its symbols were not recorded", ()
    return NEVER, "no recorded test executed it", ()


def why_unrecorded(parts: Sequence[OtherRun]) -> str:
    """Why the newest of these runs, which all recorded no executed symbols, did not: `: …`; empty
    where that is not known.
    """
    if parts:
        why = why_not_recorded(parts[0].original.receipt.environment)
    else:
        why = ""
    if not why:
        return ""
    return f": {why}"


def _state_in_run(
    part: OtherRun, users: Sequence[str], is_same: bool, flaky: FlakyPasses
) -> tuple[str, str, tuple[str, ...]] | None:
    """What one run proves of a symbol that these tests of it rest on; None where none does.
    `is_same`: the run executed this content of the symbol.
    """
    if not users:
        return None
    receipt = part.original.receipt
    outcomes = {
        evidence.subject.removeprefix("test:"): evidence.outcome for evidence in receipt.evidence
    }
    valid = [name for name in users if name in part.verdicts and part.verdicts[name].state == VALID]
    passed = [name for name in valid if is_same and outcomes.get(name) == "passed"]
    chance = {name: why for name in passed if (why := flaky.why(name, receipt))}
    if good := [name for name in passed if name not in chance]:
        words = f"{len(good)} test{'s' * (len(good) > 1)} passed in run {receipt.run[:8]}"
        return PROVEN, words, tuple(good)
    if chance:
        words = chance[passed[0]].removeprefix("flaky: ")
        return STALE, f"only a flaky test passed: {passed[0]} {words}", tuple(users)
    verdict = part.verdicts.get(users[0])
    outcome = f"{users[0]} {outcomes.get(users[0])} in run {receipt.run[:8]}"
    if verdict and verdict.reason:
        reason = verdict.reason
    else:
        reason = outcome
    return STALE, reason, tuple(users)


def _users(executed: Executed, index: int) -> list[str]:
    """The tests whose results rest on a symbol."""
    bit = 1 << index
    return sorted(name for name in executed.tests if executed.dependency_mask(name) & bit)


class SymbolTest(NamedTuple):
    """A test that executed a symbol, and its newest result."""

    test: str
    symbol: str
    outcome: str
    ended: str
    run: str
    state: str
    """Whether the result is valid for the content that is asked about."""
    reason: str
    commits: int | None = None
    """Commits since that run; None where git does not know its commit."""
    runs: int = 1
    """In how many of the runs that were looked at it executed the symbol."""
    flaky: str = ""
    """`flaky: failed in 2 of 6 runs (10% to 70%)`, where the result is that of a flaky test."""

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        return self._asdict()


def tests_of(runs: Runs, name: str) -> list[SymbolTest]:
    """The tests that executed a symbol, newest result of each. `name`: an ID, a dotted name or its
    end, or a file.

    UsageProblem where no recorded run knows it, or several symbols of different names end so.
    """
    test_by_name: dict[str, SymbolTest] = {}
    symbols_meant: set[str] = set()
    runs_of_test: dict[str, set[str]] = {}
    for part in runs.parts:
        for index, symbol, path in _matching_symbols(part, name):
            if path != name:
                symbols_meant.add(symbol.partition(":")[2])
            for symbol_test in _results_of(runs, part, index):
                runs_of_test.setdefault(symbol_test.test, set()).add(symbol_test.run)
                test_by_name.setdefault(symbol_test.test, symbol_test)
    functions = {test.partition("[")[0] for test in test_by_name}
    for symbol_test in _imported_tests(runs, name):
        if _matches(symbol_test.symbol, "", name):
            symbols_meant.add(symbol_test.symbol.partition(":")[2])
        # coverage's own contexts are functions: of one whose cases were recorded it shows nothing
        # more
        if symbol_test.test not in functions:
            test_by_name.setdefault(symbol_test.test, symbol_test)
    _refuse_other_than_one(runs, name, symbols_meant, is_executed=bool(test_by_name))
    return sorted(
        symbol_test._replace(runs=len(runs_of_test.get(symbol_test.test, ())))
        for symbol_test in test_by_name.values()
    )


def _matching_symbols(part: OtherRun, name: str) -> Iterator[tuple[int, str, str]]:
    """(index, symbol, path) of the executed symbols of a run that a name may mean."""
    if part.executed is not None and part.symbols is not None:
        for index, executed in enumerate(part.executed.symbols):
            path = part.symbols.paths[index]
            if _matches(executed.symbol, path, name):
                yield index, executed.symbol, path


def _results_of(runs: Runs, part: OtherRun, index: int) -> Iterator[SymbolTest]:
    """The results of the tests of a run that executed the symbol with this index."""
    assert part.executed is not None
    receipt = part.original.receipt
    outcomes = {
        evidence.subject.removeprefix("test:"): evidence.outcome for evidence in receipt.evidence
    }
    for test in _users(part.executed, index):
        if test in outcomes and test in part.verdicts:
            state, reason, _ = part.verdicts[test]
            yield SymbolTest(
                # the results of a test that was renamed since are those of one test
                runs.names.current(test) if part.removed(test) else test,
                part.executed.symbols[index].symbol,
                outcomes[test],
                receipt.ended,
                receipt.run,
                state,
                reason,
                runs.age(receipt.head),
                flaky=runs.flaky.why(test, receipt),
            )


def _refuse_other_than_one(
    runs: Runs, name: str, symbols_meant: set[str], *, is_executed: bool
) -> None:
    """UsageProblem where a name means several symbols, or none that a test executed."""
    if len(symbols_meant) > 1:
        hint = f"Give one of: {', '.join(sorted(symbols_meant)[:5])}"
        raise UsageProblem("several executed symbols are named so.", place=name, hint=hint)
    if not is_executed and not symbols_meant:
        kind, own = split_id(name)
        if kind:
            hint = f"Who calls it: kl graph callers {own}"
        else:
            hint = "A symbol is a name such as shop.cart.total; runs with symbols: kl evidence list"
        raise UsageProblem(
            "no recorded test executed it.", place=name, hint=_hint_of_unrecorded(runs) or hint
        )


def _imported_tests(runs: Runs, name: str) -> Iterator[SymbolTest]:
    """The tests that executed a symbol by imported coverage data, with their newest recorded
    outcome.
    """
    why = "imported coverage data shows that it executed it"
    for entry, executed in runs.imported:
        for index, symbol in enumerate(executed.symbols):
            if not _matches(symbol.symbol, executed.places[symbol.symbol], name):
                continue
            for test in executed.tests:
                if index in executed.tests.indexes(test):
                    latest_result = _result_of(runs, test)
                    if latest_result:
                        outcome = latest_result.outcome
                        run = latest_result.run
                    else:
                        outcome = "unknown"
                        run = entry.receipt.run
                    yield SymbolTest(
                        test, symbol.symbol, outcome, entry.receipt.ended, run, NOT_ASSESSED, why
                    )


def _result_of(runs: Runs, test: str) -> Result | None:
    """The newest result of a test, else that of a report; of a function with cases the worst."""
    cases = [
        result
        for name, result in (*runs.results.items(), *runs.reported.items())
        if name == test or name.partition("[")[0] == test
    ]
    return min(cases, key=lambda result: result.outcome not in REFUTES, default=None)


def _matches(symbol: str, path: str, name: str) -> bool:
    own = symbol.partition(":")[2]
    # modules named by their paths have `#` before a name, and `/` before that of the file
    return name in (symbol, own, path) or own.endswith((f".{name}", f"#{name}", f"/{name}"))


class ExecutedSymbol(NamedTuple):
    """A symbol that a test executed."""

    symbol: str
    path: str
    phase: str
    """`setup`, `call` or `teardown`: the first in which it ran."""


def symbols_of(runs: Runs, test: str) -> tuple[str, OtherRun, list[ExecutedSymbol]]:
    """The test, its newest run with symbols, and what it executed there. `test`: a node ID, or the
    end of one.

    UsageProblem where no such run has it, or several tests are named so.
    """
    for part in runs.parts:
        executed = part.executed
        symbols = part.symbols
        if executed is None or symbols is None:
            continue
        names = matching_tests(test, list(executed.tests))
        if len(names) > 1:
            raise ambiguous_name(test, names)
        if names:
            phases = executed.tests[names[0]]
            rows = [
                ExecutedSymbol(executed.symbols[at].symbol, symbols.paths[at], phases[at])
                for at in sorted(phases)
            ]
            return names[0], part, rows
    function, bracket, case = test.partition("[")
    renamed = runs.names.unrecorded().items()
    earlier = [
        old
        for new, old in renamed
        if new == function or new.endswith((f"::{function}", f"/{function}"))
    ]
    if len(earlier) == 1:
        return symbols_of(runs, f"{earlier[0]}{bracket}{case}")
    raise UsageProblem(
        "no run with executed symbols has this test.",
        place=test,
        hint=_hint_of_unrecorded(runs) or "See: kl proof why TEST",
    )


def _hint_of_unrecorded(runs: Runs) -> str:
    """Why no run has executed symbols; empty where one has, or that is not known."""
    if any(part.executed is not None for part in runs.parts):
        return ""
    why = why_unrecorded(runs.parts)
    if not why:
        return ""
    return f"No run has executed symbols{why}."
