"""What people wrote about a thing: links of records and pages, which stand in the same graph as those of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.graph import links
from kl_hooks.index.index import called
from kl_hooks.model.ids import split
from kl_hooks.model.symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Link

METHODS: Final = ("record", "wikilink")
"""How such links were found."""


def about(graph: Graph, symbol: Symbol) -> list[Link]:
    """The links of records and pages to a thing; to its file and the folders above it, if it is a module or a file."""
    asked = [symbol.id]
    if split(symbol.id)[0] in ("namespace", "file"):
        parts = symbol.path.split("/")
        asked += [f"file:{'/'.join(parts[:count])}" for count in range(len(parts), 0, -1)]
    found = links.of_many(graph.db, list(dict.fromkeys(asked)), incoming=True)
    return [link for one in dict.fromkeys(asked) for link in found.get(one, ()) if link.method in METHODS]


def said_by(graph: Graph, symbol: Symbol) -> list[Link]:
    """The links that a record or a page says."""
    return [link for link in links.outgoing(graph.db, symbol.id) if link.method in METHODS]


def thing(graph: Graph, text: str) -> Symbol | None:
    """A thing that no source defines, but records or pages name: a record, a page, a file, a symbol to come."""
    name = text.removeprefix("adr:")
    for identifier in dict.fromkeys((f"adr:{name}", text, f"file:{text.strip('/')}")):
        out, into = links.outgoing(graph.db, identifier), links.incoming(graph.db, identifier)
        if identifier.startswith("adr:"):
            known = [hit for hit in called(graph.db, name) if hit.kind == "decision"]
        else:
            known = called(graph.db, identifier)
        if known or any(link.method in METHODS for link in (*out, *into)):
            prefix, rest = split(identifier)
            path = known[0].path if known else rest if prefix == "file" else _first(out)
            return Symbol(identifier, path, 1, 1, known[0].title if known else "", "", "")
    return None


def _first(found: Sequence[Link]) -> str:
    return found[0].path if found else ""
