"""Operations of proofs: what recorded runs prove of symbols and show of tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import FilePath, NodeId, TestName, split_id
from kl_hooks.operations.evidence_reading import IMPORTING, evidence_with_gaps
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.evidence.flaky import Attempt
    from kl_hooks.proof.audit import Disagreement
    from kl_hooks.proof.failures import FailureHistory, Fix, TestRecord
    from kl_hooks.proof.impact import Runs
    from kl_hooks.proof.impacted import Impacted
    from kl_hooks.proof.measured import Measured
    from kl_hooks.workspace import Workspace

_ALL: Final = 100_000
_TEST: Final = Parameter("A node ID, or the end of one.", argument="TEST")


@contextmanager
def _runs(ws: Workspace, notes: list[str]) -> Iterator[Runs]:
    """The recorded runs, as far as they speak about the files as they are now."""
    from kl_hooks.proof.impact import Runs, content_of

    require_initialized(ws)
    with evidence_with_gaps(ws, notes) as evidence:
        yield Runs(ws, evidence, content_of(ws))


class SymbolRequest(NamedTuple):
    """Which symbol."""

    symbol: Annotated[
        str, Parameter("A symbol, its name or the end of it, or a file.", argument="ID")
    ]
    limit: Annotated[int, TOP] = 50


class ExecutingTests(NamedTuple):
    """The tests that executed a symbol."""

    tests: Listing
    """Of `SymbolTest`, whose names are typed."""
    is_executed: bool
    """Whether there is any, also where none may be shown."""
    runs: tuple[MeasuredByRun, ...]
    """What imported coverage reports show where they name no tests, by symbol."""
    notes: tuple[str, ...]


class MeasuredByRun(NamedTuple):
    """What an imported coverage report shows of a symbol."""

    symbol: NodeId
    shown: Measured


def _tests(ws: Workspace, request: SymbolRequest, _access: Access) -> ExecutingTests:
    from kl_hooks.proof.impact import tests_of

    notes: list[str] = []
    with _runs(ws, notes) as runs:
        measured_by = _measured_by_runs(ws, runs, request.symbol)
        try:
            results = tests_of(runs, request.symbol)
        except UsageProblem:
            definition = _definition(ws, request.symbol)
            if definition is not None:
                results = tests_of(runs, definition)
            elif measured_by:
                results = []
            else:
                raise
    tests = [
        result._replace(test=TestName(result.test), symbol=NodeId(result.symbol))
        for result in results
    ]
    named = {result.symbol for result in results}
    measured_by = tuple(row for row in measured_by if row.symbol not in named)
    return ExecutingTests(
        Listing(tuple(tests), request.limit), bool(results), measured_by, tuple(notes)
    )


def _measured_by_runs(ws: Workspace, runs: Runs, name: str) -> tuple[MeasuredByRun, ...]:
    """What reports show of the symbol that a name means, or of all of a file."""
    if not runs.imported:
        return ()
    from kl_hooks.code.query.lookup import resolve_text, symbols_in_file
    from kl_hooks.code.query.session import open_graph
    from kl_hooks.proof.measured import measured

    with open_graph(ws) as graph, ws.store.reading() as db:
        try:
            symbol = resolve_text(graph, name)
        except UsageProblem:  # unknown or ambiguous, which recorded tests may settle
            return ()
        if symbol.path == split_id(name)[1]:
            ids = [inner.id for inner in symbols_in_file(graph.db, symbol.path)]
        else:
            ids = [symbol.id]
        rows = {} if db is None else measured(db, graph.db, ids)
    return tuple(MeasuredByRun(NodeId(identifier), rows[identifier]) for identifier in sorted(rows))


def _definition(ws: Workspace, name: str) -> str | None:
    """The ID of what a module hands on under this name:

    `click.echo` is defined in `click.utils`.
    """
    from kl_hooks.code.query.lookup import reexported_symbol
    from kl_hooks.code.query.session import open_graph

    with open_graph(ws) as graph:
        symbol = reexported_symbol(graph, split_id(name)[1])
    if not symbol:
        return None
    return symbol.id


def _tests_to_dict(executing_tests: ExecutingTests) -> dict[str, Any]:
    tests = [test.to_dict() for test in executing_tests.tests.shown]
    runs = [row.shown.to_dict() for row in executing_tests.runs]
    return {"tests": tests, "total": executing_tests.tests.total, "runs": runs}


TESTS: Final = Operation(
    "proof tests",
    """List the tests that executed a symbol: when, with which result, and whether that is valid for
    this content.

    ID is a symbol (function:shop.cart.total), its name or the end of it, a name that a module has
    from another (shop.total), or a file.
    """,
    SymbolRequest,
    _tests,
    _tests_to_dict,
    "kl.proof.tests/1",
    "kl proof tests shop.cart.total",
    is_tool=False,
    progress=IMPORTING,
)


class TestRequest(NamedTuple):
    """Which test."""

    test: Annotated[str, _TEST]


class ExecutedSymbol(NamedTuple):
    """A symbol that a test executed."""

    symbol: NodeId
    path: FilePath
    phase: str
    """`setup`, `call` or `teardown`: the first in which it ran."""


class ExecutedSymbols(NamedTuple):
    """What a test executed in its newest run."""

    test: TestName
    run: str
    state: str
    """Whether its result is valid for the files as they are."""
    reason: str
    symbols: tuple[ExecutedSymbol, ...]
    notes: tuple[str, ...]


def _symbols(ws: Workspace, request: TestRequest, _access: Access) -> ExecutedSymbols:
    from kl_hooks.proof.impact import symbols_of

    notes: list[str] = []
    with _runs(ws, notes) as runs:
        name, part, rows = symbols_of(runs, request.test)
    verdict = part.verdicts.get(name)
    return ExecutedSymbols(
        TestName(name),
        part.original.receipt.run,
        verdict.state if verdict else "not assessed",
        verdict.reason if verdict else "",
        tuple(ExecutedSymbol(NodeId(row.symbol), FilePath(row.path), row.phase) for row in rows),
        tuple(notes),
    )


def _symbols_to_dict(executed: ExecutedSymbols) -> dict[str, Any]:
    plain = executed._asdict()
    del plain["notes"]
    symbols = [symbol._asdict() for symbol in executed.symbols]
    return plain | {"symbols": symbols, "total": len(symbols)}


SYMBOLS: Final = Operation(
    "proof symbols",
    """List what TEST executed in its newest recorded run, by the phase in which it ran first.

    TEST is a node ID, or the end of one.
    """,
    TestRequest,
    _symbols,
    _symbols_to_dict,
    "kl.proof.symbols/1",
    "kl proof symbols test_basket.py::test_total",
    is_tool=False,
    progress=IMPORTING,
)


class ImpactedRequest(NamedTuple):
    """Of which content."""

    changed: Annotated[
        str,
        Parameter("Those that the change between two commits reaches.", metavar="A...B"),
    ] = ""
    staged: Annotated[bool, Parameter("Those that must run to prove what is staged.")] = False
    unrecorded: Annotated[
        str,
        Parameter(
            "Which tests that no run recorded: all, those with an import path to what changed, or"
            " none.",
            choices=("all", "imports", "none"),
            is_default_shown=True,
        ),
    ] = "all"
    limit: Annotated[
        int, TOP._replace(help="Most tests that are given.", is_default_shown=False, default="all")
    ] = _ALL


class ImpactedTests(NamedTuple):
    """The tests that must run to know how they end on a content."""

    tree: str | None
    tests: Listing
    """Of `Impacted`, whose names are typed: the surest and most specific first."""
    settled: int
    """How many need not run."""
    notes: tuple[str, ...]

    @property
    def groups(self) -> dict[str, list[Impacted]]:
        """The tests by how it is known that they must run, the surest group first."""
        from kl_hooks.proof.impacted import Group

        return {
            str(group): [test for test in self.tests.items if test.group == group]
            for group in Group
        }

    @property
    def arguments(self) -> list[str]:
        """All of them, for pytest."""
        from kl_hooks.proof.other_runs import pytest_arguments

        return pytest_arguments(test.test for test in self.tests.items)


def _impacted(ws: Workspace, request: ImpactedRequest, _access: Access) -> ImpactedTests:
    from kl_hooks.proof.impact import content_of
    from kl_hooks.proof.impacted import Unrecorded, impacted_tests

    if request.changed and request.staged:
        raise UsageProblem(
            "--changed and --staged name different contents. Give one.", place="kl proof impacted"
        )
    require_initialized(ws)
    notes: list[str] = []
    content = content_of(ws, staged=request.staged, changed=request.changed)
    with evidence_with_gaps(ws, notes) as evidence:
        before = content.before if request.changed else ""
        tests, settled = impacted_tests(
            ws, evidence, content, before, Unrecorded(request.unrecorded)
        )
    return ImpactedTests(
        content.trees[0] if content.trees else None,
        Listing(tuple(map(_with_typed_names, tests)), request.limit),
        settled,
        tuple(notes),
    )


def _with_typed_names(test: Impacted) -> Impacted:
    symbols = tuple(map(NodeId, test.symbols))
    return test._replace(test=TestName(test.test), symbols=symbols)


def _impacted_to_dict(impacted: ImpactedTests) -> dict[str, Any]:
    return {
        "tree": impacted.tree,
        "tests": [test.to_dict() for test in impacted.tests.shown],
        "total": impacted.tests.total,
        "groups": {name: len(tests) for name, tests in impacted.groups.items()},
        "settled": impacted.settled,
        "arguments": impacted.arguments,
    }


IMPACTED: Final = Operation(
    "proof impacted",
    """List the tests that must run to know how they end on this content, and why each.

    Those come first that are known to execute what changed. A test that was never recorded is
    listed too: nearest by imports, then those without an import path, which proves nothing. All
    others have a valid result of an earlier run. `--format pytest` prints IDs for pytest.
    """,
    ImpactedRequest,
    _impacted,
    _impacted_to_dict,
    "kl.proof.impacted/2",
    "pytest $(kl proof impacted --format pytest)",
    tool="impacted",
    progress=IMPORTING,
)


class TestResult(NamedTuple):
    """A result of a test."""

    test: TestName
    """As it was called in this run."""
    run: str
    outcome: str
    ended: str
    tree: str | None
    head: str | None
    branch: str | None
    dirty: bool


class TestFailure(NamedTuple):
    """The newest failure of a test."""

    path: FilePath
    """In which it was raised; the test's own where that is not known."""
    detail: Mapping[str, Any]
    """`message`, `path`, `line`, `frame` … as recorded."""
    signature: str
    """By which it is recognized."""


