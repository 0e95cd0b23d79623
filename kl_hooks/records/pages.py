"""Pages: authored files and the repository's own docs, parsed; and which page a `[[link]]`
means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.excerpt import Excerpt
from kl_hooks.model.symbol import NodeId
from kl_hooks.model.text import one_line, slug
from kl_hooks.records.document import read_front_matter
from kl_hooks.records.markdown import Heading, blank_code, headings, with_sections
from kl_hooks.records.redaction import redact_text
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

# Repeats are bounded, so that a page of brackets is searched in linear time.
# Not `[[1]](url)`, which is Markdown's own link, and nothing with brackets inside.
_WIKILINK: Final = lazy_pattern(
    r"(?<!\\)\[\[([^\[\]\n|]{1,300})(?:\|([^\[\]\n]{0,300}))?\]\](?!\()"
)
_MARKDOWN_LINK: Final = lazy_pattern(
    r"(?<![\\!])\[([^\[\]\n]{1,300})\]\(<?([^()\s<>]{1,500})>?(?:[ \t]+[\"'][^\n]{0,300})?\)"
)
# A scheme (RFC 3986, 3.1), the root of a web site, a place on the same page.
_NOT_A_FILE: Final = lazy_pattern(r"[a-z][a-z0-9+.-]*:|/|#", re.IGNORECASE)
_RST_LINE: Final = lazy_pattern(r"([=\-`:'\"~^_*+#<>.])\1{2,}[ \t]*")
PAGE_KIND: Final = "page"
"""The kind of a page of docs, or of a section of one, in the index."""
LINK_RELATION: Final = "references"
_LINK_METHODS: Final = ("wikilink", "markdown link")
MOST_PAGE_BYTES: Final = 1_000_000
"""Of a page; the rest of a longer one is not read."""


class Wikilink(NamedTuple):
    """A link as it is written."""

    target: str
    """A title, a slug or an ID."""
    shown: str
    """The text after `|`; empty: the target itself is shown."""
    line: int
    column: int
    """Both from 1."""


class Page(NamedTuple):
    """A page that can be linked to."""

    path: str
    """From the root."""
    node: str
    """Its ID in the graph: `adr:ADR-0007`, `file:docs/layers.md`."""
    id: str
    """The ID of a record; empty for a page of docs."""
    title: str

    @property
    def slug(self) -> str:
        """Its title as in the name of a file, uncut."""
        return slug(self.title, None)


@dataclass(frozen=True, slots=True)
class PageLine(Excerpt):
    """A page and a line of it."""

    page: Page
    line: int
    text: str
    percent: int = 0
    """Of related pages: how like it is; a page is 100 % like itself."""

    @property
    def origin(self) -> NodeId:
        """The page."""
        return NodeId(self.page.node)


class PageLink(NamedTuple):
    """A link on a page."""

    target: str
    line: int
    node: str
    """The graph ID it leads to; empty: it is broken or ambiguous."""
    title: str
    several: tuple[str, ...] = ()
    """The paths that it may mean."""
    how: str = "wikilink"
    """`wikilink`, or `markdown link`: then `target` is a path from the root."""


class PageSection(NamedTuple):
    """The text under one heading, up to the next one of any level; the first section of a page
    precedes them.
    """

    title: str
    """Words of the heading; of the first section the page's title."""
    around: tuple[str, ...]
    """The headings above it, outermost first, without the page's title."""
    anchor: str
    """As a link names it: `getting-started`, unique within the page; empty for the first section.
    """
    line: int
    end_line: int
    text: str

    def node(self, path: str) -> str:
        """Its ID in the graph, on the page of this path; that of the first one is the page's."""
        if self.anchor:
            return f"file:{path}#{self.anchor}"
        return f"file:{path}"


class PageText(NamedTuple):
    """A parsed page."""

    title: str
    """From its front matter or its first heading; else the name of the file."""
    links: tuple[Wikilink, ...]
    body: str
    """Blank lines in place of the front matter, so that line numbers are those of the file."""
    files: tuple[Wikilink, ...] = ()
    """Markdown links (`[text](other.md#part)`) to files of the repository: `target` is a path from
    the root.
    """
    sections: tuple[PageSection, ...] = ()


