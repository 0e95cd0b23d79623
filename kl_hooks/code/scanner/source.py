"""What of a file's bytes makes a symbol's signature, documentation, content hash and words, in
languages with comments as in C.

A content hash covers the code without comments and layout. It is made of the words and signs
between comments and literals, and of the literals.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Final

from kl_hooks.code.scanner.parser import LONGEST, shortened
from kl_hooks.model.definitions import NamedTuple, lazy_pattern

Span = tuple[int, int]
"""(start, end) in bytes."""
_TOKENS: Final = lazy_pattern(rb"[\w$\x80-\xff]+|[^\s\w$\x80-\xff]")
_LAST_COMMA: Final = lazy_pattern(rb", ?(?=[)\]}])")
# a line end after these ends the statement (ECMAScript, automatic semicolon insertion)
_ENDED: Final = lazy_pattern(rb"\b(return|break|continue|throw|yield)[ \t]*\r?\n")
_JSDOC: Final = lazy_pattern(r"^\s*/\*\*+|\*+/\s*$")
_STAR: Final = lazy_pattern(r"^\s*\*+ ?")
_BETWEEN: Final = lazy_pattern(rb"[\s;]*")


class Lexicon(NamedTuple):
    """What of a language decides words and hashes."""

    token: re.Pattern[bytes]
    """A comment, a literal or an identifier, in one group."""
    keywords: frozenset[bytes]
    documentation: tuple[bytes, ...]
    """The beginnings of comments that are documentation."""
    words: dict[bytes, str]
    """Identifier → its word, empty for a keyword: source repeats the same ones over and over."""
    is_end_read: bool
    """Whether the end of a line may end a statement."""


class Source:
    """The bytes of a file, with its comments and literals."""

    def __init__(
        self,
        content: bytes,
        literals: Sequence[tuple[int, int, str]],
        lexicon: Lexicon | None = None,
    ) -> None:
        self.content = content
        self._lexicon = lexicon if lexicon is not None else SCRIPT
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

    def code(self, start: int, end: int) -> str:
        """The code between two places, without comments and literals."""
        pieces = self._pieces(start, end)
        code = b" ".join(self.content[first:last] for first, last, kind in pieces if not kind)
        return code.decode("utf-8", "replace")

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
                    parts += [self._plain(bytes(code)), _literal(self.content[begin:stop], kind)]
                    code.clear()
        parts.append(self._plain(bytes(code)))
        return sha256(_LAST_COMMA.sub(b"", b"\0".join(parts))).digest()

    def _plain(self, text: bytes) -> bytes:
        if self._lexicon.is_end_read:
            text = _ENDED.sub(rb"\1;", text)
        return b" ".join(_TOKENS.findall(text))

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
            if len(text) <= LONGEST:
                return text
            return f"{text[: LONGEST - 1]}…"
    return ""


_TOKEN: Final = lazy_pattern(
    rb"""(?xs)
    (//[^\n]*|/\*.*?\*/
    |`(?:\\.|[^\\`])*`
    |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'
    |[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)"""
)
_WORD: Final = lazy_pattern(r"[^\W\d]\w*")
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
    content: bytes,
    regions: Sequence[tuple[int, int, int, int]],
    hidden_lines: set[int],
    lexicon: Lexicon | None = None,
) -> dict[int, str]:
    """Place of a symbol → its words, each other field announced by its sign (see
    `index.postings.SymbolText`).

    `regions`: (start, end, body, place) of symbols, the outer before the inner; a word belongs to
    the innermost. `hidden_lines`: from 0, of which nothing is stored.
    """
    # one group: split() gives what is between tokens and the tokens in turn, at the speed of C
    lexicon = lexicon if lexicon is not None else SCRIPT
    pieces = lexicon.token.split(content)
    tokens = pieces[1::2]
    offsets = [*accumulate(map(len, pieces))][::2]
    if hidden_lines:
        hidden = _hidden_tokens(content, hidden_lines, tokens, offsets)
    else:
        hidden = frozenset()
    words: dict[int, list[str]] = {place: [] for *_, place in regions}
    last_signs = dict.fromkeys(words, "")
    first = 0
    for offset, place, sign in _stretches(regions):
        end = bisect_left(offsets, offset, first, len(tokens))
        if place >= 0 and end > first and len(words[place]) < _MOST_WORDS:
            numbers = range(first, end)
            if hidden:
                shown = [tokens[number] for number in numbers if number not in hidden]
            else:
                shown = tokens[first:end]
            last_signs[place] = _add_words(words[place], last_signs[place], sign, shown, lexicon)
        first = end
    return {place: " ".join(texts) for place, texts in words.items()}


def _stretches(regions: Sequence[tuple[int, int, int, int]]) -> Iterator[tuple[int, int, str]]:
    """(end, place, sign of its code) of each stretch of the source that is one symbol's; -1 for
    none.
    """
    stack: list[tuple[int, int, int, int]] = []
    index = position = 0
    while index < len(regions) or stack:
        if index < len(regions):
            start = regions[index][0]
        else:
            start = None
        if not stack:
            if start is None:
                return
            yield start, -1, ""
            position = start
            stack.append(regions[index])
            index += 1
            continue
        _, end, body, place = stack[-1]
        if start is None or start >= end:
            stop = end
        else:
            stop = start
        if position < body < stop:
            yield body, place, "("
            position = body
        yield stop, place, "(" if position < body else "."
        position = stop
        if start is not None and start < end:
            stack.append(regions[index])
            index += 1
        else:
            stack.pop()


_MOST_KNOWN: Final = 100_000
_RUST_TOKEN: Final = lazy_pattern(
    rb"""(?xs)
    (//[^\n]*|/\*.*?\*/
    |b?r(?:"[^"]*"|\#"(?:(?!"\#).)*"\#|\#\#"(?:(?!"\#\#).)*"\#\#)
    |"(?:\\.|[^"\\])*"
    |'(?:\\(?:x..|u\{[^}']*\}|[^\n])|[\x00-\x26\x28-\x5b\x5d-\x7f]|[\xc0-\xff][\x80-\xbf]+)'
    |[A-Za-z_\x80-\xff][\w\x80-\xff]*)"""
)
_RUST_KEYWORDS: Final = frozenset(
    b"Self abstract as async await become box break const continue crate do dyn else enum extern"
    b" false final fn for if impl in let loop macro match mod move mut override priv pub ref return"
    b" self static struct super trait true try type typeof unsafe unsized use virtual where while"
    b" yield".split()
)
SCRIPT: Final = Lexicon(_TOKEN, _KEYWORDS, (b"/**",), {}, True)
"""TypeScript and JavaScript."""
RUST: Final = Lexicon(_RUST_TOKEN, _RUST_KEYWORDS, (b"///", b"//!", b"/**", b"/*!"), {}, False)


def _add_words(
    into: list[str], last: str, code_sign: str, tokens: Iterable[bytes], lexicon: Lexicon
) -> str:
    """Add the words of some tokens, each other field announced by its sign; returns the last
    sign.
    """
    find = lexicon.words.get
    add = into.append
    for token in tokens:
        word = find(token)
        if word is None:
            first = token[:1]
            if first in _NO_NAME or b'"' in token:
                sign = _sign(token, first, lexicon)
                texts = _WORD.findall(token.decode("utf-8", "replace"))
                texts = [text for text in texts if len(text) <= _LONGEST_WORD]
                if texts:
                    if sign != last:
                        add(sign)
                        last = sign
                    into += texts
                continue
            word = _known_word(token, lexicon)
        if word:
            if last != code_sign:
                add(code_sign)
                last = code_sign
            add(word)
    return last


_NO_NAME: Final = frozenset((b"/", b'"', b"'", b"`"))


