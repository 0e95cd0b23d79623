"""`kl proposal`: the command that only proposals of skills have."""

from __future__ import annotations

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import initialized_workspace, warn
from kl_hooks.cli.record_output import print_record
from kl_hooks.skills import proposals


@click.command(epilog="Example: kl proposal approve PROP-0001")
@click.argument("id")
@format_option()
def approve(id: str, shape: str) -> None:
    """Approve a proposal, and propose what it requires and does not exist: at most three skills, three levels deep."""
    ws = initialized_workspace()
    record, made = proposals.approve(ws, id)
    print_record(ws, record, shape)
    for reason in proposals.suspicions(record):
        warn(f"{record.id} reads like an instruction to its reviewer: {reason}")
    for one in made:
        warn(f"{one.id} proposed: {one.title}, which {record.title} needs")
    if shape == "text":
        warn(f"to write its SKILL.md: kl skill adopt {record.id}")
