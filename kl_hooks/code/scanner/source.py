"""What of a file's bytes makes a symbol's signature, documentation, content hash and words, in
languages with comments as in C.

A content hash covers the code without comments and layout. It is made of the source between
comments and literals, its gaps reduced to what separates two words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

from kl_hooks.code.scanner.parser import LONGEST, shortened

Span = tuple[int, int]
"""(start, end) in bytes."""
_GAP: Final = re.compile(rb"\s+")
_GAP_AT_SIGN: Final = re.compile(rb"(?<![\w$\x80-\xff]) | (?![\w$\x80-\xff])")
_LAST_COMMA: Final = re.compile(rb",(?=[)\]}])")
# a line end after these ends the statement (ECMAScript, automatic semicolon insertion)
_ENDED: Final = re.compile(rb"\b(return|break|continue|throw|yield)[ \t]*\r?\n")
_JSDOC: Final = re.compile(r"^\s*/\*\*+|\*+/\s*$")
_STAR: Final = re.compile(r"^\s*\*+ ?")
_BETWEEN: Final = re.compile(rb"[\s;]*")


class Source:
    """The bytes of a file, with its comments and literals."""

    def __init__(self, content: bytes, literals: Sequence[tuple[int, int, str]]) -> None:
        self.content = content
        # what is inside of a template is part of it
        self._spans = sorted(literals)
        self._starts = [span[0] for span in self._spans]
        self._comments = [(start, end) for start, end, kind in self._spans if kind == "comment"]
        self._comment_ends = [end for _, end in self._comments]

    def doc(self, start: int) -> str:
        """The first line of the JSDoc comment right before a place; empty for none."""
        index = bisect_right(self._comment_ends, start) - 1
        while index >= 0:
            first, end = self._comments[index]
            if _BETWEEN.fullmatch(self.content, end, start) is None:
                return ""
            comment = self.content[first:end]
            if comment.startswith(b"/**"):
                return _first_line(comment.decode("utf-8", "replace"))
            start, index = first, index - 1
        return ""

    def one_line(self, start: int, end: int) -> str:
        """The code between two places on one line, without comments."""
        parts = [
            self.content[begin:stop]
            for begin, stop, kind in self._pieces(start, min(end, start + 4 * LONGEST + 400))
            if kind != "comment"
        ]
        text = b" ".join(b"".join(parts).split())
        return shortened(text.replace(b"( ", b"(").replace(b" )", b")").replace(b",)", b")"))

    def first_line(self, start: int, end: int) -> str:
        """The first line of the code between two places, and `…` for others."""
        line, separator, _ = self.content[start:end].partition(b"\n")
        text = shortened(line.strip().removesuffix(b";").removesuffix(b",").strip())
        if not separator or text.endswith("…"):
            return text
        return f"{text} …"

    def digest(self, spans: Sequence[Span]) -> bytes:
        """The hash of the code in some spans, without comments and layout."""
        parts: list[bytes] = []
        code = bytearray()
        for start, end in spans:
            for begin, stop, kind in self._pieces(start, end):
                if not kind:
                    code += self.content[begin:stop]
                elif kind == "comment":
                    code += b" "
                else:
                    parts += [_plain(bytes(code)), _literal(self.content[begin:stop], kind)]
                    code.clear()
        parts.append(_plain(bytes(code)))
        return sha256(_LAST_COMMA.sub(b"", b"\0".join(parts))).digest()

    def _pieces(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """(start, end, kind) of code (no kind), comments and literals between two places."""
        index = bisect_left(self._starts, start)
        place = start
        while index < len(self._spans) and self._spans[index][0] < end:
            begin, stop, kind = self._spans[index]
            if begin >= place:
                if begin > place:
                    yield place, begin, ""
                yield begin, min(stop, end), kind
                place = min(stop, end)
            index += 1
        if place < end:
            yield place, end, ""


def _plain(text: bytes) -> bytes:
    text = _GAP.sub(b" ", _ENDED.sub(rb"\1;", text)).strip()
    return _GAP_AT_SIGN.sub(b"", text)


def _literal(text: bytes, kind: str) -> bytes:
    """A literal as it counts: a formatter chooses between two kinds of quotes."""
    if kind == "string" and b"\\" not in text and b'"' not in text:
        return b'"' + text[1:-1] + b'"'
    return text


def _first_line(comment: str) -> str:
    inner = _JSDOC.sub("", _JSDOC.sub("", comment, count=1))
    for line in inner.splitlines():
        text = _STAR.sub("", line).strip()
        if text.startswith("@"):
            return ""
        if text:
            return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return ""


_TOKEN: Final = re.compile(
    rb"""(?xs)
    (//[^\n]*|/\*.*?\*/
    |`(?:\\.|[^\\`])*`
    |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'
    |[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)"""
)
_WORD: Final = re.compile(r"[^\W\d]\w*")
_LONGEST_WORD: Final = 100
_MOST_WORDS: Final = 20_000
"""Words of a symbol: what has more is a table of data."""
_KEYWORDS: Final = frozenset(
    b"abstract any as async await boolean break case catch class const continue debugger declare"
    b" default delete do else enum export extends false finally for from function get if implements"
    b" import in infer instanceof interface is keyof let namespace never new null number object of"
    b" package private protected public readonly return satisfies set static string super switch"
    b" symbol this throw true try type typeof undefined unknown var void while with yield".split()
)


def words_by_symbol(
    content: bytes, regions: Sequence[tuple[int, int, int, int]], hidden_lines: set[int]
) -> dict[int, str]:
    """Place of a symbol → its words, each other field announced by its sign (see
    `index.postings.SymbolText`).

    `regions`: (start, end, body, place) of symbols, the outer before the inner; a word belongs to
    the innermost. `hidden_lines`: from 0, of which nothing is stored.
    """
    line_starts = (
        [0, *(match.end() for match in re.finditer(rb"\n", content))] if hidden_lines else []
    )
    words: dict[int, list[str]] = {place: [] for *_, place in regions}
    last_sign = dict.fromkeys(words, "")
    stack: list[tuple[int, int, int, int]] = []
    index = 0
    for match in _TOKEN.finditer(content):
        start = match.start()
        while index < len(regions) and regions[index][0] <= start:
            stack.append(regions[index])
            index += 1
        while stack and stack[-1][1] <= start:
            stack.pop()
        if not stack:
            continue
        _, _, body, place = stack[-1]
        token = match[0]
        if len(words[place]) >= _MOST_WORDS or token in _KEYWORDS:
            continue
        sign, found = _signed(token, "(" if start < body else ".")
        if not found or (line_starts and _is_hidden(line_starts, match, hidden_lines)):
            continue
        if sign != last_sign[place]:
            words[place].append(sign)
            last_sign[place] = sign
        words[place] += found
    return {place: " ".join(texts) for place, texts in words.items()}


def _signed(token: bytes, code_sign: str) -> tuple[str, list[str]]:
    """The sign of the field that a token is in, and its words."""
    first = token[:1]
    if first == b"/":
        sign = "'" if token.startswith(b"/**") else "#"
    elif first in (b'"', b"'", b"`"):
        sign = '"'
    else:
        sign = code_sign
    text = token.decode("utf-8", "replace")
    return sign, [word for word in _WORD.findall(text) if len(word) <= _LONGEST_WORD]


def _is_hidden(line_starts: Sequence[int], match: re.Match[bytes], hidden: set[int]) -> bool:
    first = bisect_right(line_starts, match.start()) - 1
    last = bisect_right(line_starts, max(match.end() - 1, match.start())) - 1
    return any(line in hidden for line in range(first, last + 1))
