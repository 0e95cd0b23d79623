"""A Markdown file as its title, the text before the first section, and its sections; and lists in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.records.markdown import blank_code, headings

_ITEM: Final = re.compile(r"[-*+] (?: {0,2}(?=\S))")
_HASHES: Final = re.compile(r"(#{1,12})(?=[ \t]|$)")


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its heading and its text, subsections included."""

    heading: str
    text: str
    line: int
    """Of the heading, from 1."""
    lines: int = 0
    """How many it has, including its heading."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A Markdown text, split at its headings."""

    title: str
    head: str
    """Between the title and the first section."""
    sections: tuple[Section, ...]


def tidy(text: str) -> str:
    """Return the text with `\\n` at the ends of lines, without blank lines around it and without blanks at its end."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:]).rstrip()


def split_sections(text: str, level: int = 2, title: bool = True) -> _Parts:
    """Split at the headings of `level` and above; with `title`, the first heading of level 1 is the title."""
    lines = text.split("\n")
    cuts = headings(text, level)
    top = cuts.pop(0) if title and cuts and cuts[0].level == 1 else None
    starts = [one.line for one in cuts]
    before = lines[: top.line] if top else []
    begin = top.line + top.lines if top else 0
    head = [*before, *lines[begin : starts[0] if starts else len(lines)]]
    ends = [*starts, len(lines)][1:]
    sections = tuple(
        Section(one.words, tidy("\n".join(lines[one.line + one.lines : end])), one.line + 1, end - one.line)
        for one, end in zip(cuts, ends, strict=True)
    )
    return _Parts(top.words if top else "", tidy("\n".join(head)), sections)


def shift_headings(text: str, by: int = 1) -> str:
    """Return the text with headings so many levels deeper; a negative `by` undoes it, beyond level 6 as well."""
    lines = text.split("\n")
    shown = blank_code(text).split("\n")
    for one in headings(text):
        # an underlined heading has two levels at most (CommonMark 4.3), so it gets signs before it is shifted
        if one.lines == 2:
            lines[one.line], lines[one.line + 1] = f"{'#' * one.level} {one.words}", ""
            shown[one.line] = lines[one.line]
    for number, line in enumerate(shown):
        if mark := _HASHES.match(line):
            # CommonMark ends at six; deeper ones are text there, and headings again when the shift is undone
            level = min(12, max(1, len(mark[1]) + by))
            lines[number] = "#" * level + lines[number][len(mark[1]) :]
    return "\n".join(lines)


def bullet_list(items: Sequence[str]) -> str:
    """Return a list in Markdown; lines after the first of an item are indented."""
    return "\n".join("- " + tidy(item).replace("\n", "\n  ").replace("\n  \n", "\n\n") for item in items)


def list_items(text: str) -> tuple[str, ...]:
    """Return the items of a list in Markdown without bullets; text that is not wholly a list is one item."""
    # unlike `records.document`, which makes an item of every paragraph: an export must give back the text as it was
    items: list[list[str]] = []
    for line in tidy(text).split("\n"):
        if _ITEM.match(line):
            items.append([line[2:].strip()])
        elif items and (not line.strip() or line.startswith((" ", "\t")) or items[-1][-1].strip()):
            items[-1].append(line)  # the last case is CommonMark's lazy continuation line
        else:
            whole = tidy(text)
            return (whole,) if whole else ()
    return tuple(found for lines in items if (found := _item(lines)))


def _item(lines: list[str]) -> str:
    """An item without the indentation of its further lines."""
    indents = [len(line) - len(line.lstrip(" ")) for line in lines[1:] if line.strip()]
    # two columns at most: what `bullet_list` adds; deeper ones are the item's own (a list inside, code)
    cut = min(2, min(indents, default=0))
    return tidy("\n".join([lines[0], *(line[cut:] if line.strip() else "" for line in lines[1:])]))
