"""The runs of tests of one content as plain facts, and what of a run is known by itself.

Readers of the store make the facts (`proof.gate`). The rules (`proof.run_rules`) and the fold
(`proof.content_proof`) see nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from kl_hooks.evidence.ledger import Entry, selection_limits
from kl_hooks.model.definitions import EMPTY, NamedTuple
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.text import name_list
from kl_hooks.proof.expected_tests import Expected
from kl_hooks.proof.other_runs import OtherRun

NAMED: Final = 3
"""How many tests, files or directories a line names."""
SWITCHED_OFF: Final = frozenset({"skipped", "xfailed", "xpassed"})
"""Outcomes of tests that were not asked, or not expected to pass."""


class _ContentRun(NamedTuple):
    """The parts of `ContentRun`, which stores also what it computes of them."""

    entry: Entry
    parent: Entry | None = None
    """The command that started it, where `kl run` recorded one."""
    trees: Sequence[str] = ()
    """The IDs of the judged content."""
    other: OtherRun | None = None
    """Of a run of another content: which of its results are valid for this one."""
    lost_until: int = -1
    """The number of the last receipt before a loss of receipts was noticed; -1: none was."""

    accepts_failure: Callable[[str], bool] = lambda test: False
    """Whether a failure of this test does not count."""


class ContentRun(_ContentRun):
    """A run of tests, with what a rule may ask about it."""

    @property
    def receipt(self) -> Receipt:
        """What was recorded."""
        return self.entry.receipt

    @property
    def label(self) -> str:
        """`run 5d1e0a77`."""
        return f"run {self.receipt.run[:8]}"

    @cached_property
    def limits(self) -> Mapping[str, object]:
        """The options that omitted tests; empty: none did, as far as it can be seen."""
        return selection_limits(self.receipt.selection)


class _ContentFacts(NamedTuple):
    """The parts of `ContentFacts`, which stores also what it computes of them."""

    entries: Sequence[Entry]
    """Receipts, newest first."""
    parents: Mapping[str, Entry] = EMPTY
    """Run → the receipt of the command that has it as a child."""
    trees: Sequence[str] = ()
    """The IDs of the content, where a run with untracked files must not count for it alone."""
    path_exists: Callable[[str], bool] = lambda path: True
    """Whether a path from the repository's root is in the content."""
    expected: Callable[[], Expected] | None = None
    """The tests that the content has; without it a run counts for what it reported."""
    earlier_runs: Callable[[Entry], Sequence[Entry]] = lambda entry: ()
    """The complete runs of other contents before one, in its environment, newest first."""
    current_name: Callable[[str], str] = lambda test: test
    """What a test of an earlier run is called now."""
    other_runs: Mapping[str, OtherRun] = EMPTY
    """ID → of the entries that are runs of other contents."""
    lost_until: int = -1
    """As `ContentRun.lost_until`."""
    reports: Callable[[], Sequence[Entry]] = tuple
    """The newest reports of other runners that were imported here, of any content, newest first."""


class ContentFacts(_ContentFacts):
    """The runs of a content, and what the content itself is."""

    @cached_property
    def runs(self) -> tuple[ContentRun, ...]:
        """The runs of tests, newest first."""
        return tuple(
            ContentRun(
                self._by_configuration(entry),
                self.parents.get(entry.receipt.parent) if entry.receipt.parent else None,
                self.trees,
                self.other_runs.get(entry.id),
                self.lost_until,
                self.accepts_failure,
            )
            for entry in self.entries
            if entry.receipt.source in ("pytest", "junit")
        )

    def accepts_failure(self, test: str) -> bool:
        """Whether the settings of the content accept that this test fails."""
        return self.expected is not None and self.expected().accepts_failure(test)

    def _by_configuration(self, entry: Entry) -> Entry:
        if self.expected is None or not selection_limits(entry.receipt.selection):
            return entry
        return by_configuration(entry, self.expected())


def by_configuration(entry: Entry, expected: Expected) -> Entry:
    """A run without the limits that the configuration of the content sets for every run."""
    selection = expected.configured.complete(entry.receipt.selection)
    if selection is entry.receipt.selection:
        return entry
    return entry._replace(receipt=entry.receipt._replace(selection=selection))


def first_of(names: object, number: object) -> str:
    """`a.py, b.py, c.py and 2 more` of recorded names, which may be of any type."""
    if isinstance(names, list | tuple):
        listed = [str(name) for name in names[:NAMED]]
    else:
        listed = []
    return name_list(listed, NAMED, number if isinstance(number, int) else 0)


def had_untracked_files(entries: Iterable[Entry], runs: Collection[str], tree: str | None) -> bool:
    """True if one of these runs, on the tracked files of `tree`, ran with untracked files, which no
    commit contains.
    """
    return any(
        entry.receipt.run in runs
        and entry.receipt.tree == tree
        and entry.receipt.tree_all not in (None, tree)
        for entry in entries
    )
