"""From the bytes of a file to tree-sitter's tree, and the first error in it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

_LONG_LINES: Final = 500
"""Bytes a line, on average, from which on a file was written by a minifier."""
_SMALL: Final = 20_000
"""Bytes: a shorter file is read whatever its lines are like."""


@cache
def parser_for(grammar: str) -> Parser:
    """The parser of a grammar: `typescript`, `tsx` or `javascript`."""
    import tree_sitter

    if grammar == "javascript":
        import tree_sitter_javascript

        language: Any = tree_sitter_javascript.language()
    else:
        import tree_sitter_typescript

        if grammar == "tsx":
            language = tree_sitter_typescript.language_tsx()
        else:
            language = tree_sitter_typescript.language_typescript()
    return tree_sitter.Parser(tree_sitter.Language(language))


def parse(content: bytes, grammar: str) -> Tree:
    """The tree of a file; a part that is no syntax is an error node in it."""
    return parser_for(grammar).parse(content)


def is_minified(content: bytes) -> bool:
    """Whether a file was written by a machine, for a machine: its lines are too long to be read."""
    return len(content) > _SMALL and len(content) > _LONG_LINES * (content.count(b"\n") + 1)


def first_error(root: Node) -> str:
    """The first place that is no syntax, as an error of facts; empty where there is none."""
    node = root
    while node.has_error and not (node.is_error or node.is_missing):
        inner = next(
            (child for child in node.children if child.has_error or child.is_missing), None
        )
        if inner is None:
            break
        node = inner
    if not root.has_error:
        return ""
    row, column = node.start_point
    return f"{row + 1}:{column + 1}: syntax error, {PARTIAL}"


PARTIAL: Final = "read in part: what could be read is in the graph"
"""The end of an error of a file that has symbols all the same."""
