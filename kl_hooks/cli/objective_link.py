"""`kl objective link`: a task on one of its two lists."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace


@click.command(epilog='Example: kl objective link OBJ-0001 "Write the lexer" --done')
@click.argument("id")
@click.argument("task")
@click.option("--done", is_flag=True, help="The task is done.")
@format_option()
def link(id: str, task: str, done: bool, shape: str) -> None:
    """Put TASK on the list of what remains, or with --done on the list of what is completed.

    It leaves the other list; the session that did it (KL_SESSION) is noted.
    """
    from kl_hooks.evidence.who import session
    from kl_hooks.kinds.objective import link_task, progress_summary, reported_progress
    from kl_hooks.records.query import record_to_dict

    ws = workspace()
    record = link_task(ws, id, task, done=done, session=session(ws.environ) or "")
    seen = reported_progress(ws, [record])[record.id]
    if shape == "json":
        say_json(record_to_dict(ws, record) | {"percent": seen.progress.percent})
        return
    say("\n".join(progress_summary(record, seen.progress, seen.agents)))
