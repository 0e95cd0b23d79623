"""The lines of a Python file in UTF-8, whatever encoding it declares: as CPython's parser counts and measures them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

LONGEST: Final = 300
"""Characters of a signature or statement; what is longer ends in `…`."""
_ENOUGH: Final = 4 * LONGEST + 4
"""Bytes that certainly hold `LONGEST` characters and one more: a line may be a megabyte long."""

_COOKIE: Final = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_FIRST_TWO: Final = re.compile(rb"([^\r\n]*)(?:\r\n?|\n)?([^\r\n]*)")
_BOM: Final = b"\xef\xbb\xbf"
_LATIN: Final = ("latin-1", "iso-8859-1", "iso-latin-1")


def lines_of(content: bytes) -> list[bytes]:
    """The lines without their ends; columns of syntax trees (bytes of UTF-8) fit. Never raises: what can't be decoded
    is replaced.
    """
    if content.startswith(_BOM):
        return content[len(_BOM) :].splitlines()
    name = encoding_of(content)
    if name == "utf-8":
        return content.splitlines()
    for errors in ("replace", "strict"):  # some codecs know only the strict way
        try:
            return content.decode(name, errors).encode("utf-8", "replace").splitlines()
        except (LookupError, ValueError):
            continue
    return content.splitlines()


def encoding_of(content: bytes) -> str:
    """The encoding that one of the first two lines declares, by the parser's own rules: `latin-1-unix` is
    `iso-8859-1`; `utf-8` where none is declared.
    """
    two = _FIRST_TWO.match(content)
    for line in two.groups() if two else ():
        cookie = _COOKIE.match(line)
        if cookie is not None:
            return _normal(cookie[1].decode("ascii", "replace"))
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return "utf-8"


def _normal(name: str) -> str:
    start = name[:12].lower().replace("_", "-")
    if start in ("utf-8", "utf8") or start.startswith("utf-8-"):
        return "utf-8"
    if start in _LATIN or start.startswith(tuple(f"{one}-" for one in _LATIN)):
        return "iso-8859-1"
    return name


def statement(lines: Sequence[bytes], line: int, column: int, end_line: int, end_column: int) -> str:
    """The source between two places on one line; of a longer one the first line and `…`."""
    if end_line == line:
        return shown(lines[line - 1][column : min(end_column, column + _ENOUGH)])
    return shown(lines[line - 1][column : column + _ENOUGH].rstrip()) + " …"


def shown(text: bytes) -> str:
    """The text, at most `LONGEST` characters of it."""
    told = text.decode("utf-8", "replace")
    return told if len(told) <= LONGEST else told[: LONGEST - 1] + "…"
