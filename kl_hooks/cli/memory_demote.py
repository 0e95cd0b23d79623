"""`kl memory demote`: back to the candidates."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog="Example: kl memory demote MEM-3f9a1c2b")
@click.argument("id")
@click.option("--reason", default="", help="Why, in one line.")
@format_option()
def demote(id: str, reason: str, shape: str) -> None:
    """Take an approved memory back to the candidates: nobody is told of it until it is reviewed again."""
    from kl_hooks.cli.memory_after import meant, told
    from kl_hooks.records.write import apply_verb

    record = meant(id)
    told(apply_verb(workspace(), record.id, "demote", {"reason": reason} if reason else {}), shape=shape)
