"""Periodic maintenance: what is due, and when it was done last.

Changes of files that people review (the archive of decisions, demoted memories) are left to `kl knowledge gc --apply`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import iso, micros
from kl_hooks.errors import KlError
from kl_hooks.model.text import counted
from kl_hooks.store.files import write_atomic
from kl_hooks.store.locks import store_lock
from kl_hooks.workspace import require_setup

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

STAMP: Final = "maintain.json"
LOCK: Final = "maintain.lock"
DAY: Final = 86_400_000_000
UNATTENDED: Final = (
    "cache", "ephemeral files", "expired claims", "expired pools", "expired records", "idle candidates", "old runs",
    "open sessions", "orphaned graphs", "package log", "skill conflicts", "stale entries", "tier events",
)  # fmt: skip
"""Policies that touch nothing in the working tree."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something to run every so many days."""

    name: str
    description: str
    days: int
    run: Callable[[Workspace], str]
    """Runs it; returns the result in a few words."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of one action."""

    name: str
    result: str
    trouble: str = ""
    """Why it failed; it is then due again."""


def _ingest(ws: Workspace) -> str:
    from kl_hooks.evidence.ingestion import sync_evidence
    from kl_hooks.records.sync import sync

    receipts, files = counted(sync_evidence(ws).receipts, "receipt"), counted(sync(ws).read, "file")
    return f"{receipts} ingested, {files} of records read"


def _mine(ws: Workspace) -> str:
    from kl_hooks.kinds.memory.add import mine_receipts

    result = mine_receipts(ws)
    return f"{counted(len(result.new), 'new candidate')}, {counted(len(result.reinforced), 'memory')} confirmed"


def _tidy(ws: Workspace) -> str:
    from kl_hooks.upkeep.run import apply_policies, failures

    report = apply_policies(ws, UNATTENDED)
    if failed := failures(report):
        raise KlError("; ".join(failed))
    return counted(len(report.changes), "change")


def _verify(ws: Workspace) -> str:
    from kl_hooks.evidence.integrity import audit, read_marks

    marks = read_marks(ws)
    with ws.store.reading() as db:
        found = audit(db, marks)
    hint = ". See: kl evidence verify" if found.problems else ""
    return f"{counted(found.receipts, 'receipt')}, {counted(len(found.problems), 'problem')}{hint}"


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
    return {k: v for k, v in plain.items() if isinstance(v, str)} if isinstance(plain, dict) else {}


def due_actions(actions: Sequence[Action], done: Mapping[str, str], now: int) -> list[Action]:
    """Return the actions whose time has come. A moment that can't be read, or is in the future, is none. Pure."""
    moments: dict[str, int] = {}
    for name, text in done.items():
        with suppress(ValueError, OverflowError):
            moments[name] = micros(text)
    return [one for one in actions if one.name not in moments or not 0 <= now - moments[one.name] < one.days * DAY]


def run_maintenance(ws: Workspace, *, only_due: bool = False) -> list[ActionResult]:
    """Run all actions, or those that are due; one that fails does not stop the others.

    StoreBusy where another process runs them.
    """
    require_setup(ws)
    ws.state.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    # no wait: whoever has the lock runs the same actions
    with store_lock(ws.state.directory / LOCK, wait=0, what="kl maintain"):
        wanted = due_actions(ACTIONS, last_runs(ws), ws.clock.now()) if only_due else list(ACTIONS)
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