class FailureEnd(NamedTuple):
    """How a failure ended the last time."""

    failed: str
    """The last run in which it failed."""
    passed: str
    """The next one, in which it passed."""
    changed: tuple[str, ...]
    """Symbols or files."""
    commit: str
    subject: str


class TestHistory(NamedTuple):
    """Why a test failed the last time, how often it did so before, and what ended it."""

    test: TestName
    results: tuple[TestResult, ...]
    """Newest first."""
    earlier_names: tuple[TestName, ...]
    has_failed: bool
    failures: tuple[TestFailure, ...]
    """The newest failure; none where it is hidden."""
    history: tuple[str, ...] | None
    """What earlier runs show of it, a line each; None where it has no relatives."""
    earlier: tuple[str, ...]
    """Runs in which it failed like this."""
    changed: tuple[NodeId, ...]
    """Symbols that it rests on and that changed between its newest failure and the pass before."""
    distributions: Mapping[str, str] | None
    """Distribution → version, of what its files import; None where that was not recorded."""
    passed_before: str | None
    """The run in which it passed before its newest failure."""
    ends: tuple[FailureEnd, ...]
    """How it ended the last time; none where that is not known."""
    flaky: tuple[str, ...]
    """The two runs that show that it is."""
    decisions: tuple[NodeId, ...]
    """That govern the file in which it was raised."""


