"""Edits of a file's imports: some removed, some moved under `if TYPE_CHECKING:`. Pure.

An edit replaces whole lines, at the positions that `ast` gives, so every other byte stays as it is: encoding, byte
order mark, line endings. The result is checked: it has to compile, with the same comments, and the same statements but
for the imports that were asked for. Why not by libcst's transformers: ADR-0027.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Any, Final, TypeGuard

from kl_hooks.code.rewrite.import_use import binds, statement

Row = Sequence[Any]
"""An import as the scanner stores it, see `code.scanner.imports`."""
_Import = ast.Import | ast.ImportFrom
_FLAG: Final = "TYPE_CHECKING"
_WIDTH: Final = 88
"""Columns of an import before it takes several lines: the default of ruff and black."""
_BOM: Final = b"\xef\xbb\xbf"


class Unfixable(Exception):
    """This edit can't be made; the text is the reason, a clause."""


def rewrite(content: bytes, moves: Sequence[Row], drops: Sequence[Row]) -> bytes:
    """Return the file with these imports moved and those removed. Raises Unfixable.

    The rows must be of imports at the top level that nothing needs at run time (`import_use`). What is moved goes to
    the end of the first `if TYPE_CHECKING:` block, or to a new one after the imports at the top, and `TYPE_CHECKING`
    is imported where it is missing. The file must have `from __future__ import annotations`.
    """
    try:
        changed = _Edit(content).run(moves, drops)
        # dont_inherit: else the future statements of this module would hold for the text, too
        compile(changed, "<new>", "exec", dont_inherit=True)
        _verify(content, changed, moves, drops)
    except (SyntaxError, ValueError, LookupError) as problem:
        raise Unfixable(f"the file would no longer compile ({problem})") from problem
    except (RecursionError, MemoryError) as problem:
        raise Unfixable("the file is nested too deeply") from problem
    return changed


class _Edit:
    """Lines to replace, gathered by their number in the file as it was."""

    def __init__(self, content: bytes) -> None:
        self.content, self.tree = content, ast.parse(content)
        self.mark = _BOM if content.startswith(_BOM) else b""
        # bytes.splitlines cuts at \n, \r and \r\n only, as the tokenizer does; str.splitlines also at \f and \x1c
        self.lines = content.removeprefix(_BOM).splitlines(keepends=True)
        self.newline = b"\r\n" if b"\r\n" in content else b"\n"
        # lines that are inserted must be in the encoding that the file declares (PEP 263)
        self.encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
        if content.count(b"\r") != content.count(b"\r\n") or b"".join(self.lines).count(b"\n") < len(self.lines) - 1:
            raise Unfixable("the file has odd line endings")
        if self.lines and not self.lines[-1].endswith(b"\n"):
            self.lines[-1] += self.newline
        self.body: list[ast.stmt] = self.tree.body
        self.new: dict[int, list[bytes]] = {}
        """Number of a line → what is there instead."""
        self.above: dict[int, list[bytes]] = {}
        """Number of a line → what is inserted above it."""

    def run(self, moves: Sequence[Row], drops: Sequence[Row]) -> bytes:
        moved = self._remove(moves, drops)
        if moved:
            self._move(moved)
        whole = b"".join(line for number in range(1, len(self.lines) + 2) for line in self._at(number))
        return self.mark + (whole if self.content.endswith(b"\n") else whole.removesuffix(self.newline))

    def _remove(self, moves: Sequence[Row], drops: Sequence[Row]) -> list[_Import]:
        """Take the imports out of their lines; return the statements that go under the block."""
        names: dict[_Import, dict[str, bool]] = {}
        for row, moving in (*((row, True) for row in moves), *((row, False) for row in drops)):
            node = statement(self.tree, row)
            if node is None:
                raise Unfixable("the import is not there any more")
            names.setdefault(node, {})[row[1] or row[0]] = moving
        nodes = sorted(names, key=lambda node: node.lineno)
        moved = [(node, [one for one in node.names if names[node].get(one.name)]) for node in nodes]
        for node in nodes:
            first, last = node.lineno, node.end_lineno or node.lineno
            self.new.update((number, []) for number in range(first, last + 1))
            staying = [alias for alias in node.names if alias.name not in names[node]]
            if staying:
                self.new[first] = self._text(node, staying, explode=last > first)
            else:
                self._join_blank_lines(first, last, top=not any(some for _, some in moved))
        return [_with_names(node, some) for node, some in moved if some]

    def _join_blank_lines(self, first: int, last: int, *, top: bool) -> None:
        """Where these lines are removed, keep the larger group of blank lines around them; `top`: none at the top."""
        start = first
        while start > 1 and (self.new.get(start - 1, [b""]) == [] or not self.lines[start - 2].strip()):
            start -= 1
        above = [number for number in range(start, first) if number not in self.new]
        below = list(takewhile(lambda n: not self.lines[n - 1].strip(), range(last + 1, len(self.lines) + 1)))
        needless = [*above, *below] if start == 1 and top else above[max(len(above) - len(below), 0) :]
        self.new.update((number, []) for number in needless)

    def _move(self, moved: Sequence[_Import]) -> None:
        """Put the statements under `if TYPE_CHECKING:`, with the import that this needs."""
        start = int(ast.get_docstring(self.tree, clean=False) is not None)
        head = list(takewhile(_is_import, self.body[start:]))
        own = [node for node in head if _top_module(node) in sys.stdlib_module_names]
        if not own or _top_module(own[0]) != "__future__":
            raise Unfixable("its annotations are evaluated at run time")
        flag = self._flag()
        block = next((node for node in self.body if flag and _is_block(node)), None)
        line = self.lines[block.body[0].lineno - 1] if block else b"    pass"
        indent = line[: len(line) - len(line.lstrip())]
        text = [indent + one for node in moved for one in self._text(node, node.names)]
        if block:
            self._insert((block.body[-1].end_lineno or 0) + 1, text)
        else:
            last = max(node.end_lineno or 0 for node in (head[-1], flag) if node)
            self._insert(last + 1, [b"if TYPE_CHECKING:" + self.newline, *text], apart=True)
        if not flag:
            # among the imports of the standard library, where isort wants it
            importing = self._text_of(f"from typing import {_FLAG}")
            self._insert((own[-1].end_lineno or 0) + 1, importing, apart=_top_module(own[-1]) == "__future__")

    def _flag(self) -> ast.stmt | None:
        """The import of TYPE_CHECKING; Unfixable where something else in the file has the name."""
        binding = [node for node in ast.walk(self.tree) if _FLAG in binds(node)]
        found = [node for node in self.body if isinstance(node, ast.ImportFrom) and node in binding]
        plain = [one for node in found for one in node.names if one.name == _FLAG and one.asname in (None, _FLAG)]
        if len(plain) != len(binding) or {*map(_top_module, found)} - {"typing", "typing_extensions"}:
            raise Unfixable(f"something in the file is called {_FLAG} that is not typing's")
        return found[0] if found else None

    def _insert(self, place: int, text: list[bytes], *, apart: bool = False, below: bool = True) -> None:
        """Insert lines above a line; `apart`: blank lines part them from what is there (`below`: above them too)."""
        if apart:
            before = [line for number in range(1, place) for line in self._at(number)]
            after = next((line for number in range(place, len(self.lines) + 2) for line in self._at(number)), b"")
            over = below and before and before[-1].strip()
            text = [*([self.newline] if over else []), *text, *([self.newline] if after.strip() else [])]
        self.above[place] = [*text, *self.above.get(place, [])]

    def _at(self, number: int) -> list[bytes]:
        """What is written for a line: what is inserted above it, and the line or what replaces it."""
        return [*self.above.get(number, []), *self.new.get(number, self.lines[number - 1 : number])]

    def _text(self, node: _Import, names: list[ast.alias], *, explode: bool = False) -> list[bytes]:
        """The statement with these names, on several lines if it is too long for one."""
        text = ast.unparse(_with_names(node, names))
        if isinstance(node, ast.ImportFrom) and (explode or len(text) > _WIDTH):
            start = text[: text.index(" import ")]
            return self._text_of(f"{start} import (", *(f"    {ast.unparse(one)}," for one in names), ")")
        return self._text_of(text)

    def _text_of(self, *lines: str) -> list[bytes]:
        # the codec utf-8-sig would put a byte order mark before each line
        return [line.encode(self.encoding.removesuffix("-sig")) + self.newline for line in lines]


