"""What recorded tests show of code: which tests call a function, and how they ended last.

A test that calls a function is one that names it, itself or by a fixture: links of the graph, one call deep. Which
functions a test executed is not recorded yet, so the words are "3 tests that use it passed", not "verified by 3 tests".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.evidence.claims import current_claims
from kl_hooks.evidence.ledger import Entry, entries_of_tree, here_first, recent
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.graph import links
from kl_hooks.model.receipt import REFUTES

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

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

    def words(self) -> str:
        """Return `38 tests that use it passed, inferred`, `1 of 3 tests that use it failed`."""
        total = self.passed + len(self.failed)
        tests = "test that uses it" if total == 1 else "tests that use it"
        older = "" if self.current else " on older content"
        if self.failed:
            return f"{len(self.failed)} of {total} {tests} failed{older}"
        return f"{total} {tests} passed" + (older or f", {self.tier}")


def tests_calling(db: Database, ids: Sequence[str]) -> dict[str, set[str]]:
    """Return, for each symbol, the IDs of the tests that call it, or that call the function or fixture that does."""
    # two looks into the links for all IDs together: each look unpacks the blocks of whole files
    uses = links.of_many(db, ids, incoming=True)
    users = {one: {link.source for link in uses.get(one, ()) if link.relation in _USES} for one in ids}
    starts = links.of_many(db, sorted(set().union(*users.values())), incoming=True, relation="calls")
    tests = {name: {link.source for link in some if link.source.startswith("test:")} for name, some in starts.items()}
    return {one: set().union(*(tests.get(user, set()) for user in some)) for one, some in users.items()}


def results(ws: Workspace, tests: Mapping[str, set[str]]) -> dict[str, TestResults]:
    """Return what the newest runs show of each group of tests; a group of which nothing was recorded is absent."""
    wanted = set().union(*tests.values()) if tests else set()
    if not wanted:
        return {}
    with ws.store.reading() as db:
        if db is None:
            return {}
        trees = worktree_state(ws.repo).trees
        some = [*entries_of_tree(db, trees), *recent(db, RECENT_RUNS, "pytest"), *recent(db, 1, "junit")]
        entries = here_first({entry.seq: entry for entry in some}.values(), trees)
        last, here = _last_outcomes(entries, set(trees), wanted)
        newest = sorted(entries, key=lambda entry: -entry.seq)
        claims = {claim.about: claim for claim in current_claims(ws, db, newest, trees, last.keys())}
    found = {}
    for name, group in tests.items():
        cases = [case for case in last if _function(case) in group]
        # what was seen on this content counts alone, where anything was
        cases = [case for case in cases if case in here] or cases
        failed = tuple(sorted(case for case in cases if last[case] in REFUTES))
        passed = [case for case in cases if case in claims and last[case] not in REFUTES]
        if failed or passed:
            least = min((claims[case].tier for case in passed), default=None)
            current = all(case in here for case in cases)
            found[name] = TestResults(len(passed), failed, current, least.word if least is not None else "")
    return found


def _last_outcomes(entries: Sequence[Entry], trees: set[str], wanted: set[str]) -> tuple[dict[str, str], set[str]]:
    """Return (case of a wanted test → its newest outcome, the cases of which that was seen on one of these trees)."""
    last: dict[str, str] = {}
    here: set[str] = set()
    for entry in entries:
        is_here = not trees.isdisjoint({entry.receipt.tree, entry.receipt.tree_all})
        for evidence in entry.receipt.evidence:
            if evidence.subject not in last and _function(evidence.subject) in wanted:
                last[evidence.subject] = evidence.outcome
                here |= {evidence.subject} if is_here else set()
    return last, here


def _function(case: str) -> str:
    """`test:a.py::test_f[1-x]` → `test:a.py::test_f`: the graph knows functions, a run records each of their cases."""
    return case.partition("[")[0]
