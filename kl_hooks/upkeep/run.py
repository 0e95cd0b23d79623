"""Run the policies: every policy is asked what it would change, and applying is the only difference.

A policy that fails is reported and does not stop the others. Each change is recorded as an Event before it is made,
so a run that was killed has at worst recorded one that the next run makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kl_hooks.config.settings import load_lifecycle
from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.model.problem import Problems
from kl_hooks.model.text import one_line
from kl_hooks.workspace import require_setup

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Policy
    from kl_hooks.model.lifecycle import Change, Lifecycle
    from kl_hooks.model.problem import Problem
    from kl_hooks.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What one policy would change."""

    policy: Policy
    changes: tuple[Change, ...] = ()
    trouble: str = ""
    """Why it could not find its changes, or not make them; empty: it could."""
    applied: bool = False

    @property
    def reported_only(self) -> bool:
        """True for a policy that makes no changes."""
        return self.policy.apply is None


@dataclass(frozen=True, slots=True)
class Report:
    """What all policies would change, or changed."""

    results: tuple[PolicyResult, ...]
    numbers: Lifecycle
    problems: tuple[Problem, ...] = ()
    """What is wrong in lifecycle.yaml: the defaults apply for these."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of all policies that make some."""
        return tuple(change for one in self.results if not one.reported_only for change in one.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as `kl.knowledge.gc/2`."""
        rows = [
            {
                "policy": one.policy.name, "description": one.policy.description, "reported_only": one.reported_only,
                "applied": one.applied, "trouble": one.trouble, "changes": [change.to_dict() for change in one.changes],
            }
            for one in self.results
        ]  # fmt: skip
        return {"schema": "kl.knowledge.gc/2", "policies": rows, "total": len(self.changes)}


def failures(report: Report) -> list[str]:
    """Return each reason why policies failed, once, with the names of these policies."""
    names: dict[str, list[str]] = {}
    for one in report.results:
        if one.trouble:
            names.setdefault(one.trouble, []).append(one.policy.name)
    return [f"{', '.join(some)}: {why}" for why, some in names.items()]


def policies(ws: Workspace, only: Sequence[str] = ()) -> list[Policy]:
    """Return the policies of every package and plugin, by name; those of `only` where it names some.

    UsageProblem for a name that none has.
    """
    found = {one.name: one for answer in ws.plugins.hook.kl_policies() for one in answer}
    if unknown := [one for one in only if one not in found]:
        hint = f"There are: {', '.join(sorted(found))}."
        raise UsageProblem("there is no policy of this name.", place=one_line(unknown[0], 60), hint=hint)
    return [found[name] for name in sorted(found) if not only or name in only]


def preview(ws: Workspace, only: Sequence[str] = ()) -> Report:
    """Return what would be changed now. Raises only where kl was not set up."""
    require_setup(ws)
    numbers, problems = load_lifecycle(ws.root, ws.state.cache)
    now, results = ws.clock.now(), []
    for one in policies(ws, only):
        try:
            results.append(PolicyResult(one, tuple(one.find_changes(ws, numbers, now))))
        except (KlError, OSError) as problem:
            results.append(PolicyResult(one, trouble=str(problem)))
    return Report(tuple(results), numbers, tuple(problems))


def apply_policies(ws: Workspace, only: Sequence[str] = ()) -> Report:
    """Make the changes and return them. Problems, with nothing changed, where lifecycle.yaml is wrong."""
    report = preview(ws, only)
    # the defaults would apply for what is wrong, and could delete what the file was meant to retain
    if report.problems:
        raise Problems(report.problems)
    now = ws.clock.now()
    return replace(report, results=tuple(_apply_one(ws, one, now) for one in report.results))


def _apply_one(ws: Workspace, result: PolicyResult, now: int) -> PolicyResult:
    from kl_hooks.records.events import Event, append_events

    apply = result.policy.apply
    if apply is None or not result.changes:
        return result
    try:
        # the Events first: a change must never be made without a record of it
        append_events(ws, [Event("upkeep", one.id, body=one.to_dict()) for one in result.changes])
        apply(ws, result.changes, now)
    except (KlError, OSError) as problem:
        return replace(result, trouble=str(problem))
    return replace(result, applied=True)
