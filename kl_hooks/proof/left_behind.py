"""Results that a newer test may have spoiled: it leaves behind what no earlier run had left, or
takes away what an earlier test leaves for a later one.

A test that is new, or executes something that changed, may leave a global changed that another test
uses. `--kl-impacted` runs the first one, and finds the result of the other valid: nothing that it
executed differs. Whether they pass together only a run of both shows (ADR-0071). What it takes away
is not there where it runs alone, so it counts that its code names it, or that it cleared a cache,
removed a file, set a logger.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Final

from kl_hooks.evidence.ledger import Entry, chain_head
from kl_hooks.evidence.reads import RESET, SHARED, STATES, STORED, TOUCHED, Read
from kl_hooks.evidence.snapshot import Snapshot, newest_first
from kl_hooks.git.repository import Repository
from kl_hooks.git.run import once
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.comparison import Comparison
from kl_hooks.proof.executed_names import Names, Near
from kl_hooks.proof.facts import STALE, VALID, Difference, Verdict
from kl_hooks.proof.other_runs import OtherRun, other_runs
from kl_hooks.proof.places import (
    LOGGERS,
    RANDOM,
    UNNAMED,
    is_for_all,
    is_stored,
    name_of,
    names_of,
    place_in_words,
)
from kl_hooks.proof.touch import TestFacts, Touch
from kl_hooks.proof.verdict import Effects, changed_definitions
from kl_hooks.workspace import Workspace

_SETTING: Final = frozenset(
    (
        *("setLevel", "addHandler", "removeHandler", "addFilter", "removeFilter", "disable"),
        *("basicConfig", "dictConfig", "fileConfig", "handlers", "filters", "level"),
        *("disabled", "propagate"),
    )
)
"""The names by which code sets loggers."""


class _Left(NamedTuple):
    """What a test leaves changed."""

    test: str
    path: str
    """The file that has it; empty: the library."""
    name: str

    def reason(self) -> str:
        """Why a result of another test does not count."""
        if self.path:
            where = f"{self.name} of {self.path}"
        else:
            where = self.name
        return f"{self.test} leaves {where} changed, and they did not run together"


class SpoiledResults(NamedTuple):
    """Results that count no more, and the tests that must run together with theirs."""

    stale: Mapping[str, Mapping[str, Verdict]]
    """ID of an entry → node ID → why."""

    @classmethod
    def of(cls, runs: Sequence[OtherRun]) -> SpoiledResults:
        """Of all runs that speak about a content: those of the content itself, and of others."""
        by_id = {run.original.id: run for run in runs}
        ordered = [by_id[entry.id] for entry in newest_first(run.original for run in runs)]
        left_by_run = [frozenset(_left_in(run)) for run in ordered]
        stale: dict[str, dict[str, Verdict]] = {}
        partners: dict[str, dict[str, str]] = {}
        comparisons = _Comparisons(ordered)
        for place, run in enumerate(ordered):
            if run.executed is None:
                continue
            spoiled = (
                *_spoiled_by_left(ordered, left_by_run, place, comparisons),
                *_spoiled_by_touch(ordered, place, comparisons),
                *_spoiled_by_absence(ordered, place, comparisons),
            )
            for entry, name, reason, others in spoiled:
                stale.setdefault(entry, {})[name] = Verdict(STALE, reason)
                partners.setdefault(name, {}).update(others)
        _retract_partners(ordered, stale, partners)
        return cls(stale)

    def taken_from(self, run: OtherRun) -> OtherRun:
        """The run without these results."""
        stale = self.stale.get(run.original.id)
        if not stale:
            return run
        return run.without(stale)


def compared_runs(
    ws: Workspace,
    repo: Repository,
    snapshot: Snapshot,
    trees: Sequence[str],
    other: str | None,
    own_runs: Mapping[str, OtherRun],
) -> list[OtherRun]:
    """The runs of a content itself, then those of other contents, newest first, without results
    that a test may have spoiled. Compared once in a moment, whoever asks.

    `own_runs`: as `runs_of_content` returns them; `other`: as `other_runs` takes it.
    """

    def compare() -> list[OtherRun]:
        runs = [*own_runs.values(), *other_runs(ws, repo, snapshot, trees, other)]
        spoiled = SpoiledResults.of(runs)
        return [spoiled.taken_from(run) for run in runs]

    evidence = (
        chain_head(snapshot.db) if snapshot.db else None,
        tuple(entry.id for entry in snapshot.waiting),
        snapshot.trust_ref,
    )
    return once(("compared runs", repo, tuple(trees), other, evidence, tuple(own_runs)), compare)


def _retract_partners(
    ordered: Sequence[OtherRun],
    stale: dict[str, dict[str, Verdict]],
    partners: Mapping[str, Mapping[str, str]],
) -> None:
    """Of a test without a valid result all that must run together with it have none, and what must
    run together with those: all of them run again, in one run.
    """
    waiting = [*partners]
    while waiting:
        name = waiting.pop()
        if any(_is_valid(run, name, stale) for run in ordered):
            continue
        for test, reason in partners[name].items():
            for run in ordered:
                if _is_valid(run, test, stale):
                    stale.setdefault(run.original.id, {})[test] = Verdict(STALE, reason)
                    if test in partners:
                        waiting.append(test)


def _is_valid(run: OtherRun, name: str, stale: Mapping[str, Mapping[str, Verdict]]) -> bool:
    verdict = run.verdicts.get(name)
    is_stale = name in stale.get(run.original.id, ())
    return verdict is not None and verdict.state == VALID and not is_stale


def _left_in(run: OtherRun) -> Iterator[_Left]:
    """By tests, and by set-ups of fixtures, whose names end like no test's."""
    for test, places in run.executed.left.items() if run.executed else ():
        yield from (_Left(test, path, name) for path, name in places)