def find_wikilinks(text: str) -> list[Wikilink]:
    """Return the `[[links]]` of a Markdown text, in order.

    Those in code and comments do not count.
    """
    if "[[" not in text:
        return []
    wikilinks = []
    for number, line in enumerate(blank_code(text).split("\n"), 1):
        for match in _WIKILINK.finditer(line):
            target = match[1].removesuffix("\\").strip()  # in a table the bar is written `\|`
            if target:
                wikilinks.append(
                    Wikilink(target, (match[2] or "").strip(), number, match.start() + 1)
                )
    return wikilinks


class PageNames:
    """Every name of every page, to resolve links: by ID, by title in any case, by slug; records
    before docs.
    """

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = list(pages)
        self._by_name: dict[tuple[int, str], list[Page]] = {}
        """Rank (0: IDs and paths; titles and slugs of records are 1 and 2, of docs 3 and 4) and
        name → pages.
        """
        for page in self._pages:
            rank = 1 if page.id else 3
            names = {(0, page.id.lower()), (0, page.path.lower()), (rank, _title_key(page.title))}
            for name in names | {(rank + 1, page.slug), (rank + 1, _slug_in_path(page))}:
                self._by_name.setdefault(name, []).append(page)

    def find(self, target: str) -> list[Page]:
        """Return the pages that a link may mean: one, none (it is broken), or several (it is
        ambiguous).

        `Title#Section` means the page `Title` where no page has the whole as its name.
        """
        for name in filter(None, dict.fromkeys((target, target.partition("#")[0].strip()))):
            title = _title_key(name)
            for key in ((0, name.lower()), (1, title), (2, name), (3, title), (4, name)):
                if key in self._by_name:
                    return sorted(set(self._by_name[key]), key=lambda page: page.path)
        return []

    def all(self) -> list[str]:
        """Return titles and IDs, to find the nearest among."""
        return [name for page in self._pages for name in (page.title, page.id) if name]


def all_pages(db: Database | None) -> list[Page]:
    """Return all pages, by path."""
    if not db:
        return []
    return [Page(*row) for row in db.rows("SELECT path, node, id, title FROM page ORDER BY path")]


def link_target(ws: Workspace, db: Database, names: PageNames, target: str, method: str) -> str:
    """Return the graph ID that a link leads to; empty where it is broken or ambiguous. `method`: of
    `_LINK_METHODS`.
    """
    pages = names.find(target)
    if pages:
        if len(pages) != 1:
            return ""
        return pages[0].node
    if method == _LINK_METHODS[1]:
        if not ws.exists(target):
            return ""
        return f"file:{target}"
    row = db.row("SELECT id FROM documents WHERE owner = ?", (f"record:{target}",))
    if not row:
        return ""
    return str(row[0])


def written_links(text: PageText) -> list[tuple[str, str, int, int, str]]:
    """Return (target, shown text, line, column, how) of each link of a page, redacted; `how`: of
    `_LINK_METHODS`.
    """
    return [
        (redact_text(one.target), redact_text(one.shown), one.line, one.column, how)
        for how, some in zip(_LINK_METHODS, (text.links, text.files), strict=True)
        for one in some
    ]


def _title_key(title: str) -> str:
    return " ".join(title.split()).casefold()


def _slug_in_path(page: Page) -> str:
    """`ADR-0007-two-scanners.md` → `two-scanners`."""
    name = page.path.rpartition("/")[2].rpartition(".")[0]
    if not page.id:
        return name
    return name.removeprefix(page.id).lstrip("-")


def read_page(ws: Workspace, path: str) -> PageText:
    """Read and parse a page; an empty one where it can't be read."""
    try:
        return parse_page(
            path, read_small(ws.root / path, within=ws.root, most=MOST_PAGE_BYTES) or b""
        )
    except UsageProblem:
        return parse_page(path, b"")


