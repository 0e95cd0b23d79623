"""Run the policies: now, or what is due, by when it was done last.

Every policy is asked what it would change, and applying is the only difference. A policy that fails
is reported and does not stop the others. Each change is recorded as an Event before it is made, so
a run that was killed has at worst recorded one that the next run makes.

Changes of files that people review (the archive of decisions, demoted memories) are left to `kl
knowledge gc --apply`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import DAY, iso, micros
from kl_hooks.config.settings import load_lifecycle
from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.problem import Problems
from kl_hooks.model.text import counted, one_line
from kl_hooks.store.files import store_lock, write_atomic
from kl_hooks.workspace import require_setup

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Policy
    from kl_hooks.model.lifecycle import Change, Lifecycle
    from kl_hooks.model.problem import Problem
    from kl_hooks.workspace import Workspace


class PolicyResult(NamedTuple):
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


class Report(NamedTuple):
    """What all policies would change, or changed."""

    results: tuple[PolicyResult, ...]
    numbers: Lifecycle
    problems: tuple[Problem, ...] = ()
    """What is wrong in lifecycle.yaml: the defaults apply for these."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of all policies that make some."""
        return tuple(
            change for one in self.results if not one.reported_only for change in one.changes
        )

    @property
    def failures(self) -> list[str]:
        """Each reason why policies failed, once, with the names of these policies."""
        names: dict[str, list[str]] = {}
        for policy_result in self.results:
            if policy_result.trouble:
                names.setdefault(policy_result.trouble, []).append(policy_result.policy.name)
        return [f"{', '.join(some)}: {why}" for why, some in names.items()]


def policies(ws: Workspace, only: Sequence[str] = ()) -> list[Policy]:
    """Return the policies of every package and plugin, by name; those of `only` where it names
    some.

    UsageProblem for a name that none has.
    """
    policy_by_name = {
        policy.name: policy for answer in ws.plugins.hook.kl_policies() for policy in answer
    }
    if unknown := [policy_name for policy_name in only if policy_name not in policy_by_name]:
        hint = f"There are: {', '.join(sorted(policy_by_name))}."
        raise UsageProblem(
            "there is no policy of this name.", place=one_line(unknown[0], 60), hint=hint
        )
    return [policy_by_name[name] for name in sorted(policy_by_name) if not only or name in only]


def preview(ws: Workspace, only: Sequence[str] = ()) -> Report:
    """Return what would be changed now. Raises only where kl was not set up."""
    require_setup(ws)
    numbers, problems = load_lifecycle(ws.root, ws.state.cache)
    now = ws.clock.now()
    results = []
    for policy in policies(ws, only):
        try:
            results.append(PolicyResult(policy, tuple(policy.find_changes(ws, numbers, now))))
        except (KlError, OSError) as problem:
            results.append(PolicyResult(policy, trouble=str(problem)))
    return Report(tuple(results), numbers, tuple(problems))


def apply_policies(ws: Workspace, only: Sequence[str] = ()) -> Report:
    """Make the changes and return them. Problems, with nothing changed, where lifecycle.yaml is
    wrong.
    """
    report = preview(ws, only)
    # the defaults would apply for what is wrong, and could delete what the file was meant to retain
    if report.problems:
        raise Problems(report.problems)
    now = ws.clock.now()
    return report._replace(results=tuple(_apply_one(ws, one, now) for one in report.results))


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
        return result._replace(trouble=str(problem))
    return result._replace(applied=True)


STAMP: Final = "maintain.json"
LOCK: Final = "maintain.lock"
UNATTENDED: Final = (
    "cache",
    "ephemeral files",
    "expired claims",
    "expired pools",
    "expired records",
    "idle candidates",
    "old runs",
    "open sessions",
    "orphaned graphs",
    "package log",
    "skill conflicts",
    "stale entries",
    "tier events",
)
"""Policies that touch nothing in the working tree."""


