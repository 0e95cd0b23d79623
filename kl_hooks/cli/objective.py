"""`kl objective`: what is worked towards, and how far it is."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.kind_commands import make_record
from kl_hooks.cli.options import ABOUT, format_option, given
from kl_hooks.cli.output import print_answer, workspace
from kl_hooks.cli.record_output import warn_of_index_problems
from kl_hooks.evidence.provenance import session
from kl_hooks.kinds.objective import link_task, reported_progress
from kl_hooks.records.query import RecordFilter, get_record, list_records, record_to_dict


@click.command(epilog='Example: kl objective create --title "A parser" --tasks "Lexer,Grammar"')
@click.argument("title", required=False)
@click.option("--title", "title_option", help="What it is, in one line.")
@click.option("--tasks", default="", help="The tasks that remain, separated by commas.")
@click.option("--task", "more", multiple=True, help="One task that remains, verbatim. May be repeated.")
@click.option("--description", help="Why it matters, and when it is reached.")
@click.option("--about", multiple=True, metavar=ABOUT, help="The files and symbols it is about. May be repeated.")
@click.option("--tag", "tags", multiple=True, help="Short words to find it by. May be repeated.")
@click.option("--agent", is_flag=True, help="An agent makes it.")
@format_option()
def new(
    title: str | None,
    title_option: str | None,
    tasks: str,
    more: tuple[str, ...],
    agent: bool,
    shape: str,
    **options: Any,
) -> None:
    """Make an objective: what is being worked towards, and the tasks that remain."""
    remaining = [*(one.strip() for one in tasks.split(",") if one.strip()), *more]
    raw = given(options)
    raw |= {"title": title or title_option or "", "remaining": remaining}
    make_record(workspace().kinds["objective"], raw, {"agent": agent, "shape": shape})


@click.command(epilog="Example: kl objective status OBJ-0001")
@click.argument("id", required=False)
@format_option()
def status(id: str | None, shape: str) -> None:
    """How far an objective is; without an ID all that are active. At most five remaining tasks are shown."""
    ws = workspace()
    found = [get_record(ws, id, "objective")] if id else list_records(ws, RecordFilter(("objective",), ("active",)))
    warn_of_index_problems()
    seen = reported_progress(ws, found)
    rows = []
    for record in found:
        progress = seen[record.id]
        rows.append({"id": record.id, "title": record.title, "status": record.status, "percent": progress.percent,
                     "completed": list(progress.completed), "remaining": list(progress.remaining),
                     "agents": dict(progress.agents)})  # fmt: skip
    pages = [
        "\n".join(seen[one.id].summary(one)) + (f"\n({one.status})" if one.status != "active" else "") for one in found
    ]
    none = 'no active objective. Make one: kl objective create --title "…" --tasks "A,B"'
    print_answer(shape, {"schema": "kl.objective.status/1", "objectives": rows}, ["\n\n".join(pages) or none])


@click.command(epilog='Example: kl objective link OBJ-0001 "Write the lexer" --done')
@click.argument("id")
@click.argument("task")
@click.option("--done", is_flag=True, help="The task is done.")
@format_option()
def link(id: str, task: str, done: bool, shape: str) -> None:
    """Put TASK on the list of what remains, or with --done on the list of what is completed.

    It leaves the other list; the session that did it (KL_SESSION) is noted.
    """
    ws = workspace()
    record = link_task(ws, id, task, done=done, session=session(ws.environ) or "")
    seen = reported_progress(ws, [record])[record.id]
    plain = record_to_dict(ws, record) | {"percent": seen.percent}
    print_answer(shape, plain, seen.summary(record))
