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
    from kl_hooks.cli.record_text import plain_record
    from kl_hooks.evidence.who import session
    from kl_hooks.kinds.objective.progress import linked, progress_of, summary
    from kl_hooks.records.ask import find
    from kl_hooks.records.write import change

    if not task.strip():
        raise click.UsageError("TASK is empty.")
    ws = workspace()
    record = find(ws, id, "objective")
    before = progress_of(record)
    after = linked(before, task, done=done)
    by = session(ws.environ) or ""
    sessions = tuple(dict.fromkeys([*record.many("sessions"), *([by] if by else [])]))
    if after != before or sessions != record.many("sessions"):
        raw = {"remaining": list(after.remaining) or None, "completed": list(after.completed) or None}
        raw |= {"sessions": list(sessions)} if sessions else {}
        record = change(ws, record, raw, how="link", by=by)
    if shape == "json":
        say_json(plain_record(ws, record) | {"percent": after.percent})
        return
    say("\n".join(summary(record)))
