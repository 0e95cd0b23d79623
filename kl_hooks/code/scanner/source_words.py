"""The words of a file's source by symbol and field: what the ranking of a task is made of.

Every word belongs to the innermost function, method or class around it, else to the module. Comments and the inside of
strings are read from the bytes: syntax trees hold no comments, and no text as it was written.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.scanner.symbols import SOURCE_KINDS

if TYPE_CHECKING:
    from kl_hooks.code.scanner.visitor import Frame

# one group: split() gives what is between tokens and the tokens in turn, at the speed of C
_TOKEN: Final = re.compile(
    rb"""(?xs)
    (\#[^\n]*
    |[rRbBuUfFtT]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''
        |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |[A-Za-z_\x80-\xff][\w\x80-\xff]*)"""
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
    pieces = _TOKEN.split(source)
    tokens, offsets = pieces[1::2], [*accumulate(map(len, pieces))][::2]
    hidden = _in_lines(_secret_lines(source), starts, tokens, offsets)
    last = dict.fromkeys(words, "")
    for place, mark, start, end in _regions(sorted(events), offsets[: len(tokens)]):
        if len(words[place]) < _MOST:
            last[place] = _add_words(words[place], last[place], mark, tokens, range(start, end), hidden)
    return [[place, *owners[place], " ".join(_at_most(words[place]))] for place in sorted(words)]


def _at_most(words: list[str]) -> list[str]:
    # a sign is never the last one
    return words if len(words) <= _MOST else words[: _MOST + (words[_MOST - 1] in _MARKS)]


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


def _regions(
    events: Sequence[tuple[int, int, int, str]], offsets: Sequence[int]
) -> Iterator[tuple[int, str, int, int]]:
    """(place, field, first token, end) of each stretch in one symbol and field, in the order of the source."""
    stack: list[list[Any]] = []
    start = 0
    for offset, _, place, mark in events:
        end = bisect_left(offsets, offset, start)
        if end > start:
            yield stack[-1][0], stack[-1][1], start, end
            start = end
        if place >= 0:
            stack.append([place, mark])
        elif place == _END:
            stack.pop()
        else:
            stack[-1][1] = mark
    if start < len(offsets):
        yield stack[-1][0], stack[-1][1], start, len(offsets)


_known: Final[dict[bytes, str]] = {}
"""Identifier → its word, empty for what is none: source repeats the same ones over and over."""
_MOST_KNOWN: Final = 100_000
_MARKS: Final = frozenset(".#\"('")


def _add_words(
    into: list[str], last: str, mark: str, tokens: Sequence[bytes], places: range, hidden: Collection[int]
) -> str:
    """Add the words of some tokens, each other field announced by its sign; returns the last sign."""
    of_names, of_text = (".", "'") if mark == "'" else (mark, '"')
    find, add = _known.get, into.append
    for place in places:
        token = tokens[place]
        word = find(token)
        if word is None:
            if token[0] == 35 or token[-1] in b"\"'":  # `#`, or a literal; no name ends in a quotation mark
                if place in hidden:
                    continue
                sign = "#" if token[0] == 35 else of_text
                some = [one for one in _WORD.findall(token.decode("utf-8", "replace")) if len(one) <= _LONGEST]
                if some:
                    if sign != last:
                        add(sign)
                        last = sign
                    into += some
                continue
            word = _known_word(token)
        if word:
            if last != of_names:
                add(of_names)
                last = of_names
            add(word)
    return last


def _known_word(token: bytes) -> str:
    """The word that an identifier is; empty for a keyword, and for what is no identifier."""
    name = token.decode("utf-8", "replace")
    word = name if not iskeyword(name) and len(name) <= _LONGEST and name.isidentifier() else ""
    if len(_known) > _MOST_KNOWN:
        _known.clear()
    _known[token] = word
    return word


def _in_lines(
    lines: Collection[int], starts: Sequence[int], tokens: Sequence[bytes], offsets: Sequence[int]
) -> set[int]:
    """Those of the tokens that are, wholly or in part, on any of these lines."""
    found = set[int]()
    for line in lines:
        start = starts[line]
        end = starts[line + 1] if line + 1 < len(starts) else offsets[-1]
        first = bisect_left(offsets, start)
        # a literal of several lines may begin above
        first -= first > 0 and offsets[first - 1] + len(tokens[first - 1]) > start
        found.update(range(first, bisect_left(offsets, end)))
    return found


def _secret_lines(source: bytes) -> set[int]:
    """The lines, from 0, that hold what looks like a secret: what is written in them is not stored."""
    from kl_hooks.model.text import safe_text
    from kl_hooks.store.redaction import redact

    text = source.decode("utf-8", "replace")
    clean = text.replace("\r", "\n")
    hidden = redact(clean)
    if hidden == clean:
        return set()
    lines = safe_text(text).split("\n")
    whole = "\n".join(lines)
    redacted = (hidden if whole == clean else redact(whole)).split("\n")
    if len(redacted) != len(lines):  # a key of several lines
        found = {number for number, line in enumerate(lines) if redact(line) != line}
    else:
        found = {number for number, pair in enumerate(zip(lines, redacted, strict=True)) if pair[0] != pair[1]}
    # what is seen in the whole only: then no text of this file is stored
    rest = "\n".join("" if number in found else line for number, line in enumerate(lines))
    return found if redact(rest) == rest else set(range(source.count(b"\n") + 1))
