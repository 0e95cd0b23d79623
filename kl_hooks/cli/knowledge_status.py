"""`kl knowledge status`: how much is known, kind by kind, and what waits for a person."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace
from kl_hooks.cli.waiting import asked, by_status, waiting


@click.command(epilog="Example: kl knowledge status --format json")
@format_option()
def status(shape: str) -> None:
    """How much is known, kind by kind and status by status, and what waits for a person."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.cli.left_out import say_left_out
    from kl_hooks.evidence.home import require_home

    ws = workspace()
    require_home(ws)
    counts = by_status(ws)
    numbers = waiting(ws, counts)
    told()
    say_left_out(ws)
    if shape == "json":
        say_json({"schema": "kl.knowledge.status/1", "kinds": counts, "waiting": numbers})
        return
    for kind, some in counts.items():
        total = sum(some.values())
        say(f"{kind:<10} {total:>5}   " + ", ".join(f"{number} {name}" for name, number in sorted(some.items())))
    for line in asked(ws, numbers):
        say(f"waiting for a person: {line}")
    if not counts:
        say('nothing is known yet. Begin with: kl decision new --edit, or kl memory add "…"')
