"""Whether the runs of a content report together what is expected of it.

Runs of one environment add up. Where those of no environment are complete, the one that misses
least is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kl_hooks.evidence.ledger import COUNTED_LIMITS, Entry, selection_limits
from kl_hooks.evidence.trust import environment_key, observation
from kl_hooks.model.claim import Observation
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.receipt import Evidence
from kl_hooks.model.symbol import split_id
from kl_hooks.proof.collecting_hooks import newly_collected
from kl_hooks.proof.configured_selection import collects_doctests
from kl_hooks.proof.content_runs import NAMED, SWITCHED_OFF, ContentFacts
from kl_hooks.proof.expected_tests import Expected, Missing
from kl_hooks.proof.other_runners import REPORTED, outdated_tests, unreported_files
from kl_hooks.proof.other_runs import OtherRun, unsettled
from kl_hooks.proof.pytest_config import PytestConfig
from kl_hooks.proof.reported_tests import Reported
from kl_hooks.proof.run_rules import JudgedRun

_INNER: Final = lazy_pattern(r"(?=::|\[)")
"""Where the name of a class, function or parameter follows in a node ID."""


class Completeness(NamedTuple):
    """What the runs that count report of what is expected."""

    alone: Sequence[Entry] = ()
    """Runs that report everything, each by itself."""
    parts: Sequence[Entry] = ()
    """Runs that report everything together with others of their environment."""
    joint_observations: tuple[Observation, ...] = ()
    """One for each environment whose runs report everything only together."""
    missing: tuple[Missing, ...] = ()
    not_assessed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, runs: Sequence[JudgedRun], facts: ContentFacts) -> Completeness:
        """Compare the union of the runs of each environment with what is expected."""
        counting = [judged for judged in runs if judged.counts]
        if not counting or facts.expected is None:
            return cls([judged.entry for judged in counting if judged.is_whole])
        expected = facts.expected()
        if outdated := tuple(outdated_tests(facts)):
            return cls._of_missing(outdated, expected)
        reports = [
            judged.entry
            for judged in counting
            if judged.run.receipt.source == REPORTED and judged.is_whole
        ]
        # a report names tests as its writer likes: only the files are compared
        unreported = tuple(unreported_files(expected, reports)) if reports else ()
        together = [_Together.of(group, runs, facts) for group in _by_environment(counting)]
        complete = [group for group in together if not group.missing]
        alone = [
            *(() if unreported else reports),
            *(run for part in complete for run in part.whole),
        ]
        joint = [group.entries for group in complete if not group.whole]
        not_assessed = next((group.not_assessed for group in complete if group.not_assessed), ())
        if alone or joint:
            removed = dict.fromkeys(words for group in complete for words in group.removed)
            return cls(
                alone,
                [entry for entries in joint for entry in entries],
                tuple(map(_joint_observation, joint)),
                not_assessed=not_assessed,
                notes=(*expected.notes, *removed),
            )
        least = (unreported, *(group.missing for group in together))
        return cls._of_missing(min(filter(None, least), key=len, default=()), expected)

    @classmethod
    def _of_missing(cls, missing: tuple[Missing, ...], expected: Expected) -> Completeness:
        reasons = tuple(_missing_words(missing))
        return cls(missing=missing, notes=expected.notes, reasons=reasons)

    def without(self, unsettled_tests: Sequence[Missing]) -> Completeness:
        """The same, where these tests must run before anything is complete."""
        named = _names_above([test.name for test in unsettled_tests])
        others = (test for test in self.missing if test.name not in named)
        missing = (*unsettled_tests, *others)
        return Completeness(
            missing=missing,
            not_assessed=self.not_assessed,
            notes=self.notes,
            reasons=tuple(_missing_words(missing)),
        )


class _Together(NamedTuple):
    """What the runs of one environment report together."""

    entries: Sequence[Entry]
    whole: Sequence[Entry] = ()
    """Those that report everything, each by itself."""
    missing: tuple[Missing, ...] = ()
    not_assessed: tuple[str, ...] = ()
    removed: Sequence[str] = ()
    """Notes on tests that earlier runs had."""

    @classmethod
    def of(
        cls, group: Sequence[JudgedRun], runs: Sequence[JudgedRun], facts: ContentFacts
    ) -> _Together:
        """Compare these runs with what is expected. `runs`: all of the content."""
        assert facts.expected is not None
        expected = facts.expected()
        entries = [judged.entry for judged in group]
        own = [entry for entry in entries if entry.id not in facts.other_runs]
        earlier = facts.earlier_runs(own[-1] if own else entries[0])
        environment = environment_key(group[0].run.receipt)
        is_collected = any(_has_collected_all(judged, environment) for judged in runs)
        missing, not_assessed = _missing(expected, entries, earlier, facts.other_runs, is_collected)
        if missing:
            return cls(entries, missing=missing)
        whole = [
            judged.entry
            for judged in group
            if judged.is_whole
            and not _missing(expected, [judged.entry], earlier, facts.other_runs, is_collected)[0]
        ]
        removed = tuple(_removed_words(entries, earlier if own else (), facts))
        return cls(entries, whole, (), not_assessed, removed)


def _by_environment(counting: Sequence[JudgedRun]) -> Iterable[list[JudgedRun]]:
    """The runs of pytest."""
    groups: dict[tuple[str, ...], list[JudgedRun]] = {}
    for judged in counting:
        if judged.run.receipt.source != REPORTED:
            groups.setdefault(environment_key(judged.run.receipt), []).append(judged)
    return groups.values()


def _has_collected_all(judged: JudgedRun, environment: tuple[str, ...]) -> bool:
    """Whether a run of this content collected all files, and so imported them, in an environment."""
    receipt = judged.run.receipt
    return (
        receipt.source != REPORTED
        and environment_key(receipt) == environment
        and judged.run.other is None
        and judged.run.limits.keys() <= COUNTED_LIMITS
        and not receipt.environment.get("rootdir")
        and judged.has_collected
    )


def _joint_observation(group: Sequence[Entry]) -> Observation:
    # parts of one whole are one observation, however each was run: only an environment differs
    # (ADR-0017)
    entry = next(entry for entry in group if entry.receipt.evidence)
    receipt = entry.receipt
    return observation(receipt, receipt.evidence[0], entry.origin)._replace(way="")


def _missing(
    expected: Expected,
    runs: Sequence[Entry],
    earlier: Sequence[Entry],
    other_runs: Mapping[str, OtherRun],
    is_collected: bool,
) -> tuple[tuple[Missing, ...], tuple[str, ...]]:
    """What these runs don't report, and what can't be assessed. `is_collected`: whether all files
    of the content were collected, by whichever run.
    """
    reported = Reported(expected.root, collected_all=is_collected)
    for entry in runs:
        reported.add(entry.receipt, selection_limits(entry.receipt.selection))
    transferred = [other_runs[entry.id] for entry in runs if entry.id in other_runs]
    if transferred:
        stale = unsettled(transferred, runs, reported.ids, reported.whole)
    else:
        stale = {}
    must_run = tuple(Missing(name, verdict.reason) for name, verdict in sorted(stale.items()))
    reported.unchanged += [other.whole for other in transferred]
    reported.unchanged_imports += [other.has_imported for other in transferred]
    reported.unchanged_doctests += [other.has_asked_for_doctests for other in transferred]
    assessment = expected.assess(reported.close())
    named = _names_above(stale)
    missing = (
        *must_run,
        *(test for test in assessment.missing if test.name not in named),
        *_uncollected(expected, reported, transferred),
    )
    for position, run in enumerate(earlier):
        lost = _lost_since(expected, reported, runs, run, is_newest=not position)
        names = {test.name for test in missing}
        missing += tuple(test for test in lost if test.name not in names)
    if not missing and _is_selection_of_others(expected, reported):
        reason = "only a selection ran, of tests that no configuration names"
        missing = (Missing(runs[0].receipt.run[:8], reason),)
    return missing, assessment.not_assessed


def _uncollected(
    expected: Expected, reported: Reported, transferred: Sequence[OtherRun]
) -> Iterator[Missing]:
    """The files that a hook may collect, and that were in no run that collected all files."""
    new_files = [newly_collected(other.changes, other.tested_files) for other in transferred]
    hooks = {path: hook for files in new_files for path, hook in files.items()}
    for path, hook in sorted(hooks.items()):
        is_collected = reported.has_collected(path) or any(
            other.collects_all and path not in files
            for other, files in zip(transferred, new_files, strict=True)
        )
        if is_collected or expected.excludes(path):
            continue
        if path == hook:
            reason = "it has a hook that collects files, and no complete run has collected with it"
        else:
            reason = f"no complete run collected it, and {hook} has a hook that may do so"
        yield Missing(path, reason)


def _is_selection_of_others(expected: Expected, reported: Reported) -> bool:
    """Whether nothing whole ran, and nothing of the expected files."""
    return not reported.everything and not expected.files.keys() & reported.tests.keys()


def _names_above(tests: Iterable[str]) -> set[str]:
    """These tests, and what they are tests of: `a.py::T::test_x[1]` is one of `a.py`, `a.py::T` and
    `a.py::T::test_x`. With a test that must run again these are named already, with the better
    reason.
    """
    ends = ((test, place.start()) for test in tests for place in _INNER.finditer(test))
    return {*tests, *(test[:end] for test, end in ends)}


def _lost_since(
    expected: Expected, reported: Reported, runs: Sequence[Entry], earlier: Entry, is_newest: bool
) -> Iterator[Missing]:
    """What a complete run of another content reported, and these runs omitted or (the newest) newly
    switched off.

    More than one is looked at, because the run before may itself be one that left tests out and
    proved nothing.
    """
    label = f"run {earlier.receipt.run[:8]}"
    before = Reported(expected.root)
    before.add(earlier.receipt, {})
    for path in sorted(before.tests.keys() & expected.others):
        if path not in reported.tests and PytestConfig().collects(path):
            yield Missing(path, f"{label} reported it, and no configuration names it any more")
    doctests = collects_doctests(_words(earlier.receipt.selection.get("addopts")))
    for path, names in sorted(before.tests.items()):
        if reported.skips(path) or reported.omits(path):
            continue
        for name in sorted(names):
            if not reported.has(path, name) and expected.still_defines(path, name, doctests):
                yield Missing(
                    f"{path}::{name}", f"{label} reported it, and it is still there: not collected"
                )
    if is_newest:
        yield from _switched_off(runs, earlier, label)


def _removed_words(
    group: Sequence[Entry], earlier: Sequence[Entry], facts: ContentFacts
) -> Iterator[str]:
    """For each file the tests that passed in the complete run before, or in a run whose results
    are transferred, and that are removed: an emptied file has no failing test.
    """
    assert facts.expected is not None
    expected = facts.expected()
    transferred = (facts.other_runs[entry.id] for entry in group if entry.id in facts.other_runs)
    before = [*earlier[:1], *(run.original for run in transferred if not run.is_own)]
    reported = {_function_of(result) for entry in group for result in entry.receipt.evidence}
    lost: dict[tuple[str, str], set[str]] = {}
    for entry in before:
        doctests = collects_doctests(_words(entry.receipt.selection.get("addopts")))
        for result in entry.receipt.evidence:
            function = _function_of(result)
            path, _, name = function.partition("::")
            if result.outcome != "passed" or not name or function in reported:
                continue
            if expected.lost_source(path, name, doctests):
                lost.setdefault((path, entry.receipt.run), set()).add(function)
    for (path, run), functions in sorted(lost.items()):
        removed = [test for test in functions if facts.current_name(test) == test]
        if removed:
            if len(removed) == 1:
                tests = "test that passed was"
            else:
                tests = "tests that passed were"
            yield f"{path}: {len(removed)} {tests} removed since run {run[:8]}"


def _function_of(result: Evidence) -> str:
    """The node ID of a result without parameters."""
    return split_id(result.subject)[1].partition("[")[0]


def _words(value: object) -> list[str]:
    if not isinstance(value, list | tuple):
        return []
    return [str(word) for word in value]


def _switched_off(runs: Sequence[Entry], earlier: Entry, label: str) -> Iterator[Missing]:
    """Tests that passed in an earlier run, and that a changed plugin of the repository skips."""
    plugins = earlier.receipt.environment.get("local_plugins")
    # without a change of the repository's plugins a skip from outside is as it was when the test
    # last passed
    if all(entry.receipt.environment.get("local_plugins") == plugins for entry in runs):
        return
    results = [result for entry in runs for result in entry.receipt.evidence]
    passed_before = {
        result.subject for result in earlier.receipt.evidence if result.outcome == "passed"
    }
    passed = {result.subject for result in results if result.outcome == "passed"}
    for result in results:
        # one that was skipped all along is no loss: many projects skip slow tests in a conftest.py
        # (ADR-0017)
        switch = result.detail.get("by")
        is_off = switch and result.outcome in SWITCHED_OFF
        if is_off and result.subject in passed_before - passed:
            reason = f"it passed in {label}, and now {switch} makes it {result.outcome}"
            yield Missing(split_id(result.subject)[1], reason)


def _missing_words(missing: Sequence[Missing]) -> Iterator[str]:
    for test in missing[:NAMED]:
        yield f"{test.name}: {test.reason}"
    if len(missing) > NAMED:
        number = len(missing) - NAMED
        if number == 1:
            have = "test or file has"
        else:
            have = "tests or files have"
        yield f"{number} more {have} no valid result here"
