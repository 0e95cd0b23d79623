"""`kl graph refs`: everything that uses a thing."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.answered import asked, at_option, limit_option, say_answer, say_links, say_symbol
from kl_hooks.cli.common import format_option, note, say_json
from kl_hooks.code.asking.plain import plain_answer, plain_link, plain_symbol

if TYPE_CHECKING:
    from kl_hooks.code.asking.inbound import Inbound
    from kl_hooks.model.symbol import Link


@click.command(epilog="Example: kl graph refs Basket.total")
@click.argument("name")
@click.option("--unresolved", is_flag=True, help="The uses of that name of which nobody can say what they mean.")
@limit_option(200)
@at_option()
@format_option()
def refs(name: str, unresolved: bool, limit: int, rev: str | None, shape: str) -> None:
    """List what uses NAME: calls, references, base classes and imports, by file and line.

    NAME is an Id (method:pkg.mod.C.m), a dotted name or its end (C.m), a file (pkg/mod.py) or a place in one
    (pkg/mod.py:12). Each link says how it was found, and with what confidence.
    """
    from kl_hooks.code.asking.inbound import refs as find

    with asked(rev, shape) as graph:
        found = find(graph, name)
    tell(found, name, unresolved, limit, shape, "refs", "No references.")


def tell(found: Inbound, name: str, unresolved: bool, limit: int, shape: str, verb: str, none: str) -> None:
    """The answer of `refs` and `callers`; with `unresolved` what could not be told instead."""
    links = found.answer.unresolved if unresolved else found.links
    shown = links[:limit]
    if shape == "json":
        rows = {"unresolved_uses" if unresolved else verb: grouped(shown), "total": len(links)}
        head = {"schema": f"kl.graph.{verb}/1", "symbol": plain_symbol(found.symbol)}
        say_json({**head, **rows, **plain_answer(found.answer)})
        return
    say_symbol(found.symbol)
    say_links(shown)
    if len(links) > limit:
        note(f"{limit} of {len(links)}; more with --limit {len(links)}.")
    if not unresolved:
        say_answer(found.answer, none, f"kl graph {verb} {name}", calls=verb == "callers")
    elif not links:
        note("no unresolved use of that name.")


def grouped(links: tuple[Link, ...]) -> list[dict[str, Any]]:
    """Links by the place that says them, in the order given."""
    places = groupby(links, key=lambda link: (link.path, link.line))
    return [
        {"path": path, "line": line, "links": [_short(plain_link(link)) for link in some]}
        for (path, line), some in places
    ]


def _short(link: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in link.items() if key not in ("path", "line")}
