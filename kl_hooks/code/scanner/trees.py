"""What the scanners that read a tree of tree-sitter share: which files are read, hashes of
declarations, rows of imports.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.code.scanner.grammars import is_minified
from kl_hooks.code.scanner.parser import (
    LARGEST,
    Facts,
    statement,
    too_large_facts,
    unreadable_facts,
)
from kl_hooks.code.scanner.source import Source, Span

if TYPE_CHECKING:
    from tree_sitter import Node


def line_of(node: Node) -> int:
    """The line of a node, from 1."""
    return int(node.start_point[0]) + 1


def guarded_facts(content: bytes, read: Callable[[], Facts]) -> Facts:
    """What `read` gives of a file; an error as facts where the file is too large, minified, or more
    than the scanner copes with.
    """
    if len(content) > LARGEST:
        return too_large_facts()
    if is_minified(content):
        return unreadable_facts("0:0: minified, so it was not read")
    try:
        return read()
    except (LookupError, ValueError, AttributeError, TypeError, RecursionError) as problem:
        return unreadable_facts(
            f"0:0: our reader could not cope with it ({type(problem).__name__}: {problem})"
        )


def digests_of(
    declarations: Sequence[tuple[Span, bool]], apart: Sequence[Span], source: Source
) -> tuple[list[bytes], bytes]:
    """The hash of each declaration, and of the module.

    `declarations`: (where it is, whether it has others inside); `apart`: where those are that the
    hash of what is around them omits, in their order.
    """
    digests = [
        source.digest(_without(span, apart) if has_inner else [span])
        for span, has_inner in declarations
    ]
    return digests, source.digest(_without((0, len(source.content)), apart))


def _without(span: Span, apart: Sequence[Span]) -> list[Span]:
    """A span without what has a hash of its own."""
    start, end = span
    spans = []
    for first, last in apart[bisect_left(apart, (start, 0)) :]:
        if first >= end:
            break
        if first >= start and last <= end and (first, last) != span:
            spans.append((start, first))
            start = last
    return [*spans, (start, end)]


def import_rows(imports: Sequence[Sequence[Any]], content: bytes) -> list[list[Any]]:
    """The rows of imports in the order of the file, with the statement in the place of its node."""
    lines = content.split(b"\n")
    rows = sorted(imports, key=lambda row: (row[3], row[5].start_byte, row[0], row[1]))
    return [
        [
            *values,
            statement(
                lines, line_of(node), node.start_point[1], node.end_point[0] + 1, node.end_point[1]
            ),
        ]
        for *values, node in rows
    ]
