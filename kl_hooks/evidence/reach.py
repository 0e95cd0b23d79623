"""Which installed distributions the result of each test rests on, and where two runs differ in
them.

A test reaches what the files import that it needs, and what these distributions require by their
metadata. What was loaded though no file of the repository imports it, such as a plugin of pytest,
counts for every test; so does everything where it is not known what a test executed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from kl_hooks.evidence.distributions import OWN, Distributions, change_words
from kl_hooks.evidence.executed import Executed, test_path
from kl_hooks.evidence.reads import INSTALLED

_RUNNER: Final = "pytest"


class Reach:
    """Which distributions each test of a run reaches by imports."""

    def __init__(self, distributions: Distributions, executed: Executed | None) -> None:
        self.distributions = distributions
        self._all = frozenset(distributions.versions)
        self._executed = executed
        self._uses = executed.distributions if executed else None
        # processes of a test may load what this one did not
        self._anything = self._all | (self._uses.installed.keys() if self._uses else set())
        self._by_files: dict[frozenset[str], frozenset[str]] = {}
        self.always = self._always(distributions.plugins)
        """Those that count for every test: of pytest and its plugins, and those that were loaded
        though no file of the repository imports them.
        """

    def _always(self, plugins: frozenset[str]) -> frozenset[str]:
        if self._uses is None:
            return self._all
        imported = {name for names in self._uses.files.values() for name in names}
        runner = self._uses.required({_RUNNER, *plugins} - {OWN})
        explained = self._uses.required(imported) | self._uses.required([OWN])
        return self._all & (runner | (self._all - explained))

    def of(self, nodeid: str) -> frozenset[str]:
        """The distributions on which the result of a test rests; all where that is not known."""
        files = self.files(nodeid)
        if files is None or self._uses is None:
            return self._anything
        if files not in self._by_files:
            names = {name for path in files for name in self._uses.files.get(path, ())}
            self._by_files[files] = (self._uses.required(names) & self._all) | self.always
        return self._by_files[files]

    def metadata(self, nodeid: str) -> frozenset[str]:
        """The distributions whose metadata a test reads, or a module that it needs; `*`: it looks
        at all. All of them where it is not known what the test executed.
        """
        executed = self._executed
        if executed is None or executed.reads is None or not self._metadata_readers:
            return frozenset()
        files = self.files(nodeid)
        if files is None:
            return frozenset(self._metadata_readers)
        needed = {executed.symbols[index].symbol for index in executed.needed(nodeid)}
        return frozenset(
            name
            for name, readers in self._metadata_readers.items()
            for reader in readers
            if reader in (nodeid, "") or reader in files or reader in needed
        )

    @cached_property
    def _metadata_readers(self) -> dict[str, set[str]]:
        """Distribution → tests, files and symbols that read its metadata, or got what was computed
        from it.
        """
        readers: dict[str, set[str]] = {}
        if self._executed:
            reads = self._executed.reads
        else:
            reads = None
        for part in (reads.tests, reads.modules, reads.values) if reads else ():
            for reader, read in part.items():
                for path, name in read:
                    if path == INSTALLED:
                        readers.setdefault(name, set()).add(reader)
        return readers

    def imported(self, nodeid: str) -> dict[str, str] | None:
        """Distribution → version, of what the files import that a test needs; without pytest, its
        plugins and what else counts for every test. None where not all that it executed is known.
        """
        if self._uses is None or self.files(nodeid) is None:
            return None
        versions = self.distributions.versions
        return {name: versions[name] for name in sorted(self.of(nodeid) - self.always)}

    def missing(self, nodeid: str) -> frozenset[str]:
        """The modules that files which a test needs import, and that were not installed."""
        files = self.files(nodeid)
        if self._uses is None:
            return frozenset()
        paths: Iterable[str] = self._uses.missing if files is None else files
        return frozenset(name for path in paths for name in self._uses.missing.get(path, ()))

    def files(self, nodeid: str) -> frozenset[str] | None:
        """The files that a test needs; None where not all that it executed is known."""
        if self._executed is None or nodeid in self._executed.incomplete:
            return None
        file = self._executed.tests.files.get(test_path(nodeid))
        if file is None or nodeid not in file.masks:
            return None
        return self._executed.closure(nodeid)

    def differing(self, other: Reach, test: str, other_test: str) -> list[str]:
        """`docutils 0.20 → 0.21`, of what a test reaches and that two runs recorded with two
        versions, or that only one of them had. `other_test`: what the test is called in the other.
        """
        before = self.distributions.versions
        after = other.distributions.versions
        names = self.of(test) | other.of(other_test)
        changed = [
            change_words(name, before[name], after[name])
            for name in sorted(names & before.keys() & after.keys())
            if before[name] != after[name]
        ]
        only_one = self.missing(test) ^ other.missing(other_test)
        return [
            *changed,
            *(f"{name} was installed in one of the runs" for name in sorted(only_one)),
        ]