def _left_by_fixtures(left: Iterable[_Left]) -> frozenset[_Left]:
    return frozenset(place for place in left if place.test.endswith(UNNAMED))


def _new_left(
    ordered: Sequence[OtherRun], left_by_run: Sequence[frozenset[_Left]], place: int
) -> list[_Left]:
    """What tests leave changed in runs that are newer than the one at a place, and did not in it,
    in older ones, or in others of the same content, such as other parts of one suite.
    """
    tree = _tree(ordered[place].original)
    newer = {at for at in range(place) if _tree(ordered[at].original) != tree}
    before = [at for at in range(len(ordered)) if at not in newer]
    new = frozenset[_Left]().union(*(left_by_run[at] for at in newer))
    # what an older run shows of a test that is another one by now does not count for this run
    earlier = left_by_run[place].union(
        left
        for at in before
        if at != place
        for left in left_by_run[at]
        if _tree(ordered[at].original) == tree or _is_valid(ordered[at], left.test, {})
    )
    # who uses a fixture that left the same before brings nothing new
    same = {left[1:] for left in _left_by_fixtures(new & earlier)}
    new = frozenset(left for left in new - earlier if left[1:] not in same)
    return sorted(
        left
        for left in new
        if any(_is_valid(ordered[at], left.test, {}) for at in newer if left in left_by_run[at])
        and not any(_is_valid(ordered[at], left.test, {}) for at in before)
    )


def _tree(entry: Entry) -> str | None:
    return entry.receipt.tree_all or entry.receipt.tree


_FUNCTIONS: Final = ("function:", "method:")


class _Comparisons:
    """The runs compared with the content, each once."""

    def __init__(self, runs: Sequence[OtherRun]) -> None:
        self._by_run: dict[str, Comparison] = {}
        self._effects: dict[str, Effects] = {}
        others = (run.changes for run in runs if not run.is_own)
        self._other = next(others, Difference())

    def of(self, run: OtherRun) -> Comparison:
        """Of a run that recorded what its tests executed."""
        if run.original.id not in self._by_run:
            assert run.executed is not None
            difference = run.changes
            if run.is_own:  # what it ran on is there now
                difference = difference._replace(
                    text=lambda path, side: self._other.text(path, 1),
                    source=self._other.source,
                )
            self._by_run[run.original.id] = Comparison(run.executed, difference)
        return self._by_run[run.original.id]

    def near_changes(self, older: OtherRun, newer: OtherRun, test: TestFacts) -> Near | None:
        """What joins the functions of a newer run's test that are not as an older run of the test
        executed them, or that it did not execute then, and the definitions that it gets by their
        names. None where it may do otherwise by more than these.
        """
        verdict = older.verdicts.get(test.nodeid)
        if verdict is None or verdict.state != STALE or older.differs_outside_git:
            return None
        if not all(symbol.startswith(_FUNCTIONS) for symbol in verdict.symbols):
            return None
        comparison = self.of(older)
        if older.original.id not in self._effects:
            self._effects[older.original.id] = Effects(comparison)
        before = comparison.test(test.nodeid)
        effects = self._effects[older.original.id]
        definitions = changed_definitions(comparison, effects, before)
        if definitions is None or not (definitions or verdict.symbols):
            return None
        executed_before = {comparison.executed.symbols[index] for index in before.own}
        comparison = self.of(newer)
        symbols = comparison.executed.symbols
        return comparison.names.near(
            {index for index in test.own if symbols[index] not in executed_before}, definitions
        )


class _Spoiled(NamedTuple):
    """A result that counts no more."""

    entry: str
    """The ID of its run."""
    test: str
    reason: str
    partners: Mapping[str, str]
    """Test that must run together with it → why."""


