"""Queries on pages: links, backlinks, mentions without a link, related pages, search over records
and docs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.graph import links
from kl_hooks.index import index
from kl_hooks.model.excerpt import Excerpt
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import NodeId
from kl_hooks.model.text import slug
from kl_hooks.records.liveness import filter_live
from kl_hooks.records.markdown import blank_code
from kl_hooks.records.pages import (
    LINK_RELATION,
    PAGE_KIND,
    Page,
    PageLine,
    PageLink,
    PageNames,
    PageText,
    all_pages,
    link_target,
    read_page,
    written_links,
)
from kl_hooks.records.query import NO_LIMIT, RecordFilter, get_records, matches_filter
from kl_hooks.records.redaction import redact_text
from kl_hooks.records.repository import select_rows
from kl_hooks.records.sync import sync
from kl_hooks.store.database import placeholders

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

# With so many hits a word is too common to narrow a search.
_MAX_HITS: Final = 2_000
# Percent of likeness.
_RELATED_THRESHOLD: Final = 25
# Characters of a title that is searched for in other pages.
_SHORTEST_NAME: Final = 3


@dataclass(frozen=True, slots=True)
class DocSection(Excerpt):
    """A section of a page of docs that a search found."""

    hit: index.Hit
    end_line: int
    heading: tuple[str, ...]
    """The headings above it and its own, outermost first; of the first section the page's title."""
    text: str
    """As in the file, but redacted."""

    @property
    def origin(self) -> NodeId:
        """The file."""
        return NodeId(f"file:{self.hit.path}")


def _doc_sections(ws: Workspace, hits: Sequence[index.Hit]) -> list[DocSection]:
    """Return the sections behind hits, in their order; without those whose file changed
    meanwhile.
    """
    texts: dict[str, PageText] = {}
    doc_sections: list[DocSection] = []
    with ws.store.reading("graph") as db:
        for hit in hits:
            if db is None:
                break
            row = db.row(
                "SELECT number, heading, end_line FROM chunk WHERE node = ? AND path = ?",
                (hit.id, hit.path),
            )
            if hit.path not in texts:
                texts[hit.path] = read_page(ws, hit.path)
            sections = texts[hit.path].sections
            if (
                row is not None
                and row[0] < len(sections)
                and sections[row[0]].node(hit.path) == hit.id
            ):
                doc_sections.append(
                    DocSection(
                        hit, row[2], tuple(json.loads(row[1])), redact_text(sections[row[0]].text)
                    )
                )
    return doc_sections


def search_all(
    ws: Workspace,
    words: Sequence[str],
    wanted: RecordFilter,
    limit: int,
    select: Callable[[Sequence[Record]], Sequence[Record]] = lambda records: records,
) -> tuple[list[Record | DocSection], int, int]:
    """Search live records and sections of docs with any of the words.

    Return (the first `limit`, best first; the number of all; the number of records that match and
    are not live). `wanted.kinds` may include `page`; the other fields of `wanted` select records
    only. `select`: of the matching records those that may be counted.
    """
    sync(ws)
    kinds = wanted.kinds or tuple(_searched_kinds(ws))
    with ws.store.reading("graph") as db:
        if db is not None:
            hits = index.search(db, words, NO_LIMIT, kinds)
        else:
            hits = []
    records = {
        record.id: record
        for record in get_records(ws, [hit.id for hit in hits if hit.kind != PAGE_KIND])
    }
    matching = [
        record
        for record in records.values()
        if matches_filter(ws, record, wanted._replace(expired=True))
    ]
    live, omitted = filter_live(ws, select(matching), wanted)
    live_ids = {record.id for record in live}
    order = list(
        dict.fromkeys(hit.id for hit in hits if hit.kind == PAGE_KIND or hit.id in live_ids)
    )
    first = set(order[:limit])
    sections = _doc_sections(ws, [hit for hit in hits if hit.kind == PAGE_KIND and hit.id in first])
    match_by_id: Mapping[str, Record | DocSection] = {
        **records,
        **{section.hit.id: section for section in sections},
    }
    return (
        [match_by_id[hit_id] for hit_id in order[:limit] if hit_id in match_by_id],
        len(order),
        omitted,
    )


def _best_excerpt(text: str, words: Sequence[str], most: int = 480) -> str:
    """Return the text from the paragraph with the most of these words on, at most `most` characters
    in whole lines.
    """
    stems = [index.stem(word) for word in index.query_words(words)]
    paragraphs = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
    scores = [sum(one in part.lower() for one in stems) for part in paragraphs]
    best = scores.index(max(scores)) if scores else 0
    excerpt = ""
    for line in "\n".join(paragraphs[best:]).split("\n"):
        if len(excerpt) + len(line) > most:
            if not excerpt:
                return f"{excerpt}{line[: max(0, most - len(excerpt))]}…"
            return f"{excerpt}…"
        excerpt += f"{line.rstrip()}\n"
    return excerpt.strip()


