"""`kl memory add`: a person or an agent tells what was learned."""

from __future__ import annotations

import sys
from typing import Any

import click

from kl_hooks.cli.common import format_option, note, say_json, workspace
from kl_hooks.kinds.memory.kind import CATEGORIES

MOST_TEXT = 1_000_000
"""Characters that are read from stdin; what is kept is less."""


@click.command(epilog='Example: kl memory add "Tests of the importer need LC_ALL=C.UTF-8." --tag tests')
@click.argument("text")
@click.option("--agent", "authority", flag_value="agent", help="An agent tells it: a candidate, for 90 days.")
@click.option("--auto", "authority", flag_value="auto", help="A program found it: a candidate, for 30 days.")
@click.option("--ttl-days", type=click.IntRange(0, 36_500), help="Days until it ends; 0: never. Else by authority.")
@click.option("--tag", "tags", multiple=True, help="A short word to find it by. May be repeated.")
@click.option("--title", default="", help="What it is, in one line; else its first line.")
@click.option("--category", type=click.Choice(CATEGORIES), help="What sort of learning it is.")
@click.option("--importance", type=click.IntRange(0, 100), help="How much it matters, in percent. Else 50.")
@click.option("--about", multiple=True, metavar="ID|PATH", help="A file or symbol it is about. May be repeated.")
@click.option("--source", default="", help="Where it comes from; else the session.")
@format_option()
def add(text: str, authority: str | None, ttl_days: int | None, tags: tuple[str, ...], shape: str, **more: Any) -> None:
    """Tell what was learned; `-` reads the TEXT from stdin.

    What a person tells is approved at once and becomes a file. What an agent tells waits for a review. The same text
    told again is the same memory: it is reinforced, or approved.
    """
    from kl_hooks.cli.memory_after import listed, told
    from kl_hooks.kinds.memory.telling import tell
    from kl_hooks.records.query import record_to_dict

    ws = workspace()
    text = sys.stdin.read(MOST_TEXT) if text == "-" else text
    given = {name: list(v) if isinstance(v, tuple) else v for name, v in more.items() if v not in (None, "", ())}
    record, done = tell(ws, text, authority=authority or "", ttl_days=ttl_days, tags=tags, more=given)
    if shape == "json":
        say_json(record_to_dict(ws, record) | {"done": done})
        listed()
        return
    told(record, record.status if done == "new" else f"{record.status} ({done})")
    if done == "known":
        note("this session told it before; nothing was changed.")
