"""Questions about pages: links, backlinks, mentions without a link, related pages, search over records and docs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.record import Record
from kl_hooks.model.text import slug
from kl_hooks.records.liveness import filter_live
from kl_hooks.records.markdown import blank_code
from kl_hooks.records.pages import LONGEST_SLUG, MOST_PAGE_BYTES, Page, PageNames, PageText, find_wikilinks, parse_page
from kl_hooks.records.query import NO_LIMIT, RecordFilter, get_records, matches_filter
from kl_hooks.records.redaction import redact_text
from kl_hooks.records.sync import LINK_RELATION, PAGE_KIND, link_target, section_node, sync
from kl_hooks.store.database import placeholders
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.index.index import Hit
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


_COLUMNS: Final = "path, node, id, title"
_MOST_HITS: Final = 2_000
"""Pages that are worth finding by their words before they are read."""
_RELATED_THRESHOLD: Final = 25
"""How like a page another must be to be called related."""
_SHORTEST_NAME: Final = 3
"""Characters of a title that is looked for in other pages."""


@dataclass(frozen=True, slots=True)
class PageLine:
    """A page, and the line in it that matters."""

    page: Page
    line: int
    text: str
    """What the line says."""
    percent: int = 0
    """Of `related_pages`: how like it is; a page is 100 % like itself."""


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link that a page says."""

    target: str
    line: int
    node: str
    """Where it leads; empty: nowhere, or to more than one page."""
    title: str
    several: tuple[str, ...] = ()
    """The paths that it may mean."""
    how: str = "wikilink"
    """`wikilink`, or `markdown link`: then `target` is a path from the root."""


@dataclass(frozen=True, slots=True)
class DocSection:
    """A section of a page of docs that was found by its words."""

    hit: Hit
    end_line: int
    heading: tuple[str, ...]
    """The headings that it is under and its own, outermost first; of the first section the page's title."""
    text: str
    """As it stands in the file, secrets taken out."""


def doc_sections(ws: Workspace, hits: Sequence[Hit]) -> list[DocSection]:
    """The sections behind hits, in their order, with their text; without those whose file changed meanwhile."""
    known: dict[str, PageText] = {}
    made = []
    with ws.store.reading("graph") as db:
        for hit in hits:
            if db is None:
                break
            row = db.row("SELECT number, heading, end_line FROM chunk WHERE node = ? AND path = ?", (hit.id, hit.path))
            if hit.path not in known:
                known[hit.path] = parse_page(hit.path, _page_bytes(ws, hit.path))
            some = known[hit.path].sections
            if row is not None and row[0] < len(some) and section_node(hit.path, some[row[0]]) == hit.id:
                made.append(DocSection(hit, row[2], tuple(json.loads(row[1])), redact_text(some[row[0]].text)))
    return made


def search_all(
    ws: Workspace, words: Sequence[str], wanted: RecordFilter, limit: int
) -> tuple[list[Record | DocSection], int, int]:
    """Return (the first `limit` records in force and sections of docs with any of the words, best first; how many
    there are; how many records match and are not in force).

    `wanted.kinds` may hold `page`; what else `wanted` asks for only a record can have.
    """
    from kl_hooks.index import index

    sync(ws)
    kinds = wanted.kinds or tuple(_searched_kinds(ws))
    with ws.store.reading("graph") as db:
        hits = index.search(db, words, NO_LIMIT, kinds) if db is not None else []
    records = {one.id: one for one in get_records(ws, [hit.id for hit in hits if hit.kind != PAGE_KIND])}
    matching = [one for one in records.values() if matches_filter(ws, one, replace(wanted, expired=True))]
    live, omitted = filter_live(ws, matching, wanted)
    wanted_ids = {one.id for one in live}
    order = list(dict.fromkeys(hit.id for hit in hits if hit.kind == PAGE_KIND or hit.id in wanted_ids))
    shown = set(order[:limit])
    pages = {
        one.hit.id: one for one in doc_sections(ws, [hit for hit in hits if hit.kind == PAGE_KIND and hit.id in shown])
    }
    found: Mapping[str, Record | DocSection] = {**records, **pages}
    return [found[one] for one in order[:limit] if one in found], len(order), omitted


def best_excerpt(text: str, words: Sequence[str], most: int = 480) -> str:
    """The lines of a text from the paragraph with the most of these words on, at most `most` characters."""
    from kl_hooks.index.words import query_words, stem

    stems = [stem(word) for word in query_words(words)]
    paragraphs = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
    fits = [sum(one in part.lower() for one in stems) for part in paragraphs]
    best = fits.index(max(fits)) if fits else 0
    made = ""
    for line in "\n".join(paragraphs[best:]).split("\n"):
        if len(made) + len(line) > most:
            return f"{made}{line[: max(0, most - len(made))]}…" if not made else f"{made}…"
        made += f"{line.rstrip()}\n"
    return made.strip()


