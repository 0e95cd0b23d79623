"""`kl decision`: the commands that only decisions have."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from kl_hooks.cli.kind_commands import print_written
from kl_hooks.cli.output import (
    command_access,
    counted,
    echo,
    echo_json,
    format_option,
    initialized_workspace,
    path_from_root,
    print_answer,
    warn,
    workspace,
    write,
)
from kl_hooks.cli.record_output import (
    exported,
    record_line,
    warn_of_citations,
    warn_of_index_problems,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import FINDINGS, UsageProblem
from kl_hooks.evidence.provenance import agent
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.discovery import discover_decisions as run
from kl_hooks.kinds.decision.discovery import record_proposals
from kl_hooks.kinds.decision.exporter import export_files, export_text
from kl_hooks.kinds.decision.importer import import_decisions
from kl_hooks.kinds.decision.significance import assess_answer
from kl_hooks.operations import own_operations
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.write import create_record
from kl_hooks.workspace import require_initialized

_TRIGGER = click.Choice(DECISION.by_name["trigger"].choices, case_sensitive=False)


@click.command(
    epilog=(
        'Example: kl decision record --question "Which database?" --answer "PostgreSQL, because …"'
    )
)
@click.option("--question", required=True, help="What was asked.")
@click.option("--answer", required=True, help="What was answered.")
@click.option(
    "--trigger",
    type=_TRIGGER,
    default="clarifying_question",
    show_default=True,
    help="What brought it up.",
)
@click.option(
    "--task", "source_task_id", default="", metavar="ID", help="The task in which it was asked."
)
@click.option(
    "--feature",
    "source_feature_id",
    default="",
    metavar="ID",
    help="The feature in which it was asked.",
)
@click.option(
    "--command",
    "source_command",
    default="",
    metavar="NAME",
    help="The command in which it was asked.",
)
@click.option(
    "--threshold",
    type=click.IntRange(0, 100),
    help="Percent from which it is recorded (setting: significance).",
)
@click.option("--dry-run", is_flag=True, help="Only show its significance.")
@format_option()
def record(
    question: str,
    answer: str,
    trigger: str,
    threshold: int | None,
    dry_run: bool,
    shape: str,
    **ids: str,
) -> None:
    """Record an answered question as a proposed decision if it is significant enough; else show why
    it is not.

    Exit 0 either way: an answer that decides little is nothing wrong.
    """
    ws = workspace()
    least = ws.settings.significance if threshold is None else threshold
    judged = assess_answer(question, answer, trigger.lower(), threshold=least, **ids)
    made = None
    if judged.worth and not dry_run:
        require_initialized(ws)
        name = agent(ws.environ)
        values = {**judged.values, "authority": "agent" if name else "human"}
        made = create_record(ws, DECISION, values, by=f"agent:{name}" if name else "")
    percent = judged.significance.percent
    plain = {
        "schema": "kl.decision.judged/1",
        "significant": judged.worth,
        "significance": percent,
        "threshold": least,
        "reasons": [{"points": points, "for": why} for points, why in judged.significance.reasons],
        "id": made.id if made else "",
        "title": judged.values["title"],
    }
    word = (
        f"at least the threshold of {least} %)"
        if judged.worth
        else f"below the threshold of {least} %): not recorded."
    )
    lines = [f"{percent} % ({word}"]
    lines += [f"  {points:+4}  {why}" for points, why in judged.significance.reasons]
    lines += [record_line(made)] if made else []
    print_answer(shape, plain, lines)


@click.command(epilog="Example: kl decision discover --write")
@click.option(
    "--write",
    is_flag=True,
    help="Write them as proposed records; a person accepts or rejects each.",
)
@click.option(
    "--threshold",
    type=click.IntRange(0, 100),
    default=70,
    show_default=True,
    help="Percent from which one is shown.",
)
@format_option()
def discover(write: bool, threshold: int, shape: str) -> None:
    """Propose decisions from the folders, the declared dependencies and the patterns of the code.

    What was proposed before is not proposed again, accepted or not. Nothing is written without
    --write.
    """
    ws = initialized_workspace() if write else workspace()
    found, known = run(ws, threshold)
    made = record_proposals(ws, found) if write else []
    ids = [one.id for one in made] or [""] * len(found)
    plain = [{**asdict(one), "id": i} for one, i in zip(found, ids, strict=True)]
    rows = []
    for i, one in zip(ids, found, strict=True):
        rows += [
            f"{i}  {one.confidence:>3} %  {one.title}".lstrip(),
            *(f"         {line}" for line in one.evidence),
        ]
    print_answer(
        shape,
        {"schema": "kl.decision.discover/1", "proposals": plain, "known": known, "wrote": write},
        rows or ["nothing that no record states already."],
    )
    if known and shape == "text":
        warn(f"{counted(known, 'decision')} omitted: proposed before.")
    if found and not write and shape == "text":
        warn("nothing was written. To keep them as proposals: kl decision discover --write")


@operation_command(own_operations.supersede(DECISION))
def supersede(succession: own_operations.Succession, request: Any) -> None:
    """Print the chain, or the change that waits for a person."""
    old, new = succession.old.record, succession.new.record
    if old.proposal:
        print_written(succession.old, request)
        return
    echo(" ← ".join(f"{record.id} ({record.status})" for record in succession.chain))
    warn_of_index_problems()
    if succession.waits:
        accept = f"kl decision accept {new.id}"
        warn(f"{old.id} stays in force until {new.id} is accepted: {accept}")
    else:
        warn_of_citations(workspace(), [old.id])


@click.command(
    epilog="Example: kl decision renumber .kl/knowledge/decisions/ADR-0007-from-my-branch.md"
)
@click.argument("file")
@format_option()
def renumber(file: str, shape: str) -> None:
    """Give the decision in FILE (or of an id that only one file has) a new id, and fix what names
    it.

    Where two files had the id, a line is taken to mean the one that was there when the line was
    written; lines of which that is unknown are listed instead.
    """
    from kl_hooks.kinds.decision.renumber import renumber as run

    done = run(workspace(), file)
    plain = {
        "schema": "kl.decision.renumber/1",
        "old": done.old,
        "new": done.new,
        "path": done.path,
        "changed": [str(one) for one in done.changed],
        "unsure": [str(one) for one in done.unsure],
    }
    lines = [
        f"{done.old} is now {done.new}\n    {done.path}",
        *(f"    changed: {place}" for place in done.changed),
    ]
    print_answer(shape, plain, lines)
    for place in done.unsure if shape == "text" else ():
        warn(f"{place}: names {done.old}; change it by hand if {done.new} is meant.")


@click.command("import", epilog="Example: kl decision import docs/adr --dry-run")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["auto", "madr", "nygard", "log4brains", "json"]),
    default="auto",
    show_default=True,
    help="The format of the files.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be made; write nothing.")
# `--format` is the format of the files here
@click.option("--json", "as_json", is_flag=True, help="Show what was done as JSON.")
def import_(paths: tuple[Path, ...], form: str, dry_run: bool, as_json: bool) -> int:
    """Make a record of every decision in these files and folders: MADR, adr-tools (Nygard),
    log4brains, JSON.

    A number that is free here stays; references to each other become ids; what has no field of ours
    stays in the text. All of them are imported, or none. A file that was imported before is not
    imported again.
    """
    ws = initialized_workspace()
    for place in paths:
        for file in place.rglob("*") if place.is_dir() else (place,):
            command_access().require_shown_file(path_from_root(ws.root, str(file)))
    done = import_decisions(ws, paths, form, dry_run=dry_run, agent=agent(ws.environ) or "")
    for remark in done.remarks:
        warn(remark)
    for path in done.skipped:
        warn(f"{path}: no decision, omitted.")
    if as_json:
        made = [{"id": i, "title": title, "path": path} for i, title, path in done.made]
        known = [{"id": i, "path": path} for i, path in done.existing]
        left = list(done.skipped)
        echo_json(
            {
                "schema": "kl.decision.import/1",
                "dry_run": dry_run,
                "made": made,
                "known": known,
                "left": left,
            }
        )
        return 0
    for identifier, title, path in done.made:
        echo(f"{identifier}  {title}   ({path})")
    for identifier, path in done.existing:
        echo(f"{identifier}  is here already   ({path})")
    if not done.made and not done.existing:
        warn("there is no decision in what was named.")
        return FINDINGS
    echo(f"{'would make' if dry_run else 'made'} {counted(len(done.made), 'decision')}.")
    return 0


@click.command(epilog="Example: kl decision export --format madr -o docs/adr")
@click.argument("ids", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(["madr", "nygard", "log4brains", "json"]),
    default="madr",
    show_default=True,
    help="What to write.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder; without it: to stdout.",
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
def export(ids: tuple[str, ...], form: str, output: Path | None, force: bool) -> None:
    """Write decisions (those of IDS, or all, the archive too) in the form of another tool.

    Nothing is lost on the way: what a form has no words for is written next to it, and `import`
    reads it back.
    """
    ws = workspace()
    known = list_records(ws, RecordFilter(("decision",), archived=True, expired=True))
    known = exported(known)
    found = [command_access().record(get_record(ws, one, "decision")) for one in ids] or known
    broken = next((one for one in found if one.broken), None)
    if broken:
        raise UsageProblem(
            f"can't be read today: {broken.broken}", place=broken.path, hint="Fix the file first."
        )
    if output is None:
        write(export_text(found, form, known))
        return
    written = export_files(output, found, form, known, force=force)
    echo(f"wrote {counted(written, 'file')} into {output}.")
