"""The body of an authored file: Markdown under headings of the second level, read and written a section at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.model.record import Value

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"## +(.+?) *#*")
_BULLET: Final = re.compile(r"[-*+] +(.*)")
_COMMENT: Final = re.compile(r"(?:<!--(?:(?!-->).)*-->\s*)+", re.DOTALL)
_TITLE: Final = re.compile(r"# +(.+?) *#*")


@dataclass(frozen=True, slots=True)
class Section:
    """Lines `start` to `end` (counted from 0, the end left out) of a body: a heading and what stands under it."""

    heading: str
    """As written; empty: what stands before the first heading."""
    start: int
    end: int


def lines_of(body: str) -> list[str]:
    """The lines of a text without their ends; only newlines divide."""
    return [line.removesuffix("\r") for line in body.split("\n")]


def sections(lines: Sequence[str]) -> list[Section]:
    """The sections, in order; headings in fenced code are none."""
    starts = [(0, "")]
    fence = ""
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence and (heading := _HEADING.fullmatch(line)):
            starts.append((number, heading[1]))
    ends = [start for start, _ in starts[1:]] + [len(lines)]
    return [Section(heading, start, end) for (start, heading), end in zip(starts, ends, strict=True)]


def title_of(lines: Sequence[str]) -> str:
    """The heading of the first level that stands before everything else; empty where there is none."""
    first = next((line for line in lines if line.strip()), "")
    found = _TITLE.fullmatch(first)
    return found[1] if found else ""


def content(lines: Sequence[str], section: Section) -> str:
    """What stands under the heading, without the empty lines around it; a comment alone, as in a form, is nothing."""
    text = _trimmed(lines[section.start + bool(section.heading) : section.end])
    return "" if _COMMENT.fullmatch(text) else text


def items(text: str) -> tuple[str, ...]:
    """The points of a list, lines that go on with a point joined to it; a paragraph outside a list is one too."""
    found: list[list[str]] = []
    gap = True
    for line in lines_of(text):
        bullet = _BULLET.fullmatch(line)
        if bullet:
            found.append([bullet[1]])
        elif line.strip() and (not gap or (found and line.startswith("  "))):
            if gap:
                found[-1].append("")
            found[-1].append(line[2:] if line.startswith("  ") else line)
        elif line.strip():
            found.append([line])
        gap = not line.strip()
    return tuple("\n".join(item) for item in found)


def shown(value: Value) -> str:
    """A value as Markdown: text as it is, a list as points."""
    if not isinstance(value, tuple):
        return str(value)
    return "\n".join("- " + item.replace("\n", "\n  ") for item in value)


def _trimmed(lines: Sequence[str]) -> str:
    said = [number for number, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[said[0] : said[-1] + 1]) if said else ""
