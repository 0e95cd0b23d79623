"""`kl knowledge export`: records of any kind as JSON or YAML."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kl_hooks.cli.common import note, workspace


@click.command(epilog="Example: kl knowledge export --kind objective --format yaml -o objectives.yaml")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option("--kind", "name", default="", help="All records of this kind, ended and archived ones too.")
@click.option("--format", "form", type=click.Choice(["json", "yaml"]), default="json", show_default=True, help="Form.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead.")
def export(ids: tuple[str, ...], name: str, form: str, output: Path | None) -> None:
    """Write records as JSON or YAML, an object or a list of them. `kl knowledge import` takes them back.

    Three kinds have an import of their own: kl decision import, kl memory import, kl finding import.
    """
    from kl_hooks.cli.knowledge_list import refuse_unknown
    from kl_hooks.errors import UsageProblem
    from kl_hooks.records.interchange import format_records
    from kl_hooks.records.query import RecordFilter, get_record, list_records
    from kl_hooks.store.atomic import write_atomic

    ws = workspace()
    refuse_unknown((name,) if name else ())
    if not ids and not name:
        raise UsageProblem("say which: ids, or --kind.", place="kl knowledge export", hint="See: kl knowledge list")
    found = [get_record(ws, one, name) for one in ids] or list_records(
        ws, RecordFilter((name,), archived=True, expired=True)
    )
    narrow = output is None and (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = format_records(ws.kinds, found, form, ascii_only=narrow) if found else ("[]\n")
    if output is None:
        click.echo(text, nl=False)
        return
    write_atomic(output, text.encode("utf-8", "replace"))
    note(f"{len(found)} records written to {output}")
