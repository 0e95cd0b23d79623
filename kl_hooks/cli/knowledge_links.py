"""`kl knowledge links`: where a page leads."""

from __future__ import annotations

from dataclasses import asdict

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace


@click.command(epilog="Example: kl knowledge links ADR-0007")
@click.argument("page", metavar="ID|FILE")
@format_option()
def links(page: str, shape: str) -> None:
    """List the links of a page, broken ones too: [[wikilinks]], and Markdown links to files of the repository.

    A page is an authored file, or a Markdown or reStructuredText file of the docs folder.
    """
    from kl_hooks.cli.kind_read import told
    from kl_hooks.records.page_search import get_page, outgoing_links, page_to_dict

    ws = workspace()
    found = get_page(ws, page)
    leads = outgoing_links(ws, found)
    told()
    if shape == "json":
        say_json(
            {"schema": "kl.knowledge.links/1", "page": page_to_dict(found), "links": [asdict(one) for one in leads]}
        )
        return
    for one in leads:
        where = f"{one.node}  {one.title}".rstrip() if one.node else "leads nowhere"
        if one.several:
            where = f"may mean {', '.join(one.several)}"
        target = f"[[{one.target}]]" if one.how == "wikilink" else f"({one.target})"
        say(f"{found.path}:{one.line}  {target}  {where}")
    if not leads:
        say("it links to nothing.")
