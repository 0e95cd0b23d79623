"""Says whether an import is needed by annotations only, so that a type checker could have it all to itself."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator


def only_in_annotations(content: bytes, line: int) -> bool:
    """True if everything that the import on this line binds is used, and used in annotations only.

    Careful: any other mention of such a name counts against it, wherever it stands, `__all__` included; so does source
    that does not parse.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = {name for node in ast.walk(tree) if getattr(node, "lineno", 0) == line for name in _bound(node)}
    noted = {id(part) for node in ast.walk(tree) for note in _annotations(node) for part in ast.walk(note)}
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            if id(node) not in noted:
                return False
            used.add(node.id)
        elif isinstance(node, ast.Constant) and node.value in names and id(node) not in noted:
            return False
    return bool(names) and used == names


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns
