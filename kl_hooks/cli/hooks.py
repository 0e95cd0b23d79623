"""`kl hooks`: native git hooks, installed beside whatever is there and taken away without a trace."""

from __future__ import annotations

import sys
from typing import Any

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.errors import CLEAN, FOUND, EnvironmentProblem
from kl_hooks.git.repository import Repository
from kl_hooks.workspace.open import Workspace

_NOT_DONE = ("inert", "refused", "kept")


@click.group()
def hooks() -> None:
    """Native git hooks: install, uninstall, status.

    post-commit notes that a commit was made; pre-commit and pre-push hold what is staged or pushed against the layers.
    """


@hooks.command(epilog="Example: kl hooks install --only post-commit")
@click.option("--only", metavar="NAME", multiple=True, help="Only this git hook; may be given several times.")
@format_option()
def install(only: tuple[str, ...], shape: str) -> int:
    """Install the git hooks. One that is there already is kept and still run.

    Ends with 1 if one could not be installed: the reason and the lines to add by hand are shown.
    """
    from kl_hooks.git.hooks import install as install_hooks
    from kl_hooks.store.state import prepare

    ws = workspace()
    repo = _repository(ws)
    prepare(ws.state)
    done = install_hooks(repo, only, sys.executable, ws.state.spool)
    return _show("install", [_plain(d.name, d.path, "action", d.action, d.reason) for d in done], shape)


@hooks.command(epilog="Example: kl hooks uninstall")
@format_option()
def uninstall(shape: str) -> int:
    """Take kl's git hooks away and put back what was there before them, byte for byte."""
    from kl_hooks.git.hooks import uninstall as uninstall_hooks

    done = uninstall_hooks(_repository(workspace()))
    return _show("uninstall", [_plain(d.name, d.path, "action", d.action, d.reason) for d in done], shape)


@hooks.command(epilog="Example: kl hooks status --format json")
@format_option()
def status(shape: str) -> int:
    """How each git hook stands: installed, called, missing, edited, broken or inert."""
    from kl_hooks.cli.hooks_standing import standing

    states = standing(_repository(workspace()))
    return _show("status", [_plain(s.name, s.path, "state", s.state, s.reason) for s in states], shape)


def _repository(ws: Workspace) -> Repository:
    if ws.repo is None:
        hint = "Git hooks need a repository: git init, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    return ws.repo


def _plain(name: str, path: object, key: str, word: str, reason: str) -> dict[str, str]:
    return {"name": name, "path": str(path), key: word, "reason": reason}


def _show(verb: str, rows: list[dict[str, Any]], shape: str) -> int:
    """Prints the rows; the exit code is 1 where something asked for was not done."""
    if shape == "json":
        say_json({"schema": f"kl.hooks.{verb}/1", "hooks": rows})
    else:
        for row in rows:
            word = row.get("action") or row["state"]
            say(f"{word:<10} {row['path']}" + (f"\n           {row['reason']}" if row["reason"] else ""))
        if not rows:
            note("no git hook of kl is here.")
    return FOUND if any(row.get("action") in _NOT_DONE for row in rows) else CLEAN
