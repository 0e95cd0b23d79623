"""`kl graph show`: one thing, on a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.answered import asked, at_option, how, say_answer
from kl_hooks.cli.common import counted, format_option, say_json, say_line, workspace
from kl_hooks.code.asking.plain import plain_page

if TYPE_CHECKING:
    from kl_hooks.model.symbol import Link

_FIRST = 8
_NOUNS = {
    "calls": "call", "references": "reference", "imports": "import",
    "inherits": "base class", "implements": "interface",
}  # fmt: skip


@click.command(epilog="Example: kl graph show Basket.total")
@click.argument("name")
@at_option()
@format_option()
def show(name: str, rev: str | None, shape: str) -> None:
    """Show what is known of NAME: signature, place, what it uses, what uses it, overrides it, tests it.

    NAME as in `kl graph refs`. The content hash changes with the code, not with comments, docstrings or layout.
    """
    from kl_hooks.code.asking.shown import show as find

    with asked(rev, shape) as graph:
        page = find(graph, name)
    layer = _layer(page.symbol.path)
    if shape == "json":
        say_json({"schema": "kl.graph.show/1", **plain_page(page), "layer": layer})
        return
    symbol = page.symbol
    say_line(f"{symbol.id}  {symbol.path}:{symbol.line}-{symbol.end_line}")
    for line in (*symbol.decorators, symbol.signature, symbol.doc):
        if line:
            say_line(f"    {line}")
    if symbol.content_hash:
        say_line(f"content hash   {symbol.content_hash}")
    if page.defined_by:
        say_line(f"defined by     {page.defined_by}")
    if layer:
        say_line(f"governed by    layer:{layer}")
    _say_ids("defines", page.defines)
    _say_ids("inherits", page.bases)
    _say_ids("inherited by", page.subclasses)
    _say_ids("overrides", page.overrides)
    _say_ids("overridden by", page.overridden_by)
    _say_links("uses", page.uses, "target")
    if page.unresolved:
        say_line(f"unresolved     {len(page.unresolved)}: {', '.join(_names(page.unresolved))}")
    _say_links("used by", page.used_by, "source")
    _say_ids("tests", page.tests)
    _say_links("written of it", page.written, "source")
    _say_links("says of", page.says, "target")
    say_answer(page.answer, "nothing", f"kl graph refs {name}", title=f"{'used by':<14} ")


def _layer(path: str) -> str:
    """The layer that governs a file, by the manifest on disk; empty where none does, or it can't be read."""
    from kl_hooks.arch.manifest import read_manifest
    from kl_hooks.arch.paths import owner
    from kl_hooks.config.files import read_small
    from kl_hooks.errors import KlError
    from kl_hooks.model.manifest import MANIFEST

    root = workspace().root
    try:
        text = read_small(root / MANIFEST, within=root)
        layer = owner(read_manifest(MANIFEST, text).layers)(path) if text is not None else None
    except KlError:  # `kl arch check` tells what is wrong with it
        return ""
    return layer.name if layer is not None else ""


def _say_ids(title: str, ids: Sequence[str]) -> None:
    if ids:
        say_line(f"{title:<14} {len(ids)}")
        for one in ids[:_FIRST]:
            say_line(f"    {one}")
        _say_more(len(ids))


def _say_links(title: str, links: Sequence[Link], end: str) -> None:
    from kl_hooks.code.asking.shown import counted_relations

    if not links:
        return
    nouns = _NOUNS | ({"inherits": "subclass", "implements": "implementation"} if end == "source" else {})
    numbers = counted_relations(links).items()
    said = (counted(number, nouns[name]) if name in nouns else f"{number} {name}" for name, number in numbers)
    say_line(f"{title:<14} {', '.join(said)}")
    inside = "in " if end == "source" else ""
    for link in links[:_FIRST]:
        say_line(f"    {link.relation} {inside}{getattr(link, end)}  {link.path}:{link.line} ({how(link)})")
    _say_more(len(links))


def _names(links: Sequence[Link]) -> list[str]:
    names = list(dict.fromkeys(link.target.removeprefix("name:") for link in links))
    return [*names[:_FIRST], "…"] if len(names) > _FIRST else names


def _say_more(number: int) -> None:
    if number > _FIRST:
        say_line(f"    … {number - _FIRST} more")
