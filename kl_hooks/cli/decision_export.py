"""`kl decision export`: records as files of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from kl_hooks.cli.common import counted, say, workspace
from kl_hooks.errors import UsageProblem


@click.command(epilog="Example: kl decision export --format madr -o docs/adr")
@click.argument("ids", nargs=-1)
@click.option(
    "--format", "form", type=click.Choice(["madr", "nygard", "log4brains", "json"]), default="madr", show_default=True,
    help="What to write.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="A folder; without it: to stdout."
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
def export(ids: tuple[str, ...], form: str, output: Path | None, force: bool) -> None:
    """Write decisions (those of IDS, or all, the archive too) in the form of another tool.

    Nothing is lost on the way: what a form has no words for is written beside it, and `import` reads it back.
    """
    from kl_hooks.kinds.decision.exporter import export_text, export_texts, write_files
    from kl_hooks.records.query import RecordFilter, get_record, list_records

    ws = workspace()
    known = list_records(ws, RecordFilter(("decision",), archived=True, expired=True))
    found = [get_record(ws, one, "decision") for one in ids] or known
    broken = next((one for one in found if one.broken), None)
    if broken:
        raise UsageProblem(f"can't be read today: {broken.broken}", place=broken.path, hint="Fix the file first.")
    if output is None:
        click.echo(export_text(found, form, known), nl=False)
        return
    files = export_texts(found, form, known)
    write_files(output, files, force)
    say(f"wrote {counted(len(files), 'file')} into {output}.")
