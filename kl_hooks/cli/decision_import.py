"""`kl decision import`: decisions of other tools as records."""

from __future__ import annotations

from pathlib import Path

import click

from kl_hooks.cli.common import counted, note, say, say_json, workspace
from kl_hooks.errors import FOUND


@click.command("import", epilog="Example: kl decision import docs/adr --dry-run")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(["auto", "madr", "nygard", "log4brains", "json"]), default="auto",
    show_default=True, help="The format of the files.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be made; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Say what was done as JSON.")
def import_(paths: tuple[Path, ...], form: str, dry_run: bool, as_json: bool) -> int:
    """Make a record of every decision in these files and folders: MADR, adr-tools (Nygard), log4brains, JSON.

    A number that is free here stays; references to each other become ids; what has no field of ours is kept in the
    text. All of them are taken in, or none. A file that was taken in before is left alone.
    """
    from kl_hooks.evidence.who import agent
    from kl_hooks.kinds.decision.importer import import_decisions
    from kl_hooks.records.write import require_setup

    ws = workspace()
    require_setup(ws)
    done = import_decisions(ws, paths, form, dry_run=dry_run, agent=agent(ws.environ) or "")
    for remark in done.remarks:
        note(remark)
    for path in done.left:
        note(f"{path}: no decision, left out.")
    if as_json:
        made = [{"id": i, "title": title, "path": path} for i, title, path in done.made]
        known = [{"id": i, "path": path} for i, path in done.known]
        say_json({"schema": "kl.decision.import/1", "dry_run": dry_run, "made": made, "known": known, "left": list(done.left)})
        return 0
    for identifier, title, path in done.made:
        say(f"{identifier}  {title}   ({path})")
    for identifier, path in done.known:
        say(f"{identifier}  is here already   ({path})")
    if not done.made and not done.known:
        note("there is no decision in what was named.")
        return FOUND
    say(f"{'would make' if dry_run else 'made'} {counted(len(done.made), 'decision')}.")
    return 0
