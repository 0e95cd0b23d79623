"""Tools of the graph: search, refs, callers, dependents, path, neighbors, show, symbols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.context.access import access
from kl_hooks.tools.kind_tools import author
from kl_hooks.tools.tool import Arguments, Tool, line, number

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.workspace import Workspace


_NAME: Final = "An Id (method:pkg.mod.C.m), a dotted name or its end (C.m), a file, or a place in one (a.py:12)."


def tools(records: Sequence[str] = ()) -> Iterator[Tool]:
    """All of them. `records`: the kinds of records that there are."""
    kinds = ["namespace", "type", "interface", "function", "method", "property", "field", "test", "file", "violation",
             "page", *records]  # fmt: skip
    id_ = {"id": line(_NAME)}
    depth = {"type": "integer", "description": "Most links in between, 1 to 10; clamped.", "default": 3}
    limit = {"limit": number("Most that are given.", 50, 1, 500)}
    yield Tool(
        "graph_search", "Find symbols, files, records, pages and violations by name or words.",
        {
            "query": line("A name, its beginning, or words."), "kind": line("A kind.", enum=kinds),
            "file": line("Only in this file, folder, or pattern (src/*.py)."), **limit,
        },
        _search, ("query",), also={"name": "query", "type": "kind"},
    )  # fmt: skip
    yield Tool(
        "graph_refs", "References: calls, references, base classes and imports, by file and line.",
        {**id_, **limit}, lambda ws, given: _inbound(ws, given, "refs"), ("id",), also={"name": "id"},
    )  # fmt: skip
    yield Tool(
        "graph_callers", "Callers, by file and line.", {**id_, **limit},
        lambda ws, given: _inbound(ws, given, "callers"), ("id",), also={"name": "id"},
    )  # fmt: skip
    yield Tool(
        "graph_dependents", "What depends on it, through others too: each once, with its level and relation.",
        {**id_, "depth": depth, **limit}, _dependents, ("id",),
        also={"name": "id"},
    )  # fmt: skip
    yield Tool(
        "graph_path", "The shortest chain of links from one to another: page, record, file, symbol.",
        {"from": line(_NAME), "to": line(_NAME)}, _path, ("from", "to"), also={"start": "from", "end": "to"},
    )  # fmt: skip
    yield Tool(
        "graph_neighbors", "What is linked with it in either direction: code, records, passages of documents.",
        {
            **id_, "depth": number("Most links in between.", 1, 1, 5),
            "relation": line("Only this relation, such as calls or mentions."), **limit,
        },
        _neighbors, ("id",), also={"name": "id"},
    )  # fmt: skip
    yield Tool(
        "graph_show", "One symbol, record or page: what it uses, what uses it, and what was written about it.", id_,
        _show, ("id",), also={"name": "id"},
    )  # fmt: skip
    yield Tool(
        "symbols", "What a file defines, as a tree: kind, line, signature.",
        {"path": line("A file, or a module.")}, _symbols, ("path",), also={"file": "path"},
    )  # fmt: skip


@contextmanager
def _opened(ws: Workspace) -> Iterator[Graph]:
    """The graph with the records and pages in it, as they are now."""
    from kl_hooks.code.query.session import open_graph
    from kl_hooks.records.sync import sync

    sync(ws)
    with open_graph(ws) as graph:
        yield graph


def _search(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.search import find_all
    from kl_hooks.code.query.serialize import found_to_dict

    kinds = (given["kind"],) if given.get("kind") else ()
    with _opened(ws) as graph:
        hits, more = find_all(graph, given["query"].split(), kinds, given.get("file", ""), given["limit"])
    return {"hits": [found_to_dict(hit) for hit in hits], "more": more}


def _path(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.dependents import dependency_path
    from kl_hooks.code.query.serialize import path_to_dict
    from kl_hooks.documents.neighborhood import mentioned

    with access(ws, "graph path", author(ws)) as may, _opened(ws) as graph:
        return path_to_dict(dependency_path(graph, given["from"], given["to"], mentioned(ws, graph.db, may)))


def _neighbors(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.serialize import link_to_dict
    from kl_hooks.documents.neighborhood import neighbors

    relations = (given["relation"],) if given.get("relation") else ()
    with access(ws, "neighbors", author(ws)) as may, _opened(ws) as graph:
        start, found, cut = neighbors(ws, graph, given["id"], given["depth"], relations, may)
    rows = [{"level": level, "id": node, **link_to_dict(link)} for level, node, link in found[: given["limit"]]]
    return {"id": start, "neighbors": rows, "total": len(found), "cut": cut}


def _show(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.references import symbol_page
    from kl_hooks.code.query.serialize import link_to_dict, page_to_dict
    from kl_hooks.documents.neighborhood import mentioning

    with access(ws, "graph show", author(ws)) as may, _opened(ws) as graph:
        page = symbol_page(graph, given["id"])
        mentions = [link_to_dict(one) for one in mentioning(ws, graph.db, page.symbol.id, may)]
    return {**page_to_dict(page), "mentioned_in": mentions}


def _inbound(ws: Workspace, given: Arguments, verb: str) -> Any:
    from kl_hooks.code.query import references
    from kl_hooks.code.query.serialize import answer_to_dict, link_to_dict, symbol_to_dict

    with _opened(ws) as graph:
        ask = references.callers if verb == "callers" else references.references
        found = ask(graph, given["id"])
    links = [link_to_dict(link) for link in found.links[: given["limit"]]]
    return {
        "symbol": symbol_to_dict(found.symbol),
        verb: links,
        "total": len(found.links),
        **answer_to_dict(found.answer),
    }


def _dependents(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.code.query.dependents import DEEPEST, dependents
    from kl_hooks.code.query.serialize import answer_to_dict, symbol_to_dict

    with _opened(ws) as graph:
        found = dependents(graph, given["id"], min(max(given["depth"], 1), DEEPEST), given["limit"])
    rows = [
        {"id": d.link.source, "level": d.level, "relation": d.link.relation, "path": d.link.path, "line": d.link.line}
        for d in found.found
    ]
    return {
        "symbol": symbol_to_dict(found.symbol),
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
