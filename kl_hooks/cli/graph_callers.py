"""`kl graph callers`: what calls a thing."""

from __future__ import annotations

import click

from kl_hooks.cli.answered import asked, at_option, limit_option
from kl_hooks.cli.common import format_option
from kl_hooks.cli.graph_refs import tell


@click.command(epilog="Example: kl graph callers Basket.total")
@click.argument("name")
@click.option("--unresolved", is_flag=True, help="The uses of that name of which nobody can say what they mean.")
@limit_option(200)
@at_option()
@format_option()
def callers(name: str, unresolved: bool, limit: int, rev: str | None, shape: str) -> None:
    """List what calls NAME, by file and line; for a class also what calls its __init__.

    "No callers." is said only where every file was read and no unresolved use bears that name. NAME as in
    `kl graph refs`.
    """
    from kl_hooks.code.asking.inbound import callers as find

    with asked(rev, shape, records=False) as graph:
        found = find(graph, name)
    tell(found, name, unresolved, limit, shape, "callers", "No callers.")