def _valid_tests(run: OtherRun) -> list[str]:
    return [name for name, verdict in run.verdicts.items() if verdict.state == VALID]


def _spoiled_by_left(
    ordered: Sequence[OtherRun],
    left_by_run: Sequence[frozenset[_Left]],
    place: int,
    comparisons: _Comparisons,
) -> Iterator[_Spoiled]:
    """Results of tests that use what a newer one leaves changed."""
    new = _new_left(ordered, left_by_run, place)
    if not new:
        return
    comparison = comparisons.of(ordered[place])
    uses = [_Use.of(comparison, left) for left in new]
    users_of_use: list[list[str]] = [[] for _ in uses]
    # one test after the other: of a large run, what all of them executed does not fit into memory
    for name in _valid_tests(ordered[place]):
        test = comparison.test(name)
        for use, users in zip(uses, users_of_use, strict=True):
            if use.fits(test):
                users.append(name)
    for left, users in zip(new, users_of_use, strict=True):
        for name in users:
            why = f"it leaves {left.name} changed, which {name} uses"
            yield _Spoiled(ordered[place].original.id, name, left.reason(), {left.test: why})


class _Use(NamedTuple):
    """When a test uses what another one left changed: it executes code which names that, or found
    it changed.
    """

    left: _Left
    place: str
    named: Touch
    """It executes code which names it, …"""
    files: frozenset[str] | None
    """… and needs one of these files; None: all have what the library has."""
    shared: Touch

    @classmethod
    def of(cls, comparison: Comparison, left: _Left) -> _Use:
        """Of a run."""
        place = f"{left.path}:{left.name}"
        named = Touch()
        # nobody can rely on numbers that nothing seeded
        is_random = place == RANDOM
        for name in () if is_random else names_of(place):
            named |= comparison.uses.users_of_name(name, left.path)
        files = comparison.imports.needing([left.path]) if left.path else None
        shared = comparison.uses.read_by([Read(STATES, place), Read(STORED, place)])
        return cls(left, place, named, files, shared)

    def fits(self, test: TestFacts) -> bool:
        """Whether a test of the run uses it."""
        if test.nodeid == self.left.test or Read(RESET, self.place) in test.reads:
            return False
        if is_for_all(self.place) or self.shared.fits(test):
            return True
        return self.named.fits(test) and (self.files is None or test.needs_any(self.files))


def _newer_tests(
    ordered: Sequence[OtherRun], place: int
) -> Iterator[tuple[OtherRun, Sequence[str]]]:
    """Runs of other contents that are newer than the one at a place, with their tests that no older
    run has a valid result of.
    """
    tree = _tree(ordered[place].original)
    newer = [run for run in ordered[:place] if _tree(run.original) != tree and run.executed]
    before = [run for run in ordered if run not in newer]
    for run in newer:
        new = [
            name
            for name in _valid_tests(run)
            if not any(_is_valid(other, name, {}) for other in before)
        ]
        if new:
            yield run, new


def _spoiled_by_touch(
    ordered: Sequence[OtherRun], place: int, comparisons: _Comparisons
) -> Iterator[_Spoiled]:
    """Results of tests that found what an earlier test had left, and that a newer one may
    remove.
    """
    relying = _Relying(ordered[place])
    if not relying.tests:
        return
    for run, new in _newer_tests(ordered, place):
        files = comparisons.of(ordered[place]).files.files_with(*relying.names)
        comparison = comparisons.of(run)
        for test in map(comparison.test, new):
            names = comparison.names.names_in(test, files)
            if any(_touches(test, names, state) for state in relying.tests):
                near = comparisons.near_changes(ordered[place], run, test)
                names = comparison.names.names_in(test, files, near)
            for state in sorted(relying.tests):
                if _touches(test, names, state):
                    yield from relying.spoiled_by(test.nodeid, state)


def _spoiled_by_absence(
    ordered: Sequence[OtherRun], place: int, comparisons: _Comparisons
) -> Iterator[_Spoiled]:
    """Results of newer tests that use what an earlier test leaves, and ran without that one."""
    leaving = _Relying(ordered[place]).leaving
    if not leaving:
        return
    wanted = frozenset(name for state in leaving for name in names_of(state))
    for run, new in _newer_tests(ordered, place):
        files = comparisons.of(ordered[place]).files.files_with(*wanted)
        comparison = comparisons.of(run)
        together = {
            name
            for other in ordered
            if _tree(other.original) == _tree(run.original)
            for name in _valid_tests(other)
        }
        for test in map(comparison.test, new):
            near = comparisons.near_changes(ordered[place], run, test)
            names = comparison.names.names_in(test, files, near).everywhere
            before = comparisons.of(ordered[place]).test(test.nodeid)
            reads = test.reads | before.reads
            found_states = {read.pattern for read in reads if read.path in (STATES, STORED)}
            for state in sorted(leaving):
                is_used = is_for_all(state) or state in found_states
                is_used = is_used or not names.isdisjoint(names_of(state))
                if is_used and Read(RESET, state) not in test.reads:
                    shown = place_in_words(state)
                    for other in leaving[state] - together - {test.nodeid}:
                        why = f"{other} leaves {shown} changed, and they did not run together"
                        partners = {other: f"it leaves {shown} changed, which {test.nodeid} uses"}
                        yield _Spoiled(run.original.id, test.nodeid, why, partners)


