"""Where the arguments of functions stand in a text, without parsing it: sooner, and rather too much than too little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LONGEST: Final = 5_000
"""Bytes of a signature that are looked at; of a longer one nobody knows the end."""
_DEF: Final = re.compile(rb"\bdef\b")
_TOKEN: Final = re.compile(
    rb"""(?P<prefix>\b[A-Za-z]{1,2})?(?P<quote>'{3}|"{3}|'|")(?P<text>(?s:\\.|(?!(?P=quote)).)*)(?P=quote)"""
    rb"""|\#[^\r\n]*|[()\[\]{}]|(?P<odd>['"\x80-\xff])"""
)


def signatures(content: bytes) -> Iterator[tuple[int, int]]:
    """From the name to the closing bracket of every function: bytes before each end.

    To the end of the text, and no more come, where that can't be told: an f-string may hold anything, an escape in a
    string or a letter of another script may spell any name. A `def` in a string or comment counts too.
    """
    spent = 0
    for found in _DEF.finditer(content):
        start = found.end()
        end = _end(content, start) if spent <= 4 * len(content) else len(content)
        spent += end - start
        yield start, end
        if end == len(content):
            return


def _end(content: bytes, start: int) -> int:
    depth, string_end = 0, -1
    for token in _TOKEN.finditer(content, start, start + _LONGEST):
        if token["quote"]:
            joined = string_end >= 0 and not content[string_end : token.start()].strip()
            if joined or b"\\" in token["text"] or {*b"fFtT"} & {*(token["prefix"] or b"")}:
                break
            string_end = token.end()
        elif token["odd"]:
            break
        elif not token[0].startswith(b"#"):
            depth += 1 if token[0] in b"([{" else -1
            if depth <= 0 and token[0] == b")":
                return token.end()
    return len(content)
