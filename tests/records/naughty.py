"""Texts that bring careless programs down, of every sort that is known to; one line each."""

from __future__ import annotations

import os
from pathlib import Path

_OWN = (
    "undefined", "null", "None", "NaN", "true", "yes", "~", "0", "1.10", "1e1000", "-0x80", "0b11", "1_000",
    "2027-01-31", "12:30:45", ".inf", "'", "\"", "''", "\\", "\\n", "\\u0000", "a: b", "a #b", "# no heading",
    "## Decision", "---", "...", "--- a", "- a", "* a", "> a", "| a", "% a", "@a", "`a`", "&a *a",
    "!!python/object:os.system", "{a: b}", "[a, b]", "<<: *a", "? a", "```", "~~~", "<!-- a", "-->",
    "<script>alert(1)</script>", "&lt;", "%s%n", "${HOME}", "$(id)", "`id`", "; DROP TABLE record; --", "' OR 1=1",
    "NEAR(a b)", "a\" OR \"b", "a* AND NOT b", "title:a", "^a", "../../etc/passwd", "C:\\con", "file:///etc", "\ta\t",
    "  a  ", "a\xa0b", "a\u3000b", "\xe9", "e\u0301", "\xdf", "\u0130", "\u0131", "\u65e5\u672c\u8a9e",
    "\ud55c\uad6d\uc5b4", "\u0645\u0631\u062d\u0628\u0627", "\u05e9\u05dc\u05d5\u05dd",
    "\U0001d518\U0001d52b\U0001d526", "\U0001f469\u200d\U0001f4bb",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\u26a0\ufe0f",
    "Z\u0351\u036b\u0313\u036a\u0302\u036b\u033d", "\u202ea", "a\u2066b\u2069", "\u200ba", "\ufeffa", "a\u2028b",
    "a\x85b", "\x01\x02\x1b[31mred", "\x00", "\x7f", "\x9b31m", "\U0010ffff", "\ufffe", "\uffff", "\ue000", "a\xadb",
    "x" * 1500,
)  # fmt: skip


def naughty() -> list[str]:
    """The texts; those of the file that KL_NAUGHTY names (one a line, `#` begins a comment) too."""
    more = os.environ.get("KL_NAUGHTY")
    lines = Path(more).read_text(encoding="utf-8").split("\n") if more else []
    return [*_OWN, *(line for line in lines if line and not line.startswith("#"))]
