"""`kl decision supersede`: one decision takes the place of another."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace


@click.command(epilog="Example: kl decision supersede ADR-0002 ADR-0009")
@click.argument("old")
@click.argument("new")
@format_option()
def supersede(old: str, new: str, shape: str) -> None:
    """Let NEW take the place of OLD: both say so, and OLD is superseded. Cycles and unknown IDs are refused.

    While NEW is only proposed, OLD stays in force; accepting NEW supersedes it.
    """
    from kl_hooks.cli.kind_new import show_made
    from kl_hooks.cli.kind_read import told
    from kl_hooks.records.query import get_record, supersession_chain
    from kl_hooks.records.sync import sync
    from kl_hooks.records.write import supersede as run

    ws = workspace()
    get_record(ws, old, "decision")
    get_record(ws, new, "decision")
    first, second = run(ws, old, new)
    if first.proposal:
        show_made(ws, first, shape)
        return
    sync(ws)
    told()
    waits = ws.kinds[first.kind].is_pending(second.status)
    line = [second, first] if waits else supersession_chain(ws, first)
    if shape == "json":
        say_json({"schema": "kl.record.chain/1", "chain": [{"id": one.id, "status": one.status} for one in line]})
    else:
        say(" ← ".join(f"{one.id} ({one.status})" for one in line))
    if waits:
        note(f"{first.id} stays in force until {second.id} is accepted: kl decision accept {second.id}")
