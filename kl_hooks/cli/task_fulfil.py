"""`kl task fulfil`: a task is done, or what tasks require is there."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace
from kl_hooks.cli.task_works import there_of, works_of
from kl_hooks.errors import UsageProblem


@click.command(epilog="Example: kl task fulfil artifact:design")
@click.argument("what", metavar="ID|TOKEN")
@click.option("--force", is_flag=True, help="Also where something that the task requires is not there.")
@format_option()
def fulfil(what: str, force: bool, shape: str) -> None:
    """Mark a task (TSK-0001) as done, and with it all it produces; or say that a token (artifact:design) is there."""
    from kl_hooks.evidence.who import session
    from kl_hooks.kinds.task import record_fulfilled

    ws = workspace()
    by = session(ws.environ) or ""
    if ":" in what:
        from kl_hooks.records.write import require_setup

        require_setup(ws)
        try:
            made = record_fulfilled(ws, what, by)
        except ValueError as error:
            raise UsageProblem(f"{error}.", place="kl task fulfil") from None
        _say(shape, {"token": made}, f"{made} is there.")
        return
    _done(what, force, shape, by)


def _done(identifier: str, force: bool, shape: str, by: str) -> None:
    from kl_hooks.kinds.task import unmet_requirements, work_of
    from kl_hooks.records.query import get_record
    from kl_hooks.records.write import change_record

    ws = workspace()
    record = get_record(ws, identifier, "task")
    works, _, done = works_of(ws, None)
    missing = unmet_requirements(work_of(record), there_of(ws, works, done))
    if missing and not force:
        hint = f"Say that it is there: kl task fulfil {missing[0]} (or --force)"
        raise UsageProblem(f"requires {', '.join(missing)}, which is not there.", place=record.id, hint=hint)
    if record.status != "done":
        record = change_record(ws, record, {"status": "done", "reason": None}, how="fulfil", by=by)
    gives = list(work_of(record).produces)
    line = f"{record.id}  done  {record.title}" + (f"\n    there now: {', '.join(gives)}" if gives else "")
    _say(shape, {"id": record.id, "produces": gives}, line)


def _say(shape: str, plain: dict[str, object], line: str) -> None:
    if shape == "json":
        say_json({"schema": "kl.task.fulfil/1", **plain})
    else:
        say(line)
