"""Where the names of one file are bound and used: at run time, in annotations, in strings. Pure, from its tree."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

_LOOKS: Final = frozenset({"globals", "eval", "exec"})
_BARE_LOOKS: Final = frozenset({"dir", "vars", "locals"})
_SILENT: Final = frozenset({ast.Load, ast.Store, ast.Del, ast.Attribute, ast.Expr, ast.Return, ast.keyword, ast.Tuple})
"""The commonest nodes that neither bind a name nor mention one themselves."""
_TYPE_COMMENT = re.compile(r"#\s*type:\s*(?!ignore)(.*)")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_WORD = re.compile(r"[^\W\d]\w*")


class Names:
    """The names of one file. Scopes are not told apart: a name that is used anywhere counts as used."""

    def __init__(self, nodes: Sequence[ast.AST], text: str) -> None:
        """`nodes`: those of its tree, or of the part of it that is asked about. `text`: of the lines with comments."""
        self.bound: Counter[str] = Counter()
        """Name → how many statements bind or delete it, in any scope; arguments too."""
        self.used: dict[str, list[int]] = defaultdict(list)
        """Name → lines that need it at run time."""
        self.noted: dict[str, list[int]] = defaultdict(list)
        """Name → lines of annotations (written out, in a string, or in a type comment) that use it."""
        self.strings: dict[str, int] = {}
        """Word → line of a string outside annotations that has it; of docstrings only those with doctests."""
        self.looks: int = 0
        """The line where the file looks at its own names (`globals()`), 0 for none."""
        nodes = [node for node in nodes if node.__class__ not in _SILENT]
        notes = [note for node in nodes for note in notes_of(node)]
        inside = {id(part) for note in notes for part in ast.walk(note)}
        docs = {id(node.body[0].value) for node in nodes if _has_docstring(node)}  # type: ignore[attr-defined]
        for note in notes:
            self._note(note, note.lineno)
        for node in nodes:
            for name in binds(node):
                self.bound[name] += 1
            if id(node) not in inside:
                self._use(node, id(node) in docs)
        for number, line in enumerate(_NEWLINE.split(text), 1):
            found = _TYPE_COMMENT.search(line)
            for word in _WORD.findall(found[1]) if found else ():
                self.noted[word].append(number)

    def _note(self, note: ast.AST, line: int) -> None:
        for part in ast.walk(note):
            if isinstance(part, ast.Name):
                self.noted[part.id].append(line)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                for word in _WORD.findall(part.value):
                    self.noted[word].append(line)

    def _use(self, node: ast.AST, docstring: bool) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self.used[node.id].append(node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and (not docstring or ">>>" in node.value):
            for word in _WORD.findall(node.value):
                self.strings.setdefault(word, node.lineno)
        elif not self.looks and looks_at_names(node):
            self.looks = node.lineno  # type: ignore[attr-defined]


def looks_at_names(node: ast.AST) -> bool:
    """True for `globals()`, `eval(…)`, `dir()`, `sys.modules[__name__]` and the like."""
    if isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        own = [arg for arg in node.args if isinstance(arg, ast.Name) and arg.id == "__name__"]
        reload = (called or getattr(node.func, "attr", "")) in ("import_module", "__import__") and bool(own)
        return called in _LOOKS or (called in _BARE_LOOKS and not node.args) or reload
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id == "__name__"


def notes_of(node: ast.AST) -> Iterator[ast.expr]:
    """The annotations that belong to this very node."""
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns


def binds(node: ast.AST) -> Iterator[str]:
    """The names that this very node binds or deletes."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    elif isinstance(node, ast.arg):
        yield node.arg
    elif not isinstance(node, ast.alias):
        for key in ("name", "rest"):  # of a function, class, except clause, pattern, type parameter
            name = getattr(node, key, None)
            if isinstance(name, str):
                yield name


def _has_docstring(node: ast.AST) -> bool:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return False
    first = node.body[0]
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
