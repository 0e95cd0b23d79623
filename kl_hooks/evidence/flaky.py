"""Flaky tests: those with different outcomes where nothing that they depend on differs, found
without a rerun.

A pass of a flaky test shows nothing: it may fail on the very same content. So it is no hard
evidence, for claims and for the gate alike, until something is changed that the test depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any, Final

from kl_hooks.evidence.distributions import DISTRIBUTIONS, Distributions
from kl_hooks.evidence.executed import Executed, cached_executed, read_pending, test_path
from kl_hooks.evidence.ledger import RETAINED, chain_head, failing_runs
from kl_hooks.evidence.private import variable_key
from kl_hooks.evidence.reach import Reach
from kl_hooks.evidence.reads import SET_VARIABLES, VARIABLES
from kl_hooks.evidence.spool_places import spool_places
from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES, Evidence, Receipt
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace

_RUNS: Final = 200
"""Runs that are looked at, newest first."""
_SEVERAL: Final = 3
"""Results among which a variable that is new in each of them explains nothing: of two it may."""
_SHORT: Final = 8
"""Digits of a run that a person is shown."""

_VOLATILE: Final = frozenset(
    {
        "pid",
        "ci",
        "agent",
        "session",
        "imported",
        "executed",
        "way",
        "untracked",
        "changes",
        "rootdir",
        "facts",
        # compared by test: a version matters to those that reach the distribution
        DISTRIBUTIONS,
    }
)
"""Keys of a receipt's environment in which two runs of the same environment may differ."""


class Attempt(NamedTuple):
    """One result of a test."""

    receipt: Receipt
    result: Evidence
    environment: str
    """Digest of everything in the environment of the run that may make a test behave otherwise."""
    content: tuple[str | None, str | None, str]
    """The trees of its content, and `environment`."""
    failed: bool
    passed: bool

    @property
    def run(self) -> str:
        """The digits of the run that a person is shown."""
        return self.receipt.run[:_SHORT]

    @property
    def test(self) -> str:
        """What the test was called in this run."""
        return self.result.subject.removeprefix("test:")


class _Attempts:
    """Makes the attempts of one run: there are hundreds of thousands, and they share its facts."""

    def __init__(self, receipt: Receipt) -> None:
        self._receipt = receipt
        self._environment = _environment(receipt)
        self._content = (receipt.tree, receipt.tree_all, self._environment)

    def of(self, result: Evidence) -> Attempt:
        """A result of the run."""
        outcome = result.outcome
        has_failed = outcome in REFUTES
        return Attempt(
            self._receipt,
            result,
            self._environment,
            self._content,
            has_failed,
            outcome == "passed",
        )


def _environment(receipt: Receipt) -> str:
    return digest(
        "environment/1",
        {key: some for key, some in receipt.environment.items() if key not in _VOLATILE},
    )


