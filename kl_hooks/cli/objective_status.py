"""`kl objective status`: progress, counted now."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace


@click.command(epilog="Example: kl objective status OBJ-0001")
@click.argument("id", required=False)
@format_option()
def status(id: str | None, shape: str) -> None:
    """How far an objective is; without an ID all that are active. At most five remaining tasks are shown."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.kinds.objective import progress_summary, reported_progress
    from kl_hooks.records.query import RecordFilter, get_record, list_records

    ws = workspace()
    found = [get_record(ws, id, "objective")] if id else list_records(ws, RecordFilter(("objective",), ("active",)))
    told()
    seen = reported_progress(ws, found)
    if shape == "json":
        rows = []
        for record in found:
            progress = seen[record.id].progress
            rows.append({"id": record.id, "title": record.title, "status": record.status, "percent": progress.percent,
                         "completed": list(progress.completed), "remaining": list(progress.remaining),
                         "agents": seen[record.id].agents})  # fmt: skip
        say_json({"schema": "kl.objective.status/1", "objectives": rows})
        return
    for number, record in enumerate(found):
        say(
            ("\n" if number else "")
            + "\n".join(progress_summary(record, seen[record.id].progress, seen[record.id].agents))
        )
        if record.status != "active":
            say(f"({record.status})")
    if not found:
        say('no active objective. Make one: kl objective create --title "…" --tasks "A,B"')
