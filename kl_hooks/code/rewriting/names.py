"""Where the names of one file are bound and used: at run time, in annotations, in strings. Pure, from its tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

_LOOKS: Final = frozenset({"globals", "eval", "exec"})
_BARE_LOOKS: Final = frozenset({"dir", "vars", "locals"})
_SILENT: Final = frozenset({ast.Load, ast.Store, ast.Del, ast.Attribute, ast.Expr, ast.Return, ast.keyword, ast.Tuple})
"""The commonest nodes that neither bind a name nor mention one themselves."""
_TYPE_COMMENT = re.compile(r"#\s*type:\s*(?!ignore)(.*)")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_WORD = re.compile(r"[^\W\d]\w*")


class Mentions:
    """What a file says about one name. Scopes are not told apart: a name that is used anywhere counts as used."""

    __slots__ = ("bound", "looks", "noted", "string", "used")

    def __init__(self, name: str, nodes: Iterable[ast.AST], text: str = "") -> None:
        """`nodes`: those of its tree, or of the part of it that is asked about. `text`: for its type comments."""
        self.bound = 0
        """How many statements bind or delete it, in any scope; arguments too."""
        self.used = 0
        """The first line that needs it at run time, 0 for none."""
        self.noted = _in_type_comment(name, text)
        """True where annotations (written out, in a string, or in a type comment) use it."""
        self.string = 0
        """The line of a string outside annotations that has it, 0 for none; of docstrings only those with doctests."""
        self.looks = 0
        """The line where the file looks at its own names (`globals()`), 0 for none."""
        found, others = list[Any](), list[ast.AST]()
        for node in nodes:
            sort = node.__class__
            if isinstance(node, ast.Name):
                if node.id == name:
                    (found if isinstance(node.ctx, ast.Load) else others).append(node)
            elif isinstance(node, ast.Constant):
                if name in words_in(node, name):
                    found.append(node)
            elif sort is ast.Call or sort is ast.Subscript:
                if looks_at_names(node):
                    found.append(node)
            elif sort not in _SILENT:
                others.append(node)
        self.bound = sum(list(binds(node)).count(name) for node in others)
        inside = {id(part) for node in others for note in notes_of(node) for part in ast.walk(note)} if found else set()
        docs = {id(doc) for one in others if (doc := docstring_of(one))} if found else set()
        for node in found:
            if id(node) in inside:
                self.noted = self.noted or not isinstance(node, ast.Call | ast.Subscript)
            else:
                self._use(node, id(node) in docs)

    def _use(self, node: Any, docstring: bool) -> None:
        if isinstance(node, ast.Name):
            self.used = min(self.used or node.lineno, node.lineno)
        elif isinstance(node, ast.Constant):
            if not docstring or ">>>" in str(node.value):
                self.string = self.string or node.lineno
        else:
            self.looks = self.looks or node.lineno


def _in_type_comment(name: str, text: str) -> bool:
    if name not in text:
        return False
    found = (_TYPE_COMMENT.search(line) for line in _NEWLINE.split(text) if name in line)
    return any(name in words(one[1]) for one in found if one)


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


def docstring_of(node: ast.AST) -> ast.Constant | None:
    """The docstring of this very node."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return None
    first = node.body[0]
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def words_in(node: ast.Constant, name: str) -> list[str]:
    """The identifiers in a constant, if it is a text or bytes that may hold this one."""
    text = node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else node.value
    return words(text) if isinstance(text, str) and name in text else []


def words(text: str) -> list[str]:
    """The identifiers in a text."""
    return _WORD.findall(text)
