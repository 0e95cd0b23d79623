"""`kl hooks`: native git hooks, installed beside whatever is there and removed without a trace;
pre-commit's part.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from kl_hooks.cli.output import format_option, print_answer, warn, workspace
from kl_hooks.errors import CLEAN, FINDINGS, EnvironmentProblem, UsageProblem
from kl_hooks.git.repository import Repository
from kl_hooks.store.files import read_small
from kl_hooks.workspace import Workspace

_NOT_DONE = ("inert", "refused", "kept")


@click.group()
def hooks() -> None:
    """Native git hooks: install, uninstall, status.

    post-commit notes that a commit was made; pre-commit and pre-push check what is staged or pushed
    against the layers. commit-msg names the context packages made since the last commit in a
    trailer; it is installed only by its name.
    """


@hooks.command(epilog="Example: kl hooks install --only post-commit")
@click.option(
    "--only", metavar="NAME", multiple=True, help="Only this git hook; may be given several times."
)
@click.option(
    "--sync",
    "remote",
    metavar="REMOTE",
    default="",
    help="Also let `git fetch REMOTE` bring evidence.",
)
@format_option()
def install(only: tuple[str, ...], remote: str, shape: str) -> int:
    """Install the git hooks, but commit-msg only with --only. One that exists already is preserved
    and still run.

    With --sync, the notes with evidence of others are added to what `git fetch REMOTE` fetches
    (remote.REMOTE.fetch), and the next command imports them (kl.sync). What counts of them, kl
    trust decides. Nothing is pushed: that is kl sync.

    Ends with 1 if one could not be installed: the reason and the lines to add by hand are shown.
    """
    from kl_hooks.git.hooks import install_hooks
    from kl_hooks.store.state import prepare_state

    ws = workspace()
    repo = _repository(ws)
    prepare_state(ws.state)
    rows = []
    if remote:
        from kl_hooks.git.notes import fetch_with

        spec = fetch_with(repo, remote)
        rows = [_row("fetch", f"git config remote.{remote}.fetch {spec}", "action", "set", "")]
    done = install_hooks(repo, only, sys.executable, ws.state.spool)
    rows += [_row(d.name, d.path, "action", d.action, d.reason) for d in done]
    return _print_rows("install", rows, shape)


@hooks.command(epilog="Example: kl hooks uninstall")
@format_option()
def uninstall(shape: str) -> int:
    """Remove kl's git hooks, and restore what was there before them, byte for byte."""
    from kl_hooks.git.hooks import uninstall_hooks

    done = uninstall_hooks(_repository(workspace()))
    return _print_rows(
        "uninstall", [_row(d.name, d.path, "action", d.action, d.reason) for d in done], shape
    )


@hooks.command(epilog="Example: kl hooks status --format json")
@format_option()
def status(shape: str) -> int:
    """The state of each git hook: installed, called, missing, edited, broken or inert."""
    from kl_hooks.git.hooks import PRE_COMMIT_FILE, hook_states

    repo = _repository(workspace())
    try:
        config = read_small(repo.top / PRE_COMMIT_FILE, within=repo.top) or b""
    except UsageProblem:
        config = b""
    states = hook_states(repo, config)
    return _print_rows(
        "status", [_row(s.name, s.path, "state", s.state, s.reason) for s in states], shape
    )


def _repository(ws: Workspace) -> Repository:
    if ws.repo is None:
        hint = "Git hooks need a repository: git init, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    return ws.repo


def _row(name: str, path: object, key: str, word: str, reason: str) -> dict[str, str]:
    return {"name": name, "path": str(path), key: word, "reason": reason}


def _print_rows(verb: str, rows: list[dict[str, Any]], shape: str) -> int:
    """Prints the rows; the exit code is 1 where something asked for was not done."""
    lines = [
        f"{row.get('action') or row['state']:<10} {row['path']}"
        + (f"\n           {row['reason']}" if row["reason"] else "")
        for row in rows
    ]
    print_answer(shape, {"schema": f"kl.hooks.{verb}/1", "hooks": rows}, lines)
    if not rows and shape == "text":
        warn("no git hook of kl is here.")
    if any(row.get("action") in _NOT_DONE for row in rows):
        return FINDINGS
    return CLEAN
