"""Tools that search and make collections of documents."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.settings import CHUNK_SIZES, STRATEGIES
from kl_hooks.context.access import access
from kl_hooks.context.package_log import record_search
from kl_hooks.documents.adding import KIND, NewDocument, add_documents, process_documents
from kl_hooks.documents.collections import collections, store_collection
from kl_hooks.documents.rounds import MOST_ROUNDS, answer_to_dict, search_in_rounds
from kl_hooks.documents.search import (
    KINDS,
    MODES,
    MOST,
    communities_to_dict,
    result_to_dict,
    search,
)
from kl_hooks.errors import UsageProblem
from kl_hooks.records.query import get_record
from kl_hooks.tools.kind_tools import to_dict
from kl_hooks.tools.tool import Arguments, Tool, author, line, number, several
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_QUERY: Final = "Words, or a question."


def document_tools() -> Iterator[Tool]:
    """All of them. `document_create`, which follows from the kind, would make a document without a
    text.
    """
    some = {"query": line(_QUERY), "collections": several("Only documents of these collections.")}
    yield Tool(
        "search_documents",
        "Find passages of documents, best first, each with its file, line and headings.",
        {**some, "limit": number("Most that are given.", 10, 1, MOST)},
        lambda ws, given: _search_documents(ws, given, KINDS[:1], given["limit"]),
        ("query",),
        also={"knowledge_base_ids": "collections", "top_k": "limit"},
    )
    more = {
        "mode": line("How to search.", enum=list(MODES)),
        "top_k": number("Most that are given.", 10, 1, MOST),
        "rounds": number(
            "Search again for words not found, and quote the best passages.", 0, 0, MOST_ROUNDS
        ),
    }
    yield Tool(
        "query_knowledge_base",
        "One ranked list over documents, records in force and code.",
        {**some, **more},
        lambda ws, given: _search_documents(ws, given, (), given["top_k"]),
        ("query",),
        also={"knowledge_base_ids": "collections"},
    )
    yield Tool(
        "create_knowledge_base",
        "Make a collection of documents, with the way they are cut.",
        {
            "name": line("Its name, such as runbooks."),
            "strategy": line("How documents are cut.", enum=list(STRATEGIES)),
            "chunk_size": number("Characters of a passage.", CHUNK_SIZES[2], *CHUNK_SIZES[:2]),
            "chunk_overlap": number("Characters that passages repeat.", 0, 0, CHUNK_SIZES[1] // 2),
        },
        _create,
        ("name",),
        True,
        {"chunking_strategy": "strategy"},
    )
    new = {
        "text": line("Its text: Markdown."),
        "title": line("What it is called."),
        "collection": line("The set that it belongs to."),
        "source": line("Where it is from."),
    }
    for name in ("add_document", "document_create"):
        yield Tool(
            name,
            "Add a document and index it, in your name: what agents add is shown as theirs.",
            new,
            _add,
            ("text",),
            True,
            {"content": "text", "knowledge_base_id": "collection"},
        )
    yield Tool(
        "process_document",
        "Index an added document again.",
        {"id": line("Its id, such as DOC-0001.")},
        _process,
        ("id",),
        True,
    )


def _search_documents(ws: Workspace, given: Arguments, kinds: tuple[str, ...], most: int) -> Any:
    # what is denied must not be counted either, so the search omits it, not the answer
    began, asked = (
        time.perf_counter(),
        (given["query"], given.get("mode") or MODES[0], given.get("collections") or ()),
    )
    more: dict[str, Any] = {}
    with access(ws, "search of documents", author(ws)) as may:
        if given.get("rounds"):
            answer = search_in_rounds(
                ws, *asked, most, rounds=given["rounds"], kinds=kinds, may=may
            )
            found, more = answer.found, answer_to_dict(answer)
        else:
            found = search(ws, *asked, most, kinds=kinds, may=may)
    record_search(ws, found, 1000 * (time.perf_counter() - began))
    more |= {"communities": communities_to_dict(found)} if found.communities else {}
    return {
        "results": [result_to_dict(one) for one in found.results],
        "total": found.total,
        "counts": dict(found.counts),
        "notes": list(found.notes),
        **more,
    }


def _create(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    name = given["name"]
    if name in collections(ws):
        raise UsageProblem(
            "is a collection already.",
            place=name,
            hint="A person changes it: kl document collections",
        )
    made = store_collection(
        ws,
        name,
        strategy=given.get("strategy") or "",
        size=given["chunk_size"],
        overlap=given["chunk_overlap"],
    )
    return {"name": made.name, **made.chunking._asdict(), "status": made.status}


def _add(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    name, title = given.get("source") or "-", given.get("title") or ""
    new = NewDocument(name, given["text"].encode("utf-8", "replace"), title, "api")
    (record,) = add_documents(ws, [new], given.get("collection") or "", by=author(ws))
    return to_dict(ws, process_documents(ws, [record.id])[0])


def _process(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    record = get_record(ws, given["id"], KIND)
    return to_dict(ws, process_documents(ws, [record.id])[0])
