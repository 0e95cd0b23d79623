"""`kl seed`: records from the project's own documents, and from what kl brings for any project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import counted, echo, echo_json, warn, workspace
from kl_hooks.kinds.interview import apply_answers_to
from kl_hooks.kinds.seeds import document_paths, project_seeds, system_seeds
from kl_hooks.records.seeding import plan_seeding, seed_records
from kl_hooks.store.redaction import redact

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


def print_steps(done: Sequence[Step], scope: str, dry_run: bool, shape: str) -> None:
    """What was, or would be, done with each seed."""
    if shape == "json":
        echo_json({"schema": "kl.seed/1", "scope": scope, "dry_run": dry_run, "seeds": [_plain(step) for step in done]})
        return
    for step in done:
        record = f"{step.record.id}  " if step.record else ""
        why = f"   ({step.reason})" if step.reason and step.what != "skipped" else ""
        if step.what != "skipped":
            echo(f"{step.what:<8}  {record}{redact(_title(step) or step.seed.key)}{why}")
    counts = Counter(step.what for step in done)
    summary = ", ".join(
        f"{counts[what]} {what}" for what in ("created", "updated", "outdated", "skipped", "kept") if counts[what]
    )
    would = "would be: " if dry_run else ""
    echo(
        f"{counted(len(done), 'seed')}: {would}{summary}"
        if done
        else "no document here has anything that can be seeded."
    )


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


def _title(step: Step) -> str:
    return str(step.seed.values.get("title", ""))


def _plain(step: Step) -> dict[str, str]:
    return {
        "what": step.what, "kind": step.seed.kind, "key": redact(step.seed.key), "title": redact(_title(step)),
        "source_path": step.seed.path, "source_hash": step.seed.hash, "reason": step.reason,
        "id": step.record.id if step.record else "", "path": step.record.path if step.record else "",
    }  # fmt: skip
