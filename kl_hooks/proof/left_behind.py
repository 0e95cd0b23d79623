"""Results that a newer test may have spoiled: it leaves behind what no earlier run had left.

A test that is new, or executes something that changed, may leave a global changed that another test
uses. `--kl-impacted` runs the first one, and finds the result of the other valid: nothing that it
executed differs. Whether they pass together only a run of both shows (ADR-0071).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.snapshot import newest_first
from kl_hooks.proof.comparison import Comparison, TestFacts, Touch
from kl_hooks.proof.facts import STALE, VALID, Verdict
from kl_hooks.proof.other_runs import OtherRun

_ENVIRONMENT: Final = ("environ", "getenv")
_WORKING_FOLDER: Final = "getcwd"
"""Every relative path starts from it."""


class _Left(NamedTuple):
    """What a test leaves changed."""

    test: str
    path: str
    """The file that has it; empty: the library."""
    name: str

    def reason(self) -> str:
        """Why a result of another test does not count."""
        where = f"{self.name} of {self.path}" if self.path else self.name
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
        writers: dict[str, set[_Left]] = {}
        for place, run in enumerate(ordered):
            new = _new_left(ordered, left_by_run, place)
            if not new or run.executed is None:
                continue
            comparison = Comparison(run.executed, run.changes)
            valid = [name for name, verdict in run.verdicts.items() if verdict.state == VALID]
            tests = [comparison.test(name) for name in valid]
            for left in new:
                for name in _users(comparison, tests, left):
                    stale.setdefault(run.original.id, {})[name] = Verdict(STALE, left.reason())
                    writers.setdefault(name, set()).add(left)
        for name in writers:
            if any(_is_valid(run, name, stale) for run in ordered):
                continue
            # both must run again, in one run
            for left in writers[name]:
                why = Verdict(STALE, f"it leaves {left.name} changed, which {name} uses")
                for run in ordered:
                    if _is_valid(run, left.test, stale):
                        stale.setdefault(run.original.id, {})[left.test] = why
        return cls(stale)

    def taken_from(self, run: OtherRun) -> OtherRun:
        """The run without these results."""
        stale = self.stale.get(run.original.id)
        if not stale:
            return run
        return run.without(stale)


def _is_valid(run: OtherRun, name: str, stale: Mapping[str, Mapping[str, Verdict]]) -> bool:
    verdict = run.verdicts.get(name)
    is_stale = name in stale.get(run.original.id, ())
    return verdict is not None and verdict.state == VALID and not is_stale


def _left_in(run: OtherRun) -> Iterator[_Left]:
    for test, places in run.executed.left.items() if run.executed else ():
        yield from (_Left(test, path, name) for path, name in places)


def _new_left(
    ordered: Sequence[OtherRun], left_by_run: Sequence[frozenset[_Left]], place: int
) -> list[_Left]:
    """What tests leave changed in runs that are newer than the one at a place, and did not in it,
    in older ones, or in others of the same content, such as other parts of one suite.
    """
    tree = _tree(ordered[place].original)
    newer = {at for at in range(place) if _tree(ordered[at].original) != tree}
    before = [at for at in range(len(ordered)) if at not in newer]
    new = frozenset().union(*(left_by_run[at] for at in newer))
    new = new.difference(*(left_by_run[at] for at in before))
    return sorted(
        left
        for left in new
        if any(_is_valid(ordered[at], left.test, {}) for at in newer if left in left_by_run[at])
        and not any(_is_valid(ordered[at], left.test, {}) for at in before)
    )


def _tree(entry: Entry) -> str | None:
    return entry.receipt.tree_all or entry.receipt.tree


def _users(comparison: Comparison, tests: Sequence[TestFacts], left: _Left) -> Iterator[str]:
    """The tests that execute code which names what was left changed."""
    names = _ENVIRONMENT if left.name in _ENVIRONMENT else (left.name,)
    touch = Touch()
    for name in names:
        touch |= comparison.users_of_name(name, left.path)
    is_for_all = (left.path, left.name) == ("", _WORKING_FOLDER)
    for test in tests:
        is_user = touch.fits(test) and _may_have(comparison, test, left.path)
        if test.nodeid != left.test and (is_for_all or is_user):
            yield test.nodeid


def _may_have(comparison: Comparison, test: TestFacts, path: str) -> bool:
    """Whether a test needs a file; all have what the library has."""
    return not path or test.needs_any(comparison.needing([path]))