class Comparison:
    """What differs between the contents of two runs, of what a test depends on."""

    def __init__(self, ws: Workspace, db: Database | None) -> None:
        self._ws, self._db = ws, db
        self._cache = cached_executed()
        self._waiting: dict[str, Executed | None] = {}
        """Run that is not stored → what waits in a spool."""
        self._reaches: dict[str, Reach | None] = {}
        self._attempts: dict[str, Sequence[Attempt]] = {}
        """Test → the results among which a contradiction was looked for."""
        self._new_each_time: dict[str, frozenset[str]] = {}
        """Test → the variables that explain none of them."""

    @staticmethod
    def attempts(
        receipts: Sequence[Receipt], wanted: set[str], names: Mapping[str, str] = {}
    ) -> dict[str, list[Attempt]]:
        """Test → its results, newest first, of runs that ended and on known content.

        `names`: what a test was called in some of them → the name under which its results are
        wanted.
        """
        attempts_of: dict[str, list[Attempt]] = {}
        for receipt in receipts:
            if receipt.tree is None or receipt.moved:
                continue
            run = _Attempts(receipt)
            for evidence in receipt.evidence:
                name = evidence.subject.removeprefix("test:")
                name = names.get(name, name)
                if name in wanted and evidence.kind == "TestResult":
                    attempts_of.setdefault(name, []).append(run.of(evidence))
        return attempts_of

    def symbols(
        self, attempt: Attempt, other: Attempt, *, same_test: bool = False
    ) -> tuple[tuple[str, ...], bool]:
        """(the symbols on which the test rests in one of these runs and that differ, whether all
        could be compared).

        A run that fails stops early, so the sets themselves are never equal: the union is compared,
        by what the other run has recorded of the symbol for whichever test. `same_test`: the test
        has another name in the other run, and is known to be the same: nothing of its files is
        compared.
        """
        a = self._executed(attempt.receipt)
        b = self._executed(other.receipt)
        installed = self.surroundings(attempt, other)
        if a is None or b is None or attempt.test not in a.tests or other.test not in b.tests:
            return installed, False
        hashes = [executed.content_hashes for executed in (a, b)]
        if same_test:
            files = {test_path(attempt.test), test_path(other.test)}
        else:
            files = set()
        needed = {
            executed.symbols[at].symbol
            for executed, name in ((a, attempt.test), (b, other.test))
            for at in executed.dependencies(name)
            if executed.places[executed.symbols[at].symbol] not in files
        }
        comparable = [name for name in needed if all(name in run_hashes for run_hashes in hashes)]
        changed = sorted(name for name in comparable if hashes[0][name] != hashes[1][name])
        closure = a.closure(attempt.test) | b.closure(other.test)
        unknown = any(path in closure for executed in (a, b) for path in executed.unknown)
        # what the processes of a test ran and read is not recorded
        has_all_names = (
            not unknown and attempt.test not in a.incomplete and other.test not in b.incomplete
        )
        complete = has_all_names and len(comparable) == len(needed) and a.files == b.files
        return (*installed, *changed), complete

    def surroundings(self, attempt: Attempt, other: Attempt) -> tuple[str, ...]:
        """What the test reaches outside of the content, and was another in these runs: `docutils
        0.20 → 0.21`, `the variable NO_COLOR`.
        """
        return (*self._distributions(attempt, other), *self._variables(attempt, other))

    def _variables(self, attempt: Attempt, other: Attempt) -> Iterator[str]:
        a = self._executed(attempt.receipt)
        b = self._executed(other.receipt)
        if a is None or b is None:
            return
        values = _variables_of(a, attempt.test)
        other_values = _variables_of(b, other.test)
        differing = [
            name
            for name in sorted(values.keys() & other_values.keys())
            if _are_other_values(values[name], other_values[name])
        ]
        if differing:
            explaining_none = self._variables_of_each_run(attempt.test)
            yield from (f"the variable {name}" for name in differing if name not in explaining_none)

    def _variables_of_each_run(self, test: str) -> frozenset[str]:
        """The variables that had another value in each of several results of a test, such as the
        number of a build: no outcome is seen to follow from one of their values.
        """
        if test not in self._new_each_time:
            values: dict[str, list[str]] = {}
            for attempt in self._attempts.get(test, ()):
                executed = self._executed(attempt.receipt)
                for name, value in _variables_of(executed, test).items() if executed else ():
                    values.setdefault(name, []).append(value)
            self._new_each_time[test] = frozenset(
                name
                for name, of_runs in values.items()
                if len(of_runs) >= _SEVERAL and len(of_runs) == len(set(of_runs))
            )
        return self._new_each_time[test]

    def _distributions(self, attempt: Attempt, other: Attempt) -> tuple[str, ...]:
        reach = self._reach(attempt.receipt)
        other_reach = self._reach(other.receipt)
        if reach is None or other_reach is None:
            return ()
        return tuple(reach.differing(other_reach, attempt.test, other.test))

    def imported(self, attempt: Attempt) -> dict[str, str] | None:
        """Distribution → version, of what the files import that the test needed in this run; None
        where that is not known.
        """
        reach = self._reach(attempt.receipt)
        if not reach:
            return None
        return reach.imported(attempt.test)

    def _reach(self, receipt: Receipt) -> Reach | None:
        if receipt.run not in self._reaches:
            distributions = Distributions.of(receipt)
            if distributions:
                self._reaches[receipt.run] = Reach(distributions, self._executed(receipt))
            else:
                self._reaches[receipt.run] = None
        return self._reaches[receipt.run]

    def contradiction(self, attempts: Sequence[Attempt]) -> tuple[Attempt, Attempt] | None:
        """The newest failure and pass in one environment where nothing differs that the test
        depends on.

        A pass on a second attempt is both.
        """
        counted = [attempt for attempt in attempts if attempt.failed or attempt.passed]
        if counted:
            self._attempts[counted[0].test] = counted
            self._new_each_time.pop(counted[0].test, None)
        for newer, older in pairwise(counted):
            if newer.failed == older.failed or newer.environment != older.environment:
                continue
            changed, complete = self.symbols(newer, older)
            if complete and not changed:
                return _failure_first(newer, older)
        failures: dict[tuple[Any, ...], list[Attempt]] = {}
        passes: dict[tuple[Any, ...], list[Attempt]] = {}
        for attempt in attempts:
            if attempt.result.outcome == "flaky":
                return attempt, attempt
            if not (attempt.failed or attempt.passed):
                continue
            own, others = (failures, passes) if attempt.failed else (passes, failures)
            for newer in others.get(attempt.content, ()):
                if not self.surroundings(attempt, newer):
                    return _failure_first(newer, attempt)
            own.setdefault(attempt.content, []).append(attempt)
        return None

    def _executed(self, receipt: Receipt) -> Executed | None:
        if receipt.run in self._waiting:
            return self._waiting[receipt.run]
        if self._db:
            stored = self._cache.of_run(self._db, receipt.run)
            if stored:
                return stored
        # a run that waits in the spool has its file there too
        self._waiting[receipt.run] = read_pending(
            spool_places(self._ws), receipt.run, receipt.environment
        )
        return self._waiting[receipt.run]


