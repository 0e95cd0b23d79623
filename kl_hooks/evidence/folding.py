"""Folding: per-test rows of old runs go; the receipt's header, its digest and its place in the chain stay.

Never the newest word on a test, never a run on a tree that has a name or is worked on, never the newest runs, never
what a record rests on, and nothing but runs of tests. Pure, but for the two functions that take a database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.clock import iso, micros
from kl_hooks.evidence.ledger import FOLDABLE, test_names
from kl_hooks.model.lifecycle import Lifecycle
from kl_hooks.store.database import Database

KEPT: Final = 50
"""The newest receipts, and the newest runs of tests, that are never folded: claims look back so far."""


@dataclass(frozen=True, slots=True)
class Run:
    """A receipt as folding looks at it."""

    seq: int
    id: str
    run: str
    source: str
    ended: str
    origin: str
    trees: tuple[str, ...]
    tests: frozenset[str]
    """Subjects of its evidence; of one that is folded none."""
    folded: bool = False


def foldable(runs: Sequence[Run], now: int, days: int, trees: Collection[str], cited: Collection[str]) -> list[Run]:
    """The runs (given newest first) that can be folded, oldest first.

    `trees`: tree ids that are kept whole. `cited`: beginnings of receipt and run ids that something rests on.
    """
    if not days:
        return []
    said: set[str] = set()
    found, of_tests = [], 0
    for at, one in enumerate(runs):
        of_tests += one.source in FOLDABLE
        newest = at < KEPT or (one.source in FOLDABLE and of_tests <= KEPT)
        rested = bool(set(one.trees) & set(trees)) or _named(one, cited)
        old = one.source in FOLDABLE and Lifecycle.old(now, micros(one.ended), days)
        if old and not one.folded and not newest and not rested and one.tests <= said:
            found.append(one)
        if one.source in FOLDABLE and not one.origin.startswith("imported"):
            said |= one.tests
    return found[::-1]


def _named(one: Run, cited: Collection[str]) -> bool:
    return any(one.id.startswith(word) or one.run.startswith(word) for word in cited)


def runs_of(db: Database) -> list[Run]:
    """All receipts as folding looks at them, newest first."""
    lists: dict[int, frozenset[str]] = {}
    special: dict[int, set[str]] = {}
    for seq, subject in db.rows("SELECT receipt, subject FROM evidence"):
        special.setdefault(seq, set()).add(subject)
    found = []
    for seq, key, run, source, ended, origin, tree, tree_all, tests, folded in db.rows(
        "SELECT seq, id, run, source, ended, origin, tree, tree_all, test_list, folded FROM receipt ORDER BY seq DESC"
    ):
        if tests is not None and tests not in lists:
            lists[tests] = frozenset(f"test:{name}" for name in test_names(db, tests))
        names = lists.get(tests, frozenset()) | special.get(seq, set())
        trees = tuple(one for one in (tree, tree_all) if one)
        found.append(Run(seq, key, run, source, ended, origin, trees, names, folded is not None))
    return found


def fold(db: Database, ids: Iterable[str], now: int) -> int:
    """Takes the evidence of these receipts out, in a transaction that the caller holds; how many were whole before."""
    count = 0
    marks = ", ".join(f"'{source}'" for source in FOLDABLE)
    for key in ids:
        row = db.row(f"SELECT seq FROM receipt WHERE id = ? AND folded IS NULL AND source IN ({marks})", (key,))
        if row is None:
            continue
        db.execute("DELETE FROM evidence WHERE receipt = ?", (row[0],))
        db.execute("UPDATE receipt SET test_list = NULL, outcomes = NULL, folded = ? WHERE seq = ?", (iso(now), row[0]))
        count += 1
    if count:
        db.execute("DELETE FROM test_list WHERE id NOT IN (SELECT test_list FROM receipt WHERE test_list IS NOT NULL)")
    return count