def _why(ws: Workspace, request: TestRequest, _access: Access) -> TestHistory:
    from kl_hooks.proof.failures import history_lines, record_of_test

    require_initialized(ws)
    record = record_of_test(ws, request.test)
    history = record.history
    before = record.passed_before
    of_failure = _of_failure(history) if history else {}
    return TestHistory(
        test=TestName(record.test),
        results=tuple(_result(attempt) for attempt in record.attempts),
        earlier_names=tuple(map(TestName, record.names)),
        has_failed=record.newest_failure is not None,
        failures=tuple(_newest_failure(record)),
        history=tuple(history_lines(history)) if history else None,
        changed=tuple(map(NodeId, record.suspects)),
        distributions=record.distributions,
        passed_before=before.receipt.run if before else None,
        **{"earlier": (), "ends": (), "flaky": (), "decisions": (), **of_failure},
    )


def _result(attempt: Attempt) -> TestResult:
    receipt = attempt.receipt
    return TestResult(
        TestName(attempt.test),
        receipt.run,
        attempt.result.outcome,
        receipt.ended,
        receipt.tree,
        receipt.head,
        receipt.branch,
        receipt.dirty,
    )


def _newest_failure(record: TestRecord) -> Iterator[TestFailure]:
    from kl_hooks.proof.failures import signature

    if (failure := record.newest_failure) is not None:
        detail = failure.result.detail
        raised_in = str(detail.get("frame") or detail.get("path") or failure.test)
        path = FilePath(raised_in.partition("::")[0])
        yield TestFailure(path, detail, signature(failure.result))


