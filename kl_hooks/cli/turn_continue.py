"""`kl turn continue`: what the next round starts from."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace


@click.command("continue", epilog="Example: kl turn continue --feature FEAT-AUTH-12 --task T-3")
@click.option("--feature", required=True, metavar="ID", help="The feature.")
@click.option("--task", default="", help="The task.")
@format_option()
def continue_(feature: str, task: str, shape: str) -> None:
    """The last five turns of a feature and task, the oldest first; what a rejected one asks for as MUST ADDRESS."""
    from kl_hooks.kinds.turn import continuation, is_rejected, last_turns, next_number
    from kl_hooks.records.query import RecordFilter, list_records, record_to_dict

    ws = workspace()
    turns = list_records(ws, RecordFilter(("turn",)))
    last = last_turns(turns, feature, task)
    if shape == "json":
        must = last[-1].text("coach_feedback") if last and is_rejected(last[-1]) else None
        rows = [record_to_dict(ws, one) for one in last]
        say_json({"schema": "kl.turn.continue/1", "turns": rows, "must_address": must,
                  "next": next_number(turns, feature, task)})  # fmt: skip
        return
    say(continuation(last).rstrip("\n") or "no turn yet: this is the first.")
