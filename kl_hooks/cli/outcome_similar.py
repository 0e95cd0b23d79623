"""`kl outcome similar`: how tasks like this one ended."""

from __future__ import annotations

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.model.text import one_line


@click.command(epilog='Example: kl outcome similar "sign-in with a second factor"')
@click.argument("requirements", nargs=-1, required=True, metavar="TEXT")
@click.option("--limit", type=click.IntRange(1, 1000), default=5, show_default=True, help="Most shown.")
@format_option()
def similar(requirements: tuple[str, ...], limit: int, shape: str) -> None:
    """Outcomes of tasks whose requirements share words with TEXT, the nearest first: what worked, what was learned."""
    from kl_hooks.kinds.outcome import record_queued
    from kl_hooks.records.query import NO_LIMIT, RecordFilter, record_to_dict, search_records

    ws = workspace()
    record_queued(ws)
    all_ = search_records(ws, list(requirements), RecordFilter(("outcome",)), NO_LIMIT)
    found = all_[:limit]
    if shape == "json":
        say_json(
            {
                "schema": "kl.outcome.similar/1",
                "outcomes": [record_to_dict(ws, one) for one in found],
                "total": len(all_),
            }
        )
        return
    for one in found:
        ended = "succeeded" if one.values.get("success") else one.text("outcome_type").replace("_", " ")
        say(f"{one.id}  {ended}  {one_line(one.title, 120)}")
        if one.text("approach_used"):
            say(f"    approach  {one_line(one.text('approach_used'), 160)}")
        for name in ("problems_encountered", "lessons_learned"):
            for text in one.many(name)[:3]:
                say(f"    {name.partition('_')[0].removesuffix('s'):<8}  {one_line(text, 160)}")
    if len(all_) > len(found):
        note(f"these are the first {len(found)} of {counted(len(all_), 'outcome')}; more with --limit.")
    if not found:
        say("no outcome shares a word with it. Record one at the end of a task: kl outcome capture")