def _of_failure(history: FailureHistory) -> dict[str, Any]:
    """The fields of a `TestHistory` that earlier runs of a failure give."""
    return {
        "earlier": tuple(attempt.receipt.run for attempt in history.earlier),
        "ends": (_end(history.fix),) if history.fix else (),
        "flaky": tuple(attempt.receipt.run for attempt in history.flaky or ()),
        "decisions": tuple(NodeId(record) for record, _ in history.decisions),
    }


def _end(fix: Fix) -> FailureEnd:
    return FailureEnd(fix.failed.receipt.run, fix.passed.receipt.run, fix.changed, *fix.commit)


def _why_to_dict(history: TestHistory) -> dict[str, Any]:
    plain = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in history._asdict().items()
    }
    for name in ("has_failed", "failures", "ends"):
        del plain[name]
    versions = history.distributions
    failures = [{**failure.detail, "signature": failure.signature} for failure in history.failures]
    ends = [{**end._asdict(), "changed": list(end.changed)} for end in history.ends]
    return plain | {
        "results": [result._asdict() for result in history.results],
        "failure": next(iter(failures), None),
        "history": list(history.history or ()),
        "fix": next(iter(ends), None),
        "distributions": None
        if versions is None
        else [{"name": name, "version": version} for name, version in versions.items()],
    }


WHY: Final = Operation(
    "proof why",
    """Show why TEST failed the last time, how often it did so before, and what ended it.

    TEST is a node ID, or the end of one.
    """,
    TestRequest,
    _why,
    _why_to_dict,
    "kl.proof.why/3",
    "kl proof why test_basket.py::test_total",
    is_tool=False,
    progress="Importing captured runs and commits",
)


class FlakyRequest(NamedTuple):
    """How many."""

    limit: Annotated[int, TOP] = 20


class FlakyResult(NamedTuple):
    """A test that failed and passed where nothing that it depends on differs."""

    test: TestName
    now: TestName
    """What it is called now."""
    failures: int
    runs: int
    rate: str
    """`failed in 2 of 6 runs (10% to 70%)`."""
    low: float
    high: float
    """The bounds of the share of failures, 95 %."""
    failed: str
    passed: str
    """The runs that are its witnesses."""


