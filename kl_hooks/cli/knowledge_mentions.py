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
    from kl_hooks.records.page_search import get_page
    from kl_hooks.records.page_search import unlinked_mentions as ask
    from kl_hooks.records.query import NO_LIMIT

    ws = workspace()
    found = get_page(ws, page)
    say_places(found, "mentions", ask(ws, found, NO_LIMIT), shape, "nobody speaks of it without a link.", limit)
