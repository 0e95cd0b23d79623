"""The names in the code that a test executed, and which of that code a change may reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import cached_property

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.facts import Definition
from kl_hooks.proof.run_files import RunFiles, is_or_is_in, is_special, last_name
from kl_hooks.proof.touch import TestFacts


class Names(NamedTuple):
    """The names in code that a test executed."""

    everywhere: frozenset[str]
    outside_of_stores: frozenset[str]
    """Without functions that store what they compute."""


class Near(NamedTuple):
    """What joins other code to some functions: it calls one of them, or one of them calls it."""

    symbols: frozenset[int]
    called: frozenset[str]
    """The names by which other code calls them."""
    names: frozenset[str]
    """The names in their code."""

    def joins(self, name: str, executed: Set[int], names: Set[str]) -> bool:
        """Whether it joins a function. `executed`: the symbols that it is; `names`: in its code."""
        is_one = not executed.isdisjoint(self.symbols)
        return is_one or name in self.names or not names.isdisjoint(self.called)


class ExecutedNames:
    """The names in the code of a run."""

    def __init__(self, files: RunFiles) -> None:
        self._files = files

    def names_in(self, test: TestFacts, files: Set[str], near: Near | None = None) -> Names:
        """The names in the code of some files that a test executed. `near`: only where that is
        joined to these symbols.
        """
        everything = set[str]()
        computing = set[str]()
        for path in files & {self._files.symbols.paths[index] for index in test.own}:
            for symbol, indexes in self._indexes_in(path).items():
                executed = indexes & test.own
                if not executed:
                    continue
                names = self._names_of(path, symbol)
                if near and not near.joins(last_name(symbol), executed, names):
                    if not any(map(self._is_called_without_name, executed)):
                        continue
                    names = names - self._texts_of_body(path, symbol)
                everything |= names
                if not executed <= self._storing:
                    computing |= names
        return Names(frozenset(everything), frozenset(computing))

    def _texts_of_body(self, path: str, symbol: str) -> Set[str]:
        """The names that the body of a class has in texts alone, unless code of the class may get
        something by them: `kind = "html"`.
        """
        reading = self._files.introspection(path)
        if symbol not in reading.bases or any(
            uses.asks_by_computed_names
            for name, uses in reading.symbols.items()
            if is_or_is_in(name, symbol)
        ):
            return frozenset()
        return reading.symbols[symbol].texts

    def _names_of(self, path: str, symbol: str) -> Set[str]:
        """The names in the code of a symbol but its variables, those that imports rename by both of
        their names.
        """
        uses_of_file = self._files.introspection(path)
        names = uses_of_file.symbols[symbol].shared_names
        return names | {uses_of_file.aliases.get(name, name) for name in names}

    def near(self, functions: Set[int], definitions: Iterable[Definition] = ()) -> Near | None:
        """What joins other code to these functions and to what has these names; None where any code
        may call them.
        """
        called = {last_name(definition.name) for definition in definitions}
        if any(map(is_special, called)) or any(map(self._is_called_without_name, functions)):
            return None
        called |= {last_name(self._files.symbols.local(index)) for index in functions}
        names = set[str]()
        for path in {self._files.symbols.paths[index] for index in functions}:
            for symbol, indexes in self._indexes_in(path).items():
                if not indexes.isdisjoint(functions):
                    names |= self._names_of(path, symbol)
        return Near(frozenset(functions), frozenset(called), frozenset(names))

    def _is_called_without_name(self, index: int) -> bool:
        """Whether code calls a function that does not name it: as `with` calls `__enter__`, or by
        the name of what a decorator returned.
        """
        name = self._files.symbols.local(index)
        last = last_name(name)
        return is_special(last) or ".<locals>." in name

    @cached_property
    def _storing(self) -> frozenset[int]:
        """The functions that store what they compute: they get it without computing it."""
        values = self._files.executed.values.items()
        return frozenset(index for index, computed in values if index in computed)

    @cached_property
    def _symbol_indexes(self) -> dict[str, dict[str, frozenset[int]]]:
        return {}

    def _indexes_in(self, path: str) -> Mapping[str, frozenset[int]]:
        """Symbol of a file, as its introspection names it → the executed symbols that are it."""
        if path not in self._symbol_indexes:
            symbols = self._files.introspection(path).symbols
            self._symbol_indexes[path] = {name: self._files.indexes(path, name) for name in symbols}
        return self._symbol_indexes[path]
