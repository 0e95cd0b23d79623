"""`kl memory delete`: one memory is taken away."""

from __future__ import annotations

import click

from kl_hooks.cli.common import confirm, format_option, workspace
from kl_hooks.cli.record_text import say_deleted


@click.command(epilog="Example: kl memory delete MEM-3f9a1c2b --yes")
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@format_option()
def delete(id: str, yes: bool, shape: str) -> None:
    """Take a memory away. A file stays in git's history; the same pattern is not proposed again."""
    from kl_hooks.cli.memory_after import listed, meant
    from kl_hooks.records.permissions import agent_author, refuse_delete
    from kl_hooks.records.write import delete_record as take_away

    ws, record = workspace(), meant(id)
    refuse_delete(ws.kinds[record.kind], record, agent_author(ws, ""))
    if not yes:
        confirm(f"delete {record.id} {record.title}?")
    take_away(ws, record)
    say_deleted(record, shape)
    listed()
