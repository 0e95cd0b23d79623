"""Documents as pages: a README, or what was added, found by name, with its links, and the documents
that link or name.

Pages of the docs folder and authored files are in the graph with their links
(`kl_hooks.records.page_search`). Other documents are known by their passages alone: what they link
to and name is read from these when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kl_hooks.documents.collections import REPOSITORY, added_texts
from kl_hooks.documents.indexing import (
    Chunk,
    indexed_documents,
    load_chunks,
    sync_documents,
    visible_documents,
)
from kl_hooks.records.markdown import blank_code
from kl_hooks.records.page_search import mention_of
from kl_hooks.records.pages import (
    Page,
    PageLine,
    PageNames,
    PageText,
    all_pages,
    find_file_links,
    find_wikilinks,
    read_page,
)

if TYPE_CHECKING:
    from kl_hooks.documents.indexing import Visibility
    from kl_hooks.workspace import Workspace


def document_pages(ws: Workspace, may: Visibility | None = None) -> list[Page]:
    """Return the documents that are no pages of the graph; `may`: what the caller may be shown."""
    sync_documents(ws)
    graph_documents = {page.path for page in _graph_pages(ws)}
    return [
        Page(
            document.document,
            f"file:{document.document}" if document.collection == REPOSITORY else document.document,
            "",
            document.title,
        )
        for document in indexed_documents(ws, visible_documents(ws, None, may))
        if document.document not in graph_documents
    ]


def document_text(ws: Workspace, page: Page) -> PageText:
    """Return the text of a document with its links: in Markdown, as a README without a suffix is.

    What was added has none to files: its folder is not here.
    """
    if page.node.startswith("file:"):
        body = read_page(ws, page.path).body
        files = tuple(find_file_links(page.path, body))
    else:
        body = "".join(one.text for one in added_texts(ws, [page.path], whole=True))
        files = ()
    marked = not page.path.endswith((".rst", ".txt"))
    return PageText(
        page.title, tuple(find_wikilinks(body)) if marked else (), body, files if marked else ()
    )


def add_linking_documents(
    ws: Workspace, page: Page, lines_of_pages: Sequence[PageLine], may: Visibility | None = None
) -> list[PageLine]:
    """Return `lines_of_pages`, and the lines with a link to a page that the graph does not have: of
    a README, of what was added.

    Where the page itself is no page of the graph, also [[links]] of pages, which lead nowhere
    there.
    """
    others = {one.path: one for one in document_pages(ws, may)}
    pages = _graph_pages(ws)
    names = PageNames(pages)
    documents = PageNames(others.values())
    sources = dict(others)
    if page.path in others:
        sources |= {one.path: one for one in pages}
    page_lines = list(lines_of_pages)
    for chunk in _passages_with(ws, ("[[", page.path.rpartition("/")[2])):
        if chunk.document not in sources or chunk.document == page.path:
            continue
        lines = chunk.text.split("\n")
        leads = [
            link.line
            for link in find_wikilinks(chunk.text)
            if [one.path for one in names.find(link.target) or documents.find(link.target)]
            == [page.path]
        ]
        if chunk.is_file and chunk.document in others:
            leads += [
                link.line
                for link in find_file_links(chunk.document, chunk.text)
                if link.target == page.path
            ]
        page_lines += [
            PageLine(sources[chunk.document], chunk.first_line + line - 1, lines[line - 1].strip())
            for line in sorted(leads)
        ]
    return page_lines


def add_naming_documents(
    ws: Workspace, page: Page, lines_of_pages: Sequence[PageLine], may: Visibility | None = None
) -> list[PageLine]:
    """Return `lines_of_pages`, and of each document that names the title or ID of a page, and has
    no link to it, the line.
    """
    mention = mention_of(page)
    if mention is None:
        return list(lines_of_pages)
    others = {one.path: one for one in document_pages(ws, may) if one.path != page.path}
    for line in add_linking_documents(ws, page, (), may):
        others.pop(line.page.path, None)
    page_lines = list(lines_of_pages)
    for chunk in _passages_with(
        ws, [max(name.split(), key=len) for name in (page.id, page.title) if name.strip()]
    ):
        text = blank_code(chunk.text)
        if chunk.document in others and (place := mention.search(text)):
            number = text.count("\n", 0, place.start())
            shown = chunk.text.split("\n")[number].strip()
            page_lines.append(
                PageLine(others.pop(chunk.document), chunk.first_line + number, shown)
            )
    return page_lines


def _graph_pages(ws: Workspace) -> list[Page]:
    with ws.store.reading("graph") as db:
        return all_pages(db)


def _passages_with(ws: Workspace, parts: Sequence[str]) -> Iterator[Chunk]:
    """Yield the passages that have any of these in their text, in any case of ASCII letters."""
    condition = " OR ".join(["text LIKE ? ESCAPE '!'"] * len(parts))
    asked = [f"%{part.replace('!', '!!').replace('%', '!%').replace('_', '!_')}%" for part in parts]
    with ws.store.reading("graph") as db:
        sql = f"SELECT id FROM document_chunks WHERE {condition} ORDER BY document, place"
        if db is not None and parts:
            rows = db.rows(sql, asked)
        else:
            rows = []
    yield from load_chunks(ws, [number for (number,) in rows])
