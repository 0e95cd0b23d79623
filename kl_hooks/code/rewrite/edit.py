"""Edits of a file's imports: some removed, some moved under `if TYPE_CHECKING:`. Pure.

An edit replaces whole lines, at the positions that `ast` gives, so every other byte stays as it is: encoding, byte
order mark, line endings. The result is checked: it has to compile, with the same comments, and the same statements but
for the imports that were asked for. libcst's transformers are no help here: `AddImportsVisitor` has no block under
`if TYPE_CHECKING:`, `RemoveImportsVisitor` empties a `try`, and libcst ends the process on deep nesting (ADR-0001).
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Final

from kl_hooks.code.rewrite.import_use import binds, statement

Row = Sequence[Any]
"""An import as the scanner stores it, see `code.scanner.imports`."""
_FLAG: Final = "TYPE_CHECKING"
_FUTURE: Final = ("__future__", "annotations")
_WIDTH: Final = 88
"""Columns of an import before it takes several lines: the default of ruff and black."""
_BOM: Final = b"\xef\xbb\xbf"


class Unfixable(Exception):
    """This edit can't be made; the text is the reason, a clause."""


def edit_imports(content: bytes, moves: Sequence[Row], drops: Sequence[Row]) -> tuple[bytes, list[tuple[Row, str]]]:
    """Return the new content, and the rows that could not be edited, each with the reason."""
    left: list[tuple[Row, str]] = []
    rows = [(row, moving) for some, moving in ((moves, True), (drops, False)) for row in some]
    if len(rows) > 1:  # one that can't go keeps no other from going
        for row, moving in list(rows):
            try:
                rewrite(content, *([row], []) if moving else ([], [row]))
            except Unfixable as problem:
                rows.remove((row, moving))
                left.append((row, str(problem)))
    try:
        todo = [[row for row, moving in rows if moving is wanted] for wanted in (True, False)]
        return (rewrite(content, *todo) if rows else content), left
    except Unfixable as problem:
        return content, [*left, *((row, str(problem)) for row, _ in rows)]