def _sign(token: bytes, first: bytes, lexicon: Lexicon) -> str:
    """The sign of the field of a comment or literal."""
    if first != b"/":
        return '"'
    if token.startswith(lexicon.documentation):
        return "'"
    return "#"


def _known_word(token: bytes, lexicon: Lexicon) -> str:
    """The word that an identifier is; empty for a keyword."""
    name = token.decode("utf-8", "replace").replace("$", "")
    is_word = token not in lexicon.keywords and len(name) <= _LONGEST_WORD and name.isidentifier()
    words = lexicon.words
    if len(words) > _MOST_KNOWN:
        words.clear()
    words[token] = name if is_word else ""
    return words[token]


def _hidden_tokens(
    content: bytes, lines: set[int], tokens: Sequence[bytes], offsets: Sequence[int]
) -> frozenset[int]:
    """The numbers of the tokens that are, wholly or in part, on any of these lines."""
    starts = [0, *(match.end() for match in re.finditer(rb"\n", content))]
    hidden = set[int]()
    for number, token in enumerate(tokens):
        first = bisect_right(starts, offsets[number]) - 1
        last = bisect_right(starts, offsets[number] + len(token) - 1) - 1
        if not lines.isdisjoint(range(first, last + 1)):
            hidden.add(number)
    return frozenset(hidden)
