"""A file's syntax tree, or None: parsing that never raises."""

from __future__ import annotations

import ast

from kl_hooks.code.parse import last_tree, no_garbage_collection


def parsed(content: bytes) -> ast.Module | None:
    """The tree of a file, for reading only; None where it does not parse."""
    try:
        with no_garbage_collection():
            return last_tree(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
