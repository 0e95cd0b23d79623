"""Tools that search: the graph (search, refs, callers, dependents, path, neighbors, symbols) and
documents.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
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
from kl_hooks.tools.kind_tools import author, to_dict
from kl_hooks.tools.tool import Arguments, Tool, line, number, several
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.workspace import Workspace


_DEEPEST: Final = 10


_NAME: Final = (
    "An Id (method:pkg.mod.C.m), a dotted name or its end (C.m), a file, or a place in one"
    " (a.py:12)."
)


def graph_tools(records: Sequence[str] = ()) -> Iterator[Tool]:
    """All of them. `records`: the kinds of records that there are."""
    kinds = [
        "namespace",
        "type",
        "interface",
        "function",
        "method",
        "property",
        "field",
        "test",
        "file",
        "violation",
        "page",
        *records,
    ]
    id_ = {"id": line(_NAME)}
    depth = {
        "type": "integer",
        "description": "Most links in between, 1 to 10; clamped.",
        "default": 3,
    }
    limit = {"limit": number("Most that are given.", 50, 1, 500)}
    yield Tool(
        "graph_search",
        "Find symbols, files, records, pages and violations by name or words.",
        {
            "query": line("A name, its beginning, or words."),
            "kind": line("A kind.", enum=kinds),
            "file": line("Only in this file, folder, or pattern (src/*.py)."),
            **limit,
        },
        _search_graph,
        ("query",),
        also={"name": "query", "type": "kind"},
    )
    yield Tool(
        "graph_refs",
        "References: calls, references, base classes and imports, by file and line.",
        {**id_, **limit},
        lambda ws, given: _inbound(ws, given, "refs"),
        ("id",),
        also={"name": "id"},
    )
    yield Tool(
        "graph_callers",
        "Callers, by file and line.",
        {**id_, **limit},
        lambda ws, given: _inbound(ws, given, "callers"),
        ("id",),
        also={"name": "id"},
    )
    yield Tool(
        "graph_dependents",
        "What depends on it, through others too: each once, with its level and relation.",
        {**id_, "depth": depth, **limit},
        _dependents,
        ("id",),
        also={"name": "id"},
    )
    yield Tool(
        "graph_path",
        "The shortest chain of links from one to another: page, record, file, symbol.",
        {"from": line(_NAME), "to": line(_NAME)},
        _path,
        ("from", "to"),
        also={"start": "from", "end": "to"},
    )
    yield Tool(
        "graph_neighbors",
        "What is linked with it in either direction: code, records, passages of documents.",
        {
            **id_,
            "depth": number("Most links in between.", 1, 1, 5),
            "relation": line("Only this relation, such as calls or mentions."),
            **limit,
        },
        _neighbors,
        ("id",),
        also={"name": "id"},
    )
    yield Tool(
        "graph_show",
        "One symbol, record or page: what it uses, what uses it, and what was written about it.",
        id_,
        _show,
        ("id",),
        also={"name": "id"},
    )
    yield Tool(
        "symbols",
        "What a file defines, as a tree: kind, line, signature.",
        {"path": line("A file, or a module.")},
        _symbols,
        ("path",),
        also={"file": "path"},
    )


@contextmanager
def _opened(ws: Workspace) -> Iterator[Graph]:
    """The graph with the records and pages in it, as they are now."""
    from kl_hooks.code.query.session import open_graph
    from kl_hooks.records.sync import sync

    sync(ws)
    with open_graph(ws) as graph:
        yield graph


def _search_graph(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.search import find_all
    from kl_hooks.code.query.serialize import found_to_dict
    from kl_hooks.records.liveness import LiveRecords

    kinds = (given["kind"],) if given.get("kind") else ()
    with _opened(ws) as graph:
        hits, more = find_all(
            graph,
            given["query"].split(),
            kinds,
            given.get("file", ""),
            given["limit"],
            LiveRecords(ws),
        )
    return {"hits": [found_to_dict(hit) for hit in hits], "more": more}


def _path(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.dependents import dependency_path
    from kl_hooks.code.query.serialize import path_to_dict
    from kl_hooks.documents.neighborhood import mentioned

    with access(ws, "graph path", author(ws)) as may, _opened(ws) as graph:
        way = dependency_path(graph, given["from"], given["to"], mentioned(ws, graph.db, may))
    ends = {"from": _node_to_dict(ws, way.start), "to": _node_to_dict(ws, way.end)}
    return path_to_dict(way) | ends


def _node_to_dict(ws: Workspace, node: Symbol) -> dict[str, Any]:
    """A symbol, or a record that somebody asked for by its ID: labelled where it is quarantined."""
    from kl_hooks.code.query.serialize import symbol_to_dict
    from kl_hooks.records.liveness import LiveRecords

    mark = LiveRecords(ws).mark(node.id)
    return symbol_to_dict(node) | ({"mark": mark} if mark else {})


def _neighbors(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.serialize import link_to_dict
    from kl_hooks.documents.neighborhood import neighbors

    relations = (given["relation"],) if given.get("relation") else ()
    with access(ws, "neighbors", author(ws)) as may, _opened(ws) as graph:
        start, found, cut = neighbors(ws, graph, given["id"], given["depth"], relations, may)
    rows = [
        {"level": level, "id": node, **link_to_dict(link)}
        for level, node, link in found[: given["limit"]]
    ]
    return {"id": start, "neighbors": rows, "total": len(found), "cut": cut}


def _show(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.references import symbol_page
    from kl_hooks.code.query.serialize import link_to_dict, page_to_dict
    from kl_hooks.documents.neighborhood import mentioning
    from kl_hooks.records.liveness import LiveRecords

    with access(ws, "graph show", author(ws)) as may, _opened(ws) as graph:
        page = symbol_page(graph, given["id"])
        page = replace(page, written=LiveRecords(ws).links(page.written))
        mentions = [link_to_dict(one) for one in mentioning(ws, graph.db, page.symbol.id, may)]
        mark = LiveRecords(ws).mark(page.symbol.id)
    return {**page_to_dict(page), "mentioned_in": mentions, **({"mark": mark} if mark else {})}


def _inbound(ws: Workspace, given: Arguments, verb: str) -> Any:
    from kl_hooks.code.query import references
    from kl_hooks.code.query.serialize import answer_to_dict, link_to_dict

    with _opened(ws) as graph:
        ask = references.callers if verb == "callers" else references.references
        found = ask(graph, given["id"])
    links = [link_to_dict(link) for link in found.links[: given["limit"]]]
    return {
        "symbol": _node_to_dict(ws, found.symbol),
        verb: links,
        "total": len(found.links),
        **answer_to_dict(found.answer),
    }


def _dependents(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.dependents import dependents
    from kl_hooks.code.query.serialize import answer_to_dict

    with _opened(ws) as graph:
        found = dependents(
            graph, given["id"], min(max(given["depth"], 1), _DEEPEST), given["limit"]
        )
    rows = [
        {
            "id": d.link.source,
            "level": d.level,
            "relation": d.link.relation,
            "path": d.link.path,
            "line": d.link.line,
        }
        for d in found.found
    ]
    return {
        "symbol": _node_to_dict(ws, found.symbol),
        "dependents": rows,
        "total": found.total,
        **answer_to_dict(found.answer),
    }


def _symbols(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.lookup import file_symbols
    from kl_hooks.code.query.serialize import symbol_to_dict

    with _opened(ws) as graph:
        path, found, problem = file_symbols(graph, given["path"])
    rows = [{**symbol_to_dict(symbol), "depth": depth} for depth, symbol in found]
    return {"path": path, "symbols": rows, "problem": problem}


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
