"""`kl arch check`: the imports held against the manifest."""

from __future__ import annotations

import os
import select
import sys
import time
from typing import TYPE_CHECKING

import click

from kl_hooks.arch.render import text
from kl_hooks.arch.run import check as run_check
from kl_hooks.arch.source import STAGED, WORKTREE, on_disk, pushed, revision
from kl_hooks.arch.verdict import Verdict
from kl_hooks.cli.common import counted, format_option, note, say, workspace
from kl_hooks.errors import UsageProblem
from kl_hooks.workspace.open import Workspace

if TYPE_CHECKING:
    from kl_hooks.arch.changed import Range

_PATIENCE = 2.0
"""Seconds to wait for git's lines on stdin."""


@click.command(epilog="Example: kl arch check --staged")
@click.option("--staged", is_flag=True, help="What is staged, as a commit would hold it.")
@click.option("--at", "rev", metavar="REV", help="A revision instead of the files as they are now.")
@click.option("--pushed", "push", is_flag=True, help="What a pre-push git hook is about to push.")
@click.option(
    "--changed", "span", metavar="A...B", help="B, but only what stands in files changed since A and B parted."
)
@format_option("sarif", "github", "gitlab", "mermaid")
def check(staged: bool, rev: str | None, push: bool, span: str | None, shape: str) -> int:
    """Hold the imports against `.kl/architecture.yaml`. Exit 0 for clean, 1 for violations, 2 for a bad manifest.

    By default the files as they are on disk. The manifest and the baseline are those of the same content.

    --changed takes A...B, A..B (no common ancestor is looked for), or A alone (up to the files on disk).
    """
    if staged + push + (rev is not None) + (span is not None) > 1:
        raise UsageProblem("give only one of --staged, --at, --pushed and --changed.", place="kl arch check")
    ws = workspace()
    asked = _range(ws, span)
    started = time.perf_counter()
    found = [(source, _judged(ws, source, asked)) for source in _sources(staged, rev, push, asked)]
    seconds = time.perf_counter() - started
    if shape == "text":
        _say(ws, found, seconds)
    else:
        from kl_hooks.arch.formats.document import document

        click.echo(document(ws, shape, found), nl=False)
    return 0 if all(verdict is None or verdict.clean for _, verdict in found) else 1


def _range(ws: Workspace, span: str | None) -> Range | None:
    if span is None:
        return None
    from kl_hooks.arch.changed import changed

    return changed(ws, span)


def _sources(staged: bool, rev: str | None, push: bool, asked: Range | None) -> list[str]:
    if push:
        return pushed(os.environ, _stdin())
    if asked:
        return [asked.source]
    return [STAGED if staged else WORKTREE if rev is None else revision(rev)]


def _judged(ws: Workspace, source: str, asked: Range | None) -> Verdict | None:
    verdict, remarks = run_check(ws, source)
    for remark in remarks:
        note(remark)
    for warning in verdict.warnings if verdict else ():
        note(f"warning: {warning}")
    if verdict is not None and asked is not None:
        from kl_hooks.arch.changed import narrowed

        verdict, others = narrowed(verdict, asked)
        if others:
            note(f"{counted(others, 'finding')} in files that {asked.text} does not change: not shown.")
    return verdict


def _say(ws: Workspace, found: list[tuple[str, Verdict | None]], seconds: float) -> None:
    for source, verdict in found:
        if verdict is not None:
            for line in text(verdict, seconds):
                say(line)
        elif on_disk(ws):
            where = "what is staged" if source == STAGED else source
            say(f"no .kl/architecture.yaml in {where} - nothing to enforce. The one on disk is not in git there.")
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
