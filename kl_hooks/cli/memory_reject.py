"""`kl memory reject`: the same pattern never comes back."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option


@click.command(epilog='Example: kl memory reject MEM-3f9a1c2b --reason "true only on my machine"')
@click.argument("id")
@click.option("--reason", default="", help="Why, in one line.")
@format_option()
def reject(id: str, reason: str, shape: str) -> None:
    """Refuse a memory: the same pattern never comes back by itself. `approve` takes it back."""
    from kl_hooks.cli.memory_decide import decided

    decided(id, "reject", reason, shape)
