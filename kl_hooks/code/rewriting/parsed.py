"""A file's syntax tree, or None: parsing that never raises."""

from __future__ import annotations

import ast
import warnings


def parsed(content: bytes) -> ast.Module | None:
    """The tree of a file; None where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
