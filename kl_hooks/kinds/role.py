"""Roles: found by name and context, and rendered as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.model.record import Record

_LISTS: Final = (
    ("must_do", "MUST DO"), ("must_not_do", "MUST NOT DO"), ("ask_before", "ASK BEFORE"),
    ("good_examples", "Good examples"), ("bad_examples", "Bad examples"),
)  # fmt: skip


def find_role(roles: Sequence[Record], name: str, context: str = "") -> Record | None:
    """Return the active role of this name or ID, in this context if one has it; None where there is none."""
    wanted = name.strip().casefold()
    found = [
        one for one in roles
        if one.status == "active" and wanted in (one.text("role").strip().casefold(), one.id.casefold())
    ]  # fmt: skip
    # without one for this context, a role of that name is better than none
    fitting = [one for one in found if context and one.text("context").casefold() == context.strip().casefold()]
    return next(iter(fitting or found), None)


def render_role(role: Record) -> str:
    """Return Markdown: the responsibility, then what must be done, must not be done, and is asked about first."""
    context = f" ({role.text('context')})" if role.text("context") else ""
    lines = [f"# {role.text('role')}{context}", ""]
    if role.text("primary_responsibility"):
        lines += [f"**Primary responsibility:** {role.text('primary_responsibility')}", ""]
    for name, heading in _LISTS:
        if role.many(name):
            lines += [f"## {heading}", "", *(f"- {item}" for item in role.many(name)), ""]
    return "\n".join(lines).rstrip() + "\n"
