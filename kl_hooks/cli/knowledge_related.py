"""`kl knowledge related`: pages that are similar to a page."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog="Example: kl knowledge related ADR-0007 --limit 5")
@click.argument("page", metavar="ID|FILE")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 50), help="Most shown.")
@click.option(
    "--least", type=click.IntRange(1, 100), default=25, show_default=True, metavar="PERCENT",
    help="Relevance threshold: less similar pages are omitted.",
)  # fmt: skip
@format_option()
def related(page: str, limit: int, least: int, shape: str) -> None:
    """List the pages most similar to a page by their words, with the similarity in percent.

    The line is that of the section that is most similar.
    """
    from kl_hooks.cli.page_places import say_places
    from kl_hooks.records.page_search import get_page
    from kl_hooks.records.page_search import related_pages as ask
    from kl_hooks.records.query import NO_LIMIT

    ws = workspace()
    found = get_page(ws, page)
    none = f"no page is at least {least} % similar."
    say_places(found, "related", ask(ws, found, NO_LIMIT, least), shape, none, limit)
