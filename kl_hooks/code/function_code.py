"""The functions of a file, as code that asks for their code objects sees them.

A code object shows positions in the source beside what it executes (`co_firstlineno`, `co_lines`,
`co_positions`). Functions with the same syntax at the same place have equal code objects with every
version of Python, whichever one the tests ran with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from kl_hooks.code.scanner.parser import parse_tree


@lru_cache(maxsize=64)
def placed_functions(content: bytes) -> frozenset[str] | None:
    """The outermost functions and lambdas of a file, with the classes around them and all that is
    inside, positions included; None where the file can't be read.
    """
    try:
        return frozenset(_functions(parse_tree(content)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _functions(tree: ast.Module) -> Iterator[str]:
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        owner, node = waiting.pop()
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield f"{owner}{ast.dump(part, include_attributes=True)}"
            else:
                if isinstance(part, ast.ClassDef):
                    inner = f"{owner}{part.name}."
                else:
                    inner = owner
                waiting.append((inner, part))