class FlakyTests(NamedTuple):
    """Tests that failed and passed where nothing differs, most failures first."""

    tests: Listing


def _flaky(ws: Workspace, request: FlakyRequest, _access: Access) -> FlakyTests:
    from kl_hooks.evidence.flaky import flaky_tests
    from kl_hooks.evidence.ingestion import sync_evidence
    from kl_hooks.proof.test_names import TestNames

    require_initialized(ws)
    sync_evidence(ws)
    with ws.store.reading() as db:
        tests = flaky_tests(ws, db)
        names = TestNames(ws, db)
        results = [
            FlakyResult(
                TestName(test.test),
                TestName(names.current(test.test)),
                test.failures,
                test.runs,
                test.rate,
                *test.interval,
                test.failed.receipt.run,
                test.passed.receipt.run,
            )
            for test in tests
        ]
    return FlakyTests(Listing(tuple(results), request.limit))


def _flaky_to_dict(flaky_tests: FlakyTests) -> dict[str, Any]:
    return {
        "tests": [_flaky_row(test) for test in flaky_tests.tests.shown],
        "total": flaky_tests.tests.total,
    }


def _flaky_row(test: FlakyResult) -> dict[str, Any]:
    share = {"rate": test.failures / test.runs}
    return test._asdict() | share | {"low": round(test.low, 4), "high": round(test.high, 4)}


FLAKY: Final = Operation(
    "proof flaky",
    """List the tests that failed and passed where nothing that they depend on differs, with two
    runs as witnesses.

    No test is run again for this: recorded runs are compared.
    """,
    FlakyRequest,
    _flaky,
    _flaky_to_dict,
    "kl.proof.flaky/2",
    "kl proof flaky",
    is_tool=False,
    progress="Importing captured runs and commits",
)


class AuditRequest(NamedTuple):
    """Of how many runs."""

    limit: Annotated[int, TOP._replace(help="Most runs that are compared.")] = 50


class AuditAnswer(NamedTuple):
    """The audits of all runs that were looked at."""

    runs: int
    checked: int
    """Results that were called valid, of tests which ran then."""
    wrong: int
    low: float
    high: float
    """The bounds of the share of wrong ones, 95 %."""
    disagreements: tuple[Disagreement, ...]
    """Whose names are typed."""
    notes: tuple[str, ...]


def _audit(ws: Workspace, request: AuditRequest, _access: Access) -> AuditAnswer:
    from kl_hooks.proof.audit import audit

    require_initialized(ws)
    notes: list[str] = []
    with evidence_with_gaps(ws, notes) as evidence:
        answer = audit(ws, evidence, request.limit)
    wrong = [
        disagreement._replace(
            test=TestName(disagreement.test),
            changed=tuple(map(FilePath, disagreement.changed)),
        )
        for disagreement in answer.disagreements
    ]
    counts = (answer.runs, answer.checked, answer.wrong, *answer.interval)
    return AuditAnswer(*counts, tuple(wrong), tuple(notes))


def _audit_to_dict(answer: AuditAnswer) -> dict[str, Any]:
    return {
        "runs": answer.runs,
        "checked": answer.checked,
        "wrong": answer.wrong,
        "rate": answer.wrong / answer.checked if answer.checked else None,
        "interval": [answer.low, answer.high],
        "disagreements": [disagreement.to_dict() for disagreement in answer.disagreements],
    }


AUDIT: Final = Operation(
    "proof audit",
    """List results that were called valid for a content on which the test then failed.

    Each recorded run is compared once with what earlier runs state of its tests. `--top` is the
    number of runs. A test that passes on the same content is flaky, and does not count; one that
    failed with few others counts once it has failed again.
    """,
    AuditRequest,
    _audit,
    _audit_to_dict,
    "kl.proof.audit/1",
    "kl proof audit",
    is_tool=False,
    progress="Comparing runs with earlier results",
)

OPERATIONS: Final = (TESTS, SYMBOLS, IMPACTED, WHY, FLAKY, AUDIT)
