"""What recorded tests show of code: which tests execute or call a function, and how they ended
last.

Where runs recorded which functions each test executed, the words are "executed by 3 tests". Else a
test counts that calls a function itself or by a fixture, by links of the graph, one call deep: "3
tests that use it passed".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Final

from kl_hooks.code.query.lookup import nested_symbols, symbols_by_id
from kl_hooks.evidence.claims import current_claims
from kl_hooks.evidence.executed import (
    COVERAGE,
    Executed,
    Execution,
    executed_of_run,
    runs_with_symbols,
    tests_of_symbols,
)
from kl_hooks.evidence.flaky import FlakyPasses, FlakyTest
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import (
    Entry,
    entries_of_tree,
    entry_of_run,
    here_first,
    recent,
)
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.evidence.shared_names import without_partial_passes
from kl_hooks.git.commits import count_since
from kl_hooks.graph import links
from kl_hooks.model.claim import Tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted
from kl_hooks.proof.test_names import TestNames

if TYPE_CHECKING:
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_RUNS_OF_A_TEST: Final = 10
"""Newest runs with executed symbols in which a failing test and passing ones are looked for: it is
often run alone …
"""
_COMPARED: Final = 20
"""… until so many other tests passed."""
_CALLABLE: Final = ("function", "method", "property")
"""What runs when it is called; the rest runs when a module is imported, whichever test comes first.
"""
RECENT_RUNS: Final = 10
"""Runs that are looked at besides those of this content."""
_USES: Final = ("calls", "references", "inherits")


class TestResults(NamedTuple):
    """The newest outcomes of some tests."""

    passed: int
    failed: tuple[str, ...]
    """IDs of the tests that failed last."""
    current: bool
    """Whether they were seen on the content as it is now; then others are not counted."""
    tier: str
    """Of the least proven of those that passed; empty where none did."""
    executed: bool = False
    """Whether these tests are known to execute it; else they call it, as the source reads."""
    commits: int | None = None
    """Commits since the newest of them ran; None where git does not know."""
    flaky: str = ""
    """`1 flaky (10% to 70%)`: how many of them pass by chance, and the rate of the one that fails
    most.
    """

    def words(self) -> str:
        """Return `executed by 38 tests, all passed, inferred`, `1 of 3 tests that use it
        failed`.
        """
        return self._ended() + (f", {self.flaky}" if self.flaky else "")

    def _ended(self) -> str:
        total = self.passed + len(self.failed)
        if self.commits:
            age = f" {counted(self.commits, 'commit')} ago"
        else:
            age = " on older content"
        if self.executed:
            tests = f"executed by {total} {'test' if total == 1 else 'tests'}"
            if self.failed:
                ended = f"{len(self.failed)} failed"
            elif total > 1:
                ended = "all passed"
            else:
                ended = "passed"
            if not self.failed:
                tier_text = f", {self.tier}"
            else:
                tier_text = ""
            return f"{tests}, {ended}{tier_text if self.current else age}"
        if total == 1:
            tests = "test that uses it"
        else:
            tests = "tests that use it"
        older = "" if self.current else age
        if self.failed:
            return f"{len(self.failed)} of {total} {tests} failed{older}"
        return f"{total} {tests} passed" + (older or f", {self.tier}")


def tests_calling(db: Database, ids: Sequence[str]) -> dict[str, set[str]]:
    """Return, for each symbol, the IDs of the tests that call it, or that call the function or
    fixture that does.
    """
    # two looks into the links for all IDs together: each look unpacks the blocks of whole files
    uses = links.of_many(db, ids, incoming=True)
    users = {
        one: {link.source for link in uses.get(one, ()) if link.relation in _USES} for one in ids
    }
    starts = links.of_many(
        db, sorted(set().union(*users.values())), incoming=True, relation="calls"
    )
    tests = {
        name: {link.source for link in some if link.source.startswith("test:")}
        for name, some in starts.items()
    }
    # a test of vitest and the like is itself what calls; of pytest it is called for its function
    return {
        one: {user for user in some if user.startswith("test:")}.union(
            *(tests.get(user, set()) for user in some)
        )
        for one, some in users.items()
    }


def tests_executing(
    ws: Workspace, graph: Database, ids: Sequence[str]
) -> tuple[dict[str, set[str]], set[str]]:
    """Return (symbol that tests executed → their IDs, the symbols of which imported coverage data
    alone shows it).

    Of a class the tests of its methods. IDs are as last recorded: a test that was renamed since has
    one, not two.
    """
    members = {symbol: _members(graph, symbol) for symbol in ids}
    with ws.store.reading() as db:
        wanted = sorted({name for names in members.values() for name in names})
        if db is not None:
            executions = _executions(TestNames(ws, db), db, wanted)
        else:
            executions = {}
    tests: dict[str, set[str]] = {}
    recorded: set[str] = set()
    for symbol, names in members.items():
        pairs = (pair for name in names for pair in executions.get(name, {}).values())
        for test, execution in pairs:
            tests.setdefault(symbol, set()).add(f"test:{test}")
            if execution.recorder != COVERAGE:
                recorded |= {symbol}
    return tests, tests.keys() - recorded


def _executions(
    names: TestNames, db: Database, symbols: Sequence[str]
) -> dict[str, dict[str, tuple[str, Execution]]]:
    """Symbol → test that executed it, as it is called now → its name in the newest of these runs,
    and that run.
    """
    executions: dict[str, dict[str, tuple[str, Execution]]] = {}
    for symbol, tests in tests_of_symbols(db, symbols).items():
        by_name = executions[symbol] = {}
        # coverage's own contexts are functions: of one whose cases were recorded it shows nothing
        # more
        cases = {test.partition("[")[0] for test, one in tests.items() if one.recorder != COVERAGE}
        tests = {
            test: one
            for test, one in tests.items()
            if one.recorder != COVERAGE or test not in cases
        }
        now = {test: names.current(test) for test in tests}
        # a name that the test still has is that of its newest run
        for test in sorted(tests, key=lambda test: now[test] != test):
            recorded, newest = by_name.setdefault(now[test], (test, tests[test]))
            if recorded != test:
                runs = newest.runs + tests[test].runs
                by_name[now[test]] = recorded, newest._replace(runs=runs)
    return executions


def _members(graph: Database, identifier: str) -> list[str]:
    if split_id(identifier)[0] not in ("type", "interface"):
        return [identifier]
    # the body of a class runs when its module is imported, whichever test comes first
    symbol = symbols_by_id(graph, [identifier]).get(identifier)
    inside = nested_symbols(graph, symbol) if symbol else []
    return [inner.id for inner in inside if split_id(inner.id)[0] in ("method", "property")]


class ExecutedBy(NamedTuple):
    """A test that executed a symbol, as the newest run that recorded it shows."""

    test: str
    outcome: str
    run: str
    commits: int | None
    """Commits since then; None where git does not know the commit of the run."""
    runs: int
    """In how many of the newest runs it executed the symbol."""
    changed: bool
    """The symbol's code was another then."""
    flaky: str = ""
    """`flaky: failed in 2 of 6 runs (10% to 70%)`, where the test passed by chance."""
    recorder: str = ""
    """What saw it, such as `sys.monitoring`; `coverage`: imported, and assumed."""


