"""Tools of skills: discover, read and list them, begin and end a use, propose one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kl_hooks.context.access import access
from kl_hooks.kinds.catalog import SKILL
from kl_hooks.records.liveness import live_records
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.skills import health, library, proposals
from kl_hooks.skills.uses import end_use, outcomes, skill_context, start_use, uses
from kl_hooks.tools.kind_tools import to_dict
from kl_hooks.tools.tool import Arguments, Tool, author, flag, line, number, several
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_BUDGET = number("Most tokens of instructions.", library.BUDGET, 0, 6_000)
_CATEGORY = line("Its category.", enum=list(SKILL.by_name["category"].choices))
_NAME = line("Its name or ID.")


def tools() -> Iterator[Tool]:
    """All of them."""
    yield Tool(
        "discover_skills",
        "The skills that a task needs, best first: by words, meaning and relations.",
        {
            "description": line("The task."),
            "budget": _BUDGET,
            "limit": number("Most that are given.", 10, 1, 50),
            "mode": line("manifest: without instructions.", enum=list(library.MODES)),
        },
        _discover,
        ("description",),
        False,
        {"task": "description", "query": "description"},
    )
    yield Tool(
        "get_skill_context",
        "One skill with its instructions, what it requires, and how well it does.",
        {"skill_id": _NAME, "budget": _BUDGET},
        lambda ws, given: skill_context(ws, given["skill_id"], given["budget"]),
        ("skill_id",),
        False,
        {"id": "skill_id", "name": "skill_id"},
    )
    yield Tool(
        "list_skills",
        "The skills; in force unless a status is named.",
        {
            "category": _CATEGORY,
            "status": line("Only in this status.", enum=list(SKILL.statuses)),
            "limit": number("Most that are given.", 50, 1, 500),
        },
        _list,
    )
    yield Tool(
        "skill_use",
        "You follow a skill from now on: the answer names the file to follow.",
        {
            "skill": _NAME,
            "seed": line("Chooses the variant; the same seed, the same variant. Else the session."),
        },
        _use,
        ("skill",),
        True,
    )
    yield Tool(
        "skill_done",
        "A use of a skill is over. Runs of tests and commits show its outcome.",
        {"use": line("Its ID, or the name of the skill.")},
        _done,
        ("use",),
        True,
    )
    yield Tool(
        "skill_propose",
        "Propose a skill; a person reviews it.",
        {
            "name": line("Such as pdf-forms."),
            "description": line("What it does and when to use it."),
            "instructions": line("What an agent does, step by step, in Markdown."),
            "category": _CATEGORY,
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
    yield Tool("skill_check", "Conflicts between skills, most urgent first.", {}, _check)
    yield Tool(
        "skill_health",
        "The health of all skills, term by term, and what would improve it.",
        {},
        _health,
    )
    yield Tool(
        "skill_team",
        "At most five agents that together have the skills a task needs.",
        {"task": line("The task.")},
        _team,
        ("task",),
    )


def _discover(ws: Workspace, given: Arguments) -> Any:
    mode = given.get("mode") or library.MODES[0]
    return library.discover(
        ws, given["description"], mode, given["budget"], given["limit"]
    ).to_dict()


def _list(ws: Workspace, given: Arguments) -> Any:
    wanted = RecordFilter(("skill",), (given["status"],) if given.get("status") else SKILL.live)
    found = list_records(ws, wanted)
    # what nobody accepted is listed where its status is asked for, and never as something to follow
    found = found if given.get("status") else live_records(ws, found)
    found = [one for one in found if given.get("category") in (None, one.text("category"))]
    return {
        "skills": [library.summary(one) for one in found[: given["limit"]]],
        "total": len(found),
    }


def _use(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    made = start_use(ws, given["skill"], given.get("seed", ""))
    return {
        "use": made.id,
        "name": made.name,
        "variant": made.variant,
        "path": made.path,
        "version": made.version,
    }


def _done(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    made = end_use(ws, given["use"])
    outcome = outcomes(ws, uses(ws))[made.id]
    return {
        "use": made.id,
        "name": made.name,
        "success": outcome.success,
        "reasons": list(outcome.reasons),
    }


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


def _check(ws: Workspace, given: Arguments) -> Any:
    report, now = health.check(ws, record=False), ws.clock.now()
    return {"conflicts": [one.to_dict(now) for one in report.open], "suppressed": report.suppressed}


def _health(ws: Workspace, given: Arguments) -> Any:
    found = health.health(ws)
    suggested = [one._asdict() for one in health.suggestions(ws)]
    return (found.to_dict() if found else {"score": None}) | {"suggestions": suggested}


def _team(ws: Workspace, given: Arguments) -> Any:
    matches = library.discover(ws, given["task"], "manifest").found
    with access(ws, "tool skill_team", author(ws)) as may:
        made = library.team([one for one in matches if may.shows(one.record)])
    return {**made._asdict(), "members": {name: list(some) for name, some in made.members.items()}}
