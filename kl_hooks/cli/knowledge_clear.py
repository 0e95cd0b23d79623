"""`kl knowledge clear`: what seeding made is taken away."""

from __future__ import annotations

import click

from kl_hooks.cli.common import confirm, counted, format_option, say, say_json, workspace


@click.command(epilog="Example: kl knowledge clear --system-only --dry-run")
@click.option("--system-only", "only", flag_value="system", help="Only what `kl seed --system` made.")
@click.option("--project-only", "only", flag_value="project", help="Only what was made of this project's documents.")
@click.option("--force", is_flag=True, help="What was edited by hand since, too.")
@click.option("--dry-run", is_flag=True, help="Show what would be taken away; change nothing.")
@click.option("--yes", "--confirm", "sure", is_flag=True, help="Do not ask.")
@format_option()
def clear(only: str | None, force: bool, dry_run: bool, sure: bool, shape: str) -> None:
    """Take away what `kl seed` and `kl knowledge add` made. What people wrote is never touched.

    Committed files stay in git's history; seeding makes the records again.
    """
    from kl_hooks.records.seeding import SEED_SCOPES, seeded_records
    from kl_hooks.records.seeding import clear_seeded as take_away

    ws = workspace()
    found = seeded_records(ws, (only,) if only else SEED_SCOPES)
    going = [record for record, edited in found if force or not edited]
    kept = [record for record, edited in found if edited and not force]
    if shape == "text":
        for record in going:
            say(f"{'would go' if dry_run else 'goes':<8}  {record.id}  {record.title}")
        for record in kept:
            say(f"{'kept':<8}  {record.id}  {record.title}   (edited by hand since; --force takes it too)")
    if going and not dry_run:
        if not sure:
            confirm(f"take away {counted(len(going), 'record')}?")
        take_away(ws, going)
    if shape == "json":
        say_json({"schema": "kl.knowledge.clear/1", "dry_run": dry_run, "removed": [one.id for one in going],
                  "kept": [one.id for one in kept]})  # fmt: skip
    elif not found:
        say("nothing here was made by seeding.")
