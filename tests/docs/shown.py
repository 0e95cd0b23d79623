"""The commands that pages show at a prompt, and which of them no test runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(
    r"(?ms)^ *(?:<!-- not run(?P<only> `[^\n]*?`)?: (?P<reason>[^\n]*) -->\n)?"
    r"(?P<indent> *)```(?P<language>console|sh|bash)\n(?P<text>.*?)^(?P=indent)```$"
)
_HISTORY: Final = frozenset(("CHANGELOG.md", "before-0.1.md"))
_PRINTED: Final = "commands"
"""The folder of pages that the program prints: their examples are help texts."""


class Shown(NamedTuple):
    """A command of a page."""

    page: str
    line: int
    text: str
    """Without the prompt; lines that end with a backslash are joined."""
    reason: str
    """Why no test runs it, of the comment before its block; empty where one does."""


def pages() -> list[str]:
    """The pages that people wrote, and that are about the program as it is."""
    paths = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    return [
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.name not in _HISTORY and path.parent.name != _PRINTED
    ]


def commands(page: str) -> Iterator[Shown]:
    """The commands of a page, in its order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        first = text.count("\n", 0, block.start("text")) + 1
        lines = block["text"].replace("\\\n", "\\\0").split("\n")
        has_prompts = block["language"] == "console"
        for offset, line in enumerate(lines):
            command = line.strip()
            if (has_prompts and not command.startswith("$ ")) or not command:
                continue
            command = command.removeprefix("$ ").replace("\\\0", " ")
            number = first + offset + sum(part.count("\0") for part in lines[:offset])
            yield Shown(page, number, command, _reason(block, command))


def _reason(block: re.Match[str], command: str) -> str:
    """Why a command is not run: the comment is about its block, or about those that begin so."""
    only = (block["only"] or "").strip(" `")
    if only and not command.startswith(only):
        return ""
    return block["reason"] or ""
