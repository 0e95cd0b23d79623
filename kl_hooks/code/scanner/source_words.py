"""The words of a file's source by symbol and field: what the ranking of a task is made of.

Every word belongs to the innermost function, method or class around it, else to the module. Comments and the inside of
strings are read from the bytes: syntax trees hold no comments, and no text as it was written.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.scanner.symbols import SOURCE_KINDS

if TYPE_CHECKING:
    from kl_hooks.code.scanner.visitor import Frame

_TOKEN: Final = re.compile(
    rb"""(?xs)
    (?P<comment>\#[^\n]*)
    |(?P<text>[rRbBuUfFtT]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''
        |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<name>[A-Za-z_\x80-\xff][\w\x80-\xff]*)"""
)
_WORD: Final = re.compile(r"[^\W\d]\w*")
_LONGEST: Final = 100
_END: Final = -1
_BODY: Final = -2
"""In the place of a symbol: the innermost one ends, or its field changes."""
_MOST: Final = 20_000
"""Words of a symbol: what has more is a table of data."""
Text = list[Any]
"""[place of the symbol, its name, its class, its words]; see `kl_hooks.index.postings.SymbolText`."""


def source_words(frames: Sequence[Frame], lines: Sequence[bytes], places: Mapping[str, int]) -> list[Text]:
    """The texts of the module, and of every class and function, in the order of `places`.

    Several definitions of one Id (overloads, a property and its setter) are one text.
    """
    source = b"\n".join(lines)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    owners: dict[int, list[str]] = {}
    words: dict[int, list[str]] = {}
    events: list[tuple[int, int, int, str]] = []
    for frame in frames:
        if frame.kind not in SOURCE_KINDS or not frame.ids:
            continue
        place = places[frame.ids[0]]
        owners.setdefault(place, _names(frame))
        words.setdefault(place, [])
        events += _events(frame, place, starts)
    secret = _secret_lines(source)
    last = dict.fromkeys(words, "")
    for place, mark, token in _tokens(source, sorted(events), secret, starts):
        into = words[place]
        if len(into) < _MOST:
            into += [mark, token] if last[place] != mark else [token]
            last[place] = mark
    return [[place, *owners[place], " ".join(words[place])] for place in sorted(words)]


def _names(frame: Frame) -> list[str]:
    """The name of what a frame defines and of the class it is in; empty where there is none."""
    if frame.kind == "module":
        return ["", ""]
    home = frame.outer.home if frame.outer is not None else None
    return [frame.names[0], home.names[0] if home is not None and home.kind == "class" else ""]


def _events(frame: Frame, place: int, starts: Sequence[int]) -> Iterator[tuple[int, int, int, str]]:
    """(offset, order, place, field) wherever the words that follow belong to another symbol or field."""
    # of what changes at one offset: ends, then the start of the module or a body, then a docstring, then what is inside
    node = frame.node
    body = node.body
    if frame.kind == "module":
        yield 0, 1, place, "."
    else:
        yield _start(node, starts), 3, place, "("
        yield _start(body[0], starts), 1, _BODY, "."
        yield starts[node.end_lineno - 1] + node.end_col_offset, 0, _END, ""
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        doc = body[0].value
        if isinstance(doc.value, str) and doc.end_lineno is not None and doc.end_col_offset is not None:
            yield _start(doc, starts), 2, _BODY, "'"
            yield starts[doc.end_lineno - 1] + doc.end_col_offset, 2, _BODY, "."


def _start(node: Any, starts: Sequence[int]) -> int:
    """The offset of a node with its decorators."""
    first = min([node, *getattr(node, "decorator_list", ())], key=lambda one: int(one.lineno))
    return int(starts[first.lineno - 1] + first.col_offset)


def _tokens(
    source: bytes, events: Sequence[tuple[int, int, int, str]], secret: set[int], starts: Sequence[int]
) -> Iterator[tuple[int, str, str]]:
    """(place, field, word) of every word, in the order of the source."""
    stack: list[list[Any]] = []
    at = 0
    for token in _TOKEN.finditer(source):
        while at < len(events) and events[at][0] <= token.start():
            _, _, place, mark = events[at]
            at += 1
            if place >= 0:
                stack.append([place, mark])
            elif place == _END:
                stack.pop()
            else:
                stack[-1][1] = mark
        place, mark = stack[-1]
        if token.lastgroup == "name":
            name = token[0].decode("utf-8", "replace")
            if not iskeyword(name) and len(name) <= _LONGEST and name.isidentifier():
                yield place, mark if mark != "'" else ".", name
            continue
        if secret and any(
            line in secret
            for line in range(bisect_right(starts, token.start()) - 1, bisect_right(starts, token.end() - 1))
        ):
            continue
        sort = "#" if token.lastgroup == "comment" else "'" if mark == "'" else '"'
        for word in _WORD.findall(token[0].decode("utf-8", "replace")):
            if len(word) <= _LONGEST:
                yield place, sort, word


def _secret_lines(source: bytes) -> set[int]:
    """The lines, from 0, that hold what looks like a secret: what is written in them is not stored."""
    from kl_hooks.store.redaction import redact

    text = source.decode("utf-8", "replace")
    clean = text.replace("\r", "\n")
    if redact(clean) == clean:
        return set()
    found = {number for number, line in enumerate(source.split(b"\n")) if _changes(line.decode("utf-8", "replace"))}
    # a key of several lines is seen only in the whole: then no text of this file is stored
    rest = "\n".join("" if number in found else line for number, line in enumerate(text.split("\n")))
    return found if not _changes(rest) else set(range(source.count(b"\n") + 1))


def _changes(text: str) -> bool:
    from kl_hooks.model.text import safe_text
    from kl_hooks.store.redaction import redact

    clean = safe_text(text)
    return redact(clean) != clean
