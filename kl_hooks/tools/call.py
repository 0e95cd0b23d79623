"""Calling a tool: arguments in, an envelope out. What goes wrong is a part of the answer, with the exit code it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kl_hooks.config.problems import Problems
from kl_hooks.config.typed import nearest
from kl_hooks.errors import CLEAN, KlError, UsageProblem
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.text import one_line
from kl_hooks.tools.arguments import checked, read
from kl_hooks.tools.bounded import bounded
from kl_hooks.tools.catalogue import catalogue
from kl_hooks.tools.tool import SCHEMA

if TYPE_CHECKING:
    from kl_hooks.tools.tool import Tool
    from kl_hooks.workspace.open import Workspace

LONGEST = 2_000
"""Characters of a reason or a hint."""


def call(ws: Workspace, name: str, given: bytes, *, allow_write: bool) -> tuple[dict[str, Any], int]:
    """The answer of a tool (`kl.tool/1`) and the exit code. Raises nothing that is expected."""
    try:
        tool = tool_of(ws, name)
        arguments = checked(tool, read(given))
        if tool.writes and not allow_write:
            hint = "Whoever started this has to allow it: --allow-write"
            raise UsageProblem("it writes, and writing was not allowed.", place=name, hint=hint)
        result = bounded(replace_surrogates(tool.call(ws, arguments)))
    except KlError as problem:
        return failed(name, problem), problem.exit_code
    return {"schema": SCHEMA, "ok": True, "tool": name, "result": result}, CLEAN


def tool_of(ws: Workspace, name: str) -> Tool:
    """The tool of this name. UsageProblem, with the nearest name, where there is none."""
    known = catalogue(ws)
    if name not in known:
        hint = f"{nearest(name, known)} See: kl tool --list".strip()
        raise UsageProblem("there is no tool of this name.", place=one_line(name, 80), hint=hint)
    return known[name]


def failed(name: str, problem: KlError) -> dict[str, Any]:
    """The answer where something went wrong."""
    reason, place, hint = problem.reason, problem.place, problem.hint
    if isinstance(problem, Problems):
        reason = " ".join(f"{one.message} {one.hint}".strip() for one in problem.problems)
        place = place or (problem.problems[0].path if problem.problems else "")
    error = {"place": one_line(place, 300), "reason": one_line(reason, LONGEST), "hint": one_line(hint, LONGEST)}
    return {"schema": SCHEMA, "ok": False, "tool": one_line(name, 80), "error": error}
