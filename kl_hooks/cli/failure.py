"""`kl failure`: what failed, counted each time it comes back."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.kind_commands import sign_record
from kl_hooks.cli.options import Option, format_option, given
from kl_hooks.cli.output import echo, echo_json, initialized_workspace, print_answer, workspace
from kl_hooks.cli.record_output import record_lines, warn_of_index_problems, warn_of_proposals
from kl_hooks.kinds.failure import occurrences, record_failure, times_phrase
from kl_hooks.records.query import get_record, record_to_dict, supersession_chain


@click.command(
    epilog='Example: kl failure record "Mock the database" --symptom "red build" --prevention "Use a real one"'
)
@click.argument("approach")
@click.option("--symptom", help="What was seen.")
@click.option("--cause", "root_cause", help="Why it failed.")
@click.option("--prevention", help="What to do instead.")
@click.option("--fix", "fix_applied", help="How it was put right.")
@click.option("--severity", type=click.Choice(["low", "medium", "high", "critical"], case_sensitive=False))
@click.option(
    "--about", "file_path", cls=Option, old=("--file",), multiple=True, metavar="PATH",
    help="The file where it happened. May be repeated.",
)  # fmt: skip
@click.option(
    "--decision", "related_adrs", multiple=True, metavar="ID", help="Decisions that state how it should be done."
)
@click.option("--task", "task_id", help="The task it happened in.")
@click.option("--feature", "feature_id", metavar="ID", help="The feature it happened in.")
@click.option("--context", help="Where and when it happened.")
@click.option(
    "--fixed-in", "time_to_fix_minutes", type=click.IntRange(0, 1_000_000), help="Minutes it took to put right."
)
@format_option()
def record(approach: str, shape: str, **options: Any) -> None:
    """Record an APPROACH that failed. The same approach again is counted, and new information is filled in.

    Packages of context warn of it where it fits the task.
    """
    ws = initialized_workspace()
    raw: dict[str, Any] = {"approach": " ".join(approach.split())}
    raw |= given(options)
    by = sign_record(ws, raw)
    made, how_often = record_failure(ws, raw, by)
    if shape == "json":
        echo_json(record_to_dict(ws, made) | _counts(how_often))
        return
    echo(f"{made.id}  {made.status}  {made.title}   (happened {times_phrase(how_often.total)})\n    {made.path}")
    warn_of_proposals(made)
    if not made.text("prevention") and not made.proposal:
        echo(f'    hint: state what prevents it: kl failure edit {made.id} --prevention "…"')


@click.command(epilog="Example: kl failure show FAIL-3f9a1c2b")
@click.argument("id")
@format_option()
def show(id: str, shape: str) -> None:
    """One failure, whole, with how often it happened here."""
    ws = workspace()
    record = get_record(ws, id, "failure")
    how_often = occurrences(ws, record)
    warn_of_index_problems()
    head, *rest = record_lines(ws, record, supersession_chain(ws, record))
    times = f"{times_phrase(how_often.total)}, first {how_often.first[:10]}, last {how_often.last[:10]}"
    print_answer(shape, record_to_dict(ws, record) | _counts(how_often), [head, f"{'happened':<13} {times}", *rest])


def _counts(how_often: Any) -> dict[str, Any]:
    names = {"occurrence_count": "total", "first_occurred": "first", "last_occurred": "last"}
    return {name: getattr(how_often, field) for name, field in names.items()}
