"""`kl gate for`: what a piece of work must pass; and how `kl verify` applies a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.kind_commands import warn_of_index_problems
from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import echo, echo_json, workspace
from kl_hooks.errors import UsageProblem
from kl_hooks.records.query import RecordFilter, get_record, list_records, record_to_dict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kl_hooks.evidence.ledger import Entry
    from kl_hooks.kinds.gate import Demand
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
    found = _fitting_gates(ws, task_type, complexity)
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


def _fitting_gates(ws: Workspace, task_type: str, complexity: int) -> list[Record]:
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


def gate_of(ws: Workspace, task: str | None, task_type: str | None, complexity: int | None) -> Record | None:
    """The gate for a task, or for a type of work and a complexity: the narrowest one; None where nothing was asked.

    UsageProblem for a task without a type, and where no gate covers the complexity.
    """
    if task:
        record = get_record(ws, task, "task")
        task_type = task_type or record.text("task_type")
        complexity = complexity or record.number("complexity") or None
        if not task_type:
            hint = f"kl task edit {record.id} --task-type feature --complexity 5"
            raise UsageProblem("has no type of work, so no gate fits it.", place=record.id, hint=hint)
    if not task_type:
        if complexity:
            raise UsageProblem("--complexity needs --type or --task.", place="--complexity", hint="Add --type feature")
        return None
    found = _fitting_gates(ws, task_type, complexity or 5)
    if not found:
        raise UsageProblem(f"no gate covers complexity {complexity or 5}.", place=task_type, hint="See: kl gate list")
    return found[0]


def check_demands(gate: Record, tests_pass: bool, entries: Sequence[Entry]) -> list[Demand]:
    """What the gate asks for, checked against the receipts of a content (newest first)."""
    from kl_hooks.kinds.gate import check_demands

    commands: dict[str, bool] = {}
    for entry in entries:
        if entry.receipt.source != "command" or entry.receipt.moved or entry.origin.startswith("imported"):
            continue
        for one in entry.receipt.evidence:
            if one.kind == "ExitCode":
                commands.setdefault(one.subject.removeprefix("command:"), one.outcome == "passed")
    return check_demands(gate, tests_pass, commands)


def gate_to_dict(gate: Record, found: Sequence[Demand]) -> dict[str, Any]:
    """The gate in `kl verify --format json`."""
    rows = [{"demand": one.name, "met": one.met, "reason": one.reason} for one in found]
    return {
        "id": gate.id,
        "title": gate.title,
        "demands": rows,
        "not_checked": [o.name for o in found if o.met is None],
    }


def print_gate(gate: Record, found: Sequence[Demand]) -> None:
    """The gate, and what became of each of its demands."""
    from kl_hooks.kinds.gate import gate_line

    echo(gate_line(gate))
    for one in found:
        echo(f"  {'not checked' if one.met is None else 'met' if one.met else 'NOT met':<12} {one.reason}")