def _variables_of(executed: Executed, test: str) -> dict[str, str]:
    """Variable of the environment that a test read, or that the import of a file read which it
    needs → a digest of its value; empty: it was not set, `set`: it was, and no digest is there.
    """
    if executed.reads is None:
        return {}
    modules = executed.reads.modules
    sets = (modules[path] for path in executed.closure(test) if path in modules)
    reads = executed.reads.tests.get(test, frozenset()).union(*sets)
    values = {read.pattern: "" for read in reads if read.path == VARIABLES}
    for read in reads:
        if read.path == SET_VARIABLES:
            values[read.pattern] = executed.private.get(variable_key(read.pattern)) or "set"
    return values


def _are_other_values(digest_of_value: str, other: str) -> bool:
    """Whether a variable surely had another value. Digests of two clones have other keys, and are
    not compared.
    """
    if not digest_of_value or not other:
        return digest_of_value != other
    key, _, value = digest_of_value.partition(":")
    other_key, _, other_value = other.partition(":")
    return key == other_key and value != other_value


def _failure_first(attempt: Attempt, other: Attempt) -> tuple[Attempt, Attempt]:
    if attempt.failed:
        return attempt, other
    return other, attempt


class FlakyTest(NamedTuple):
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

    @property
    def rate(self) -> str:
        """`failed in 2 of 6 runs (10% to 70%)`."""
        low, high = self.interval
        return f"failed in {self.failures} of {self.runs} runs ({low:.0%} to {high:.0%})"

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval
        return {
            "test": self.test,
            "failures": self.failures,
            "runs": self.runs,
            "rate": self.failures / self.runs,
            "low": round(low, 4),
            "high": round(high, 4),
            "failed": self.failed.receipt.run,
            "passed": self.passed.receipt.run,
        }


def wilson_interval(hits: int, number: int, z: float = 1.96) -> tuple[float, float]:
    """The score interval of a share (E. B. Wilson 1927, JASA 22:209): sound for few runs and for
    shares near 0.
    """
    share = hits / number
    square = z * z / number
    middle = share + square / 2
    spread = z * sqrt(share * (1 - share) / number + square / number / 4)
    return max(0.0, (middle - spread) / (1 + square)), min(1.0, (middle + spread) / (1 + square))


def flaky_tests(ws: Workspace, db: Database | None, runs: int = _RUNS) -> list[FlakyTest]:
    """The tests that passed and failed where nothing differs that they depend on, most failures
    first.
    """
    return _found(
        Comparison(ws, db), [one.receipt for one in failing_runs(db, runs, "pytest")] if db else []
    )


def _found(compare: Comparison, receipts: Sequence[Receipt]) -> list[FlakyTest]:
    tests = {one.subject.removeprefix("test:") for receipt in receipts for one in receipt.evidence}
    flaky_tests = []
    # tests of the same runs one after the other: what a run executed is read from the store
    by_runs = sorted(
        compare.attempts(receipts, tests).items(),
        key=lambda pair: [attempt.receipt.run for attempt in pair[1]],
    )
    for test, attempts in by_runs:
        if pair := compare.contradiction(attempts):
            comparable = [
                attempt for attempt in attempts if not compare.surroundings(attempt, pair[0])
            ]
            flaky_tests.append(FlakyTest(test, *pair, *_counts(comparable, pair)))
    return sorted(flaky_tests, key=lambda one: (-one.failures / one.runs, one.test))


