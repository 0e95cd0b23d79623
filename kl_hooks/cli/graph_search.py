"""`kl graph search`: symbols by name, then by words."""

from __future__ import annotations

import click

from kl_hooks.cli.answered import asked, at_option, limit_option
from kl_hooks.cli.common import format_option, note, say_json, say_line
from kl_hooks.model.text import one_line

KINDS = ("namespace", "type", "interface", "function", "method", "property", "field", "test", "file", "violation")


@click.command(epilog="Example: kl graph search parse_header --kind function")
@click.argument("words", nargs=-1, required=True, metavar="NAME...")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only such things; may be repeated.")
@click.option("--file", default="", metavar="PATH", help="Only in this file, folder, or pattern (src/*.py).")
@limit_option(20)
@at_option()
@format_option()
def search(words: tuple[str, ...], kinds: tuple[str, ...], file: str, limit: int, rev: str | None, shape: str) -> None:
    """Find symbols by NAME: those called so, those whose name begins so, then those whose code or docstring says it.

    A dotted NAME is the end of an owner and the beginning of a name: Basket.add finds shop.core.Basket.add_line.

    --kind violation finds what the last `kl arch check` of the work tree found, with its receipt.
    """
    from kl_hooks.code.asking.search import find_all

    with asked(rev, shape) as graph:
        hits, more = find_all(graph, words, kinds, file, limit)
    if shape == "json":
        rows = [{"id": h.id, "path": h.path, "line": h.line, "signature": h.signature, "by": h.by} for h in hits]
        say_json({"schema": "kl.graph.search/1", "hits": rows, "more": more})
        return
    for hit in hits:
        say_line(hit.id)
        say_line(f"    {hit.path}:{hit.line} {hit.signature}")
    if more:
        note(f"these are the first {limit}; more with --limit.")
    if not hits:
        note(f"nothing bears any of: {one_line(' '.join(words))}")
