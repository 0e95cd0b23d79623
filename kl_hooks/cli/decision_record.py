"""`kl decision record`: a question that was answered, kept where the answer decides enough."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace
from kl_hooks.kinds.catalog import TRIGGERS

TRIGGER = click.Choice(TRIGGERS, case_sensitive=False)


@click.command(epilog='Example: kl decision record --question "Which database?" --answer "PostgreSQL, because …"')
@click.option("--question", required=True, help="What was asked.")
@click.option("--answer", required=True, help="What was answered.")
@click.option("--trigger", type=TRIGGER, default="clarifying_question", show_default=True, help="What brought it up.")
@click.option("--task", "source_task_id", default="", metavar="ID", help="The task it came up in.")
@click.option("--feature", "source_feature_id", default="", metavar="ID", help="The feature it came up in.")
@click.option("--command", "source_command", default="", metavar="NAME", help="The command it came up in.")
@click.option("--threshold", type=click.IntRange(0, 100), help="Percent from which it is kept (setting: significance).")
@click.option("--dry-run", is_flag=True, help="Only say what it weighs.")
@format_option()
def record(
    question: str, answer: str, trigger: str, threshold: int | None, dry_run: bool, shape: str, **ids: str
) -> None:
    """Keep an answered question as a proposed decision, if it decides enough; say what it weighs, and why, if not.

    Exit 0 either way: an answer that decides little is nothing wrong.
    """
    from kl_hooks.evidence.who import agent
    from kl_hooks.kinds.catalog import DECISION
    from kl_hooks.kinds.decision.significance import assess_answer
    from kl_hooks.records.write import create_record, require_setup

    ws = workspace()
    least = ws.settings.significance if threshold is None else threshold
    judged = assess_answer(question, answer, trigger.lower(), threshold=least, **ids)
    made = None
    if judged.worth and not dry_run:
        require_setup(ws)
        name = agent(ws.environ)
        values = {**judged.values, "authority": "agent" if name else "human"}
        made = create_record(ws, DECISION, values, by=f"agent:{name}" if name else "")
    percent = judged.significance.percent
    if shape == "json":
        reasons = [{"points": points, "for": why} for points, why in judged.significance.reasons]
        said = {"significant": judged.worth, "significance": percent, "threshold": least, "reasons": reasons}
        say_json({"schema": "kl.decision.judged/1", **said, "id": made.id if made else "", "title": judged.values["title"]})
        return
    word = "at least" if judged.worth else "below"
    say(f"{percent} % ({word} the threshold of {least} %)" + ("" if judged.worth else ": not kept."))
    for points, why in judged.significance.reasons:
        say(f"  {points:+4}  {why}")
    if made:
        say(f"{made.id}  {made.status}  {made.title}\n    {made.path}")
