"""`kl memory edit`: other words for a memory."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.common import format_option, workspace
from kl_hooks.kinds.memory.kind import CATEGORIES, STANDINGS


@click.command(epilog='Example: kl memory edit MEM-3f9a1c2b --text "Tests need Redis 7." --ttl-days 0')
@click.argument("id")
@click.option("--text", "pattern", help="What it says.")
@click.option("--title", help="What it is, in one line.")
@click.option("--category", type=click.Choice(CATEGORIES), help="What sort of learning it is.")
@click.option("--importance", type=click.IntRange(0, 100), help="How much it matters, in percent.")
@click.option("--standing", type=click.Choice(STANDINGS), help="How it fared since.")
@click.option("--tag", "tags", multiple=True, help="Its tags, in place of those it has. May be repeated.")
@click.option("--about", multiple=True, metavar="ID|PATH", help="What it is about. May be repeated.")
@click.option("--ttl-days", type=click.IntRange(0, 36_500), help="Days from now until it ends; 0: never.")
@click.option("--clear", multiple=True, metavar="FIELD", help="Take a field out. May be repeated.")
@format_option()
def edit(id: str, ttl_days: int | None, clear: tuple[str, ...], shape: str, **options: Any) -> None:
    """Change what a memory says. Its id stays. What an agent changes of an approved one is a candidate again."""
    from kl_hooks.cli.memory_after import meant, told
    from kl_hooks.kinds.memory.telling import revise

    given = {name: list(v) if isinstance(v, tuple) else v for name, v in options.items() if v not in (None, ())}
    told(revise(workspace(), meant(id), {**given, **dict.fromkeys(clear)}, ttl_days), shape=shape)
