"""Passes that don't take a failure back.

A test fails after another one that leaves something changed, and passes where it runs alone. A run of
both would fail again. So a pass of the same content ends such a failure only where the test found
what it had found when it failed, or ran together with those that left it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from kl_hooks.evidence.ledger import Entry, selection_limits
from kl_hooks.evidence.reads import STATES, STORED, TOUCHED, Read
from kl_hooks.evidence.snapshot import Snapshot, newest_first
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.facts import STALE, VALID, Verdict
from kl_hooks.proof.installed import Environments
from kl_hooks.proof.other_runs import OtherRun, runs_of_content
from kl_hooks.proof.places import is_for_all, is_stored, place_in_words


def results_of_content(
    snapshot: Snapshot, entries: Sequence[Entry], trees: Sequence[str], environments: Environments
) -> dict[str, OtherRun]:
    """As `runs_of_content`, without passes that take no failure back and the results of the tests
    that must run together with theirs.
    """
    runs = runs_of_content(snapshot, entries, trees, environments)
    stale = stale_passes(runs)
    return {name: run.without(stale[name]) if name in stale else run for name, run in runs.items()}


class _LeftState(NamedTuple):
    """Something that tests left changed, and that a test found when it failed."""

    state: Read
    writers: frozenset[str]
    """The tests, and set-ups of fixtures, that left it: in that run, or a file in one before."""


def stale_passes(runs: Mapping[str, OtherRun]) -> dict[str, dict[str, Verdict]]:
    """ID of a run → node ID → why its result does not count."""
    ordered = [runs[entry.id] for entry in newest_first(run.original for run in runs.values())]
    stale: dict[str, dict[str, Verdict]] = {}
    for position, failed_run in enumerate(ordered):
        passes_of = {
            test: [run for run in ordered[:position] if _passed(run, test)]
            for test in sorted(failed_run.failures)
        }
        # only where one of them passed since: it takes the reads of all tests
        if not any(passes_of.values()):
            continue
        writers = _writers_of(failed_run)
        for older_run in ordered[position + 1 :]:
            # what a test leaves in a file is there in the next run; a cache ends with its process,
            # and of one that a test looked for it is only asked once more
            for state, tests in _touched_in(older_run).items():
                if is_stored(state.pattern):
                    writers.setdefault(state, set()).update(tests)
        for test, passes in passes_of.items():
            for name, reason in _to_repeat(failed_run, test, passes, writers):
                for run in passes if name == test else ordered:
                    if _is_valid(run, name):
                        stale.setdefault(run.original.id, {})[name] = Verdict(STALE, reason)
    return stale


def _to_repeat(
    failed_run: OtherRun,
    test: str,
    passes: Sequence[OtherRun],
    writers: Mapping[Read, Set[str]],
) -> Iterator[tuple[str, str]]:
    """The tests that must run together after one that failed, and why. `passes`: the newer runs of
    the content in which it passed; `writers`: who left what the failed run found.
    """
    for left in _found_changed(failed_run, test, writers) if passes else ():
        if not any(_is_found_again(run, test, left) for run in passes):
            yield from _reasons(failed_run, test, left)


def _passed(run: OtherRun, test: str) -> bool:
    return _is_valid(run, test) and test not in run.failures


def _is_valid(run: OtherRun, test: str) -> bool:
    verdict = run.verdicts.get(test)
    return verdict is not None and verdict.state == VALID


def _writers_of(run: OtherRun) -> dict[Read, set[str]]:
    """State → the tests, and set-ups of fixtures, of a run that left it."""
    writers: dict[Read, set[str]] = {}
    if run.executed is None:
        return writers
    for writer, places in run.executed.left.items():
        for path, name in places:
            writers.setdefault(Read(STATES, f"{path}:{name}"), set()).add(writer)
    for state, tests in _touched_in(run).items():
        writers.setdefault(state, set()).update(tests)
    return writers


def _touched_in(run: OtherRun) -> dict[Read, set[str]]:
    """File or cache, as who looked for it has read it → the tests of a run that wrote or removed
    it.
    """
    touchers: dict[Read, set[str]] = {}
    for test, reads in _reads_of(run).items():
        for read in reads:
            if read.path == TOUCHED:
                touchers.setdefault(Read(STORED, read.pattern), set()).add(test)
    return touchers


def _reads_of(run: OtherRun) -> Mapping[str, frozenset[Read]]:
    """Test → what it read in a run."""
    if run.executed is None or run.executed.reads is None:
        return {}
    return run.executed.reads.tests


def _found_changed(
    run: OtherRun, test: str, writers: Mapping[Read, Set[str]]
) -> Iterator[_LeftState]:
    """What the test found changed in a run, or all tests did."""
    own_reads = _reads_of(run).get(test, frozenset())
    for state in sorted(writers):
        others = writers[state] - {test}
        is_shared = state.path == STATES and is_for_all(state.pattern)
        if others and (is_shared or state in own_reads):
            yield _LeftState(state, frozenset(others))


def _is_found_again(run: OtherRun, test: str, left: _LeftState) -> bool:
    """Whether a run of the test had the same before it, as far as a run can show that."""
    if not selection_limits(run.original.receipt.selection):
        return True
    # that it looked for a file does not show that the file was there
    is_read = left.state.path == STATES and left.state in _reads_of(run).get(test, ())
    return is_read or left.writers <= run.verdicts.keys()


def _reasons(run: OtherRun, test: str, left: _LeftState) -> Iterator[tuple[str, str]]:
    """The tests that must run together, and why."""
    place = place_in_words(left.state.pattern)
    first = min(left.writers)
    failed = f"failed in run {run.original.receipt.run[:8]}"
    yield test, f"it {failed} where {first} had left {place} changed, and passed only without that"
    for writer in left.writers:
        yield writer, f"it leaves {place} changed, with which {test} {failed}"
