"""`kl role show`: a role as a page, by its name or ID."""

from __future__ import annotations

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import print_answer, workspace
from kl_hooks.cli.record_output import warn_of_index_problems
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.role import find_role, render_role
from kl_hooks.model.text import suggest_spelling
from kl_hooks.records.query import RecordFilter, get_record, list_records, record_to_dict


@click.command(epilog="Example: kl role show player --context feature-build")
@click.argument("name", metavar="NAME|ID")
@click.option("--context", default="", help="Where it is to hold; the role of this context goes first.")
@format_option()
def show(name: str, context: str, shape: str) -> None:
    """What somebody in this role must do, must not do, and asks about first."""
    ws = workspace()
    roles = list_records(ws, RecordFilter(("role",)))
    warn_of_index_problems()
    record = find_role(roles, name, context)
    if record is None and name.upper().startswith("ROLE-"):
        record = get_record(ws, name, "role")
    if record is None:
        known = sorted({one.text("role") for one in roles if one.status == "active"})
        hint = suggest_spelling(name, known) or (
            f"Roles: {', '.join(known)}." if known else "Take those that kl brings: kl seed --system"
        )
        raise UsageProblem("there is no active role of this name.", place=name, hint=hint)
    print_answer(shape, record_to_dict(ws, record), [render_role(record).rstrip("\n")])
