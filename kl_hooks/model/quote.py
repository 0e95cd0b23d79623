"""Quote: text from the repository made into data, which can neither look like our own lines nor hide anything. Pure.

Every quoted line gets a prefix that no line of ours has, so nothing an item says can close its quotation. On top of
that tags and fences are spelled out, for readers that look for those.
"""

from __future__ import annotations

import re
from typing import Final

from kl_hooks.model.text import one_line, safe_text

_TAG: Final = re.compile(r"<(?![ =]|(?:locals|lambda|module|genexpr)>|$)", re.MULTILINE)
"""A `<` that could open a tag. `<locals>` and its like stay: they are parts of Python names."""
_FENCE: Final = re.compile(r"`{3,}|~{3,}")


def defuse(text: str) -> str:
    """The text without control, hidden and bidirectional characters, tags or fences; its lines stay."""
    return _FENCE.sub(lambda m: f"\\x{ord(m[0][0]):02x}" * len(m[0]), _TAG.sub(r"\\x3c", safe_text(text)))


def field(text: str, limit: int = 300) -> str:
    """One defused line for a place among our own words, such as an id or a path; no backtick in it."""
    return defuse(one_line(text, limit)).replace("`", "\\x60")


def quoted(text: str, prefix: str) -> str:
    """The defused lines, each after `prefix`, blank ones at both ends left out."""
    lines = [line.rstrip() for line in defuse(text).strip("\n").split("\n")]
    return "\n".join((prefix + line).rstrip() for line in lines)