def get_page(ws: Workspace, name: str, documents: Callable[[], Sequence[Page]] = tuple) -> Page:
    """Return the page of this ID, path, title or slug. UsageProblem, with the nearest, unless there
    is one.

    `documents`: what is no page of the graph; they are looked at where no page has the name.
    """
    sync(ws)
    place = Path(name)
    if place.is_absolute() and place.is_relative_to(ws.root):
        path = place.relative_to(ws.root).as_posix()
    else:
        path = name
    path = path.removeprefix("./")
    pages = _pages(ws)
    matching = PageNames(pages).find(path)
    if not matching:
        pages += documents()
        matching = PageNames(pages).find(path)
    if len(matching) == 1:
        return matching[0]
    if matching:
        reason = f"may be {', '.join(page.path for page in matching)}."
        raise UsageProblem(reason, place=name, hint="Name the file.")
    near = get_close_matches(
        name, [n for page in pages for n in (page.id or page.path, page.title)], 1
    )
    hint = f"Did you mean {near[0]!r}?" if near else ""
    raise UsageProblem("is no page: no ID, file or title matches.", place=name, hint=hint)


def outgoing_links(
    ws: Workspace, page: Page, text: PageText | None = None, documents: Sequence[Page] = ()
) -> list[PageLink]:
    """Return the links on a page, in order, broken ones too.

    `text`: of a document that is no page of the graph; `documents`: what links may lead to besides
    pages.
    """
    with ws.store.reading("graph") as db:
        if db is not None:
            row = db.row("SELECT links FROM page WHERE path = ?", (page.path,))
        else:
            row = None
        if db is None or (row is None and text is None):
            return []
        pages = all_pages(db)
        names = PageNames(pages)
        others = PageNames(documents)
        titles = {one.node: one.title for one in (*documents, *pages)}
        page_links = []
        for target, _, line, _, method in (
            json.loads(row[0]) if row else written_links(text or PageText("", (), ""))
        ):
            targets = names.find(target) or others.find(target)
            if len(targets) == 1:
                node = targets[0].node
            elif targets:
                node = ""
            else:
                node = link_target(ws, db, names, target, method)
            if len(targets) > 1:
                several = tuple(one.path for one in targets)
            else:
                several = ()
            page_links.append(PageLink(target, line, node, titles.get(node, ""), several, method))
        return page_links


def backlinks(ws: Workspace, page: Page) -> list[PageLine]:
    """Return all lines that link to a page, by path and line."""
    with ws.store.reading("graph") as db:
        if db is not None:
            incoming = links.incoming(db, page.node, LINK_RELATION)
        else:
            incoming = []
        pages = {one.path: one for one in all_pages(db)}
    return [
        PageLine(pages[one.path], one.line, _line_text(ws, one.path, one.line))
        for one in sorted(incoming, key=lambda link: (link.path, link.line))
        if one.path in pages
    ]


def unlinked_mentions(ws: Workspace, page: Page, limit: int = 20) -> list[PageLine]:
    """Return pages that name the title or ID of a page without a link to it, the one changed last
    first.
    """
    linked = {place.page.path for place in backlinks(ws, page)} | {page.path}
    names = _names(page)
    mention = mention_of(page)
    if mention is None:
        return []
    mentions: list[PageLine] = []
    with ws.store.reading("graph") as db:
        if db is not None:
            rows = db.rows("SELECT path, node, id, title FROM page ORDER BY changed DESC, path")
        else:
            rows = []
        if db is not None:
            likely = _pages_with_words(ws, db, names)
        else:
            likely = None
    for row in rows:
        other = Page(*row)
        if other.path in linked or (likely is not None and other.path not in likely):
            continue
        if number := _first_mention(ws, other.path, mention):
            mentions.append(PageLine(other, number, _line_text(ws, other.path, number)))
            if len(mentions) == limit:
                break
    return mentions


def mention_of(page: Page) -> re.Pattern[str] | None:
    """Return what finds the title or ID of a page in a text; None where both are too short."""
    # The words of a title may be on two lines.
    patterns = [r"\s+".join(map(re.escape, name.split())) for name in _names(page)]
    if not patterns:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)


def _names(page: Page) -> list[str]:
    return [name for name in (page.id, page.title) if len(name) >= _SHORTEST_NAME]