class Action(NamedTuple):
    """Something to run every so many days."""

    name: str
    description: str
    days: int
    run: Callable[[Workspace], str]
    """Runs it; returns the result in a few words."""


class ActionResult(NamedTuple):
    """The result of one action."""

    name: str
    result: str
    trouble: str = ""
    """Why it failed; it is then due again."""


def _ingest(ws: Workspace) -> str:
    from kl_hooks.evidence.ingestion import sync_evidence
    from kl_hooks.records.sync import sync

    receipts = counted(sync_evidence(ws).receipts, "receipt")
    files = counted(sync(ws).read, "file")
    return f"{receipts} ingested, {files} of records read"


def _mine(ws: Workspace) -> str:
    from kl_hooks.kinds.memory.add import mine_receipts

    result = mine_receipts(ws)
    return (
        f"{counted(len(result.new), 'new candidate')}, {counted(len(result.reinforced), 'memory')}"
        " confirmed"
    )


def _tidy(ws: Workspace) -> str:

    report = apply_policies(ws, UNATTENDED)
    if failed := report.failures:
        raise KlError("; ".join(failed))
    return counted(len(report.changes), "change")


def _verify(ws: Workspace) -> str:
    from kl_hooks.evidence.high_water import read_marks
    from kl_hooks.evidence.integrity import audit

    marks = read_marks(ws)
    with ws.store.reading() as db:
        report = audit(db, marks)
    if report.problems:
        hint = ". See: kl evidence verify"
    else:
        hint = ""
    return (
        f"{counted(report.receipts, 'receipt')}, {counted(len(report.problems), 'problem')}{hint}"
    )


ACTIONS: Final = (
    Action("ingest", "Captures, commits and authored files are ingested.", 1, _ingest),
    Action("mine", "Receipts are looked through for patterns.", 1, _mine),
    Action("tidy", "Upkeep that touches nothing in the working tree.", 1, _tidy),
    Action("verify", "The chain of receipts is checked.", 7, _verify),
)


def last_runs(ws: Workspace) -> dict[str, str]:
    """Return the name of an action → when it ran last (ISO 8601); empty where that is not known."""
    try:
        plain = json.loads((ws.state.directory / STAMP).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(plain, dict):
        return {}
    return {k: v for k, v in plain.items() if isinstance(v, str)}


def due_actions(actions: Sequence[Action], done: Mapping[str, str], now: int) -> list[Action]:
    """Return the actions whose time has come. A moment that can't be read, or is in the future, is
    none. Pure.
    """
    moments: dict[str, int] = {}
    for name, text in done.items():
        with suppress(ValueError, OverflowError):
            moments[name] = micros(text)
    return [
        one
        for one in actions
        if one.name not in moments or not 0 <= now - moments[one.name] < one.days * DAY
    ]


def run_maintenance(ws: Workspace, *, only_due: bool = False) -> list[ActionResult]:
    """Run all actions, or those that are due; one that fails does not stop the others.

    StoreBusy where another process runs them.
    """
    require_setup(ws)
    ws.state.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    # no wait: the process that has the lock runs the same actions
    with store_lock(ws.state.directory / LOCK, wait=0, what="kl maintain"):
        if only_due:
            wanted = due_actions(ACTIONS, last_runs(ws), ws.clock.now())
        else:
            wanted = list(ACTIONS)
        return [_run_action(ws, one) for one in wanted]


def _run_action(ws: Workspace, action: Action) -> ActionResult:
    try:
        done = ActionResult(action.name, action.run(ws))
    except (KlError, OSError) as problem:
        return ActionResult(action.name, "", str(problem))
    # Stamped action by action: a run that is killed repeats only what it did not finish.
    stamp = json.dumps(last_runs(ws) | {action.name: iso(ws.clock.now())}, sort_keys=True)
    write_atomic(ws.state.directory / STAMP, stamp.encode(), mode=0o600)
    return done
