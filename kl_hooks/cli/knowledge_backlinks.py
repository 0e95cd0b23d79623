"""`kl knowledge backlinks`: what leads to a page."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog="Example: kl knowledge backlinks docs/layers.md")
@click.argument("page", metavar="ID|FILE")
@click.option("--limit", default=200, show_default=True, type=click.IntRange(1, 1000), help="Most shown.")
@format_option()
def backlinks(page: str, limit: int, shape: str) -> None:
    """List the places that link to a page, with the line they say."""
    from kl_hooks.cli.page_places import say_places
    from kl_hooks.records.page_search import backlinks as ask
    from kl_hooks.records.page_search import get_page

    ws = workspace()
    found = get_page(ws, page)
    say_places(found, "backlinks", ask(ws, found), shape, "nothing links to it.", limit)
