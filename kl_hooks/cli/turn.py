"""`kl turn`: rounds of work and review."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.kind_commands import sign_record
from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import initialized_workspace, print_answer, workspace
from kl_hooks.cli.record_output import print_record
from kl_hooks.kinds.turn import add_turn, continuation, is_rejected, last_turns, next_number
from kl_hooks.records.query import RecordFilter, list_records, record_to_dict

_NUMBER = click.IntRange(0, 1_000_000)


@click.command(
    epilog='Example: kl turn add --feature FEAT-AUTH-12 --task T-3 --summary "Sign-in works" --review approved'
)
@click.option("--feature", "feature_id", required=True, metavar="ID", help="The feature it worked on.")
@click.option("--task", "task_id", default="", help="The task it worked on.")
@click.option("--summary", "player_summary", help="What was done.")
@click.option("--decision", "player_decision", help="What the player ended with: implemented, blocked …")
@click.option(
    "--review",
    "coach_decision",
    type=click.Choice(["approved", "rejected", "pending"], case_sensitive=False),
    help="The result of the review.",
)
@click.option("--feedback", "coach_feedback", help="What the review asks for.")
@click.option("--mode", help="How it was worked: fresh_start, continuing_work, tdd …")
@click.option("--blocker", "blockers_found", multiple=True, help="An obstacle. May be repeated.")
@click.option(
    "--criterion", "criteria", multiple=True, metavar="TEXT=STATE", help="An acceptance criterion. May be repeated."
)
@click.option("--file", "files_modified", multiple=True, metavar="PATH", help="A file it changed. May be repeated.")
@click.option("--passed", "tests_passed", type=_NUMBER, help="Tests that passed at its end.")
@click.option("--failed", "tests_failed", type=_NUMBER, help="Tests that failed at its end.")
@click.option("--coverage", type=click.IntRange(0, 100), help="Coverage at its end, percent.")
@click.option("--arch-score", type=click.IntRange(0, 100), help="Score of the architecture review.")
@click.option("--lessons", "lessons_from_turn", help="What was learned.")
@click.option("--next", "what_to_try_next", help="Where the next round should start.")
@click.option("--progress", "progress_summary", help="How far the task is.")
@click.option("--started", "started_at", metavar="MOMENT", help="When it was begun.")
@click.option("--seconds", "duration_seconds", type=_NUMBER, help="How long it took.")
@format_option()
def add(feature_id: str, task_id: str, criteria: tuple[str, ...], shape: str, **options: Any) -> None:
    """Record a turn. It gets the next number of its feature and task."""
    ws = initialized_workspace()
    raw = {n: list(v) if isinstance(v, tuple) else v for n, v in options.items() if v not in (None, ())}
    states = _criteria(criteria)
    by = sign_record(ws, raw)
    made = add_turn(ws, feature_id, task_id, {**raw, **({"acceptance_criteria_status": states} if states else {})}, by)
    print_record(ws, made, shape)


def _criteria(given: tuple[str, ...]) -> dict[str, str]:
    # from the right: a criterion may have `=` in it (`total = 0`), a state does not
    pairs = [one.rpartition("=") for one in given]
    if any(not sign or not name.strip() for name, sign, _ in pairs):
        raise click.UsageError("--criterion: write TEXT=STATE.")
    return {name.strip(): state.strip() for name, _, state in pairs}


@click.command("continue", epilog="Example: kl turn continue --feature FEAT-AUTH-12 --task T-3")
@click.option("--feature", required=True, metavar="ID", help="The feature.")
@click.option("--task", default="", help="The task.")
@format_option()
def continue_(feature: str, task: str, shape: str) -> None:
    """The last five turns of a feature and task, the oldest first; what a rejected one asks for as MUST ADDRESS."""
    ws = workspace()
    turns = list_records(ws, RecordFilter(("turn",)))
    last = last_turns(turns, feature, task)
    must = last[-1].text("coach_feedback") if last and is_rejected(last[-1]) else None
    plain = {"schema": "kl.turn.continue/1", "turns": [record_to_dict(ws, one) for one in last], "must_address": must,
             "next": next_number(turns, feature, task)}  # fmt: skip
    print_answer(shape, plain, [continuation(last).rstrip("\n") or "no turn yet: this is the first."])
