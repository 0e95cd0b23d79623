"""The short way for who needs imports and nothing else: statements are walked, expressions are not.

It says what the whole scan says (tests hold the two together); where only expressions could tell, it asks that one.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from kl_hooks.code.decoded import encoding_of, lines_of
from kl_hooks.code.imports_found import DYNAMIC, import_rows, says_checking, seen_running, told, type_checking
from kl_hooks.code.parse import Facts, parsed

_CALLED: Final = tuple(name.encode() for name in DYNAMIC)
_COMPOUND: Final = frozenset(
    getattr(ast, name)
    for name in ("For", "AsyncFor", "While", "With", "AsyncWith", "Try", "TryStar", "Match")
)  # fmt: skip
_Part = tuple[list[ast.stmt], bool, bool, bool]
"""(statements, they run later if at all, only a type checker sees them, they are the module's own)"""


def scan_imports(content: bytes, path: str) -> Facts:
    """`error` and `imports` of the facts of one Python file (see `code.scan`); the rest may be missing."""
    if _may_call(content):
        from kl_hooks.code.scan import scan_python

        return scan_python(content, path, "_")
    return parsed(content, lambda tree: {"error": "", "imports": told(_rows(tree), lines_of(content))})


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
    return any(name in text for name in DYNAMIC)


def _rows(tree: ast.Module) -> list[list[Any]]:
    rows: list[list[Any]] = []
    always_checking = False
    parts: list[_Part] = [(tree.body, False, False, True)]
    for body, lazy, checking, own in parts:  # grows while it is walked
        for node in body:
            cls = node.__class__
            if isinstance(node, ast.Import | ast.ImportFrom):
                rows += import_rows(node, lazy, checking)
            elif cls is ast.FunctionDef or cls is ast.AsyncFunctionDef:
                parts.append((node.body, True, checking, False))  # type: ignore[attr-defined]
            elif cls is ast.ClassDef:
                parts.append((node.body, lazy, checking, False))  # type: ignore[attr-defined]
            elif isinstance(node, ast.If):
                parts += _branches(node, lazy, checking, own)
            elif cls in _COMPOUND:
                parts += [(inner, lazy, checking, own) for inner in _inside(node)]
            elif own and isinstance(node, ast.Assign | ast.AnnAssign):
                always_checking = always_checking or says_checking(node)
    return seen_running(rows) if always_checking else rows


def _branches(node: ast.If, lazy: bool, checking: bool, own: bool) -> list[_Part]:
    kind = type_checking(node.test)
    if not kind:
        return [(node.body, lazy, checking, own), (node.orelse, lazy, checking, own)]
    seen, other = (node.body, node.orelse) if kind > 0 else (node.orelse, node.body)
    return [(seen, lazy, True, False), (other, lazy, checking, own)]


def _inside(node: Any) -> list[list[ast.stmt]]:
    """The blocks of a compound statement."""
    found = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
    return [*found, *(one.body for field in ("handlers", "cases") for one in getattr(node, field, ()))]