def executed_by(ws: Workspace, graph: Database, symbol: Symbol) -> list[ExecutedBy]:
    """Return the tests that executed a symbol in the newest runs, failed ones first; of a class
    those of its methods.

    Empty where no run recorded which symbols its tests executed.
    """
    with ws.store.reading() as db:
        if db is None:
            return []
        executions = _executions(TestNames(ws, db), db, _members(graph, symbol.id))
        facts = _execution_facts(ws, db, executions)
    executed_of: dict[str, ExecutedBy] = {}
    for identifier, tests in executions.items():
        for now, (test, execution) in tests.items():
            before = executed_of.get(now)
            if facts.entries[execution.run] is None:
                continue
            if before is not None and before.runs >= execution.runs:
                continue
            executed_of[now] = ExecutedBy(
                now,
                facts.outcome(test, execution.run),
                execution.run,
                facts.age(execution.run),
                execution.runs,
                identifier == symbol.id and execution.content_hash != symbol.content_hash,
                facts.flaky.get((test, execution.run), ""),
                execution.recorder,
            )
    return sorted(
        executed_of.values(),
        key=lambda executed: (executed.outcome not in REFUTES, executed.test),
    )


class _ExecutionFacts(NamedTuple):
    """What is recorded of the runs in which tests executed a symbol."""

    entries: Mapping[str, Entry | None]
    outcomes: Mapping[str, Mapping[str, str]]
    """Run → test → outcome."""
    flaky: Mapping[tuple[str, str], str]
    """(test, run) → why its pass there is not reliable."""
    last: Mapping[str, tuple[str, Entry]]
    """Test of coverage data, which has no outcomes → its outcome in the newest run that has one."""
    commits_since: Mapping[str, int | None]
    """Commit of a run → how many there are since."""

    def outcome(self, test: str, run: str) -> str:
        """Of a test in a run; where that has none, the worst of its cases in the newest runs."""
        cases = [
            row[0] for case, row in self.last.items() if f"test:{test}" in (case, _function(case))
        ]
        worst = min(cases, key=lambda word: word not in REFUTES, default="unknown")
        return self.outcomes[run].get(test, worst)

    def age(self, run: str) -> int | None:
        """How many commits ago a run was; None: unknown."""
        entry = self.entries[run]
        return self.commits_since.get((entry and entry.receipt.head) or "")


