"""Edits of a file's imports: some removed, some moved under `if TYPE_CHECKING:`. Pure.

An edit takes whole statements, at the lines that `ast` gives, so every other byte stays as it is: encoding, byte order
mark, line endings. The result is checked: it has to compile, with the same comments, and the same statements but for
the imports that were asked for. Why not by libcst's transformers: ADR-0027.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Final, TypeGuard

from kl_hooks.code.rewrite.import_use import Import, binds, imported_modules, statement

_FLAG: Final = "TYPE_CHECKING"
_FLAG_IMPORT: Final = f"from typing import {_FLAG}"
_BOM: Final = b"\xef\xbb\xbf"


class Unfixable(Exception):
    """This edit can't be made; the text is the reason, a clause."""


def rewrite(content: bytes, moves: Collection[int], drops: Collection[int]) -> bytes:
    """Return the file with the imports that start on these lines moved and removed. Raises Unfixable.

    They must be statements at the top level that nothing needs at run time (`import_use`). What is moved goes to the
    end of the first `if TYPE_CHECKING:` block, or to a new one after the imports at the top, and `TYPE_CHECKING` is
    imported where it is missing. The file must have `from __future__ import annotations`.
    """
    try:
        edit = _Edit(content)
        changed = edit.run(moves, drops)
        # dont_inherit: else the future statements of this module would hold for the text, too
        compile(changed, "<new>", "exec", dont_inherit=True)
        mine = {*edit.dumps, *([ast.dump(ast.parse(_FLAG_IMPORT).body[0])] if moves else [])}
        if _other_statements(content, mine) != _other_statements(changed, mine):
            raise Unfixable("more than the import would change")
    except (SyntaxError, ValueError, LookupError) as problem:
        raise Unfixable(f"the file would no longer compile ({problem})") from problem
    except (RecursionError, MemoryError) as problem:
        raise Unfixable("the file is nested too deeply") from problem
    return changed


