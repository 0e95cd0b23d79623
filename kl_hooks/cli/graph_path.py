"""`kl graph path`: how one thing depends on another."""

from __future__ import annotations

import click

from kl_hooks.cli.answered import asked, at_option, how, say_answer
from kl_hooks.cli.common import counted, format_option, note, say_json, say_line
from kl_hooks.code.asking.plain import plain_way

_SHOWN = 5


@click.command(epilog="Example: kl graph path shop.web.show_page Basket")
@click.argument("start", metavar="FROM")
@click.argument("end", metavar="TO")
@at_option()
@format_option()
def path(start: str, end: str, rev: str | None, shape: str) -> None:
    """Show the shortest chain of links by which FROM depends on TO, with file and line for each.

    Records, pages, files and symbols are nodes of one graph: a chain may lead from a page over a decision to a file and
    to what the file defines. Where only TO leads to a record or page FROM, the chain from TO is shown, and it says so.

    Both as in `kl graph refs`. A chain may begin in a part of FROM and end in a part of TO. "No path." is said only
    where every file was read and no unresolved use on the way bears a name that could lead to TO.
    """
    from kl_hooks.code.asking.way import path as find

    with asked(rev, shape) as graph:
        found = find(graph, start, end)
    if shape == "json":
        say_json({"schema": "kl.graph.path/1", **plain_way(found)})
        return
    if not found.answer.found:
        say_answer(found.answer, "No path.", "", of=" on the way, of names that could lead there")
        for link in found.answer.unresolved[:_SHOWN]:
            say_line(f"  {link.path}:{link.line}  {link.source} {link.relation} {link.target.removeprefix('name:')}")
        return
    if found.reversed:
        note("nothing leads from FROM to TO; this is the chain from TO to FROM.")
    say_line(
        f"{found.start.id}  {found.start.path}:{found.start.line}  ({counted(found.length, 'link')} to {found.end.id})"
    )
    for step in found.steps:
        place = f"  {step.path}:{step.line} ({how(step)})" if step.line and step.method else ""
        say_line(f"  {step.relation} {step.target}{place}")
