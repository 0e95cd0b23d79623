"""`kl arch`: layers, and imports held against them."""

from __future__ import annotations

import os
import select
import sys
import time
from typing import Any

import click

from kl_hooks.arch.render import SCHEMA, plain, text
from kl_hooks.arch.run import check as run_check
from kl_hooks.arch.run import day
from kl_hooks.arch.source import STAGED, WORKTREE, on_disk, pushed, revision
from kl_hooks.arch.verdict import Verdict
from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.errors import UsageProblem
from kl_hooks.workspace.open import Workspace

_PATIENCE = 2.0
"""Seconds to wait for git's lines on stdin."""


@click.group()
def arch() -> None:
    """Layers: who may depend on whom."""


@arch.command(epilog="Example: kl arch check --staged")
@click.option("--staged", is_flag=True, help="What is staged, as a commit would hold it.")
@click.option("--at", "rev", help="A revision instead of the files as they are now.")
@click.option("--pushed", "push", is_flag=True, help="What a pre-push git hook is about to push.")
@format_option()
def check(staged: bool, rev: str | None, push: bool, shape: str) -> int:
    """Hold the imports against `.kl/architecture.yaml`. Exit 0 for clean, 1 for violations, 2 for a bad manifest.

    By default the files as they are on disk. The manifest is that of the same content.
    """
    if staged + push + (rev is not None) > 1:
        raise UsageProblem("give only one of --staged, --at and --pushed.", place="kl arch check")
    ws = workspace()
    sources = (
        pushed(os.environ, _stdin()) if push else [STAGED if staged else WORKTREE if rev is None else revision(rev)]
    )
    started = time.perf_counter()
    found: list[tuple[str, Verdict | None]] = []
    for source in sources:
        verdict, remarks = run_check(ws, source)
        found.append((source, verdict))
        for remark in remarks:
            note(remark)
        for warning in verdict.warnings if verdict else ():
            note(f"warning: {warning}")
    seconds = time.perf_counter() - started
    if shape == "json":
        values = [_plain(source, verdict) for source, verdict in found]
        say_json(values[0] if len(values) == 1 else {"schema": SCHEMA, "clean": _clean(found), "checks": values})
    else:
        _say(ws, found, seconds)
    return 0 if _clean(found) else 1


def _clean(found: list[tuple[str, Verdict | None]]) -> bool:
    return all(verdict is None or verdict.clean for _, verdict in found)


def _plain(source: str, verdict: Verdict | None) -> dict[str, Any]:
    if verdict is not None:
        return plain(verdict)
    empty: dict[str, Any] = {key: [] for key in ("violations", "problems", "warnings")}
    return {"schema": SCHEMA, "clean": True, "files": 0, "layers": 0, "manifest": None, "source": source, **empty}


def _say(ws: Workspace, found: list[tuple[str, Verdict | None]], seconds: float) -> None:
    for source, verdict in found:
        if verdict is not None:
            for line in text(verdict, day(ws, 30), seconds):
                say(line)
        elif on_disk(ws):
            say(f"no .kl/architecture.yaml in {source} - nothing to enforce. The one on disk is not in git there.")
        else:
            say("no .kl/architecture.yaml in this repository - nothing to enforce. Create one with: kl init")


def _stdin() -> list[str]:
    """The lines that git gives to a pre-push git hook; none on a terminal, from pre-commit, or if nothing comes."""
    if os.environ.get("PRE_COMMIT") or sys.stdin is None or sys.stdin.isatty():
        return []
    try:
        ready, _, _ = select.select([sys.stdin], [], [], _PATIENCE)
    except (OSError, ValueError):
        return []
    return sys.stdin.read().splitlines() if ready else []
