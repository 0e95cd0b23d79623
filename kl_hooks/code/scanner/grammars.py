"""From the bytes of a file to tree-sitter's tree, and the first error in it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.scanner.parser import PARTIAL, PARTIAL_WITH_IMPORTS
from kl_hooks.model.definitions import lazy_pattern

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, QueryCursor, Tree

_LONG_LINES: Final = 500
"""Bytes a line, on average, from which on a file was written by a minifier."""
_SMALL: Final = 20_000
"""Bytes: a shorter file is read whatever its lines are like."""


@cache
def _language(grammar: str) -> Language:
    """A grammar: `typescript`, `tsx`, `javascript` or `rust`."""
    import tree_sitter

    if grammar == "javascript":
        import tree_sitter_javascript

        language: Any = tree_sitter_javascript.language()
    elif grammar == "rust":
        import tree_sitter_rust

        language = tree_sitter_rust.language()
    else:
        import tree_sitter_typescript

        if grammar == "tsx":
            language = tree_sitter_typescript.language_tsx()
        else:
            language = tree_sitter_typescript.language_typescript()
    return tree_sitter.Language(language)


@cache
def parser_of(grammar: str) -> Parser:
    """tree-sitter's parser for a grammar of ours; ImportError where its package is missing."""
    import tree_sitter

    return tree_sitter.Parser(_language(grammar))


@cache
def _literals(grammar: str) -> QueryCursor:
    import tree_sitter

    patterns = " ".join(f"({kind}) @{kind}" for kind in _kinds_of_literals(grammar))
    return tree_sitter.QueryCursor(tree_sitter.Query(_language(grammar), patterns))


LITERALS: Final = ("comment", "string", "template_string", "regex")
"""What is no code: its layout and its signs mean nothing else."""
_RUST_COMMENTS: Final = ("line_comment", "block_comment")
_RUST_LITERALS: Final = (*_RUST_COMMENTS, "string_literal", "raw_string_literal", "char_literal")


def _kinds_of_literals(grammar: str) -> tuple[str, ...]:
    if grammar == "rust":
        return _RUST_LITERALS
    return LITERALS


def literals_of(root: Node, grammar: str) -> list[tuple[int, int, str]]:
    """(start, end, kind) of all comments and literals; `comment` is the kind of every comment."""
    return [
        (node.start_byte, node.end_byte, "comment" if kind in _RUST_COMMENTS else kind)
        for kind, nodes in _literals(grammar).captures(root).items()
        for node in nodes
    ]


def parse(content: bytes, grammar: str) -> tuple[Tree, list[tuple[int, int]]]:
    """The tree of a file, and the comments that it lacks; a part that is no syntax is an error node
    in it.

    tree-sitter-typescript 0.23 does not know all of the language. What it is known to misread is
    written otherwise, byte for byte, and read once more: comments, `in` and `out` before type
    parameters, a signature that begins a line with `(` or `<` and ends no `;` before it, parameters
    of a function type that are called `any` or the like, `f<typeof import("m")>()`, `export type *`
    and an escaped quote in the type of a template.
    """
    tree = parser_of(grammar).parse(content)
    if not tree.root_node.has_error or grammar == "javascript":
        return tree, []
    if grammar == "rust":
        named = _NAMED_AS_TYPES.sub(lambda match: b"_" * len(match[0]), content)
        return parser_of(grammar).parse(named), []
    comments = [
        (start, end)
        for start, end, kind in literals_of(tree.root_node, grammar)
        if kind == "comment"
    ]
    repaired = parser_of(grammar).parse(_rewritten(content, comments))
    if _number_of_errors(repaired.root_node) < _number_of_errors(tree.root_node):
        return repaired, comments
    return tree, []


def parse_part(content: bytes, grammar: str, part: Node) -> Tree:
    """The tree of what is between the brackets of a node, at the same places."""
    import tree_sitter

    first = part.children[0]
    last = part.children[-1]
    inside = tree_sitter.Range(first.end_point, last.start_point, first.end_byte, last.start_byte)
    return tree_sitter.Parser(_language(grammar), included_ranges=[inside]).parse(content)


_VARIANCE: Final = lazy_pattern(
    rb"(?<=[<,])(\s*)(in\s+out|in|out)(?=\s+[A-Za-z_$][\w$]*\s*(?:[,>=]|extends\b))"
)
_TYPE_STAR: Final = lazy_pattern(rb"\b(export\s+)(type)(?=\s*\*)")
"""`export type * from "m"` (TypeScript 5.0)."""
_UNENDED: Final = lazy_pattern(
    rb"""(?<![\s,(\[{<=|&:?;.+*/%!^~-])(?<!=>)(?<!extends)(?<!return)(?<!keyof)(\s*\n[ \t]*)[ \t](?=[(<])"""
)


