"""`kl memory promote`: auto, agent, human."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog="Example: kl memory promote MEM-3f9a1c2b")
@click.argument("id")
@format_option()
def promote(id: str, shape: str) -> None:
    """Raise the authority of a memory by one step: auto, agent, human. It ends when the new authority says so.

    For people only. It stays a candidate, or approved, as it was.
    """
    from kl_hooks.cli.memory_after import meant, told
    from kl_hooks.kinds.memory.telling import promote as raise_it
    from kl_hooks.kinds.memory.who import reviewer

    ws = workspace()
    who = reviewer(ws, id)
    made = raise_it(ws, meant(id), who)
    told(made, f"{made.authority}, {made.status}", shape)
