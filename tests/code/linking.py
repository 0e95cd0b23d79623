"""Links of a repository, asked as a user does; for the tests of each language."""

from __future__ import annotations

from collections.abc import Mapping

from kl_hooks.code.query.lookup import resolve_text
from kl_hooks.code.query.session import open_graph, refresh_graph
from kl_hooks.graph import links
from kl_hooks.workspace import Workspace
from tests.code.making import workspace
from tests.git.repos import write


def uses(ws: Workspace, text: str) -> set[str]:
    """`source relation line method` of all that leads to a symbol, but what defines it."""
    with open_graph(ws) as graph:
        symbol = resolve_text(graph, text)
        return {
            f"{link.source.partition(':')[2]} {link.relation} {link.line} {link.method}"
            for link in links.incoming(graph.db, symbol.id)
            if link.relation != "defines"
        }


def imports(ws: Workspace, path: str) -> set[str]:
    """The modules that a file imports."""
    with open_graph(ws) as graph:
        return {
            link.target.partition(":")[2]
            for link in links.outgoing(graph.db, f"namespace:{path}")
            if link.relation == "imports" and link.target.startswith("namespace:")
        }


def all_links(ws: Workspace) -> set[tuple[str, ...]]:
    """All links after a refresh, as text."""
    refresh_graph(ws)
    with open_graph(ws) as graph:
        return {
            (link.source, link.relation, link.target, str(link.line), link.method)
            for link in links.every(graph.db)
        }


def rebuilt_links(ws: Workspace) -> set[tuple[str, ...]]:
    """All links of a graph that is built from nothing."""
    return all_links(workspace(ws.root, state="fresh"))


def links_before_and_after(
    ws: Workspace, texts_by_path: Mapping[str, str | None]
) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """All links before and after files got other texts; None removes a file."""
    before = all_links(ws)
    for path, text in texts_by_path.items():
        if text is None:
            (ws.root / path).unlink()
        else:
            write(ws.root, {path: text})
    return before, all_links(ws)