def related_pages(
    ws: Workspace, page: Page, limit: int = 10, least: int = _RELATED_THRESHOLD
) -> list[PageLine]:
    """Return at most `limit` pages most like a page, the most alike first: by its significant words
    that they have.

    Rare words count more. The line is that of the section with the most of them. `least`: percent
    below which pages are omitted, since any two pages share some words.
    """
    pages = {one.path: one for one in _pages(ws)}
    whole: dict[str, float] = {}
    sections: dict[tuple[str, int], float] = {}
    total = 0.0
    for lines in _lines_with_words(ws, _significant_words(ws, page)):
        lines = {(path, line) for path, line in lines if path in pages}
        paths = {path for path, _ in lines}
        # Not BM25, which gives a word that most pages have no weight: of three pages on one subject
        # that is all.
        weight = log(1 + len(pages) / max(len(paths), 1))
        total += weight
        for path in paths:
            whole[path] = whole.get(path, 0) + weight
        for place in lines:
            sections[place] = sections.get(place, 0) + weight
    best = {
        path: line
        for (path, line), _ in sorted(sections.items(), key=lambda pair: (pair[1], -pair[0][1]))
    }
    lengths = _relative_lengths(ws)
    alike = [
        PageLine(
            pages[path], best[path], "", min(100, round(100 * score / total / lengths.get(path, 1)))
        )
        for path, score in sorted(whole.items())
        if path != page.path
    ]
    return sorted((one for one in alike if one.percent >= least), key=lambda one: -one.percent)[
        :limit
    ]


def page_to_dict(page: Page) -> dict[str, Any]:
    """Return a page as JSON has it."""
    names = {"title": page.title, "slug": page.slug, "path": page.path}
    return {"id": page.id or page.node, **names, "kind": "record" if page.id else PAGE_KIND}


def page_line_to_dict(page_line: PageLine) -> dict[str, Any]:
    """Return a line of a page as JSON has it. `percent` and `similarity` are the same number."""
    line = {"line": page_line.line, "text": page_line.text, "excerpt": page_line.text}
    return {
        **page_to_dict(page_line.page),
        **line,
        "percent": page_line.percent,
        "similarity": page_line.percent / 100,
    }


def section_to_dict(section: DocSection, words: Sequence[str]) -> dict[str, Any]:
    """Return a section of a page as JSON has it, with its best excerpt for the words."""
    place = {"path": section.hit.path, "line": section.hit.line, "end_line": section.end_line}
    names = {
        "title": section.hit.title,
        "slug": slug(section.heading[-1], None),
        "heading": list(section.heading),
    }
    return {
        "id": section.hit.id,
        "kind": PAGE_KIND,
        **names,
        **place,
        "excerpt": _best_excerpt(section.text, words),
    }


def _searched_kinds(ws: Workspace) -> list[str]:
    return [*ws.kinds, PAGE_KIND]


def _pages(ws: Workspace) -> list[Page]:
    with ws.store.reading("graph") as db:
        return all_pages(db)


def _line_text(ws: Workspace, path: str, number: int) -> str:
    lines = read_page(ws, path).body.split("\n")
    if 0 < number <= len(lines):
        return redact_text(lines[number - 1].strip())
    return ""


def _pages_with_words(ws: Workspace, db: Database, names: Sequence[str]) -> set[str] | None:
    """Return the pages with a rare word of these names; None where all are too common to narrow the
    search.
    """
    paths: set[str] = set()
    for name in names:
        hits = index.search(db, [name], _MAX_HITS, _searched_kinds(ws))
        if len(hits) == _MAX_HITS or not name.isascii():
            return None
        paths.update(hit.path for hit in hits)
    return paths


def _first_mention(ws: Workspace, path: str, mention: re.Pattern[str]) -> int:
    """Return the first line of a page that matches, outside code, comments and links; 0: none."""
    page = read_page(ws, path)
    text = blank_code(page.body)
    for link in page.links:
        text = text.replace(f"[[{link.target}", " " * (len(link.target) + 2))
    match = mention.search(text)
    if not match:
        return 0
    return text.count("\n", 0, match.start()) + 1


def _significant_words(ws: Workspace, page: Page) -> list[str]:
    """Return the words of a page's title, then the frequent ones of its text."""
    counted = Counter(
        word.lower() for word in re.findall(r"[^\W\d_][\w-]{3,40}", read_page(ws, page.path).body)
    )
    frequent = [
        word for word, _ in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:40]
    ]
    return [*re.findall(r"\w+", page.title), *frequent]


def _lines_with_words(ws: Workspace, words: Sequence[str]) -> Iterator[set[tuple[str, int]]]:
    """Yield for each word the (path, line) of the records and sections with it, in any
    inflection.
    """
    with ws.store.reading("graph") as db:
        for word in index.query_words(words):
            if db is None:
                return
            yield {
                (hit.path, hit.line)
                for hit in index.search(db, [word], _MAX_HITS, _searched_kinds(ws))
            }


def _relative_lengths(ws: Workspace) -> dict[str, float]:
    """Return path → how much longer than the mean it is, 1 and more: a long page has every word."""
    kinds = _searched_kinds(ws)
    sql = (
        f"SELECT path, SUM(words) FROM documents WHERE kind IN ({placeholders(kinds)}) GROUP BY"
        " path"
    )
    sizes: dict[str, int] = dict(select_rows(ws, sql, tuple(kinds), "graph"))
    mean = max(1, sum(sizes.values()) / max(1, len(sizes)))
    return {path: max(1, 0.5 + 0.5 * size / mean) for path, size in sizes.items()}