def rewrite(content: bytes, moves: Sequence[Row], drops: Sequence[Row]) -> bytes:
    """Return the file with these imports moved and those removed. Raises Unfixable.

    The rows must be of imports at the top level that nothing needs at run time (`import_use`). What is moved goes to
    the end of the first `if TYPE_CHECKING:` block, or to a new one after the imports at the top; `TYPE_CHECKING` and
    `from __future__ import annotations` are imported where they are missing.
    """
    try:
        changed = _Edit(content).run(moves, drops)
        _verify(content, changed, [*moves, *drops], added=bool(moves))
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
        lines = [line for number in range(1, len(self.lines) + 2) for line in self._at(number)]
        whole = b"".join(lines)
        return self.mark + (whole if self.content.endswith(b"\n") else whole.removesuffix(self.newline))

    def _remove(self, moves: Sequence[Row], drops: Sequence[Row]) -> list[ast.Import | ast.ImportFrom]:
        """Take the imports out of their lines; return the statements that go under the block."""
        names: dict[ast.Import | ast.ImportFrom, dict[str, bool]] = {}
        for row, moving in (*((row, True) for row in moves), *((row, False) for row in drops)):
            node = statement(self.tree, row)
            if node is None:
                raise Unfixable("the import is not there any more")
            names.setdefault(node, {})[row[1] or row[0]] = moving
        commented = _comment_lines(self.content)
        moved = []
        for node, chosen in sorted(names.items(), key=lambda item: item[0].lineno):
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if not commented.isdisjoint(span):
                raise Unfixable("a comment belongs to it")
            staying = [alias for alias in node.names if alias.name not in chosen]
            taken = [alias for alias in node.names if chosen.get(alias.name)]
            for number in span:
                self.new[number] = []
            if staying:
                self.new[node.lineno] = self._text(node, staying, explode=len(span) > 1)
            if taken:
                moved.append(_with_names(node, taken))
        for number in sorted(self.new):
            if not self.new[number] and self.new.get(number + 1, [b""]) != []:
                self._join_blank_lines(number, top=not moved)
        return moved

    def _join_blank_lines(self, last: int, *, top: bool) -> None:
        """Where lines up to `last` are removed, keep the larger group of blank lines around them.

        `top`: keep none at the top of the file, where nothing will be inserted.
        """
        first = last
        while first > 1 and (self.new.get(first - 1, [b""]) == [] or not self.lines[first - 2].strip()):
            first -= 1
        end = last
        while end < len(self.lines) and not self.lines[end].strip():
            end += 1
        blank = [n for n in range(first, end + 1) if not self.lines[n - 1].strip()]
        before = sum(n < last for n in blank)
        keep = 0 if first == 1 and top else max(before, len(blank) - before)
        for number in blank[keep:]:
            self.new[number] = []

    def _move(self, moved: Sequence[ast.Import | ast.ImportFrom]) -> None:
        """Put the statements under `if TYPE_CHECKING:`, with the imports that this needs."""
        is_bound = _flag_is_bound(self.tree)
        block = next((node for node in self.body if is_bound and _is_block(node)), None)
        head = [node for node in self.body if _is_docstring(self.body, node) or _is_import(node)]
        head = head[: next((n for n, node in enumerate(head) if node is not self.body[n]), len(head))]
        if isinstance(block, ast.If):
            first = self.lines[block.body[0].lineno - 1]
            indent = first[: len(first) - len(first.lstrip())]
            text = [indent + line for node in moved for line in self._text(node, node.names)]
            self._insert((block.body[-1].end_lineno or 0) + 1, text)
        else:
            last = [*head, *(node for node in self.body if is_bound and _binds_flag(node))]
            place = max(((node.end_lineno or 0) for node in last), default=self.body[0].lineno - 1) + 1
            text = [b"    " + line for node in moved for line in self._text(node, node.names)]
            self._insert(place, [b"if TYPE_CHECKING:" + self.newline, *text], apart=True)
        if not is_bound:
            self._import_flag(head)
        if not any(_names(node, *_FUTURE) for node in self.body):
            if any("annotations" in binds(node) for node in ast.walk(self.tree)):
                raise Unfixable("something in the file is called annotations, as what it would have to import is")
            # a __future__ import may only follow the docstring, comments and its like (language reference, 7.11.1)
            docstring = self.body[0] if self.body and _is_docstring(self.body, self.body[0]) else None
            place = (docstring.end_lineno or 0) + 1 if docstring else self.body[0].lineno
            future = self._text_of("from __future__ import annotations")
            has_other = any(_names(node, "__future__") for node in self.body)
            self._insert(place, future, apart=not has_other, below=bool(docstring) or has_other)

    def _import_flag(self, head: Sequence[ast.stmt]) -> None:
        """Import TYPE_CHECKING: in an import from typing that fits on its line, else after the standard library."""
        for node in head:
            if _names(node, "typing") and node.lineno not in self.new and isinstance(node, ast.ImportFrom):
                # in front: isort and ruff sort constants before classes and functions (order-by-type)
                longer = self._text(node, [ast.alias(_FLAG), *node.names])
                # only one that is written as we would write it: another would be formatted anew along with it
                plain = [self.lines[node.lineno - 1]] == self._text(node, node.names)
                if plain and len(longer) == 1:
                    self.new[node.lineno] = longer
                    return
        own = [node for node in head if _module(node).partition(".")[0] in sys.stdlib_module_names - {"__future__"}]
        # where isort would put it: plain imports first, then `from` imports by module (its default order)
        before = [node for node in own if isinstance(node, ast.Import) or _module(node) < "typing"]
        rest = [node for node in head if not _names(node, "__future__") and not _is_docstring(self.body, node)]
        text = self._text_of(f"from typing import {_FLAG}")
        if before:
            self._insert((before[-1].end_lineno or 0) + 1, text)
        elif own:
            self._insert(own[0].lineno, text)
        elif rest:
            self._insert(rest[0].lineno, text, apart=True, below=False)
        else:
            place = (head[-1].end_lineno or 0) + 1 if head else self.body[0].lineno
            self._insert(place, text, apart=True)

    def _insert(self, place: int, text: list[bytes], *, apart: bool = False, below: bool = True) -> None:
        """Insert lines above a line; `apart`: blank lines part them from what is there (`below`: above them too)."""
        blank = [self.newline]
        before = [line for number in range(1, place) for line in self._at(number)]
        after = (line for number in range(place, len(self.lines) + 2) for line in self._at(number))
        if apart:
            over, under = below and before and before[-1].strip(), next(after, b"").strip()
            text = [*(blank if over else []), *text, *(blank if under else [])]
        self.above[place] = [*text, *self.above.get(place, [])]

    def _at(self, number: int) -> list[bytes]:
        """What is written for a line: what is inserted above it, and the line or what replaces it."""
        own = self.lines[number - 1 : number]
        return [*self.above.get(number, []), *self.new.get(number, own)]

    def _text(self, node: ast.Import | ast.ImportFrom, names: list[ast.alias], *, explode: bool = False) -> list[bytes]:
        """The statement with these names, on several lines if it is too long for one."""
        text = ast.unparse(_with_names(node, names))
        if isinstance(node, ast.ImportFrom) and (explode or len(text) > _WIDTH):
            start = text[: text.index(" import ")]
            return self._text_of(f"{start} import (", *(f"    {ast.unparse(one)}," for one in names), ")")
        return self._text_of(text)

    def _text_of(self, *lines: str) -> list[bytes]:
        # the codec utf-8-sig would put a byte order mark before each line
        return [line.encode(self.encoding.removesuffix("-sig")) + self.newline for line in lines]