def get_page(ws: Workspace, name: str) -> Page:
    """The page of this id, path, title or slug. UsageProblem, with the nearest, where there is none or several."""
    sync(ws)
    place = Path(name)
    path = place.relative_to(ws.root).as_posix() if place.is_absolute() and place.is_relative_to(ws.root) else name
    pages = _all_pages(ws)
    found = PageNames(pages).find(path.removeprefix("./"))
    if len(found) == 1:
        return found[0]
    if found:
        reason = f"may be {', '.join(page.path for page in found)}."
        raise UsageProblem(reason, place=name, hint="Name the file.")
    near = get_close_matches(name, [n for page in pages for n in (page.id or page.path, page.title)], 1)
    raise UsageProblem(
        "is no page: no id, file or title is called so.", place=name, hint=f"Did you mean {near[0]!r}?" if near else ""
    )


def outgoing_links(ws: Workspace, page: Page) -> list[PageLink]:
    """The links that a page says, in their order, broken ones too."""
    with ws.store.reading("graph") as db:
        row = db.row("SELECT links FROM page WHERE path = ?", (page.path,)) if db is not None else None
        if db is None or row is None:
            return []
        names = PageNames(_all_pages(ws))
        titles = {one.node: one.title for one in _all_pages(ws)}
        made = []
        for target, _, line, _, how in json.loads(row[0]):
            node, some = link_target(ws, db, names, target, how), names.find(target)
            several = tuple(one.path for one in some) if len(some) > 1 else ()
            made.append(PageLink(target, line, node, titles.get(node, ""), several, how))
        return made


def backlinks(ws: Workspace, page: Page) -> list[PageLine]:
    """All places that link to a page, by path and line."""
    from kl_hooks.graph import links

    with ws.store.reading("graph") as db:
        found = links.incoming(db, page.node, LINK_RELATION) if db is not None else []
    pages = {one.path: one for one in _all_pages(ws)}
    return [
        PageLine(pages[one.path], one.line, _line_text(ws, one.path, one.line))
        for one in sorted(found, key=lambda link: (link.path, link.line))
        if one.path in pages
    ]


def unlinked_mentions(ws: Workspace, page: Page, limit: int = 20) -> list[PageLine]:
    """Pages that say the title or the id of a page without any link to it: the one changed last first."""
    linked = {place.page.path for place in backlinks(ws, page)} | {page.path}
    names = [name for name in (page.id, page.title) if len(name) >= _SHORTEST_NAME]
    if not names:
        return []
    spoken = re.compile(rf"(?<!\w)(?:{'|'.join(map(_words_pattern, names))})(?!\w)", re.IGNORECASE)
    found: list[PageLine] = []
    with ws.store.reading("graph") as db:
        rows = db.rows(f"SELECT {_COLUMNS} FROM page ORDER BY changed DESC, path") if db is not None else []
        likely = _pages_with_words(ws, db, names) if db is not None else None
    for row in rows:
        one = Page(*row)
        if (
            one.path not in linked
            and (likely is None or one.path in likely)
            and (number := _first_mention(ws, one.path, spoken))
        ):
            found.append(PageLine(one, number, _line_text(ws, one.path, number)))
            if len(found) == limit:
                break
    return found


def _pages_with_words(ws: Workspace, db: Database, names: Sequence[str]) -> set[str] | None:
    """The pages that hold a rare word of these names; None where the words are all too common to tell."""
    from kl_hooks.index import index

    found: set[str] = set()
    for name in names:
        hits = index.search(db, [name], _MOST_HITS, _searched_kinds(ws))
        if len(hits) == _MOST_HITS or not name.isascii():
            return None
        found.update(hit.path for hit in hits)
    return found


def related_pages(ws: Workspace, page: Page, limit: int = 10, least: int = _RELATED_THRESHOLD) -> list[PageLine]:
    """At most `limit` pages most like a page, the most alike first: by which of its telling words they have, rare words
    counting more. The line is that of the section with the most of them.

    `least`: those less like it, in percent, are left out: everything shares some words.
    """
    pages = {one.path: one for one in _all_pages(ws)}
    whole: dict[str, float] = {}
    sections: dict[tuple[str, int], float] = {}
    total = 0.0
    for places in _lines_with_words(ws, _significant_words(ws, page)):
        places = {(path, line) for path, line in places if path in pages}
        paths = {path for path, _ in places}
        # Not BM25, which takes a word that most pages have as worth nothing: of three pages on one subject that is all.
        worth = log(1 + len(pages) / max(len(paths), 1))
        total += worth
        for path in paths:
            whole[path] = whole.get(path, 0) + worth
        for place in places:
            sections[place] = sections.get(place, 0) + worth
    best = {path: line for (path, line), _ in sorted(sections.items(), key=lambda pair: (pair[1], -pair[0][1]))}
    long = _relative_lengths(ws)
    found = [
        PageLine(pages[path], best[path], "", min(100, round(100 * score / total / long.get(path, 1))))
        for path, score in sorted(whole.items())
        if path != page.path
    ]
    return sorted((one for one in found if one.percent >= least), key=lambda one: -one.percent)[:limit]


