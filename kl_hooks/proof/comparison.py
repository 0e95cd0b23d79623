"""A recorded run compared with another content: what every rule asks, computed once.

Which executed symbols differ, which files need a file by imports, which files have a word, and for
one test of the run what it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kl_hooks.evidence.executed import Executed, test_path
from kl_hooks.proof.facts import Difference, FileChange, RunSymbols

INIT: Final = "__init__.py"
CONFTEST: Final = "conftest.py"


class Comparison:
    """The Python files that differ between the content of a run and another one, and the run."""

    def __init__(self, executed: Executed, difference: Difference) -> None:
        self.executed, self.symbols = executed, RunSymbols(executed)
        self.changes = {
            change.path: change for change in difference.changes.values() if change.is_python
        }
        self._difference = difference
        self.changed: Mapping[int, str] = dict(self._changed_symbols())
        """Index of an executed symbol that differs → in words what became of it."""

    def _changed_symbols(self) -> Iterator[tuple[int, str]]:
        for path, change in self.changes.items():
            indexes = self.symbols.at.get(path, ())
            if not change.before or not change.now:
                yield from ((index, "was removed") for index in indexes)
            elif self.is_comparable(change) and change.new is not None:
                hashes = change.new.hashes
                for index in indexes:
                    local = self.symbols.local(index)
                    # with what was recorded, not with the earlier file: that is what ran
                    if hashes.get(local) != self.executed.symbols[index].content_hash:
                        yield index, "changed" if local in hashes else "was removed"

    def is_comparable(self, change: FileChange) -> bool:
        """Whether the symbols of a file that both contents have can be compared."""
        return (
            change.path not in self.executed.unknown
            and change.new is not None
            and not change.new.error
            and (change.path in self.symbols.modules or not self.symbols.at.get(change.path))
        )

    # which files need a file

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        importers: dict[str, set[str]] = {}
        for path, imported_paths in self.executed.imports.items():
            for imported in imported_paths:
                importers.setdefault(imported, set()).add(path)
        return importers

    def needing(self, paths: Iterable[str]) -> frozenset[str]:
        """These files and all that reach one of them by imports."""
        # a loop, not recursion: chains of imports may be longer than Python's stack
        # (sys.getrecursionlimit)
        reached, waiting = set(paths), list(paths)
        while waiting:
            importers = self._importers.get(waiting.pop(), set()) - reached
            reached |= importers
            waiting += importers
        return frozenset(reached)

    @cached_property
    def starts(self) -> frozenset[str]:
        """The files that some test of the run needs by itself."""
        files = self.executed.tests.files
        indexes = {index for file in files.values() for index in file.symbols}
        indexes |= {index for computed in self.executed.values.values() for index in computed}
        own = {self.symbols.paths[index] for index in indexes}
        conftests = {conftest for path in files for conftest in conftests_above(path)}
        return frozenset(own | files.keys() | conftests)

    def users(self, path: str) -> frozenset[str] | None:
        """The files that need a file. None, for all tests, where it was imported, and no test is
        seen to need it: it is a plugin, whose hooks run around all of them.
        """
        needing = self.needing([path])
        imported = (
            path in self.executed.modules
            or path in self.symbols.at
            or path in self.executed.unknown
        )
        return None if imported and not needing & self.starts else needing

    def is_needed(self, users: frozenset[str] | None) -> bool:
        """Whether a test of the run needs one of the files; None: all tests do."""
        return users is None or bool(users & self.starts)

    # which files have a word

    @cached_property
    def _mentions(self) -> Mapping[str, frozenset[str]]:
        # git is asked once for all words
        words = set(self._words())
        return self._difference.mentions(words) if words else {}

    def _words(self) -> Iterator[str]:
        for change in self.changes.values():
            if not change.before or not change.now:
                yield module_word(change.path)
            if change.old is not None and change.new is not None:
                for local in change.old.hashes.keys() ^ change.new.hashes.keys():
                    yield local.rpartition(".")[2]

    def files_with(self, word: str) -> frozenset[str]:
        """The Python files of the other content that have a word of `_words`."""
        return self._mentions.get(word, frozenset())

    # one test

    def test(self, nodeid: str) -> TestFacts:
        """What a test of the run needs."""
        path, tests = test_path(nodeid), self.executed.tests
        recorded = path in tests.files and nodeid in tests.files[path].masks
        own = tuple(self.executed.needed(nodeid)) if recorded else ()
        starts = {self.symbols.paths[index] for index in own} | {path, *conftests_above(path)}
        return TestFacts(nodeid, path, recorded, own, frozenset(starts))


@dataclass(frozen=True)
class TestFacts:
    """A test of a run."""

    __test__ = False  # no test class, whatever its name

    nodeid: str
    path: str
    recorded: bool
    """Whether the run recorded what it executed."""
    own: Sequence[int]
    """Indexes of the symbols that it executed, and of those that computed the values it got."""
    starts: frozenset[str]
    """The files of these, its own file, and the `conftest.py` files above: what it needs by
    imports starts there.
    """


def conftests_above(path: str) -> Iterator[str]:
    """The `conftest.py` files that pytest loads for a test file, whether they exist or not."""
    folders = path.split("/")[:-1]
    return ("/".join([*folders[:depth], CONFTEST]) for depth in range(len(folders) + 1))


def module_word(path: str) -> str:
    """The last name that an import of a file has: of a package that of its folder."""
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name == INIT else name.removesuffix(".py")


def is_stdlib_word(word: str) -> bool:
    """Whether the standard library and installed packages may import by this name."""
    return word in sys.stdlib_module_names
