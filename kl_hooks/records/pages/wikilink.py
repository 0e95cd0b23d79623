"""`[[Title]]`, `[[Title|Display]]`, `[[ADR-0007]]`: found in Markdown, code and comments left out. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kl_hooks.records.markdown import said

_LINK: Final = re.compile(r"(?<!\\)\[\[([^\[\]\n|]{1,300})(?:\|([^\[\]\n]{0,300}))?\]\](?!\()")
"""Not `[[1]](url)`, which is Markdown's own link, and nothing with brackets inside."""


@dataclass(frozen=True, slots=True)
class Wikilink:
    """A link as it is written."""

    target: str
    """A title, a slug or an id."""
    shown: str
    """What stands after `|`; empty: the target itself is shown."""
    line: int
    column: int
    """Both from 1."""


def wikilinks(text: str) -> list[Wikilink]:
    """The links that a Markdown text says, in their order. Those in code (fenced, indented, inline) do not count."""
    if "[[" not in text:
        return []
    found = []
    for number, line in enumerate(said(text).split("\n"), 1):
        for match in _LINK.finditer(line):
            target = match[1].removesuffix("\\").strip()  # `\|` is how a table writes the bar
            if target:
                found.append(Wikilink(target, (match[2] or "").strip(), number, match.start() + 1))
    return found
