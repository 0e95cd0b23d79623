"""The Python files of a recorded run, before and now: what differs, what importing one executes, which
words and names they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from kl_hooks.code.assignments import Body, bodies, changed_assignments
from kl_hooks.code.import_time import ImportTime
from kl_hooks.code.introspection import WORDS, Introspection, SymbolUses
from kl_hooks.evidence.executed import Executed
from kl_hooks.proof.collected_names import collected_names, reported_names
from kl_hooks.proof.facts import Difference, FileChange, RunSymbols

INIT: Final = "__init__.py"
HERE: Final = "=."
"""At the start of a full name: what the file itself defines."""
CONFTEST: Final = "conftest.py"


class RunFiles:
    """The files of a run and of another content, each read once."""

    def __init__(self, executed: Executed, difference: Difference) -> None:
        self.executed, self.symbols = executed, RunSymbols(executed)
        self.changes = {
            change.path: change for change in difference.changes.values() if change.is_python
        }
        self.data_changes = {
            path: change for path, change in difference.changes.items() if not change.is_python
        }
        """Of files that are no source."""
        self.difference = difference
        self.changed: Mapping[int, str] = dict(self._changed_symbols())
        """Index of an executed symbol that differs → in words what became of it."""

    def _changed_symbols(self) -> Iterator[tuple[int, str]]:
        for path, change in self.changes.items():
            indexes = self.symbols.at.get(path, ())
            if not change.state_before or not change.state_now:
                yield from ((index, "was removed") for index in indexes)
            elif self.is_comparable(change) and change.symbols_now is not None:
                hashes = change.symbols_now.hashes
                for index in indexes:
                    local = self.symbols.local(index)
                    # with what was recorded, not with the earlier file: that is what ran
                    if hashes.get(local) != self.executed.symbols[index].content_hash:
                        yield index, "changed" if local in hashes else "was removed"

    def is_comparable(self, change: FileChange) -> bool:
        """Whether the symbols of a file that both contents have can be compared."""
        return (
            change.path not in self.executed.unknown
            and change.symbols_now is not None
            and not change.symbols_now.error
            and (change.path in self.symbols.modules or not self.symbols.at.get(change.path))
        )

    @cached_property
    def _import_times(self) -> dict[str, tuple[ImportTime, ImportTime]]:
        return {}

    def import_times(self, path: str) -> tuple[ImportTime, ImportTime]:
        """What importing a file executes before and now, of a file that both contents have."""
        if path not in self._import_times:
            contents = (self.difference.text(path, at) for at in (0, 1))
            old, new = (
                ImportTime(refused="0:0: it can't be read")
                if content is None
                else self.difference.source.import_time(content)
                for content in contents
            )
            self._import_times[path] = old, new
        return self._import_times[path]

    def changed_assignments(self, path: str) -> dict[int, tuple[str, frozenset[str]]]:
        """Index of the body of a module or class that differs in plain assignments alone → the
        class (empty: the module), and their names. `path`: a file that both contents have.
        """
        old, new = (bodies(self.difference.text(path, side) or b"") for side in (0, 1))
        before = self.changes[path].symbols_before
        changed: dict[int, tuple[str, frozenset[str]]] = {}
        if before is None:
            return changed
        for index in self.symbols.at.get(path, ()):
            local = self.symbols.local(index)
            kind, _, name = local.partition(":")
            scope = name.removeprefix("_").removeprefix(".")
            is_body = kind in ("namespace", "type", "interface")
            # what ran is what the earlier file has
            recorded = self.executed.symbols[index].content_hash
            if not is_body or index not in self.changed or before.hashes.get(local) != recorded:
                continue
            if scope in old and scope in new:
                names = changed_assignments(old[scope], new[scope])
                if names:
                    changed[index] = scope, names
        return changed

    def body(self, path: str, side: int, scope: str) -> Body:
        """The body of a class, or of the module, before (0) or now (1)."""
        return bodies(self.difference.text(path, side) or b"").get(scope, Body())

    def differs_in_layout_alone(self, change: FileChange) -> bool:
        """Whether comments and layout of a file differ, and nothing that it defines or documents."""
        before, now = change.symbols_before, change.symbols_now
        if before is None or now is None or before.error or now.error:
            return False
        old, new = self.import_times(change.path)
        return before.hashes == now.hashes and old.docs == new.docs and not new.refused

    def has_other_functions(self, path: str) -> bool:
        """Whether a function of a file was removed, changed or moved to another line, so that its
        code object is another one. The code object of an added one is new: no code has it yet.
        """
        before, now = (self.difference.text(path, side) for side in (0, 1))
        if before is None or now is None:
            return True
        source = self.difference.source
        old, new = source.placed_functions(before), source.placed_functions(now)
        return old.is_unreadable or new.is_unreadable or not old.digests <= new.digests

    @cached_property
    def _test_names(self) -> dict[tuple[str, int], frozenset[str]]:
        return {}

    def test_names(self, path: str, side: int) -> frozenset[str]:
        """The definitions of a test file before (0) or now (1) that are tests: `TestA.test_b`."""
        if (path, side) not in self._test_names:
            self._test_names[path, side] = self._read_test_names(path, side)
        return self._test_names[path, side]

    def _read_test_names(self, path: str, side: int) -> frozenset[str]:
        file = self.executed.tests.files.get(path)
        if file is not None:
            content = self.difference.text(path, side)
        else:
            content = None
        if file is None or content is None:
            return frozenset()
        config = self.difference.pytest_config(path)
        return collected_names(content, config, reported_names(file.masks))

    @cached_property
    def _mentions(self) -> dict[str, frozenset[str]]:
        # git is asked once for nearly all words
        return self._ask(set(self._words()))

    def _words(self) -> Iterator[str]:
        for path, change in self.changes.items():
            if not change.state_before or not change.state_now:
                yield self.module_word(path)
            if change.symbols_before is not None and change.symbols_now is not None:
                for local in change.symbols_before.hashes.keys() ^ change.symbols_now.hashes.keys():
                    yield local.rpartition(".")[2]
        for words in WORDS.values():
            yield from words

    def _ask(self, words: set[str]) -> dict[str, frozenset[str]]:
        if words:
            answer = self.difference.mentions(words)
        else:
            answer = {}
        return {word: answer.get(word, frozenset()) for word in words}

    @staticmethod
    def module_word(path: str) -> str:
        """The last name that an import of a file has: of a package that of its folder."""
        folder, _, name = path.rpartition("/")
        if name == INIT:
            return folder.rpartition("/")[2]
        return name.removesuffix(".py")

    def files_with(self, *words: str) -> frozenset[str]:
        """The Python files of the other content that have one of these words."""
        if unasked := set(words) - self._mentions.keys():
            self._mentions.update(self._ask(unasked))
        return frozenset().union(*(self._mentions[word] for word in words))

    def is_collected(self, path: str) -> bool:
        """Whether pytest imports a file before the first test."""
        is_test = self.difference.pytest_config(path).collects(path)
        return is_test or path.rpartition("/")[2] == CONFTEST

    def names_in_file(self, path: str) -> frozenset[str]:
        """The identifiers of a file as it is now."""
        change = self.changes.get(path)
        if change is not None:
            return change.symbols_now.names if change.symbols_now is not None else frozenset()
        uses = self.introspection(path).symbols.values()
        return frozenset[str]().union(*(of_symbol.names for of_symbol in uses))

    @cached_property
    def _introspections(self) -> dict[str, Introspection]:
        return {}

    def introspection(self, path: str) -> Introspection:
        """The uses of a file as it was when the run executed it."""
        if path not in self._introspections:
            content = self.difference.text(path, 0)
            self._introspections[path] = self.difference.source.introspection(content or b"")
        return self._introspections[path]

    def _readings(self, path: str) -> Iterator[Introspection]:
        """The uses of a file before and now."""
        for side in (0, 1):
            content = self.difference.text(path, side)
            yield self.difference.source.introspection(content or b"")

    def _uses_of_import(self, path: str) -> Iterator[SymbolUses]:
        """Of what importing a file executes, before and now: its body, and those of its classes."""
        for reading in self._readings(path):
            for symbol, uses in reading.symbols.items():
                if reading.runs_at_import(symbol):
                    yield uses

    def draws_at_import(self, path: str) -> bool:
        """Whether importing a file draws random numbers of the process, before or now."""
        return any(uses.draws_itself for uses in self._uses_of_import(path))

    def imported_files_with(self, *words: str) -> list[str]:
        """Those of the files with a word that the run imported; changed ones in any case, which had
        another text then.
        """
        executed = self.executed
        paths = self.files_with(*words) | self.changes.keys()
        return sorted(
            path for path in paths if path in executed.modules or path in executed.tests.files
        )

    @cached_property
    def _indexes_by_name(self) -> dict[str, Mapping[str, frozenset[int]]]:
        return {}

    def indexes(self, path: str, name: str) -> frozenset[int]:
        """The executed symbols of a file that are `C.m`, or defined in it."""
        if path not in self._indexes_by_name:
            by_name: dict[str, set[int]] = {}
            for index in self.symbols.at.get(path, ()):
                parts = self.name_in_file(index).split(".")
                for depth in range(1, len(parts) + 1):
                    by_name.setdefault(".".join(parts[:depth]), set()).add(index)
            frozen = {name: frozenset(indexes) for name, indexes in by_name.items()}
            self._indexes_by_name[path] = frozen
        return self._indexes_by_name[path].get(name, frozenset())

    def name_in_file(self, index: int) -> str:
        """`C.m`, as `introspection` names it."""
        return self.symbols.local(index).partition(":")[2].removeprefix("_.")


def last_name(name: str) -> str:
    """`m` of `C.m`."""
    return name.rpartition(".")[2]


def is_special(name: str) -> bool:
    """Whether the interpreter asks for it: `__enter__`."""
    return name.startswith("__") and name.endswith("__")


def is_or_is_in(name: str, outer: str) -> bool:
    """Whether a definition or module is the outer one or in it: `pkg.a` is in `pkg`."""
    return name == outer or name.startswith(f"{outer}.")
