"""Operations of pages: where one leads, what leads to it, who names it, what is similar to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.records.sync import sync_notes

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.records.pages import Page, PageLine, PageLink
    from kl_hooks.workspace import Workspace

_PAGE: Final = Parameter(
    "A page: the ID of a record, or the path, title or slug of a file of documents.",
    argument="ID|FILE",
    aliases=("id", "path"),
)


class PageRequest(NamedTuple):
    """One page."""

    page: Annotated[str, _PAGE]


class PageLinks(NamedTuple):
    """The links of a page."""

    page: Page
    links: tuple[PageLink, ...]
    notes: tuple[str, ...]


class LinesRequest(NamedTuple):
    """Lines about which page."""

    page: Annotated[str, _PAGE]
    limit: Annotated[int, TOP._replace(bounds=(1, 1000))] = 50


class RelatedRequest(NamedTuple):
    """Pages similar to which one."""

    page: Annotated[str, _PAGE]
    limit: Annotated[int, TOP._replace(bounds=(1, 50))] = 10
    least: Annotated[
        int,
        Parameter(
            "Relevance threshold in percent: less similar pages are omitted.",
            bounds=(1, 100),
            metavar="PERCENT",
            is_default_shown=True,
        ),
    ] = 25


class PageLines(NamedTuple):
    """Lines of other pages about one."""

    page: Page
    lines: Listing
    """Of `PageLine`."""
    notes: tuple[str, ...]
    """What is wrong in files, or could not take part."""


def _links(ws: Workspace, request: PageRequest, access: Access) -> PageLinks:
    from kl_hooks.documents.pages import document_pages, document_text
    from kl_hooks.records.page_search import get_page, outgoing_links

    documents = document_pages(ws, access)
    page = get_page(ws, request.page, lambda: documents)
    if page in documents:
        text = document_text(ws, page)
    else:
        text = None
    links = outgoing_links(ws, page, text, documents)
    return PageLinks(page, tuple(links), sync_notes(ws))


def _links_to_dict(leads: PageLinks) -> dict[str, Any]:
    from kl_hooks.records.page_search import page_to_dict

    return {"page": page_to_dict(leads.page), "links": [link._asdict() for link in leads.links]}


LINKS: Final = Operation(
    "knowledge links",
    """List the links of a page, broken ones too: [[wikilinks]], and Markdown links to files of the
    repository.

    A page is an authored file, a Markdown or reStructuredText file of the docs folder, or any other
    document, such as a README or an added one.
    """,
    PageRequest,
    _links,
    _links_to_dict,
    "kl.knowledge.links/1",
    "kl knowledge links ADR-0007",
    is_tool=False,
    progress="Reading records and pages",
)


def _backlinks(ws: Workspace, request: LinesRequest, access: Access) -> PageLines:
    from kl_hooks.documents.pages import add_linking_documents
    from kl_hooks.records.page_search import backlinks

    page = _page(ws, request.page, access)
    return _lines(ws, request, page, add_linking_documents(ws, page, backlinks(ws, page), access))


def _mentions(ws: Workspace, request: LinesRequest, access: Access) -> PageLines:
    from kl_hooks.documents.pages import add_naming_documents
    from kl_hooks.records.page_search import unlinked_mentions
    from kl_hooks.records.query import NO_LIMIT

    page = _page(ws, request.page, access)
    mentions = unlinked_mentions(ws, page, NO_LIMIT)
    return _lines(ws, request, page, add_naming_documents(ws, page, mentions, access))


def _related(ws: Workspace, request: RelatedRequest, access: Access) -> PageLines:
    from kl_hooks.documents.meaning import add_pages_near
    from kl_hooks.records.page_search import related_pages
    from kl_hooks.records.query import NO_LIMIT

    page = _page(ws, request.page, access)
    by_words = related_pages(ws, page, NO_LIMIT, request.least)
    lines, note = add_pages_near(ws, page, by_words, request.least, access)
    return _lines(ws, request, page, lines, note)


def _page(ws: Workspace, name: str, access: Access) -> Page:
    from kl_hooks.documents.pages import document_pages
    from kl_hooks.records.page_search import get_page

    return get_page(ws, name, lambda: document_pages(ws, access))


def _lines(
    ws: Workspace,
    request: LinesRequest | RelatedRequest,
    page: Page,
    lines: Sequence[PageLine],
    note: str = "",
) -> PageLines:
    notes = (*sync_notes(ws), *((note,) if note else ()))
    return PageLines(page, Listing(tuple(lines), request.limit), notes)


def _lines_to_dict(key: str) -> Callable[[PageLines], dict[str, Any]]:
    def to_dict(page_lines: PageLines) -> dict[str, Any]:
        from kl_hooks.records.page_search import page_line_to_dict, page_to_dict

        return {
            "page": page_to_dict(page_lines.page),
            key: [page_line_to_dict(line) for line in page_lines.lines.shown],
            "total": page_lines.lines.total,
        }

    return to_dict


BACKLINKS: Final = Operation(
    "knowledge backlinks",
    "List the places that link to a page, with their line: of pages, and of other documents, "
    "such as a README.",
    LinesRequest,
    _backlinks,
    _lines_to_dict("backlinks"),
    "kl.knowledge.backlinks/1",
    "kl knowledge backlinks docs/layers.md",
    progress="Reading records and pages",
)
MENTIONS: Final = Operation(
    "knowledge mentions",
    """List the pages that name the title or ID of a page and do not link to it; the one changed
    last first.

    Other documents, such as a README, come after pages.
    """,
    LinesRequest,
    _mentions,
    _lines_to_dict("mentions"),
    "kl.knowledge.mentions/1",
    "kl knowledge mentions ADR-0007",
    progress="Reading records and pages",
)
RELATED: Final = Operation(
    "knowledge related",
    """List the pages most similar to a page, with the similarity in percent.

    By their words, and by their meaning where an embedder is installed: the greater of both. The
    line is that of the section that is most similar.
    """,
    RelatedRequest,
    _related,
    _lines_to_dict("related"),
    "kl.knowledge.related/1",
    "kl knowledge related ADR-0007 --top 5",
    progress="Reading records and pages",
)

OPERATIONS: Final = (LINKS, BACKLINKS, MENTIONS, RELATED)
