"""`kl knowledge links`: where a page leads."""

from __future__ import annotations

from dataclasses import asdict

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace


@click.command(epilog="Example: kl knowledge links ADR-0007")
@click.argument("page", metavar="ID|FILE")
@format_option()
def links(page: str, shape: str) -> None:
    """List the [[links]] that a page says, broken ones too. A page: an authored file, or one of the docs folder."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.records.linked import outgoing, page_of, plain

    ws = workspace()
    found = page_of(ws, page)
    leads = outgoing(ws, found)
    told()
    if shape == "json":
        say_json({"schema": "kl.knowledge.links/1", "page": plain(found), "links": [asdict(one) for one in leads]})
        return
    for one in leads:
        where = f"{one.node}  {one.title}".rstrip() if one.node else "leads nowhere"
        if one.several:
            where = f"may mean {', '.join(one.several)}"
        say(f"{found.path}:{one.line}  [[{one.target}]]  {where}")
    if not leads:
        say("it links to nothing.")
