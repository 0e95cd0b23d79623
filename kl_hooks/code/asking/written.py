"""What people wrote about a thing: links of records and pages, which stand in the same graph as those of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.graph import links
from kl_hooks.index.index import called
from kl_hooks.model.symbol import RECORD_ID, Symbol, split_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Link

METHODS: Final = ("record", "wikilink", "markdown link", "check")
"""How such links were found."""
_PAGES: Final = (".md", ".rst")


def about(graph: Graph, symbol: Symbol, *, whole: bool = False) -> list[Link]:
    """The links of records, pages and violations to a thing; to its file and the folders above it, if it is a module or
    a file. `whole`: for what is defined in a file too, as a decision that governs the file governs it.
    """
    asked = [symbol.id]
    if whole or split_id(symbol.id)[0] in ("namespace", "file"):
        parts = symbol.path.split("/")
        asked += [f"file:{'/'.join(parts[:count])}" for count in range(len(parts), 0, -1)]
    found = links.of_many(graph.db, list(dict.fromkeys(asked)), incoming=True)
    links_ = [link for one in dict.fromkeys(asked) for link in found.get(one, ()) if link.method in METHODS]
    return [placed(graph, link) for link in links_]


def placed(graph: Graph, link: Link) -> Link:
    """A violation is said by no file: its place is the import."""
    known = called(graph.db, link.source) if link.method == "check" else ()
    return link._replace(path=known[0].path, line=known[0].line) if known else link


def said_by(graph: Graph, symbol: Symbol) -> list[Link]:
    """The links that a record or a page says."""
    return [placed(graph, link) for link in links.outgoing(graph.db, symbol.id) if link.method in METHODS]


def thing(graph: Graph, text: str) -> Symbol | None:
    """A thing that no source defines, but records or pages name: a record, a page, a file, a symbol to come."""
    name = text.removeprefix("adr:")
    if RECORD_ID.fullmatch(name.upper()):
        text = name = name.upper()
    for identifier in dict.fromkeys((f"adr:{name}", text, f"file:{text.strip('/')}", *_pages(graph, text))):
        out, into = links.outgoing(graph.db, identifier), links.incoming(graph.db, identifier)
        if identifier.startswith("adr:"):
            known = [hit for hit in called(graph.db, name) if hit.kind == "decision"]
        else:
            known = called(graph.db, identifier)
        if known or any(link.method in METHODS for link in (*out, *into)):
            prefix, rest = split_id(identifier)
            path = known[0].path if known else rest if prefix == "file" else _first(out)
            line = max(known[0].line, 1) if known else 1
            return Symbol(identifier, path, line, line, known[0].title if known else "", "", "")
    return None


def _pages(graph: Graph, text: str) -> list[str]:
    """The Id of the only page whose path ends so: `bound-loggers.md`, `bound-loggers.md#context`."""
    path, mark, anchor = text.removeprefix("file:").partition("#")
    if not path.endswith(_PAGES):
        return []
    sql = "SELECT DISTINCT path FROM documents WHERE kind = 'page' AND substr(path, -?) = ?"
    found = [row[0] for row in graph.db.rows(sql, (len(path) + 1, f"/{path}"))]
    return [f"file:{one}{mark}{anchor}" for one in found] if len(found) == 1 else []


def _first(found: Sequence[Link]) -> str:
    return found[0].path if found else ""
