"""Conditions on a test, and what one test of a run needs, which meets them or not."""

from __future__ import annotations

from collections.abc import Set

from kl_hooks.evidence.executed import Behind
from kl_hooks.evidence.reads import Read
from kl_hooks.model.definitions import NamedTuple


class Touch(NamedTuple):
    """A condition on a test: it executed one of these symbols, needs one of these files, read one
    of these, or is a test of one of these files.
    """

    files: frozenset[str] = frozenset()
    symbols: frozenset[int] = frozenset()
    """Indexes of executed symbols."""
    reads: frozenset[Read] = frozenset()
    """Files that were opened as data, and listings."""
    own_files: frozenset[str] = frozenset()
    """Files of which it is a test."""

    def __or__(self, other: Touch) -> Touch:
        return Touch(
            self.files | other.files,
            self.symbols | other.symbols,
            self.reads | other.reads,
            self.own_files | other.own_files,
        )

    def __bool__(self) -> bool:
        return bool(self.files or self.symbols or self.reads or self.own_files)

    def fits(self, test: TestFacts) -> bool:
        """Whether a test meets the condition."""
        return (
            test.needs_any(self.files)
            or test.executed_any(self.symbols)
            or not test.reads.isdisjoint(self.reads)
            or test.path in self.own_files
        )


class _TestFacts(NamedTuple):
    """The parts of `TestFacts`. Only a class derived from a named tuple can have `__test__`."""

    nodeid: str
    path: str
    recorded: bool
    """Whether the run recorded what it executed."""
    own: frozenset[int]
    """Indexes of the symbols that it executed."""
    behind: Behind
    """What computed the values it got."""
    own_starts: frozenset[str]
    """The files of what it executed, its own file, and the `conftest.py` files above: what it needs
    by imports starts there, and at the files behind.
    """
    reads: frozenset[Read]
    """The files that it opened as data and the folders that it listed."""


class TestFacts(_TestFacts):
    """A test of a run. What computed the values that it got is apart: thousands of tests share
    it.
    """

    __slots__ = ()
    __test__ = False

    def executed_any(self, symbols: Set[int]) -> bool:
        """Whether it, or what computed a value it got, executed one of these (indexes)."""
        return not (symbols.isdisjoint(self.own) and symbols.isdisjoint(self.behind.symbols))

    def needs_any(self, files: Set[str]) -> bool:
        """Whether what it needs by imports starts at one of these files."""
        return not (files.isdisjoint(self.own_starts) and files.isdisjoint(self.behind.files))
