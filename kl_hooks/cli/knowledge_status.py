"""`kl knowledge status`: how much is known, kind by kind, and what waits for a person."""

from __future__ import annotations

import click

from kl_hooks.cli.common import counted, format_option, say, say_json, workspace

WAITING = {"decision": "proposed", "memory": "candidate", "proposal": "proposed"}
"""Kind → the status in which its records wait for a person."""


@click.command(epilog="Example: kl knowledge status --format json")
@format_option()
def status(shape: str) -> None:
    """How much is known, kind by kind and status by status, and what waits for a person."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.evidence.home import require_home
    from kl_hooks.records.ask import Wanted, every
    from kl_hooks.records.fresh import shown

    ws = workspace()
    require_home(ws)
    counts: dict[str, dict[str, int]] = {}
    for record in shown(ws, every(ws, Wanted(archived=True))):
        name = "archived" if record.archived else record.status
        some = counts.setdefault(record.kind, {})
        some[name] = some.get(name, 0) + 1
    waiting = {kind: counts.get(kind, {}).get(name, 0) for kind, name in WAITING.items()}
    waiting = {kind: number for kind, number in waiting.items() if number}
    told()
    if shape == "json":
        say_json({"schema": "kl.knowledge.status/1", "kinds": counts, "waiting": waiting})
        return
    for kind, some in counts.items():
        total = sum(some.values())
        say(f"{kind:<10} {total:>5}   " + ", ".join(f"{number} {name}" for name, number in sorted(some.items())))
    for kind, number in waiting.items():
        name = WAITING[kind]
        say(f"waiting for a person: {counted(number, kind)} {name}. See: kl {kind} list --status {name}")
    if not counts:
        say('nothing is known yet. Begin with: kl decision new "…", or kl memory add "…"')
