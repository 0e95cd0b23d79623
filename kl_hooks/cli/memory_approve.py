"""`kl memory approve`: a candidate becomes a file."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option


@click.command(epilog="Example: kl memory approve MEM-3f9a1c2b")
@click.argument("id")
@format_option()
def approve(id: str, shape: str) -> None:
    """Accept a memory: it becomes a file in .kl/knowledge/memories/, and agents are shown it.

    Approving one that is approved confirms it: upkeep leaves it alone for another window.

    For people, and for reviewers that your configuration names (git config kl.reviewers).
    """
    from kl_hooks.cli.memory_decide import decided

    decided(id, "approve", shape=shape)