def _execution_facts(
    ws: Workspace, db: Database, executions: Mapping[str, Mapping[str, tuple[str, Execution]]]
) -> _ExecutionFacts:
    pairs = [pair for tests in executions.values() for pair in tests.values()]
    entries = {execution.run: entry_of_run(db, execution.run) for _, execution in pairs}
    passes = FlakyPasses(ws, db, TestNames(ws, db).pairs)
    flaky = {
        (test, run): passes.why(test, entry.receipt)
        for test, run in {(test, execution.run) for test, execution in pairs}
        if (entry := entries[run])
    }
    imported = {f"test:{test}" for test, execution in pairs if execution.recorder == COVERAGE}
    if imported:
        newest = [*recent(db, RECENT_RUNS, "pytest"), *recent(db, 1, "junit")]
    else:
        newest = []
    heads = {entry.receipt.head for entry in entries.values() if entry and entry.receipt.head}
    return _ExecutionFacts(
        entries,
        {run: _outcomes(entry) for run, entry in entries.items()},
        flaky,
        _last_outcomes(newest, set(), imported)[0],
        {head: count_since(ws.repo, head) for head in sorted(heads)} if ws.repo else {},
    )


def _outcomes(entry: Entry | None) -> dict[str, str]:
    evidence = entry.receipt.evidence if entry else ()
    return {one.subject.removeprefix("test:"): one.outcome for one in evidence}


class Suspect(NamedTuple):
    """A function or method that failing tests executed."""

    symbol: str
    path: str
    score: float
    """Up to 1."""


def suspects(ws: Workspace, tests: Sequence[str]) -> list[Suspect]:
    """Return what these failing tests executed last, those first that few passing tests execute.

    The score is Ochiai's (Abreu, Zoeteweij and van Gemund 2007): the failing tests that execute a
    symbol, by the root of all failing tests × all tests that execute it. Of each test the newest
    run counts, so that the failing test run alone is compared with the whole suite before.
    """
    sync_evidence(ws)
    runs: list[tuple[Executed, Mapping[str, str]]] = []
    failing: dict[str, tuple[Executed, list[int]]] = {}
    with ws.store.reading() as db:
        if db is None or not tests:
            return []
        for run in runs_with_symbols(db, _RUNS_OF_A_TEST):
            executed = executed_of_run(db, run)
            if executed is None:
                continue
            runs.append((executed, _outcomes(entry_of_run(db, run))))
            for case in (symbol for symbol in _cases(executed, tests) if symbol not in failing):
                failing[case] = executed, executed.tests.indexes(case)
            if failing and len(executed.tests) - len(failing) >= _COMPARED:
                break
    by_failing: Counter[str] = Counter()
    paths: dict[str, str] = {}
    for executed, indexes in failing.values():
        here = [executed.symbols[at].symbol for at in indexes]
        by_failing.update(here)
        paths.update((symbol, executed.places[symbol]) for symbol in here)
    by_passing = _passing(runs, set(failing))
    scores = [
        Suspect(symbol, paths[symbol], times / sqrt(len(failing) * (times + by_passing[symbol])))
        for symbol, times in by_failing.items()
        # pytest calls it to show what an assertion compared
        if split_id(symbol)[0] in _CALLABLE and not symbol.endswith(".__repr__")
    ]
    return sorted(scores, key=lambda suspect: (-round(suspect.score, 9), suspect.symbol))


def _passing(
    runs: Sequence[tuple[Executed, Mapping[str, str]]], cases_seen: set[str]
) -> Counter[str]:
    """Return how many tests, other than those of `cases_seen`, executed a symbol and passed when
    they ran last.
    """
    counts: Counter[str] = Counter()
    for executed, outcomes in runs:
        for file in executed.tests.files.values():
            passed = [
                case
                for case in file.masks
                if case not in cases_seen and outcomes.get(case) == "passed"
            ]
            for index, times in file.counts(passed).items():
                counts[executed.symbols[index].symbol] += times
        cases_seen = cases_seen.union(*(file.masks for file in executed.tests.files.values()))
    return counts


def _cases(executed: Executed, tests: Sequence[str]) -> list[str]:
    return [case for case in executed.tests if case in tests or case.partition("[")[0] in tests]


