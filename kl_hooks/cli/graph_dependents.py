"""`kl graph dependents`: what depends on a thing, through others too."""

from __future__ import annotations

import click

from kl_hooks.cli.answered import asked, at_option, how, limit_option, say_answer, say_links, say_symbol
from kl_hooks.cli.common import format_option, note, say_json, say_line
from kl_hooks.code.asking.plain import plain_answer, plain_link, plain_symbol


@click.command(epilog="Example: kl graph dependents Basket --depth 2")
@click.argument("name")
@click.option(
    "--depth",
    type=click.IntRange(1, 10, clamp=True),
    default=3,
    show_default=True,
    help="Most links in between, 1 to 10.",
)
@click.option("--unresolved", is_flag=True, help="The uses of its name, or a part's, that may or may not mean it.")
@limit_option(200)
@at_option()
@format_option()
def dependents(name: str, depth: int, unresolved: bool, limit: int, rev: str | None, shape: str) -> None:
    """List what depends on NAME by calls, references, base classes and imports, through others too.

    Each thing once, at its nearest level, with one of the links that lead there. Who uses a method depends on its
    class, who uses anything in a module on the module. NAME as in `kl graph refs`.
    """
    from kl_hooks.code.asking.dependents import dependents as find

    with asked(rev, shape, records=False) as graph:
        found = find(graph, name, depth, limit)
    open_uses = found.answer.unresolved[:limit] if unresolved else ()
    if shape == "json":
        rows = [
            {"id": one.link.source, "level": one.level, "relation": one.link.relation, "link": plain_link(one.link)}
            for one in found.found
        ]
        head = {"schema": "kl.graph.dependents/1", "symbol": plain_symbol(found.symbol), "depth": depth}
        more = {"unresolved_uses": [plain_link(link) for link in open_uses]} if unresolved else {}
        say_json({**head, "dependents": rows, "total": found.total, **more, **plain_answer(found.answer)})
        return
    say_symbol(found.symbol)
    if unresolved:
        say_links(open_uses, of_name=True)
        return
    level = 0
    for one in found.found:
        if one.level != level:
            level = one.level
            say_line(f"level {level}")
        link = one.link
        say_line(f"  {link.source}  {link.relation} {link.target}  {link.path}:{link.line} ({how(link)})")
    if found.total > limit:
        note(f"{limit} of {found.total}; more with --limit {found.total}.")
    say_answer(found.answer, "Nothing depends on it.", f"kl graph dependents {name}", of=" of its name or a part's")
