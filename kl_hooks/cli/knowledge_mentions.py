"""`kl knowledge mentions`: who speaks of a page without a link."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog="Example: kl knowledge mentions ADR-0007")
@click.argument("page", metavar="ID|FILE")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Most shown.")
@format_option()
def mentions(page: str, limit: int, shape: str) -> None:
    """List the pages that say the title or id of a page and do not link to it; the one changed last first."""
    from kl_hooks.cli.page_places import say_places
    from kl_hooks.records.ask import EVERYTHING
    from kl_hooks.records.linked import mentions as ask
    from kl_hooks.records.linked import page_of

    ws = workspace()
    found = page_of(ws, page)
    say_places(found, "mentions", ask(ws, found, EVERYTHING), shape, "nobody speaks of it without a link.", limit)
