"""The one line that stands for a definition: cut from the source, since unparsing is slow and differs by Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kl_hooks.code.decoded import shown

_HEADER = 20_000
_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_PIECE = rb"""(?xs)
    (?P<comment>\#[^\r\n]*)
    |(?P<text>\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*')
    |(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<colon>:)|(?P<gap>\\?[\s]+)|(?P<rest>[^\s#"'()\[\]{}:\\]+|.)"""
"""Compiled where the first header needs it."""


def header(lines: Sequence[bytes], node: Any) -> str:
    """`def feed(self, data: bytes) -> int` or `class Parser(Base)`: up to the colon, comments left out, one line.

    `lines` are the source's lines in UTF-8, `node` a function's or class's ast node.
    """
    first = lines[node.lineno - 1][node.col_offset :].rstrip()
    if first.endswith(b":") and b"#" not in first and not any(first.count(a) != first.count(b) for a, b in _PAIRS):
        return shown(tidy(first[:-1]))
    rest = lines[node.lineno : node.body[0].end_lineno]
    whole = b"\n".join([first, *rest])[:_HEADER]
    return shown(_until_colon(whole))


def _until_colon(text: bytes) -> bytes:
    depth, parts = 0, []
    for piece in re.finditer(_PIECE, text):
        kind = piece.lastgroup
        if kind == "comment":
            continue
        if kind == "colon" and depth == 0:
            break
        depth += (kind == "open") - (kind == "close")
        parts.append(b" " if kind == "gap" else piece[0])
    return tidy(b"".join(parts))


def tidy(text: bytes) -> bytes:
    """One line: gaps are one blank, none inside round brackets, no comma after the last of the outermost ones."""
    line = b" ".join(text.split()).replace(b"( ", b"(").replace(b" )", b")")
    place = line.find(b",)")
    while place >= 0:
        outermost = line.count(b"(", 0, place) - line.count(b")", 0, place) == 1
        line = line[:place] + line[place + 1 :] if outermost else line
        place = line.find(b",)", place + 1)
    return line
