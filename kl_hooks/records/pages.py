"""Pages: authored files and the repository's own docs, parsed; and which page a `[[link]]` means. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import Final
from urllib.parse import unquote

from kl_hooks.model.slug import slug
from kl_hooks.model.text import one_line
from kl_hooks.records.front_matter import read_front_matter
from kl_hooks.records.markdown import Heading, blank_code, headings
from kl_hooks.records.redaction import redact_text

_WIKILINK: Final = re.compile(r"(?<!\\)\[\[([^\[\]\n|]{1,300})(?:\|([^\[\]\n]{0,300}))?\]\](?!\()")
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


def find_wikilinks(text: str) -> list[Wikilink]:
    """The links that a Markdown text says, in their order. Those in code (fenced, indented, inline) do not count."""
    if "[[" not in text:
        return []
    found = []
    for number, line in enumerate(blank_code(text).split("\n"), 1):
        for match in _WIKILINK.finditer(line):
            target = match[1].removesuffix("\\").strip()  # `\|` is how a table writes the bar
            if target:
                found.append(Wikilink(target, (match[2] or "").strip(), number, match.start() + 1))
    return found


LONGEST_SLUG: Final = 10_000


@dataclass(frozen=True, slots=True)
class Page:
    """A page that can be linked to."""

    path: str
    """From the root."""
    node: str
    """Its Id in the graph: `adr:ADR-0007`, `file:docs/layers.md`."""
    id: str
    """Of a record: its id; empty for a page of docs."""
    title: str


class PageNames:
    """Every way to name a page."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self._ids: dict[str, list[Page]] = {}
        self._tiers: tuple[dict[str, list[Page]], ...] = ({}, {}, {}, {})
        self._pages = list(pages)
        for page in self._pages:
            for name in {page.id.lower(), page.path.lower()} - {""}:
                self._ids.setdefault(name, []).append(page)
            home = 0 if page.id else 2
            self._tiers[home].setdefault(_title_key(page.title), []).append(page)
            for name in {slug(page.title, LONGEST_SLUG), _slug_in_path(page)} - {""}:
                self._tiers[home + 1].setdefault(name, []).append(page)

    def find(self, target: str) -> list[Page]:
        """The pages that are meant: one, none (it leads nowhere), or several (nobody can tell which).

        `Title#Section` means the page where no page is called so in full.
        """
        for name in dict.fromkeys((target, target.partition("#")[0].strip())):
            if name:
                found = self._ids.get(name.lower()) or next(filter(None, self._by_title(name)), [])
                if found:
                    return sorted(set(found), key=lambda page: page.path)
        return []

    def all(self) -> list[str]:
        """Titles and ids, to find the nearest among."""
        return [name for page in self._pages for name in (page.title, page.id) if name]

    def _by_title(self, name: str) -> Iterable[list[Page]]:
        for home in (0, 2):
            yield self._tiers[home].get(_title_key(name), [])
            yield self._tiers[home + 1].get(name, [])


def _title_key(title: str) -> str:
    return " ".join(title.split()).casefold()


def _slug_in_path(page: Page) -> str:
    """The name of the file, without its id and ending: `ADR-0007-two-scanners.md` → `two-scanners`."""
    name = page.path.rpartition("/")[2].rpartition(".")[0]
    return name.removeprefix(page.id).lstrip("-") if page.id else name


MOST_PAGE_BYTES: Final = 1_000_000
"""Of a page; a longer one is read so far."""
_LONGEST_SLUG: Final = 10_000
"""Characters of a slug that is not cut."""


_RST_LINE: Final = re.compile(r"([=\-`:'\"~^_*+#<>.])\1{2,}[ \t]*")
_MARKDOWN_LINK: Final = re.compile(
    r"(?<![\\!])\[([^\[\]\n]{1,300})\]\(<?([^()\s<>]{1,500})>?(?:[ \t]+[\"'][^\n]{0,300})?\)"
)
_NOT_A_FILE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|/|#", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageSection:
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
class PageText:
    """What a page says."""

    title: str
    """Of its front matter or its first heading; else the name of the file."""
    links: tuple[Wikilink, ...]
    body: str
    """Without front matter; as many lines stand above it as the front matter has."""
    files: tuple[Wikilink, ...] = ()
    """Links as Markdown has them (`[text](other.md#part)`) to files of the repository: `target` is a path from the
    root."""
    sections: tuple[PageSection, ...] = ()


def parse_page(path: str, data: bytes) -> PageText:
    """Reads a page. Any bytes are a page: what is not UTF-8 is replaced."""
    text = data[:MOST_PAGE_BYTES].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    lines = text.split("\n")
    front, _ = read_front_matter(path, lines) if lines[0].rstrip() == "---" else (None, [])
    if front is not None:
        lines[: front.end + 1] = [""] * (front.end + 1)
    body = "\n".join(lines)
    markdown = path.endswith(".md")
    found = headings(body) if markdown else _rst_headings(lines)
    given = front.raw.get("title", "") if front is not None else ""
    first = next((one.words for one in found if one.level == 1), "")
    stem = path.rpartition("/")[2].rpartition(".")[0]
    title = one_line((given if isinstance(given, str) and given.strip() else first).strip() or stem, 2000)
    links = (tuple(find_wikilinks(body)), tuple(_file_links(path, body))) if markdown else ((), ())
    return PageText(title, links[0], body, links[1], tuple(_split_page(title, found, lines)))


def _split_page(title: str, found: Sequence[Heading], lines: Sequence[str]) -> Iterator[PageSection]:
    """The page by its headings. The heading that is its title opens no section of its own."""
    if found and found[0].level == 1 and one_line(found[0].words, 2000) == title:
        found = found[1:]
    found = [replace(one, words=redact_text(one.words)) for one in found]  # an anchor is in every Id that leads here
    starts = [*(one.line for one in found), len(lines)]
    yield PageSection(title, (), "", 1, max(starts[0], 1), "\n".join(lines[: starts[0]]))
    anchors: dict[str, int] = {}
    above: list[Heading] = []
    for one, end in zip(found, starts[1:], strict=True):
        above = [*(upper for upper in above if upper.level < one.level), one]
        name = slug(one.words, _LONGEST_SLUG) or "section"
        anchors[name] = number = anchors.get(name, -1) + 1
        anchor = f"{name}-{number}" if number else name
        around = tuple(one_line(upper.words, 200) for upper in above[:-1] if upper.level > 1)
        text = "\n".join(lines[one.line + one.lines : end])
        yield PageSection(one_line(one.words, 300), around, anchor, one.line + 1, max(end, one.line + 1), text)


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
    for number, line in enumerate(blank_code(body).split("\n"), 1):
        for match in _MARKDOWN_LINK.finditer(line):
            if not _NOT_A_FILE.match(match[2]):
                target = normpath(f"{folder}/{unquote(match[2].partition('#')[0])}".lstrip("/"))
                if not target.startswith("..") and target != path:
                    yield Wikilink(target, match[1].strip(), number, match.start() + 1)
