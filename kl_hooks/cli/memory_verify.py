"""`kl memory verify`: it was checked and holds."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog="Example: kl memory verify MEM-3f9a1c2b")
@click.argument("id")
@format_option()
def verify(id: str, shape: str) -> None:
    """Note that a memory was checked and holds: it weighs more from now on. For people and named reviewers."""
    from kl_hooks.cli.memory_after import meant, told
    from kl_hooks.kinds.memory.judging import verified
    from kl_hooks.kinds.memory.who import reviewer

    ws = workspace()
    who = reviewer(ws, id)
    told(verified(ws, meant(id), who), "verified", shape)
