"""`kl graph search`: symbols, records, pages and violations, by name, then by words."""

from __future__ import annotations

import click

from kl_hooks.cli.answered import asked, at_option, limit_option
from kl_hooks.cli.common import format_option, note, say_json, say_line, workspace
from kl_hooks.errors import UsageProblem
from kl_hooks.model.text import one_line

KINDS = (
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
)
"""Beside the kinds of records."""


@click.command(epilog="Example: kl graph search parse_header --kind function")
@click.argument("words", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND",
    help=f"Only these kinds: {', '.join(KINDS)}, or a kind of records (decision, memory …); may be repeated.",
)  # fmt: skip
@click.option("--file", default="", metavar="PATH", help="Only in this file, folder, or pattern (src/*.py).")
@limit_option(20)
@at_option()
@format_option()
def search(words: tuple[str, ...], kinds: tuple[str, ...], file: str, limit: int, rev: str | None, shape: str) -> None:
    """Find symbols, records, pages and violations by NAME.

    Symbols of that name in any case, style or inflection (baskets finds Basket) come first, then records, pages and
    violations with the words, then symbols whose name begins so, then those whose code or docstring has the words.

    A dotted NAME is the end of an owner and the beginning of a name (Basket.add finds shop.core.Basket.add_line), or a
    name as it is imported (shop.Basket, where shop/__init__.py takes it from shop.core).

    --kind violation finds what the last `kl arch check` of the working tree found, with its receipt.
    """
    from kl_hooks.code.asking.plain import plain_found
    from kl_hooks.code.asking.search import find_all

    known = (*KINDS, *workspace().kinds)
    if wrong := [kind for kind in kinds if kind not in known]:
        raise UsageProblem(f"no such kind: {one_line(wrong[0], 60)}.", place="--kind", hint=f"Use: {', '.join(known)}")
    with asked(rev, shape) as graph:
        hits, more = find_all(graph, words, kinds, file, limit)
    if shape == "json":
        rows = [plain_found(hit) for hit in hits]
        say_json({"schema": "kl.graph.search/1", "hits": rows, "more": more})
        return
    for hit in hits:
        say_line(hit.id)
        say_line(f"    {hit.path}:{hit.line} {hit.signature}")
    if more:
        note(f"these are the first {limit}; more with --limit.")
    if not hits:
        note(f"no matches for: {one_line(' '.join(words))}")
