"""`kl gate for`: what a piece of work must pass."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace
from kl_hooks.errors import UsageProblem


@click.command("for", epilog="Example: kl gate for --type feature --complexity 5")
@click.option("--type", "task_type", required=True, help="The type of work: feature, scaffolding, testing, docs …")
@click.option("--complexity", type=click.IntRange(1, 10), default=5, show_default=True, help="From 1 to 10.")
@format_option()
def for_(task_type: str, complexity: int, shape: str) -> None:
    """The gates for work of this type and complexity, at most four, the narrowest first."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.cli.record_text import plain_record
    from kl_hooks.config.typed import nearest
    from kl_hooks.kinds.gate.choose import FIRM, gate_line, gates_for, task_types
    from kl_hooks.records.ask import Wanted, every

    ws = workspace()
    gates = every(ws, Wanted(("gate",)))
    told()
    found, known = gates_for(gates, task_type, complexity), task_types(gates)
    if task_type.strip().casefold() not in {one.casefold() for one in known}:
        hint = nearest(task_type, known) or (
            f"Types: {', '.join(known)}." if known else "Take those that kl brings: kl seed --system"
        )
        raise UsageProblem("there is no active gate for this type of work.", place=task_type, hint=hint)
    if shape == "json":
        rows = [plain_record(ws, one) for one in found]
        say_json({"schema": "kl.gate.for/1", "type": task_type, "complexity": complexity, "gates": rows, "note": FIRM})
        return
    for one in found:
        say(gate_line(one))
    say(f"Gates hold for the whole session: {FIRM}." if found else f"no gate covers complexity {complexity}.")
