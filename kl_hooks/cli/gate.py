"""`kl gate for`: what a piece of work must pass."""

from __future__ import annotations

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import print_answer, workspace
from kl_hooks.cli.record_output import warn_of_index_problems
from kl_hooks.kinds.gate import DO_NOT_ADJUST, Gate, fitting_gates
from kl_hooks.records.query import record_to_dict


@click.command("for", epilog="Example: kl gate for --type feature --complexity 5")
@click.option("--type", "task_type", required=True, help="The type of work: feature, scaffolding, testing, docs …")
@click.option("--complexity", type=click.IntRange(1, 10), default=5, show_default=True, help="From 1 to 10.")
@format_option()
def for_(task_type: str, complexity: int, shape: str) -> None:
    """The gates for work of this type and complexity, at most four, the narrowest first."""
    ws = workspace()
    found = fitting_gates(ws, task_type, complexity)
    warn_of_index_problems()
    plain = {
        "schema": "kl.gate.for/1", "type": task_type, "complexity": complexity,
        "gates": [record_to_dict(ws, one) for one in found], "note": DO_NOT_ADJUST,
    }  # fmt: skip
    end = f"Gates hold for the whole session: {DO_NOT_ADJUST}." if found else f"no gate covers complexity {complexity}."
    print_answer(shape, plain, [*(Gate(one).line() for one in found), end])
