"""`kl knowledge related`: pages that are like a page."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog="Example: kl knowledge related ADR-0007 --limit 5")
@click.argument("page", metavar="ID|FILE")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 50), help="Most shown.")
@format_option()
def related(page: str, limit: int, shape: str) -> None:
    """List the pages most like a page by their words, with how like they are in percent."""
    from kl_hooks.cli.page_places import say_places
    from kl_hooks.records.ask import EVERYTHING
    from kl_hooks.records.linked import page_of
    from kl_hooks.records.linked import related as ask

    ws = workspace()
    found = page_of(ws, page)
    say_places(found, "related", ask(ws, found, EVERYTHING), shape, "nothing is like it.", limit)