_NAMED_AS_TYPES: Final = lazy_pattern(rb"\b(?:bool|char|str)(?=![\[({])")
"""Macros with the name of a type: tree-sitter-rust 0.24 reads the type."""
_KEYWORD: Final = rb"(?:any|bigint|boolean|never|number|object|string|symbol|unknown|void)"
_KEYWORD_PARAMETERS: Final = lazy_pattern(
    rb"\(\s*%b(?:\s*,\s*%b)*\s*\)(?=\s*=>)" % (_KEYWORD, _KEYWORD)
)
_QUOTE: Final = lazy_pattern(rb"(?<!\\)((?:\\\\)*)\\`")
_MODULE_ARGUMENT: Final = lazy_pattern(
    rb"""(?<=<)(\s*typeof\s+)(import\s*\(\s*(?:'[^'\n]*'|"[^"\n]*")\s*\))(?=\s*>\s*\()"""
)


def _rewritten(content: bytes, comments: list[tuple[int, int]]) -> bytes:
    """The content with as many bytes and lines, without what the grammar misreads."""
    text = bytearray(content)
    for start, end in comments:
        text[start:end] = _blank(content[start:end])
    plain = _VARIANCE.sub(lambda match: match[1] + _blank(match[2]), bytes(text))
    plain = _KEYWORD_PARAMETERS.sub(lambda match: re.sub(rb"\w", b"_", match[0]), plain)
    plain = _MODULE_ARGUMENT.sub(lambda match: match[1] + b"_" * len(match[2]), plain)
    plain = _TYPE_STAR.sub(lambda match: match[1] + _blank(match[2]), plain)
    plain = _QUOTE.sub(rb"\1__", plain)
    return _UNENDED.sub(rb"\1;", plain)


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", text)


def _number_of_errors(root: Node) -> int:
    number = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        number += node.is_error or node.is_missing
        if node.has_error:
            waiting += node.children
    return number


def is_minified(content: bytes) -> bool:
    """Whether a file was written by a machine, for a machine: its lines are too long to be read."""
    return len(content) > _SMALL and len(content) > _LONG_LINES * (content.count(b"\n") + 1)


_IMPORT_WORD: Final = lazy_pattern(rb"""\b(?:import|from(?=\s*["'])|require(?=\s*\())""")
"""Every import has one of these words; `export … from` has the second."""


def _are_imports_whole(root: Node, content: bytes, comments: list[tuple[int, int]]) -> bool:
    """Whether each word that an import has is in a statement that was read, or in text that is no
    code, so that none is missing for the syntax errors of a file.
    """
    for match in _IMPORT_WORD.finditer(content):
        if any(start <= match.start() < end for start, end in comments):
            continue
        node = root.descendant_for_byte_range(match.start(), match.end())
        if node is None or not _is_read(node):
            return False
    return True


def _is_read(word: Node) -> bool:
    parent = "" if word.parent is None else word.parent.type
    # not in a text of several lines, or between tags: where one does not end, code is taken for it
    if word.type in ("comment", "string") or (word.type, parent) == ("string_fragment", "string"):
        return True
    is_called = (word.type, parent) == ("identifier", "call_expression")
    if word.type not in ("import", "from", "property_identifier") and not is_called:
        return False
    node: Node | None = word
    while node is not None and not node.is_error:
        node = node.parent
    return node is None


def _has_missing(root: Node) -> bool:
    """Whether the parser added a sign that the file lacks, such as the end of a text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_missing:
            return True
        if node.has_error:
            waiting += node.children
    return False


def first_error(root: Node, content: bytes, comments: list[tuple[int, int]]) -> str:
    """The first place that is no syntax, as an error of facts; empty where there is none.

    `comments`: those that the tree lacks, see `parse`.
    """
    if not root.has_error:
        return ""
    is_whole = not _has_missing(root) and _are_imports_whole(root, content, comments)
    return error_in_part(root, PARTIAL_WITH_IMPORTS if is_whole else PARTIAL)


def error_in_part(root: Node, consequence: str = PARTIAL) -> str:
    """The same, with a consequence that is known."""
    if not root.has_error:
        return ""
    node = root
    while node.has_error and not (node.is_error or node.is_missing):
        inner = next(
            (child for child in node.children if child.has_error or child.is_missing), None
        )
        if inner is None:
            break
        node = inner
    row, column = node.start_point
    return f"{row + 1}:{column + 1}: syntax error, {consequence}"
