"""The short way for who needs imports and nothing else: statements are walked, expressions are not.

It says what the whole scan says (tests hold the two together); where only expressions could tell, it asks that one.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Final

from kl_hooks.code.decoded import encoding_of, lines_of
from kl_hooks.code.imports_found import DYNAMIC, import_rows, told, type_checking
from kl_hooks.code.parse import Facts, last_tree, parsed

_CHECKING: Final = b"TYPE_CHECKING"
_USUAL: Final = re.compile(
    rb"import (?![^\n]*\bas[ \t]+TYPE_CHECKING)[^\n]*\bTYPE_CHECKING\b|^[ \t]+TYPE_CHECKING,?[ \t]*$"
    rb"|\b(?:if|elif|not|and|or)[ \t]+(?:\w+\.)?TYPE_CHECKING\b",
    re.MULTILINE,
)
"""How the name stands in a file that takes it from `typing` and asks for it; anywhere else it may be the file's own."""
_CALLED: Final = tuple(name.encode() for name in DYNAMIC)
_COMPOUND: Final = frozenset(
    getattr(ast, name)
    for name in ("For", "AsyncFor", "While", "With", "AsyncWith", "Try", "TryStar", "Match")
)  # fmt: skip
_Part = tuple[list[ast.stmt], bool, bool]
"""(statements, they run later if at all, only a type checker sees them)"""


def scan_imports(content: bytes, path: str) -> Facts:
    """`error` and `imports` of the facts of one Python file (see `code.scan`); the rest may be missing."""
    if _may_call(content) or _checks_otherwise(content):
        from kl_hooks.code.scan import scan_python

        return scan_python(content, path, "_")
    return parsed(content, lambda tree: {"error": "", "imports": told(_rows(tree), lines_of(content))}, last_tree)


def _may_call(content: bytes) -> bool:
    """True if something may be imported by a call: its name stands there, or could in another spelling."""
    if any(name in content for name in _CALLED) or encoding_of(content) != "utf-8":
        return True
    return not content.isascii() and _in_another_script(content)


def _in_another_script(content: bytes) -> bool:
    """True if a name is written in letters that Python takes for the usual ones, or nobody can tell."""
    from unicodedata import normalize

    try:
        text = normalize("NFKC", content.decode())
    except UnicodeDecodeError:
        return True
    return any(name in text for name in DYNAMIC) or text.count(_CHECKING.decode()) != content.count(_CHECKING)


def _checks_otherwise(content: bytes) -> bool:
    """True if the file may make a `TYPE_CHECKING` of its own: the whole scan knows what it is then."""
    usual = sum(found[0].count(_CHECKING) for found in _USUAL.finditer(content))
    return content.count(_CHECKING) != usual


def _rows(tree: ast.Module) -> list[list[Any]]:
    rows: list[list[Any]] = []
    parts: list[_Part] = [(tree.body, False, False)]
    for body, lazy, checking in parts:  # grows while it is walked
        for node in body:
            cls = node.__class__
            if isinstance(node, ast.Import | ast.ImportFrom):
                rows += import_rows(node, lazy, checking)
            elif cls is ast.FunctionDef or cls is ast.AsyncFunctionDef:
                parts.append((node.body, True, checking))  # type: ignore[attr-defined]
            elif cls is ast.ClassDef:
                parts.append((node.body, lazy, checking))  # type: ignore[attr-defined]
            elif isinstance(node, ast.If):
                parts += _branches(node, lazy, checking)
            elif cls in _COMPOUND:
                parts += [(inner, lazy, checking) for inner in _inside(node)]
    return rows


def _branches(node: ast.If, lazy: bool, checking: bool) -> list[_Part]:
    kind = type_checking(node.test)
    if not kind:
        return [(node.body, lazy, checking), (node.orelse, lazy, checking)]
    seen, other = (node.body, node.orelse) if kind > 0 else (node.orelse, node.body)
    return [(seen, lazy, True), (other, lazy, checking)]


def _inside(node: Any) -> list[list[ast.stmt]]:
    """The blocks of a compound statement."""
    found = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
    return [*found, *(one.body for field in ("handlers", "cases") for one in getattr(node, field, ()))]
