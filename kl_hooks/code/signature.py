"""The one line that stands for a definition: cut from the source, since unparsing is slow and differs by Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

LONGEST = 300
"""Characters of a signature or statement; what is longer ends in `…`."""
_HEADER = 20_000
_PIECE = re.compile(
    rb"""(?P<comment>\#[^\r\n]*)
    |(?P<text>\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*')
    |(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<colon>:)|(?P<gap>\\?[\s]+)|(?P<rest>[^\s#"'()\[\]{}:\\]+|.)""",
    re.VERBOSE | re.DOTALL,
)


def header(lines: Sequence[bytes], node: Any) -> str:
    """`def feed(self, data: bytes) -> int` or `class Parser(Base)`: up to the colon, comments left out, one line.

    `lines` are the source's lines in UTF-8, `node` a function's or class's ast node.
    """
    first = lines[node.lineno - 1][node.col_offset :].rstrip()
    if first.endswith(b":") and b"#" not in first and first.count(b"(") == first.count(b")"):
        return _shown(first[:-1])
    rest = lines[node.lineno : node.body[0].end_lineno]
    whole = b"\n".join([first, *rest])[:_HEADER]
    return _shown(_until_colon(whole))


def _until_colon(text: bytes) -> bytes:
    depth, parts = 0, []
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup
        if kind == "comment":
            continue
        if kind == "colon" and depth == 0:
            break
        depth += (kind == "open") - (kind == "close")
        parts.append(b" " if kind == "gap" else piece[0])
    tidy = b" ".join(b"".join(parts).split())
    return tidy.replace(b"( ", b"(").replace(b", )", b")").replace(b",)", b")").replace(b" )", b")")


def statement(lines: Sequence[bytes], line: int, column: int, end_line: int, end_column: int) -> str:
    """The source between two places on one line; of a longer one the first line and `…`."""
    if end_line == line:
        return _shown(lines[line - 1][column:end_column])
    return _shown(lines[line - 1][column:].rstrip()) + " …"


def _shown(text: bytes) -> str:
    shown = text.decode("utf-8", "replace")
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
