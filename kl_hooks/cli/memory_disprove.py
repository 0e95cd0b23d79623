"""`kl memory disprove`: it was checked and does not hold."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog='Example: kl memory disprove MEM-3f9a1c2b --reason "Redis is not needed since 2.0"')
@click.argument("id")
@click.option("--reason", required=True, help="Why, in one line.")
@format_option()
def disprove(id: str, reason: str, shape: str) -> None:
    """Note that a memory was checked and does not hold: nobody is told of it any more. For people and reviewers."""
    from kl_hooks.cli.memory_after import meant, told
    from kl_hooks.kinds.memory.judging import disproven
    from kl_hooks.kinds.memory.who import reviewer

    ws = workspace()
    who = reviewer(ws, id)
    told(disproven(ws, meant(id), reason, who), "disproven", shape)