def _relative_lengths(ws: Workspace) -> dict[str, float]:
    """Path → by how much it is longer than others, 1 and more: a long page has every word."""
    kinds = _searched_kinds(ws)
    sql = f"SELECT path, SUM(LENGTH(body)) FROM documents WHERE kind IN ({placeholders(kinds)}) GROUP BY path"
    with ws.store.reading("graph") as db:
        sizes: dict[str, int] = dict(db.rows(sql, tuple(kinds))) if db is not None else {}
    mean = max(1, sum(sizes.values()) / max(1, len(sizes)))
    return {path: max(1, 0.5 + 0.5 * size / mean) for path, size in sizes.items()}


def _lines_with_words(ws: Workspace, words: Sequence[str]) -> Iterator[set[tuple[str, int]]]:
    """For each word the (path, line) of the records and sections that have it, in any inflection."""
    from kl_hooks.index import index
    from kl_hooks.index.words import query_words

    with ws.store.reading("graph") as db:
        for word in query_words(words):
            if db is None:
                return
            yield {(hit.path, hit.line) for hit in index.search(db, [word], _MOST_HITS, _searched_kinds(ws))}


def _searched_kinds(ws: Workspace) -> Sequence[str]:
    return [*ws.kinds, PAGE_KIND]


def _all_pages(ws: Workspace) -> list[Page]:
    with ws.store.reading("graph") as db:
        return [Page(*row) for row in db.rows(f"SELECT {_COLUMNS} FROM page ORDER BY path")] if db is not None else []


def _page_body(ws: Workspace, path: str) -> str:
    return parse_page(path, _page_bytes(ws, path)).body


def _page_bytes(ws: Workspace, path: str) -> bytes:
    try:
        return read_small(ws.root / path, within=ws.root, most=MOST_PAGE_BYTES) or b""
    except UsageProblem:
        return b""


def _line_text(ws: Workspace, path: str, number: int) -> str:
    lines = _page_body(ws, path).split("\n")
    return redact_text(lines[number - 1].strip()) if 0 < number <= len(lines) else ""


def _words_pattern(name: str) -> str:
    """A pattern for a name whose words may stand on two lines."""
    return r"\s+".join(map(re.escape, name.split()))


def _first_mention(ws: Workspace, path: str, spoken: re.Pattern[str]) -> int:
    """The line on which a page says it first, outside code, comments and other links; 0: nowhere."""
    text = blank_code(_page_body(ws, path))
    for link in find_wikilinks(text):
        text = text.replace(f"[[{link.target}", " " * (len(link.target) + 2))
    found = spoken.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _significant_words(ws: Workspace, page: Page) -> list[str]:
    """The words of a page that tell most: those of its title, then the frequent ones of its text."""
    counted = Counter(word.lower() for word in re.findall(r"[^\W\d_][\w-]{3,40}", _page_body(ws, page.path)))
    often = [word for word, _ in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:40]]
    return [*re.findall(r"\w+", page.title), *often]


def section_to_dict(one: DocSection, words: Sequence[str]) -> dict[str, Any]:
    """A section of a page as JSON has it, quoted where it fits the words best."""
    place = {"path": one.hit.path, "line": one.hit.line, "end_line": one.end_line}
    names = {"title": one.hit.title, "slug": slug(one.heading[-1], LONGEST_SLUG), "heading": list(one.heading)}
    return {"id": one.hit.id, "kind": PAGE_KIND, **names, **place, "excerpt": best_excerpt(one.text, words)}


def page_to_dict(page: Page) -> dict[str, Any]:
    """A page as JSON has it."""
    kind = "record" if page.id else PAGE_KIND
    return {
        "id": page.id or page.node, "title": page.title, "slug": slug(page.title, LONGEST_SLUG), "path": page.path,
        "kind": kind,
    }  # fmt: skip


def page_line_to_dict(one: PageLine) -> dict[str, Any]:
    """A place in a page as JSON has it. `percent` and `similarity` say the same."""
    said = {"line": one.line, "text": one.text, "excerpt": one.text}
    return {**page_to_dict(one.page), **said, "percent": one.percent, "similarity": one.percent / 100}
