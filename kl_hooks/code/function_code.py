"""The functions of a file, as code that asks for their code objects sees them.

A code object shows positions in the source beside what it executes (`co_firstlineno`, `co_lines`,
`co_positions`). Functions with the same syntax at the same place have equal code objects with every
version of Python, whichever one the tests ran with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Self

from kl_hooks.code.scanner.parser import parse_tree
from kl_hooks.model.definitions import NamedTuple


class PlacedFunctions(NamedTuple):
    """The outermost functions and lambdas of a file, with the classes around them and all that is
    inside.
    """

    digests: frozenset[str] = frozenset()
    """Of what each is, and where."""
    is_unreadable: bool = False

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"digests": sorted(self.digests), "is_unreadable": self.is_unreadable}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The way back. KeyError for what `plain` did not make."""
        return cls(frozenset(plain["digests"]), plain["is_unreadable"])


def placed_functions(content: bytes) -> PlacedFunctions:
    """Read the functions of a file of this content. Never raises for bad source."""
    try:
        functions = [*_functions(parse_tree(content))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PlacedFunctions(is_unreadable=True)
    return PlacedFunctions(
        frozenset(sha256(function.encode("utf-8", "replace")).hexdigest() for function in functions)
    )


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
