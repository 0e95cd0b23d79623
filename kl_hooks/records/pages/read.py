"""A page as it stands in a file: its title, its links, its words, its sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import Final
from urllib.parse import unquote

from kl_hooks.model.slug import slug
from kl_hooks.model.text import one_line
from kl_hooks.records.front import read_front
from kl_hooks.records.hiding import hidden
from kl_hooks.records.markdown import Heading, headings, said
from kl_hooks.records.pages.wikilink import Wikilink, wikilinks

MOST_BYTES: Final = 1_000_000
"""Of a page; a longer one is read so far."""
LONG: Final = 10_000
"""Characters of a slug that is not cut."""


_RST_LINE: Final = re.compile(r"([=\-`:'\"~^_*+#<>.])\1{2,}[ \t]*")
_MARKDOWN_LINK: Final = re.compile(
    r"(?<![\\!])\[([^\[\]\n]{1,300})\]\(<?([^()\s<>]{1,500})>?(?:[ \t]+[\"'][^\n]{0,300})?\)"
)
_FOREIGN: Final = re.compile(r"[a-z][a-z0-9+.-]*:|/|#", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading, up to the next one of any level; the first of a page is what precedes them."""

    title: str
    """Words of the heading; of the first section the page's title."""
    around: tuple[str, ...]
    """The headings that it is under, outermost first, without the page's title."""
    anchor: str
    """As a link names it: `getting-started`, unique within the page; empty for the first section."""
    line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """What a page says."""

    title: str
    """Of its front matter or its first heading; else the name of the file."""
    links: tuple[Wikilink, ...]
    body: str
    """Without front matter; as many lines stand above it as the front matter has."""
    files: tuple[Wikilink, ...] = ()
    """Links as Markdown has them (`[text](other.md#part)`) to files of the repository: `target` is a path from the
    root."""
    sections: tuple[Section, ...] = ()


def page_text(path: str, data: bytes) -> Text:
    """Reads a page. Any bytes are a page: what is not UTF-8 is replaced."""
    text = data[:MOST_BYTES].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    lines = text.split("\n")
    front, _ = read_front(path, lines) if lines[0].rstrip() == "---" else (None, [])
    if front is not None:
        lines[: front.end + 1] = [""] * (front.end + 1)
    body = "\n".join(lines)
    markdown = path.endswith(".md")
    found = headings(body) if markdown else _rst_headings(lines)
    given = front.raw.get("title", "") if front is not None else ""
    first = next((one.words for one in found if one.level == 1), "")
    stem = path.rpartition("/")[2].rpartition(".")[0]
    title = one_line((given if isinstance(given, str) and given.strip() else first).strip() or stem, 2000)
    links = (tuple(wikilinks(body)), tuple(_file_links(path, body))) if markdown else ((), ())
    return Text(title, links[0], body, links[1], tuple(_sections(title, found, lines)))


def _sections(title: str, found: Sequence[Heading], lines: Sequence[str]) -> Iterator[Section]:
    """The page by its headings. The heading that is its title opens no section of its own."""
    if found and found[0].level == 1 and one_line(found[0].words, 2000) == title:
        found = found[1:]
    found = [replace(one, words=hidden(one.words)) for one in found]  # an anchor is in every Id that leads here
    starts = [*(one.line for one in found), len(lines)]
    yield Section(title, (), "", 1, max(starts[0], 1), "\n".join(lines[: starts[0]]))
    anchors: dict[str, int] = {}
    above: list[Heading] = []
    for one, end in zip(found, starts[1:], strict=True):
        above = [*(upper for upper in above if upper.level < one.level), one]
        name = slug(one.words, LONG) or "section"
        anchors[name] = number = anchors.get(name, -1) + 1
        anchor = f"{name}-{number}" if number else name
        around = tuple(one_line(upper.words, 200) for upper in above[:-1] if upper.level > 1)
        text = "\n".join(lines[one.line + one.lines : end])
        yield Section(one_line(one.words, 300), around, anchor, one.line + 1, max(end, one.line + 1), text)


def _rst_headings(lines: Sequence[str]) -> list[Heading]:
    """The headings of reStructuredText: a line of words with a line of signs below, as long or longer, and perhaps the
    same above. The levels follow from the order in which the signs first stand.
    """
    found: list[Heading] = []
    styles: list[tuple[str, bool]] = []
    for number, line in enumerate(lines[:-1]):
        words, below = line.strip(), lines[number + 1].rstrip()
        if not words or not _RST_LINE.fullmatch(below) or len(below) < len(words) or _RST_LINE.fullmatch(line):
            continue
        above = lines[number - 1].rstrip() if number else ""
        if (above and above != below) or (not above and line[:1].isspace()):
            continue
        style = (below[0], bool(above))
        if style not in styles:
            styles.append(style)
        found.append(Heading(number, 2, min(styles.index(style) + 1, 6), words))
    return found


def _file_links(path: str, body: str) -> Iterator[Wikilink]:
    if "](" not in body:
        return
    folder = path.rpartition("/")[0]
    for number, line in enumerate(said(body).split("\n"), 1):
        for match in _MARKDOWN_LINK.finditer(line):
            if not _FOREIGN.match(match[2]):
                target = normpath(f"{folder}/{unquote(match[2].partition('#')[0])}".lstrip("/"))
                if not target.startswith("..") and target != path:
                    yield Wikilink(target, match[1].strip(), number, match.start() + 1)
