"""`kl knowledge reject`: decide about what an agent proposed, whatever its kind."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option


@click.command(epilog="Example: kl knowledge reject OBJ-0001")
@click.argument("id")
@format_option()
def reject(id: str, shape: str) -> None:
    """Reject a proposed record, or the changes that are proposed for it. For people."""
    from kl_hooks.cli.knowledge_proposals import decide_proposal

    decide_proposal(id, "reject", shape)
