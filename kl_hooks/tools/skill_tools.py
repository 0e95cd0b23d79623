"""Tools of skills beside the operations: propose one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kl_hooks.kinds.catalog import SKILL
from kl_hooks.skills import proposals
from kl_hooks.tools.kind_tools import to_dict
from kl_hooks.tools.tool import Arguments, Tool, author, flag, line, several
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


def tools() -> Iterator[Tool]:
    """All of them."""
    yield Tool(
        "skill_propose",
        "Propose a skill; a person reviews it.",
        {
            "name": line("Such as pdf-forms."),
            "description": line("What it does and when to use it."),
            "instructions": line("What an agent does, step by step, in Markdown."),
            "category": line("Its category.", enum=list(SKILL.by_name["category"].choices)),
            "requires": several("Skills that it needs."),
            "enhances": several("Skills that it makes better."),
            "auto_approve": flag(
                "Approve it, where the user's configuration trusts you; a person adopts it."
            ),
        },
        _propose,
        ("name", "description"),
        True,
    )


def _propose(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    raw = {key: value for key, value in given.items() if key not in ("name", "auto_approve")}
    made = proposals.propose(
        ws, given["name"], raw | {"authority": "agent", "agent": author(ws)}, by=author(ws)
    )
    if not given.get("auto_approve"):
        return to_dict(ws, made)
    made, why = proposals.approve_own(ws, made, by=author(ws))
    return to_dict(ws, made) | ({"note": why} if why else {})
