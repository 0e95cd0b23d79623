"""Source text parsed as the interpreter reads it, and the lines around names, found without parsing. Pure."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence

from kl_hooks.code.scanner.parser import cached_tree, encoding_of, lines_of, no_garbage_collection


def parsed(content: bytes) -> ast.Module | None:
    """The tree of a file, for reading only; None where it does not parse."""
    try:
        with no_garbage_collection():
            return cached_tree(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def lines_with(content: bytes, words: Collection[str]) -> Sequence[int]:
    """Return the lines on which one of these identifiers may be, in order.

    Python takes letters of other scripts for the usual ones, so a line that is not ASCII may hold any of them; and so
    may every line that is not in UTF-8.
    """
    lines = lines_of(content)
    if encoding_of(content) != "utf-8":
        return range(1, len(lines) + 1)
    word = any_of(words)
    if content.isascii():
        return [number for number, line in enumerate(lines, 1) if word.search(line)]
    return [number for number, line in enumerate(lines, 1) if not line.isascii() or word.search(line)]


def places(content: bytes, words: Iterable[str]) -> Iterator[int]:
    """Yield the positions of these identifiers in a text, in bytes. A text without them costs next to nothing."""
    for word in sorted(words):
        sought, whole = word.encode(), any_of([word])
        place = content.find(sought)
        while place >= 0:
            if whole.match(content, place):
                yield place
            place = content.find(sought, place + 1)


def any_of(words: Iterable[str]) -> re.Pattern[bytes]:
    """Find any of these identifiers in a text."""
    # in a pattern for bytes \b knows ASCII letters only: callers treat other text as a match
    return re.compile(rb"\b(?:%s)\b" % b"|".join(re.escape(word.encode()) for word in sorted(words)))


def near(roots: Iterable[ast.AST], lines: Sequence[int]) -> list[ast.AST]:
    """All nodes below these, the outer before the inner, without the statements that have no part on these lines."""
    found = [node for node in roots if is_on_line(node, lines)]
    for node in found:  # grows while it is walked
        found += [child for child in ast.iter_child_nodes(node) if is_on_line(child, lines)]
    return found


def is_on_line(node: ast.AST, lines: Sequence[int]) -> bool:
    """False for a statement that has no part, decorators included, on these lines, given in order."""
    if not isinstance(node, ast.stmt):
        return True
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= (node.end_lineno or node.lineno)