_KNOWN: Final[dict[tuple[int, str], Mapping[str, FlakyTest]]] = {}
"""The head of a chain of receipts → its flaky tests. Of the last store alone: a package asks
several times, and 50 runs of 20,000 tests are read in 0.4 s."""


class FlakyPasses:
    """Which passing results are those of a flaky test; read from the store when first asked."""

    def __init__(
        self,
        ws: Workspace,
        db: Database | None,
        renamed: Callable[[Receipt, Receipt], Mapping[str, str]] | None = None,
    ) -> None:
        """`renamed` gives test functions of a newer run → their names in an older one, where these
        differ.
        """
        self._db, self._compare, self._renamed = db, Comparison(ws, db), renamed
        self._absent: dict[str, list[str]] = {}

    @cached_property
    def tests(self) -> Mapping[str, FlakyTest]:
        """Node ID → the test, of those that the newest runs show to be flaky."""
        if self._db is None:
            return {}
        state = chain_head(self._db)
        flaky_by_test = _KNOWN.get(state)
        if flaky_by_test is None:
            receipts = [run.receipt for run in failing_runs(self._db, RETAINED, "pytest")]
            flaky_by_test = {flaky.test: flaky for flaky in _found(self._compare, receipts)}
            _KNOWN.clear()
            _KNOWN[state] = flaky_by_test
        return flaky_by_test

    def why(self, subject: str, receipt: Receipt) -> str:
        """`flaky: failed in 2 of 6 runs (10% to 70%)`, of a pass in this run; empty where it is no
        flaky one.
        """
        flaky = self.test(subject, receipt)
        if not flaky:
            return ""
        return f"flaky: {flaky.rate}"

    def test(self, subject: str, receipt: Receipt) -> FlakyTest | None:
        """The test, if its result in this run is that of a flaky one.

        A change of what the test depends on ends it: the runs before show nothing of the new code.
        """
        name = subject.removeprefix("test:")
        if receipt.source != "pytest" or not self.tests:
            return None
        flaky = self.tests.get(name) or self._under_earlier_name(name, receipt)
        if flaky is None:
            return None
        result = flaky.passed.result._replace(subject=f"test:{name}")
        witness = flaky.failed
        own = _Attempts(receipt).of(result)
        if witness.environment != own.environment:
            return None
        if self._compare.surroundings(witness, own):
            return None
        content = (receipt.tree, receipt.tree_all)
        if content in [
            (run_attempt.receipt.tree, run_attempt.receipt.tree_all)
            for run_attempt in (witness, flaky.passed)
        ]:
            return flaky
        changed, complete = self._compare.symbols(witness, own, same_test=name != flaky.test)
        if complete and not changed:
            return flaky
        return None

    def _under_earlier_name(self, name: str, receipt: Receipt) -> FlakyTest | None:
        """The flaky test that this one was, when it was called otherwise and had the same
        content.
        """
        if self._renamed is None:
            return None
        if receipt.run not in self._absent:
            reported = {one.subject for one in receipt.evidence}
            self._absent[receipt.run] = [
                test for test in self.tests if f"test:{test}" not in reported
            ]
        function, _, case = name.partition("[")
        for test in self._absent[receipt.run]:
            flaky = self.tests[test]
            earlier = self._renamed(flaky.failed.receipt, receipt).get(function)
            if earlier and (earlier, case) == (test.partition("[")[0], test.partition("[")[2]):
                return flaky
        return None


def _counts(attempts: Sequence[Attempt], pair: tuple[Attempt, Attempt]) -> tuple[int, int]:
    """(failures, runs) where both outcomes were seen; a pass on a second attempt is a failure that
    was repeated.

    The witnesses count together, whatever else differs between their contents.
    """
    together = {attempt.receipt.tree for attempt in pair}
    groups: dict[tuple[Any, ...], list[Attempt]] = {}
    for attempt in attempts:
        if attempt.failed or attempt.passed or attempt.result.outcome == "flaky":
            content = (
                ("both",)
                if attempt.receipt.tree in together
                else (attempt.receipt.tree, attempt.receipt.tree_all)
            )
            key = (*content, attempt.environment)
            groups.setdefault(key, []).append(attempt)
    mixed = [
        some
        for some in groups.values()
        if any(not a.passed for a in some) and any(not a.failed for a in some)
    ]
    return sum(not a.passed for some in mixed for a in some), sum(map(len, mixed))