def results(
    ws: Workspace,
    tests: Mapping[str, set[str]],
    executing: Collection[str] = (),
    assumed: Collection[str] = (),
) -> dict[str, TestResults]:
    """Return what the newest runs show of each group of tests; a group of which nothing was
    recorded is absent.

    `executing`: the groups whose tests are known to execute the code, as IDs of cases; `assumed`:
    those of them of which imported coverage data alone shows it.
    """
    if tests:
        wanted = set().union(*tests.values())
    else:
        wanted = set()
    if not wanted:
        return {}
    with ws.store.reading() as db:
        if db is None:
            return {}
        trees = worktree_state(ws.repo).trees
        newest = _newest_cases(ws, db, trees, wanted)
    heads = {entry.receipt.head for _, entry in newest.last.values() if entry.receipt.head}
    if ws.repo:
        ages = {head: count_since(ws.repo, head) for head in sorted(heads)}
    else:
        ages = {}
    groups = (
        (name, _group_results(newest, ages, group, name in executing, name in assumed))
        for name, group in tests.items()
    )
    return {name: of_group for name, of_group in groups if of_group is not None}


class _NewestCases(NamedTuple):
    """What the newest runs show of cases of tests."""

    last: Mapping[str, tuple[str, Entry]]
    """Case → its newest outcome, and where."""
    here: Collection[str]
    """The cases that were seen on this content."""
    tiers: Mapping[str, Tier]
    """Case that a claim is about → its tier."""
    flaky: Mapping[str, FlakyTest]
    """Case whose newest pass may be by chance."""


def _newest_cases(
    ws: Workspace, db: Database, trees: Sequence[str], wanted: set[str]
) -> _NewestCases:
    runs = [
        *entries_of_tree(db, trees),
        *recent(db, RECENT_RUNS, "pytest"),
        *recent(db, 1, "junit"),
    ]
    counting = without_partial_passes({entry.seq: entry for entry in runs}.values())
    entries = here_first(counting, trees)
    last, here = _last_outcomes(entries, set(trees), wanted)
    newest = sorted(entries, key=lambda entry: -entry.seq)
    claims = current_claims(ws, db, newest, trees, last.keys())
    passes = FlakyPasses(ws, db, TestNames(ws, db).pairs)
    flaky = {
        case: test
        for case, (_, entry) in last.items()
        if (test := passes.test(case, entry.receipt))
    }
    return _NewestCases(last, here, {claim.about: claim.tier for claim in claims}, flaky)


def _group_results(
    newest: _NewestCases,
    ages: Mapping[str, int | None],
    group: Collection[str],
    executes: bool,
    is_assumed: bool,
) -> TestResults | None:
    """What the newest runs show of a group of tests; None: nothing. `ages`: commit → how many
    commits ago.
    """
    last = newest.last
    cases = [case for case in last if case in group or _function(case) in group]
    # what was seen on this content counts alone, where anything was
    cases = [case for case in cases if case in newest.here] or cases
    failed = tuple(sorted(case for case in cases if last[case][0] in REFUTES))
    passed = [case for case in cases if case in newest.tiers and last[case][0] not in REFUTES]
    if not failed and not passed:
        return None
    # what passes by chance shows nothing, and lowers nothing that others show
    shown = [case for case in passed if case not in newest.flaky] or passed
    tiers = [newest.tiers[case] for case in shown]
    if is_assumed and shown:
        tiers += [Tier.ASSUMED]
    least = min(tiers, default=None)
    commits = (ages.get(last[case][1].receipt.head or "") for case in (*failed, *passed))
    return TestResults(
        len(passed),
        failed,
        all(case in newest.here for case in cases),
        least.word if least is not None else "",
        executes,
        min((number for number in commits if number is not None), default=None),
        _flaky_words([newest.flaky[case] for case in cases if case in newest.flaky]),
    )


def _flaky_words(tests: Sequence[FlakyTest]) -> str:
    if not tests:
        return ""
    low, high = max(tests, key=lambda test: test.failures / test.runs).interval
    return f"{len(tests)} flaky ({low:.0%} to {high:.0%})"


def _last_outcomes(
    entries: Sequence[Entry], trees: set[str], wanted: set[str]
) -> tuple[dict[str, tuple[str, Entry]], set[str]]:
    """Return (case of a wanted test → its newest outcome and where, the cases that were seen on one
    of these trees).
    """
    last: dict[str, tuple[str, Entry]] = {}
    here: set[str] = set()
    for entry in entries:
        is_here = not trees.isdisjoint({entry.receipt.tree, entry.receipt.tree_all})
        for evidence in entry.receipt.evidence:
            is_wanted = evidence.subject in wanted or _function(evidence.subject) in wanted
            if evidence.subject not in last and is_wanted:
                last[evidence.subject] = evidence.outcome, entry
                if is_here:
                    here |= {evidence.subject}
    return last, here


def _function(case: str) -> str:
    """`test:a.py::test_f[1-x]` → `test:a.py::test_f`: the graph knows functions, a run records each
    of their cases.
    """
    return case.partition("[")[0]
