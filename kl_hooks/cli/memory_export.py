"""`kl memory export`: all memories as JSON."""

from __future__ import annotations

import click

from kl_hooks.cli.common import say_json, workspace
from kl_hooks.kinds.memory.kind import KIND


@click.command(epilog="Example: kl memory export > memories.json")
@click.option("--status", "statuses", multiple=True, type=click.Choice(KIND.statuses), help="Only these.")
def export(statuses: tuple[str, ...]) -> None:
    """Every memory as JSON on stdout, in the fields that fuseraft keeps. `kl memory import` reads it."""
    from kl_hooks.kinds.memory.foreign import plain
    from kl_hooks.kinds.memory.reviewing import shown
    from kl_hooks.records.query import RecordFilter, list_records

    ws = workspace()
    say_json(plain(shown(ws, list_records(ws, RecordFilter((KIND.name,), statuses, expired=True)))))
