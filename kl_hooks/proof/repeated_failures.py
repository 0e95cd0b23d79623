"""Passes that don't take a failure back.

A test fails after another one that leaves something changed, and passes where it runs alone. A run of
both would fail again. So a pass of the same content ends such a failure only where the test found
what it had found when it failed, or ran together with those that left it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kl_hooks.evidence.ledger import Entry, selection_limits
from kl_hooks.evidence.reads import STATES, STORED, TOUCHED, Read
from kl_hooks.evidence.snapshot import Snapshot, newest_first
from kl_hooks.proof.facts import STALE, VALID, Verdict
from kl_hooks.proof.installed import Environments
from kl_hooks.proof.other_runs import OtherRun, runs_of_content
from kl_hooks.proof.places import is_for_all, place_in_words


def results_of_content(
    snapshot: Snapshot, entries: Sequence[Entry], trees: Sequence[str], environments: Environments
) -> dict[str, OtherRun]:
    """As `runs_of_content`, without passes that take no failure back and the results of the tests
    that must run together with theirs.
    """
    runs = runs_of_content(snapshot, entries, trees, environments)
    stale = stale_passes(runs)
    return {name: run.without(stale[name]) if name in stale else run for name, run in runs.items()}


class _Found(NamedTuple):
    """Something that a test found changed when it failed."""

    state: Read
    writers: frozenset[str]
    """The tests, and set-ups of fixtures, of that run which left it."""


def stale_passes(runs: Mapping[str, OtherRun]) -> dict[str, dict[str, Verdict]]:
    """ID of a run → node ID → why its result does not count."""
    ordered = [runs[entry.id] for entry in newest_first(run.original for run in runs.values())]
    stale: dict[str, dict[str, Verdict]] = {}
    for position, failed_run in enumerate(ordered):
        for test in sorted(failed_run.failures):
            passes = [run for run in ordered[:position] if _passed(run, test)]
            for name, reason in _to_repeat(failed_run, test, passes):
                for run in passes if name == test else ordered:
                    if _is_valid(run, name):
                        stale.setdefault(run.original.id, {})[name] = Verdict(STALE, reason)
    return stale


def _to_repeat(
    failed_run: OtherRun, test: str, passes: Sequence[OtherRun]
) -> Iterator[tuple[str, str]]:
    """The tests that must run together after one that failed, and why. `passes`: the newer runs of
    the content in which it passed.
    """
    for found in _found_changed(failed_run, test) if passes else ():
        if not any(_found_again(run, test, found) for run in passes):
            yield from _reasons(failed_run, test, found)


def _passed(run: OtherRun, test: str) -> bool:
    return _is_valid(run, test) and test not in run.failures


def _is_valid(run: OtherRun, test: str) -> bool:
    verdict = run.verdicts.get(test)
    return verdict is not None and verdict.state == VALID


def _found_changed(run: OtherRun, test: str) -> Iterator[_Found]:
    """What the test found changed in a run, or all tests did."""
    executed = run.executed
    if executed is None:
        return
    reads = executed.reads.tests if executed.reads is not None else {}
    writers: dict[Read, set[str]] = {}
    for writer, places in executed.left.items():
        for path, name in places:
            writers.setdefault(Read(STATES, f"{path}:{name}"), set()).add(writer)
    for toucher, own_reads in reads.items():
        for read in own_reads:
            if read.path == TOUCHED:  # a file, a cache: who looked for it has read it as stored
                writers.setdefault(Read(STORED, read.pattern), set()).add(toucher)
    for state in sorted(writers):
        others = writers[state] - {test}
        is_found = state in reads.get(test, ()) or (
            state.path == STATES and is_for_all(state.pattern)
        )
        if others and is_found:
            yield _Found(state, frozenset(others))


def _found_again(run: OtherRun, test: str, found: _Found) -> bool:
    """Whether a run of the test had the same before it, as far as a run can show that."""
    if not selection_limits(run.original.receipt.selection):
        return True
    reads = run.executed.reads if run.executed is not None else None
    is_read = reads is not None and found.state in reads.tests.get(test, ())
    return (is_read and found.state.path == STATES) or found.writers <= run.verdicts.keys()


def _reasons(run: OtherRun, test: str, found: _Found) -> Iterator[tuple[str, str]]:
    """The tests that must run together, and why."""
    place = place_in_words(found.state.pattern)
    first = min(found.writers)
    failed = f"failed in run {run.original.receipt.run[:8]}"
    yield test, f"it {failed} where {first} had left {place} changed, and passed only without that"
    for writer in found.writers:
        yield writer, f"it leaves {place} changed, with which {test} {failed}"