class _Edit:
    """Lines to replace, gathered by their number in the file as it was."""

    def __init__(self, content: bytes) -> None:
        self.tree = ast.parse(content)
        self.mark = _BOM if content.startswith(_BOM) else b""
        # bytes.splitlines cuts at \n, \r and \r\n only, as the tokenizer does; str.splitlines also at \f and \x1c
        self.lines = content.removeprefix(_BOM).splitlines(keepends=True)
        self.newline = b"\r\n" if b"\r\n" in content else b"\n"
        if content.count(b"\r") != content.count(b"\r\n") or content.count(b"\n") < len(self.lines):
            raise Unfixable("the file has odd line endings, or none at its end")
        self.dumps: list[str] = []
        """The statements that are moved or removed."""
        self.removed: set[int] = set()
        """Numbers of lines."""
        self.above: dict[int, list[bytes]] = {}
        """Number of a line → what is inserted above it."""

    def run(self, moves: Collection[int], drops: Collection[int]) -> bytes:
        moved: list[bytes] = []
        for line in sorted({*moves, *drops}):
            node = statement(self.tree, line)
            if node is None:
                raise Unfixable("the import is not there any more")
            self.dumps.append(ast.dump(node))
            own = range(line, (node.end_lineno or line) + 1)
            # an import holds no strings: whatever is behind a `#` on its lines is a comment
            if any(b"#" in self.lines[number - 1] for number in own):
                raise Unfixable("a comment belongs to it")
            self.removed.update(own)
            moved += [self.lines[number - 1] for number in own if line in moves]
            self._join_blank_lines(own, top=not moves)
        if moved:
            self._move(moved)
        return self.mark + b"".join(line for number in range(1, len(self.lines) + 2) for line in self._at(number))

    def _join_blank_lines(self, own: range, *, top: bool) -> None:
        """Where these lines are removed, keep the larger group of blank lines around them; `top`: none at the top."""
        start = own.start
        while start > 1 and (start - 1 in self.removed or not self.lines[start - 2].strip()):
            start -= 1
        above = [number for number in range(start, own.start) if number not in self.removed]
        below = list(takewhile(lambda n: not self.lines[n - 1].strip(), range(own.stop, len(self.lines) + 1)))
        self.removed.update([*above, *below] if start == 1 and top else above[max(len(above) - len(below), 0) :])

    def _move(self, moved: Sequence[bytes]) -> None:
        """Put the lines under `if TYPE_CHECKING:`, with the import that this needs."""
        start = int(ast.get_docstring(self.tree, clean=False) is not None)
        head = list(takewhile(lambda node: isinstance(node, Import), self.tree.body[start:]))
        own = [node for node in head if _top_module(node) in sys.stdlib_module_names]
        if not own or _top_module(own[0]) != "__future__":
            raise Unfixable("its annotations are evaluated at run time")
        flag = self._flag()
        block = next((node for node in self.tree.body if flag and _is_block(node)), None)
        line = self.lines[block.body[0].lineno - 1] if block else b"    pass"
        text = [line[: len(line) - len(line.lstrip())] + one for one in moved]
        if block:
            self._insert((block.body[-1].end_lineno or 0) + 1, text)
        else:
            last = max(node.end_lineno or 0 for node in (head[-1], flag) if node)
            self._insert(last + 1, [b"if TYPE_CHECKING:" + self.newline, *text], apart=True)
        if not flag:
            # among the imports of the standard library, where isort wants it
            importing = [_FLAG_IMPORT.encode() + self.newline]
            self._insert((own[-1].end_lineno or 0) + 1, importing, apart=_top_module(own[-1]) == "__future__")

    def _flag(self) -> ast.stmt | None:
        """The import of TYPE_CHECKING; Unfixable where something else in the file has the name."""
        binding = [node for node in ast.walk(self.tree) if _FLAG in binds(node)]
        found = [node for node in self.tree.body if isinstance(node, ast.ImportFrom) and node in binding]
        plain = [one for node in found for one in node.names if one.name == _FLAG and one.asname in (None, _FLAG)]
        if len(plain) != len(binding) or {*map(_top_module, found)} - {"typing", "typing_extensions"}:
            raise Unfixable(f"something in the file is called {_FLAG} that is not typing's")
        return found[0] if found else None

    def _insert(self, place: int, text: list[bytes], *, apart: bool = False) -> None:
        """Insert lines above a line; `apart`: blank lines part them from what is there."""
        if apart:
            before = [line for number in range(1, place) for line in self._at(number)]
            after = next((line for number in range(place, len(self.lines) + 2) for line in self._at(number)), b"")
            over = before and before[-1].strip()
            text = [*([self.newline] if over else []), *text, *([self.newline] if after.strip() else [])]
        self.above[place] = [*text, *self.above.get(place, [])]

    def _at(self, number: int) -> list[bytes]:
        """What is written for a line: what is inserted above it, and the line itself unless it is removed."""
        own = [] if number in self.removed else self.lines[number - 1 : number]
        return [*self.above.get(number, []), *own]


def _is_block(node: ast.stmt) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and ast.unparse(node.test) == _FLAG and node.body[0].lineno > node.lineno


def _top_module(node: ast.stmt) -> str:
    """The first module that an import names, its first part; empty for a relative import."""
    return next((top for top, _ in imported_modules(node)), "")


def _other_statements(content: bytes, mine: Collection[str]) -> list[str]:
    """The statements at the top level, and those under `if TYPE_CHECKING:` apart, in their order, without mine."""
    found = []
    for node in ast.parse(content).body:
        inner, outer = (node.body, node.orelse) if _is_block(node) else ([], [node])
        found += [f"under {_FLAG}: {dump}" for part in inner if (dump := ast.dump(part)) not in mine]
        found += [dump for part in outer if (dump := ast.dump(part)) not in mine]
    return found
