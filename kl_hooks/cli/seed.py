"""`kl seed`: records from the project's own documents, and from what kl brings for any project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import warn, workspace
from kl_hooks.cli.record_output import print_steps
from kl_hooks.kinds.interview import apply_answers_to
from kl_hooks.kinds.seeds import document_paths, project_seeds, system_seeds
from kl_hooks.records.seeding import plan_seeding, seed_records

if TYPE_CHECKING:
    from kl_hooks.records.seeding import Step
    from kl_hooks.workspace import Workspace


@click.command(epilog="Example: kl seed --system")
@click.option("--system", is_flag=True, help="What kl brings for any project: roles, gates, modes, workflows, rules.")
@click.option("--force", is_flag=True, help="Write over what was edited or deleted by hand, too.")
@click.option("--dry-run", is_flag=True, help="Show what would be done; write nothing.")
@format_option()
def seed(system: bool, force: bool, dry_run: bool, shape: str) -> None:
    """Make guides and facts from README, AGENTS.md, CLAUDE.md, CONTRIBUTING.md and pyproject.toml.

    Seeding again changes only what changed in these documents; what a person edited or deleted is left alone.
    """
    ws = workspace()
    done, remarks = _sow(ws, "system" if system else "project", force=force, dry=dry_run)
    for remark in remarks:
        warn(remark)
    print_steps(done, "system" if system else "project", dry_run, shape)


def _sow(ws: Workspace, scope: str, *, force: bool = False, dry: bool = False) -> tuple[list[Step], list[str]]:
    """Sows a scope, or (`dry`) only looks: (what is done with each seed, documents that could not be read)."""
    seeds, remarks = (system_seeds(ws.kinds), []) if scope == "system" else project_seeds(ws.root)
    paths = None if scope == "system" else document_paths()
    if dry:
        return plan_seeding(ws, seeds, force=force, paths=paths), remarks
    done = seed_records(ws, seeds, scope, force=force, paths=paths)
    fresh = [step.record for step in done if step.record and step.what in ("created", "updated")]
    for record in apply_answers_to(ws, fresh):
        remarks.append(f"{record.id} ({record.title}) updated from interview answers.")
    return done, remarks
