"""`kl gate for`: what a piece of work must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kl_hooks.cli.kind_commands import warn_of_index_problems
from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import echo, echo_json, workspace
from kl_hooks.errors import UsageProblem
from kl_hooks.records.query import RecordFilter, list_records, record_to_dict

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace


@click.command("for", epilog="Example: kl gate for --type feature --complexity 5")
@click.option("--type", "task_type", required=True, help="The type of work: feature, scaffolding, testing, docs …")
@click.option("--complexity", type=click.IntRange(1, 10), default=5, show_default=True, help="From 1 to 10.")
@format_option()
def for_(task_type: str, complexity: int, shape: str) -> None:
    """The gates for work of this type and complexity, at most four, the narrowest first."""
    from kl_hooks.kinds.gate import DO_NOT_ADJUST, gate_line

    ws = workspace()
    found = fitting_gates(ws, task_type, complexity)
    warn_of_index_problems()
    if shape == "json":
        rows = [record_to_dict(ws, one) for one in found]
        echo_json(
            {
                "schema": "kl.gate.for/1",
                "type": task_type,
                "complexity": complexity,
                "gates": rows,
                "note": DO_NOT_ADJUST,
            }
        )
        return
    for one in found:
        echo(gate_line(one))
    echo(f"Gates hold for the whole session: {DO_NOT_ADJUST}." if found else f"no gate covers complexity {complexity}.")


def fitting_gates(ws: Workspace, task_type: str, complexity: int) -> list[Record]:
    """The gates for work of this type and complexity, the narrowest first. UsageProblem for a type without any."""
    from kl_hooks.config.yaml import suggest_spelling
    from kl_hooks.kinds.gate import gates_for, task_types

    gates = list_records(ws, RecordFilter(("gate",)))
    known = task_types(gates)
    if task_type.strip().casefold() not in {one.casefold() for one in known}:
        hint = suggest_spelling(task_type, known) or (
            f"Types: {', '.join(known)}." if known else "Take those that kl brings: kl seed --system"
        )
        raise UsageProblem("there is no active gate for this type of work.", place=task_type, hint=hint)
    return gates_for(gates, task_type, complexity)
