"""From the bytes of a file to tree-sitter's tree, and the first error in it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.scanner.parser import PARTIAL

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, QueryCursor, Tree

_LONG_LINES: Final = 500
"""Bytes a line, on average, from which on a file was written by a minifier."""
_SMALL: Final = 20_000
"""Bytes: a shorter file is read whatever its lines are like."""


@cache
def _language(grammar: str) -> Language:
    """A grammar: `typescript`, `tsx` or `javascript`."""
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
    return tree_sitter.Language(language)


@cache
def _parser(grammar: str) -> Parser:
    import tree_sitter

    return tree_sitter.Parser(_language(grammar))


@cache
def _literals(grammar: str) -> QueryCursor:
    import tree_sitter

    patterns = " ".join(f"({kind}) @{kind}" for kind in LITERALS)
    return tree_sitter.QueryCursor(tree_sitter.Query(_language(grammar), patterns))


LITERALS: Final = ("comment", "string", "template_string", "regex")
"""What is no code: its layout and its signs mean nothing else."""


def literals_of(root: Node, grammar: str) -> list[tuple[int, int, str]]:
    """(start, end, kind) of all comments and literals."""
    return [
        (node.start_byte, node.end_byte, kind)
        for kind, nodes in _literals(grammar).captures(root).items()
        for node in nodes
    ]


def parse(content: bytes, grammar: str) -> tuple[Tree, list[tuple[int, int]]]:
    """The tree of a file, and the comments that it lacks; a part that is no syntax is an error node in
    it.

    tree-sitter-typescript 0.23 does not know all of the language. What it is known to misread is
    written otherwise, byte for byte, and read once more: comments, `in` and `out` before type
    parameters, and a signature that begins a line with `(` or `<` and ends no `;` before it.
    """
    tree = _parser(grammar).parse(content)
    if not tree.root_node.has_error or grammar == "javascript":
        return tree, []
    comments = [
        (start, end)
        for start, end, kind in literals_of(tree.root_node, grammar)
        if kind == "comment"
    ]
    repaired = _parser(grammar).parse(_rewritten(content, comments))
    if _number_of_errors(repaired.root_node) < _number_of_errors(tree.root_node):
        return repaired, comments
    return tree, []


_VARIANCE: Final = re.compile(
    rb"(?<=[<,])(\s*)(in\s+out|in|out)(?=\s+[A-Za-z_$][\w$]*\s*(?:[,>=]|extends\b))"
)
_UNENDED: Final = re.compile(
    rb"""(?<![\s,(\[{<=|&:?;.+*/%!^~-])(?<!=>)(?<!extends)(?<!return)(?<!keyof)(\s*\n[ \t]*)[ \t](?=[(<])"""
)


def _rewritten(content: bytes, comments: list[tuple[int, int]]) -> bytes:
    """The content with as many bytes and lines, without what the grammar misreads."""
    text = bytearray(content)
    for start, end in comments:
        text[start:end] = _blank(content[start:end])
    plain = _VARIANCE.sub(lambda match: match[1] + _blank(match[2]), bytes(text))
    return _UNENDED.sub(rb"\1;", plain)


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", text)


def _number_of_errors(root: Node) -> int:
    number, waiting = 0, [root]
    while waiting:
        node = waiting.pop()
        number += node.is_error or node.is_missing
        if node.has_error:
            waiting += node.children
    return number


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
