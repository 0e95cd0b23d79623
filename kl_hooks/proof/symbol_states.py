"""What recorded runs prove of all symbols of a content at once, and which tests execute each.

The rule is that of `proof.impact.state_of`; here it is folded over sets, since a repository has
tens of thousands of symbols. Tests of a file that executed the same rest on the same, so that a set
is made once for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from kl_hooks.evidence.executed import Executed, bits
from kl_hooks.evidence.flaky import FlakyPasses
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.facts import NOT_ASSESSED, STALE, VALID
from kl_hooks.proof.impact import NEVER, PROVEN, why_unrecorded
from kl_hooks.proof.other_runs import OtherRun

TRANSFERRED: Final = "transferred"
_MOST_TESTS: Final = 20
"""Tests that are named of one symbol; the others are counted."""


class Place(NamedTuple):
    """A symbol, as the content has it now."""

    path: str
    local: str
    """Its kind, and its name in the file with `_` for the module: `method:_.Cart.add`."""


class SymbolProof(NamedTuple):
    """What the runs prove of a symbol."""

    state: str
    """`PROVEN`: a test that executed it passed on this content; `TRANSFERRED`: on another one, and
    the result is valid here; `STALE`, `NEVER`, `NOT_ASSESSED`.
    """
    reason: str = ""
    """Why it is not proven."""


class ExecutingTests(NamedTuple):
    """The tests that executed a symbol when they ran last."""

    number: int
    names: Sequence[str]
    """The first of them, those first that executed least besides."""


class _Group(NamedTuple):
    """Tests of one file that executed the same."""

    tests: Sequence[str]
    """Sorted node IDs."""
    executed: int
    """A bit mask over the symbols that the tests of the file executed."""
    symbols: tuple[int, ...]
    """What the bits are: indexes into the symbols of the run."""
    rests_on: int
    """A bit mask over the symbols of the run."""


class SymbolStates:
    """The runs that speak about a content, asked about its symbols."""

    def __init__(self, parts: Sequence[OtherRun], flaky: FlakyPasses) -> None:
        """`parts`: the runs, newest first; `flaky`: a pass of a flaky test proves nothing."""
        recorded = [part for part in parts if part.executed is not None]
        why = why_unrecorded(parts)
        self._why_no_run = f"no run with executed symbols was recorded{why}"
        self._runs = [_RunStates(part, flaky) for part in recorded]
        self._unknown = {path for run in self._runs for path in run.unknown}

    def proof_of(self, place: Place, content_hash: str) -> SymbolProof:
        """What the runs prove of a symbol with this content."""
        stale: SymbolProof | None = None
        for run in self._runs:
            proof = run.proof_of(place, content_hash)
            if proof is not None and proof.state in (PROVEN, TRANSFERRED):
                return proof
            # the newest run that has it names the reason
            stale = stale or proof
        if stale is not None:
            return stale
        if not self._runs:
            return SymbolProof(NOT_ASSESSED, self._why_no_run)
        if place.path in self._unknown:
            return SymbolProof(NOT_ASSESSED, "its symbols were not recorded")
        return SymbolProof(NEVER, "no recorded test executed it")

    def executing_tests(
        self, name_now: Callable[[OtherRun, str], str]
    ) -> dict[Place, ExecutingTests]:
        """Symbol → the tests that executed it, each by its newest run that recorded that.

        `name_now`: what a test of a run is called now; empty for one that is not wanted.
        """
        # millions of pairs of a test and a symbol: by numbers, which are faster to look up
        number_of: dict[Place, int] = {}
        for run in self._runs:
            run.number_places(number_of)
        counts = [0] * len(number_of)
        names: list[list[str]] = [[] for _ in number_of]
        for run, group, tests in sorted(
            self._newest_groups(name_now), key=lambda row: (row[1].executed.bit_count(), row[2])
        ):
            for number in run.numbers(group):
                counts[number] += len(tests)
                shown = names[number]
                if len(shown) < _MOST_TESTS:
                    shown += tests[: _MOST_TESTS - len(shown)]
        return {
            place: ExecutingTests(counts[number], names[number])
            for place, number in number_of.items()
            if counts[number]
        }

    def _newest_groups(
        self, name_now: Callable[[OtherRun, str], str]
    ) -> Iterator[tuple[_RunStates, _Group, list[str]]]:
        """Each group of each run, with the names of its tests that no newer run has."""
        names_of_newer = set[str]()
        for run in self._runs:
            names_here = set[str]()
            for group in run.groups:
                named = (name_now(run.part, test) for test in group.tests)
                tests = sorted({name for name in named if name and name not in names_of_newer})
                names_here.update(tests)
                if tests:
                    yield run, group, tests
            names_of_newer |= names_here


class _RunStates:
    """One run, and what its results show of the symbols that it executed."""

    def __init__(self, part: OtherRun, flaky: FlakyPasses) -> None:
        assert part.executed is not None and part.symbols is not None
        self.part = part
        self._executed = part.executed
        self.unknown = part.executed.unknown
        receipt = part.original.receipt
        self._outcomes = {
            result.subject.removeprefix("test:"): result.outcome for result in receipt.evidence
        }
        self.groups = sorted(_groups(part.executed), key=lambda group: group.tests[0])
        self._index: dict[Place, int] = {}
        for index, path in enumerate(part.symbols.paths):
            self._index.setdefault(Place(path, part.symbols.local(index)), index)
        self._number: list[int | None] = [None] * len(part.symbols.paths)
        self._proven = 0
        used = 0
        self._first_test: dict[int, str] = {}
        """Index of a symbol → the first test that rests on it, by name."""
        self._by_chance: list[tuple[str, str, int]] = []
        """Flaky test that passed, why it is one, what it rests on; by name."""
        for group in self.groups:
            for index in bits(group.rests_on & ~used):
                self._first_test[index] = group.tests[0]
            used |= group.rests_on
            passed = [test for test in group.tests if self._is_valid_pass(test)]
            flaky_tests = {test: why for test in passed if (why := flaky.why(test, receipt))}
            self._by_chance += [(test, why, group.rests_on) for test, why in flaky_tests.items()]
            if len(flaky_tests) < len(passed):
                self._proven |= group.rests_on
        self._by_chance.sort()

    def _is_valid_pass(self, test: str) -> bool:
        verdict = self.part.verdicts.get(test)
        is_valid = verdict is not None and verdict.state == VALID
        return is_valid and self._outcomes.get(test) == "passed"

    def proof_of(self, place: Place, content_hash: str) -> SymbolProof | None:
        """What this run proves of a symbol; None where no test of it rests on that."""
        index = self._index.get(place)
        if index is None or index not in self._first_test:
            return None
        is_same = self._executed.symbols[index].content_hash == content_hash
        if is_same and self._proven >> index & 1:
            return SymbolProof(PROVEN if self.part.is_own else TRANSFERRED)
        return SymbolProof(STALE, self._why_stale(index, is_same))

    def _why_stale(self, index: int, is_same: bool) -> str:
        if is_same:
            for test, why, rests_on in self._by_chance:
                if rests_on >> index & 1:
                    return f"only a flaky test passed: {test} {why.removeprefix('flaky: ')}"
        test = self._first_test[index]
        verdict = self.part.verdicts.get(test)
        if verdict is not None and verdict.reason:
            return verdict.reason
        return f"{test} {self._outcomes.get(test)} in run {self.part.original.receipt.run[:8]}"

    def number_places(self, number_of: dict[Place, int]) -> None:
        """Give each symbol of the run its number in `number_of`, a new one where it has none."""
        for place, index in self._index.items():
            self._number[index] = number_of.setdefault(place, len(number_of))

    def numbers(self, group: _Group) -> Iterator[int]:
        """The numbers of the symbols that the tests of a group executed."""
        for bit in bits(group.executed):
            number = self._number[group.symbols[bit]]
            if number is not None:
                yield number


def _groups(executed: Executed) -> Iterator[_Group]:
    for file in executed.tests.files.values():
        tests_of_mask: dict[int, list[str]] = {}
        for test, (setup, call, teardown) in file.masks.items():
            tests_of_mask.setdefault(setup | call | teardown, []).append(test)
        for mask, tests in tests_of_mask.items():
            # what a result rests on follows from what was executed, and from the file
            yield _Group(sorted(tests), mask, file.symbols, executed.dependency_mask(tests[0]))


def failing_by_file(failing: Iterable[tuple[str, Mapping[str, str]]]) -> Counter[str]:
    """File → how many failing tests are in it or executed something of it. `failing`: file of the
    test, and symbol → file.
    """
    return Counter(
        path for test_file, symbols in failing for path in {test_file, *symbols.values()} if path
    )
