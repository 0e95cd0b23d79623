"""Functions of a coverage report as symbols of the code graph.

A function is the symbol that begins on its line; one without a symbol of its own, such as a
callback, is part of the innermost symbol around it. A report does not name the content that was
measured: a file whose functions are elsewhere in this content has no links, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.evidence.executed import SymbolHash
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.evidence.sources.coverage_report import Function, MeasuredFile

Rows = Sequence[Sequence[Any]]
"""Symbols as a scanner lists them: ID, first line, last line, signature, doc, content hash."""
_CALLABLE: Final = ("function", "method", "property")
_LAST_NAME: Final = lazy_pattern(r"(?<![\w$])[\w$]+\Z")
_MANGLED: Final = lazy_pattern(r"_R[A-Z]|_ZN|__?R")
"""How Rust's compiler begins the names of functions (RFC 2603)."""
_MACRO: Final = "macro_rules!"


class _Row(NamedTuple):
    """A symbol of a file."""

    symbol: SymbolHash
    first: int
    last: int
    signature: str

    @property
    def is_callable(self) -> bool:
        return split_id(self.symbol.symbol)[0] in _CALLABLE

    @property
    def name(self) -> str:
        """The last part: `total` of `method:src/cart.ts#Cart.total`."""
        return re.split(r"[.#]", self.symbol.symbol)[-1]


@dataclass
class FileExecution:
    """What was measured of the symbols of a file."""

    executed: dict[str, set[SymbolHash]] = field(default_factory=dict)
    """Name of a test, or empty for the run → the symbols that it executed."""
    measured: set[SymbolHash] = field(default_factory=set)
    """The functions that the report lists, executed or not."""
    unplaced: int = 0
    """Executed functions of which several begin on one line."""


def file_execution(
    measured: Iterable[MeasuredFile], symbols: Rows, source: bytes
) -> FileExecution | str:
    """The symbols that a report measured in a file with these symbols and this content; the reason
    why this is not the content that was measured.
    """
    file = _FileSymbols(symbols, source)
    execution = FileExecution()
    for part in measured:
        if part.functions is None:
            misfit = file.add_lines(part, execution)
        else:
            misfit = file.add_functions(part.functions, part.test, execution)
        if misfit:
            return misfit
    return execution


class _FileSymbols:
    """The symbols of one file, by line."""

    def __init__(self, symbols: Rows, source: bytes) -> None:
        self._rows = [
            _Row(SymbolHash(identifier, content_hash), first, last, signature)
            for identifier, first, last, signature, _, content_hash in symbols
        ]
        self._lines = source.decode("utf-8", "replace").split("\n")
        self._starting: dict[int, list[_Row]] = {}
        self._by_name: dict[str, list[_Row]] = {}
        for row in self._rows:
            if row.is_callable:
                self._starting.setdefault(row.first, []).append(row)
                self._by_name.setdefault(row.name, []).append(row)

    def add_functions(
        self, functions: Sequence[Function], test: str, execution: FileExecution
    ) -> str:
        """Note which symbols a test executed, or the run; why these functions are not those of this
        content, or empty.
        """
        for function in functions:
            if misfit := self._misfit(function):
                return misfit
            row, is_own = self._row_of(function)
            if row is None:
                execution.unplaced += bool(function.calls)
                continue
            if function.calls:
                execution.executed.setdefault(test, set()).add(row.symbol)
            if is_own:
                execution.measured.add(row.symbol)
        return ""

    def add_lines(self, part: MeasuredFile, execution: FileExecution) -> str:
        """The same by lines, of a tool that lists no functions. The first line of a symbol shows
        nothing: it is also executed when the symbol is defined.
        """
        last = max(part.lines, default=0)
        if last > len(self._lines):
            return f"line {last} was measured, and it has {len(self._lines)}"
        for line, count in part.lines.items():
            row = self._innermost.get(line)
            if row is None or not row.is_callable or line == row.first:
                continue
            execution.measured.add(row.symbol)
            if count:
                execution.executed.setdefault(part.test, set()).add(row.symbol)
        return ""

    def _row_of(self, function: Function) -> tuple[_Row | None, bool]:
        """The symbol that a function is or is part of, and whether it is its own; none where
        several begin on the line, and the name is of none of them.
        """
        starting = self._starting.get(function.line, [])
        if len(starting) > 1:
            name = _last_name(function.name)
            starting = [row for row in starting if row.name == name]
            if len(starting) != 1:
                return None, False
        if starting:
            return starting[0], True
        return self._innermost.get(function.line), False

    @cached_property
    def _innermost(self) -> dict[int, _Row]:
        """Line → the innermost symbol that has it."""
        innermost = {}
        for row in sorted(self._rows, key=lambda row: (row.first, -row.last)):
            innermost.update(dict.fromkeys(range(row.first, row.last + 1), row))
        return innermost

    def _misfit(self, function: Function) -> str:
        """Why a function can't be at this place of this content; empty where it may."""
        if function.line > len(self._lines):
            return f"a function on line {function.line} was measured, and it has {len(self._lines)}"
        text = self._lines[function.line - 1]
        # Istanbul counts in UTF-16 units, of which a character has at most two
        if not text.strip() or (function.column or 0) > 2 * len(text):
            return f"no function begins on line {function.line}, as the report has it"
        if _MANGLED.match(function.name):
            return self._mangled_misfit(function)
        name = _last_name(function.name)
        elsewhere = self._by_name.get(name, [])
        if not elsewhere or any(row.first == function.line for row in elsewhere):
            return ""
        # a function inside of another one may have the name of a symbol, too
        if re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text):
            return ""
        return f"{name} is on line {elsewhere[0].first}, and on {function.line} in the report"

    def _mangled_misfit(self, function: Function) -> str:
        row, is_own = self._row_of(function)
        # what a macro makes is measured at the lines of the macro
        if row is None or not is_own or row.signature.startswith(_MACRO):
            return ""
        name = row.name.removeprefix("r#")
        if f"{len(name.encode())}{name}" in function.name or not name.isascii():
            return ""
        return f"{name} is on line {function.line}, and another function in the report"


def _last_name(name: str) -> str:
    """`total` of `get total` and of `Cart.total`; empty for what has no name, as `(anonymous_1)`.

    Tools make up names for what has none: those are of no symbol.
    """
    match = _LAST_NAME.search(name)
    if match is None:
        return ""
    return match[0]
