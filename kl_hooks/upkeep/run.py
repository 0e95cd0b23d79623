"""Looking and applying: every policy is asked what it would change; applying is the only difference.

A policy that fails is said and costs the others nothing. Each change is noted as an Event before it is made, so a run
that was killed has at worst noted one that the next run makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kl_hooks.config.settings import load_lifecycle
from kl_hooks.errors import KlError
from kl_hooks.model.problem import Problems
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
    """Why it could not look, or could not change; empty: it could."""
    applied: bool = False

    @property
    def reported_only(self) -> bool:
        """True for a policy that has nothing to apply."""
        return self.policy.apply is None


@dataclass(frozen=True, slots=True)
class Report:
    """What all policies would change, or changed."""

    looked: tuple[PolicyResult, ...]
    numbers: Lifecycle
    problems: tuple[Problem, ...] = ()
    """What is wrong in the file of the numbers: the defaults hold for these."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """Of all policies that can apply something."""
        return tuple(change for one in self.looked if not one.reported_only for change in one.changes)


def failures(report: Report) -> list[str]:
    """Why policies could not look or apply: each reason once, with the policies that it kept from their work."""
    names: dict[str, list[str]] = {}
    for one in report.looked:
        if one.trouble:
            names.setdefault(one.trouble, []).append(one.policy.name)
    return [f"{', '.join(some)}: {why}" for why, some in names.items()]


def policies(ws: Workspace, only: Sequence[str] = ()) -> list[Policy]:
    """Every room's and plugin's policies, by name; those of `only` where it names some."""
    found = [one for answer in ws.plugins.hook.kl_policies() for one in answer]
    return sorted((one for one in found if not only or one.name in only), key=lambda one: one.name)


def preview(ws: Workspace, only: Sequence[str] = ()) -> Report:
    """What would be changed now. Changes nothing; raises only where kl has no home here."""
    require_setup(ws)
    numbers, problems = load_lifecycle(ws.root, ws.state.cache)
    now = ws.clock.now()
    return Report(tuple(_preview_one(ws, one, numbers, now) for one in policies(ws, only)), numbers, tuple(problems))


def _preview_one(ws: Workspace, policy: Policy, numbers: Lifecycle, now: int) -> PolicyResult:
    try:
        return PolicyResult(policy, tuple(policy.find_changes(ws, numbers, now)))
    except (KlError, OSError) as problem:
        return PolicyResult(policy, trouble=str(problem))


def apply_policies(ws: Workspace, only: Sequence[str] = ()) -> Report:
    """Looks and applies. Problems, with nothing changed, where the file of the numbers is not right."""
    report = preview(ws, only)
    if report.problems:
        raise Problems(report.problems)
    now = ws.clock.now()
    return replace(report, looked=tuple(_apply_one(ws, one, now) for one in report.looked))


def _apply_one(ws: Workspace, looked: PolicyResult, now: int) -> PolicyResult:
    apply = looked.policy.apply
    if apply is None or not looked.changes:
        return looked
    try:
        _record_changes(ws, looked.changes)
        apply(ws, looked.changes, now)
    except (KlError, OSError) as problem:
        return replace(looked, trouble=str(problem))
    return replace(looked, applied=True)


def _record_changes(ws: Workspace, changes: Sequence[Change]) -> None:
    """Notes an Event for each change: what is done, to what, by which policy and why."""
    from kl_hooks.records.events import Event, append_events

    append_events(ws, [Event("upkeep", one.id, body=one.to_dict()) for one in changes])


def to_dict(report: Report) -> dict[str, Any]:
    """`kl.knowledge.gc/1`."""
    return {
        "schema": "kl.knowledge.gc/1",
        "policies": [
            {
                "policy": one.policy.name, "says": one.policy.description, "reported_only": one.reported_only,
                "applied": one.applied, "trouble": one.trouble, "changes": [change.to_dict() for change in one.changes],
            }
            for one in report.looked
        ],
        "total": len(report.changes),
    }  # fmt: skip
