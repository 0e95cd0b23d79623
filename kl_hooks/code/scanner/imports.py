"""Imports as rows: one for each name that a file imports, before any name is resolved.

A row is `[module, name, level, line, how, statement]`: `from ..a import b` gives `["a", "b", 2,
…]`, `import a.b` gives `["a.b", "", 0, …]`. `scan_imports` is the short way for callers that need
imports and nothing else: it walks statements, not expressions, and falls back to the whole scan
where only expressions could show it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any, Final

from kl_hooks.code.scanner.parser import (
    Facts,
    cached_tree,
    encoding_of,
    lines_of,
    parse_facts,
    statement,
)
from kl_hooks.model.definitions import lazy_pattern

DYNAMIC = frozenset({"import_module", "__import__"})
"""The functions that import by name."""


def import_rows(node: ast.Import | ast.ImportFrom, lazy: bool, checking: bool) -> list[list[Any]]:
    """The rows of an import statement; the last place holds the statement's end line and
    columns.
    """
    if checking:
        manner_name = "type-checking import"
    elif lazy:
        manner_name = "lazy import"
    else:
        manner_name = "import"
    place = (node.col_offset, node.end_lineno, node.end_col_offset)
    if isinstance(node, ast.Import):
        return [[alias.name, "", 0, node.lineno, manner_name, place] for alias in node.names]
    rows: list[list[Any]] = []
    for alias in node.names:
        if alias.name == "*" and manner_name == "import":
            manner = "star import"
        else:
            manner = manner_name
        rows.append([node.module or "", alias.name, node.level, node.lineno, manner, place])
    return rows


def with_statements(rows: list[list[Any]], lines: Sequence[bytes]) -> list[list[Any]]:
    """The rows in the order of lines, each with its statement: as written where it is on one line;
    of a longer one only what concerns this name.
    """
    rows.sort(key=lambda row: (row[3], row[5], row[0], row[1]))
    for row in rows:
        module, name, level, line, manner, (column, end_line, end_column) = row
        if line == end_line or manner == "dynamic import":
            row[5] = statement(lines, line, column, end_line, end_column)
        else:
            source = "." * level + module
            row[5] = f"from {source} import {name}" if name else f"import {source}"
    return rows


def type_checking(test: Any) -> int:
    """1 for `TYPE_CHECKING` and `typing.TYPE_CHECKING`, -1 for `not` of it, as often as that
    changes it, else 0.
    """
    sign = 1
    while test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        sign, test = -sign, test.operand
    if test.__class__ is ast.Name:
        name = test.id
    elif test.__class__ is ast.Attribute:
        name = test.attr
    else:
        name = ""
    if name == "TYPE_CHECKING":
        return sign
    return 0


_CHECKING: Final = b"TYPE_CHECKING"
_USUAL: Final = lazy_pattern(
    rb"import (?![^\n]*\bas[ \t]+TYPE_CHECKING)[^\n]*\bTYPE_CHECKING\b|^[ \t]+TYPE_CHECKING,?["
    rb" \t]*$"
    rb"|\b(?:if|elif|not|and|or)[ \t]+(?:\w+\.)?TYPE_CHECKING\b",
    re.MULTILINE,
)
"""How the name is written in a file that imports it from `typing`; anywhere else it may be the
file's own.
"""
_CALLED: Final = tuple(name.encode() for name in DYNAMIC)
_COMPOUND: Final = frozenset(
    getattr(ast, name)
    for name in ("For", "AsyncFor", "While", "With", "AsyncWith", "Try", "TryStar", "Match")
)
_Part = tuple[list[ast.stmt], bool, bool]
"""(statements, they run later if at all, only a type checker sees them)"""


def scan_imports(content: bytes) -> Facts | None:
    """`error` and `imports` of the facts of one Python file; None where only the whole scan
    knows.
    """
    if _may_call(content) or _checks_otherwise(content):
        return None
    return parse_facts(
        content,
        lambda tree: {"error": "", "imports": with_statements(_rows(tree), lines_of(content))},
        cached_tree,
    )


def _may_call(content: bytes) -> bool:
    """True if something may be imported by a call: its name is there, or could be in another
    spelling.
    """
    # in another encoding, UTF-7 for one, the same name may be other bytes
    if any(name in content for name in _CALLED) or encoding_of(content) != "utf-8":
        return True
    return not content.isascii() and _in_another_script(content)


def _in_another_script(content: bytes) -> bool:
    """True if a name is written in letters that Python takes for the usual ones, or that is
    unknown.
    """
    from unicodedata import normalize

    try:
        # Python compares identifiers in NFKC (PEP 3131): full-width letters spell the same name
        text = normalize("NFKC", content.decode())
    except UnicodeDecodeError:
        return True
    return any(name in text for name in DYNAMIC) or text.count(_CHECKING.decode()) != content.count(
        _CHECKING
    )


def _checks_otherwise(content: bytes) -> bool:
    """True if the file may make a `TYPE_CHECKING` of its own: the whole scan knows what it is
    then.
    """
    usual = sum(found[0].count(_CHECKING) for found in _USUAL.finditer(content))
    return content.count(_CHECKING) != usual


def _rows(tree: ast.Module) -> list[list[Any]]:
    rows: list[list[Any]] = []
    # expressions are not walked: what imports in one is a call, and _may_call has ruled that out
    # (ADR-0012)
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
    checked, other = (node.body, node.orelse) if kind > 0 else (node.orelse, node.body)
    return [(checked, lazy, True), (other, lazy, checking)]


def _inside(node: Any) -> list[list[ast.stmt]]:
    """The blocks of a compound statement."""
    blocks = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
    return [
        *blocks,
        *(one.body for field in ("handlers", "cases") for one in getattr(node, field, ())),
    ]