def parse_page(path: str, data: bytes, most: int = MOST_PAGE_BYTES) -> PageText:
    """Parse a page of Markdown or reStructuredText. Any bytes are a page: what is not UTF-8 is
    replaced.
    """
    text = data[:most].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    lines = text.split("\n")
    front, _ = read_front_matter(path, lines) if lines[0].rstrip() == "---" else (None, [])
    if front is not None:
        lines[: front.end + 1] = [""] * (front.end + 1)
    body = "\n".join(lines)
    markdown = path.endswith(".md")
    if markdown:
        page_headings = headings(body)
    else:
        page_headings = _rst_headings(lines)
    if front is not None:
        stated_title = front.raw.get("title", "")
    else:
        stated_title = ""
    top_headings = [heading.words for heading in page_headings if heading.level == 1]
    # of several the first is one of the parts: the newest release of a changelog is not its title
    if len(top_headings) == 1:
        first = top_headings[0]
    else:
        first = ""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    title = one_line(
        (stated_title if isinstance(stated_title, str) and stated_title.strip() else first).strip()
        or stem,
        2000,
    )
    if markdown:
        links = (tuple(find_wikilinks(body)), tuple(find_file_links(path, body)))
    else:
        links = ((), ())
    return PageText(
        title, links[0], body, links[1], tuple(_split_page(title, page_headings, lines))
    )


def _split_page(
    title: str, page_headings: Sequence[Heading], lines: Sequence[str]
) -> Iterator[PageSection]:
    """Yield the sections of a page. The heading that is its title begins no section of its own."""
    if (
        page_headings
        and page_headings[0].level == 1
        and one_line(page_headings[0].words, 2000) == title
    ):
        page_headings = page_headings[1:]
    page_headings = [
        heading._replace(words=redact_text(heading.words)) for heading in page_headings
    ]  # the anchor becomes part of a graph ID
    if page_headings:
        begin = page_headings[0].line
    else:
        begin = len(lines)
    yield PageSection(title, (), "", 1, max(begin, 1), "\n".join(lines[:begin]))
    anchors: dict[str, int] = {}
    above: list[Heading] = []
    for heading, part in with_sections(page_headings, len(lines)):
        above = [*(upper for upper in above if upper.level < heading.level), heading]
        name = slug(heading.words, None) or "section"
        anchors[name] = number = anchors.get(name, -1) + 1
        # GitHub numbers equal headings the same way
        if number:
            anchor = f"{name}-{number}"
        else:
            anchor = name
        around = tuple(one_line(upper.words, 200) for upper in above[:-1])
        text = "\n".join(lines[part.start : part.stop])
        yield PageSection(
            one_line(heading.words, 300),
            around,
            anchor,
            heading.line + 1,
            max(part.stop, heading.line + 1),
            text,
        )


def _rst_headings(lines: Sequence[str]) -> list[Heading]:
    """Return the headings of reStructuredText: a line with a line of signs below, as long or
    longer, perhaps above too.

    Levels follow from the order in which the signs first appear, as docutils has it.
    """
    rst_headings: list[Heading] = []
    styles: list[tuple[str, bool]] = []
    for number, line in enumerate(lines[:-1]):
        words = line.strip()
        below = lines[number + 1].rstrip()
        if (
            not words
            or not _RST_LINE.fullmatch(below)
            or len(below) < len(words)
            or _RST_LINE.fullmatch(line)
        ):
            continue
        above = lines[number - 1].rstrip() if number else ""
        if (above and above != below) or (not above and line[:1].isspace()):
            continue
        style = (below[0], bool(above))
        if style not in styles:
            styles.append(style)
        rst_headings.append(Heading(number, 2, min(styles.index(style) + 1, 6), words))
    return rst_headings


def find_file_links(path: str, body: str) -> Iterator[Wikilink]:
    """Yield the Markdown links of a text of this path to other files of the repository, in
    order.
    """
    if "](" not in body:
        return
    folder = path.rpartition("/")[0]
    for number, line in enumerate(blank_code(body).split("\n"), 1):
        for match in _MARKDOWN_LINK.finditer(line):
            if not _NOT_A_FILE.match(match[2]):
                target = normpath(f"{folder}/{unquote(match[2].partition('#')[0])}".lstrip("/"))
                if not target.startswith("..") and target != path:
                    yield Wikilink(target, match[1].strip(), number, match.start() + 1)