def _with_names(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.Import | ast.ImportFrom:
    return ast.ImportFrom(node.module, names, node.level) if isinstance(node, ast.ImportFrom) else ast.Import(names)


def _flag_is_bound(tree: ast.Module) -> bool:
    """True if TYPE_CHECKING is typing's; Unfixable where something else in the file has the name."""
    binding = [node for node in ast.walk(tree) if _FLAG in binds(node)]
    flags = [node for node in tree.body if isinstance(node, ast.Assign) and _binds_flag(node)]
    if len(binding) == 1 and (flags or any(node is binding[0] and _binds_flag(node) for node in tree.body)):
        return True
    if binding:
        raise Unfixable(f"something in the file is called {_FLAG} that is not typing's")
    return False


def _binds_flag(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return ast.unparse(node) == f"{_FLAG} = False"
    return _names(node, "typing", _FLAG) or _names(node, "typing_extensions", _FLAG)


def _is_block(node: ast.stmt) -> bool:
    named = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == _FLAG
    return named and isinstance(node, ast.If) and node.body[0].lineno > node.lineno


def _names(node: ast.stmt, module: str, name: str = "") -> bool:
    """True for `from module import …`, with `name` under its own name if one is given; no star."""
    if not isinstance(node, ast.ImportFrom) or (node.module, node.level) != (module, 0) or node.names[0].name == "*":
        return False
    return not name or any(alias.name == name and alias.asname in (None, name) for alias in node.names)


def _module(node: ast.stmt) -> str:
    """The first module that an import names; empty for a relative import and for any other statement."""
    if isinstance(node, ast.Import):
        return node.names[0].name
    return (node.module or "") if isinstance(node, ast.ImportFrom) and not node.level else ""


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_docstring(body: Sequence[ast.stmt], node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) and node is body[0] else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _verify(before: bytes, after: bytes, rows: Sequence[Row], *, added: bool) -> None:
    """Raise Unfixable unless the new text compiles, and differs in nothing but the imports."""
    # dont_inherit: else the future statements of this module would hold for the text, too
    compile(after, "<new>", "exec", dont_inherit=True)
    if comments(before) != comments(after):
        raise Unfixable("a comment would be lost")
    removed = {(str(row[0]), str(row[1])) for row in rows}
    if _other_statements(before, removed, added=added) != _other_statements(after, removed, added=added):
        raise Unfixable("more than the import would change")


def _other_statements(content: bytes, removed: Collection[tuple[str, str]], *, added: bool) -> list[str]:
    """The statements without these imports, and without what a move adds."""
    removed = {*removed, *([_FUTURE, ("typing", _FLAG)] if added else [])}
    found = []
    for node in ast.parse(content).body:
        is_block = added and _is_block(node)
        body = node.body if is_block and isinstance(node, ast.If) else [node]
        left = [part for part in body if not _is_removed(part, removed)]
        if is_block and isinstance(node, ast.If):
            node.body = left
            left = [node] if left or node.orelse else []
        found += [ast.dump(part) for part in left]
    return found


def _is_removed(node: ast.stmt, removed: Collection[tuple[str, str]]) -> bool:
    """True for an import that names nothing else; the names are taken out of it."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return False
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else None
    node.names = [one for one in node.names if (one.name, "") not in removed] if module is None else [
        one for one in node.names if (module, one.name) not in removed
    ]  # fmt: skip
    return not node.names


def _tokens(content: bytes) -> list[tokenize.TokenInfo]:
    return [one for one in tokenize.tokenize(io.BytesIO(content).readline) if one.type == tokenize.COMMENT]


def comments(content: bytes) -> Counter[str]:
    """The comments of a file, each with its number."""
    return Counter(token.string.rstrip() for token in _tokens(content))


def _comment_lines(content: bytes) -> set[int]:
    return {token.start[0] for token in _tokens(content)}