def _with_names(node: _Import, names: list[ast.alias]) -> _Import:
    return ast.ImportFrom(node.module, names, node.level) if isinstance(node, ast.ImportFrom) else ast.Import(names)


def _is_block(node: ast.stmt) -> TypeGuard[ast.If]:
    named = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == _FLAG
    return named and isinstance(node, ast.If) and node.body[0].lineno > node.lineno


def _top_module(node: ast.stmt) -> str:
    """The first module that an import names, its first part; empty for a relative import and any other statement."""
    if isinstance(node, ast.Import):
        return node.names[0].name.partition(".")[0]
    return (node.module or "").partition(".")[0] if isinstance(node, ast.ImportFrom) and not node.level else ""


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, _Import)


def _verify(before: bytes, after: bytes, moves: Sequence[Row], drops: Sequence[Row]) -> None:
    """Raise Unfixable unless the new text differs in nothing but the imports."""
    if comments(before) != comments(after):
        raise Unfixable("a comment would be lost")
    removed = {(str(row[0]), str(row[1])) for row in (*moves, *drops)} | ({("typing", _FLAG)} if moves else set())
    if _other_statements(before, removed, bool(moves)) != _other_statements(after, removed, bool(moves)):
        raise Unfixable("more than the import would change")


def _other_statements(content: bytes, removed: Collection[tuple[str, str]], in_block: bool) -> str:
    """The file without these imports; `in_block`: those under `if TYPE_CHECKING:` too, and without an empty block."""
    tree = ast.parse(content)
    blocks = [node for node in tree.body if in_block and _is_block(node)]
    for body in (tree.body, *(block.body for block in blocks)):
        for node in body:
            if isinstance(node, ast.ImportFrom):
                node.names = [one for one in node.names if (node.module or "", one.name) not in removed]
            elif isinstance(node, ast.Import):
                node.names = [one for one in node.names if (one.name, "") not in removed]
        body[:] = [node for node in body if not isinstance(node, _Import) or node.names]
    tree.body = [node for node in tree.body if node not in blocks or node.body or node.orelse]
    return ast.dump(tree)


def comments(content: bytes) -> Counter[str]:
    """The comments of a file, each with its number."""
    tokens = tokenize.tokenize(io.BytesIO(content).readline)
    return Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)