def _touches(test: TestFacts, names: Names, state: Read) -> bool:
    """Whether a test may remove a state."""
    touched = {read.pattern for read in test.reads if read.path == TOUCHED}
    if state.pattern in touched or (touched and _touches_file(touched, state.pattern)):
        return True
    if state.pattern == LOGGERS:
        return Read(STORED, LOGGERS) in test.reads and not _SETTING.isdisjoint(names.everywhere)
    if state.path == STATES:
        is_shared = Read(STORED, state.pattern) in test.reads
        return is_shared or not names.everywhere.isdisjoint(names_of(state.pattern))
    return not names.outside_of_stores.isdisjoint(names_of(state.pattern))


def _touches_file(touched: Set[str], place: str) -> bool:
    """Whether one of these is in a folder that was listed, or a folder that the file is in."""
    name = place.removesuffix(UNNAMED)
    if name.endswith("/*"):
        return any(other.startswith(name[:-1]) for other in touched)
    parts = name.split("/")
    return any(f"{'/'.join(parts[:depth])}/{UNNAMED}" in touched for depth in range(1, len(parts)))


class _Relying:
    """The tests of a run that found what earlier tests had left."""

    def __init__(self, run: OtherRun) -> None:
        """Of a run that recorded what its tests executed."""
        assert run.executed is not None
        self._entry = run.original.id
        self._executed = run.executed
        self._valid = _valid_tests(run)
        tests: dict[Read, set[str]] = {}
        for name in self._valid:
            reads = self._reads(name)
            for read in reads:
                # what was as it is for every test can't be missed by one
                is_as_before = read.path == STORED and Read(SHARED, read.pattern) in reads
                if read.path in (STATES, STORED) and not is_as_before:
                    tests.setdefault(read, set()).add(name)
        self.tests = {state: frozenset(names) for state, names in tests.items()}
        """State → the tests with a valid result that found it."""

    def _reads(self, test: str) -> Collection[Read]:
        reads = self._executed.reads
        if reads:
            return reads.tests.get(test, ())
        return ()

    @property
    def names(self) -> frozenset[str]:
        """The names by which code may remove what they found."""
        names = frozenset(name for state in self.tests for name in names_of(state.pattern))
        if any(state.pattern == LOGGERS for state in self.tests):
            return names | _SETTING
        return names

    @cached_property
    def leaving(self) -> Mapping[str, frozenset[str]]:
        """State → the tests with a valid result that left it changed, or wrote such a file."""
        leaving: dict[str, set[str]] = {}
        for test in self._valid:
            for path, name in self._executed.left.get(test, ()):
                leaving.setdefault(f"{path}:{name}", set()).add(test)
            for read in self._reads(test):
                # what else was touched was put back: its value at the end is known
                is_set = read.pattern == RANDOM or is_stored(read.pattern)
                if is_set and read.path == TOUCHED:
                    leaving.setdefault(read.pattern, set()).add(test)
        return {state: frozenset(tests) for state, tests in leaving.items()}

    @cached_property
    def _leaving_by_name(self) -> Mapping[str, frozenset[str]]:
        """The same by the name alone: a value may be found in another module than it was left
        in.
        """
        by_name: dict[str, set[str]] = {}
        for state, tests in self.leaving.items():
            by_name.setdefault(name_of(state), set()).update(tests)
        return {name: frozenset(tests) for name, tests in by_name.items()}

    def spoiled_by(self, test: str, state: Read) -> Iterator[_Spoiled]:
        """The results that a test spoils which may remove a state."""
        shown = place_in_words(state.pattern)
        for user in sorted(self.tests[state] - {test}):
            reason = f"{test} may reset {shown}, and they did not run together"
            partners = {test: f"it may reset {shown}, which {user} uses"}
            for leaving in self._leaving_by_name.get(name_of(state.pattern), ()):
                partners.setdefault(leaving, f"it leaves {shown} changed, which {user} uses")
            partners.pop(user, None)
            yield _Spoiled(self._entry, user, reason, partners)
