"""`kl maintain`: periodic maintenance, from cron, CI, or once a day in the background of another
command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from kl_hooks.cli.output import format_option, print_answer, warn, workspace
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


MARK: Final = "maintain.begun"
_RUNNING: Final = "KL_MAINTAINING"
_DAY: Final = 86_400
_GIT: Final = (
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_REFLOG_ACTION",
    "GIT_EXEC_PATH",
    "PRE_COMMIT",
    "PRE_COMMIT_FROM_REF",
)
"""Variables of a git hook, and of pre-commit."""


@click.command(epilog="Example: kl maintain --due")
@click.option("--due", "only_due", is_flag=True, help="Only what was not done lately.")
@format_option()
def maintain(only_due: bool, shape: str) -> int:
    """Run periodic maintenance: import captures, mine receipts, tidy the state, check the chain.

    Nothing in the working tree is touched. To run it automatically, at most once a day, in the
    background of another command, and never in CI or a git hook: git config kl.maintain daily
    """
    from kl_hooks.upkeep.run import run_maintenance as run

    done = run(workspace(), only_due=only_due)
    for one in done:
        if one.trouble:
            warn(f"{one.name}: {one.trouble}")
    rows = [f"{one.name:<8} {one.result}" for one in done if not one.trouble]
    plain = [{"action": one.name, "result": one.result, "trouble": one.trouble} for one in done]
    print_answer(
        shape, {"schema": "kl.maintain/1", "done": plain}, rows if done else ["Nothing is due."]
    )
    return ENVIRONMENT_ERROR if any(one.trouble for one in done) else CLEAN


def may_run(environ: Mapping[str, str]) -> bool:
    """False in CI, in a git hook, and where maintenance is what is running."""
    from kl_hooks.evidence.provenance import ci

    # in a git hook somebody waits for git, and CI discards the state
    return (
        ci(environ) is None
        and _RUNNING not in environ
        and not any(name in environ for name in _GIT)
    )


def start_in_background(ws: Workspace) -> None:
    """Starts it, unless it was started within a day; returns at once."""
    try:
        if not ws.initialized or not ws.state.directory.is_dir() or not may_run(ws.environ):
            return
        mark = ws.state.directory / MARK
        # 0 <=: a mark from the future (a clock that was set back) would keep it from running until
        # then
        if mark.exists() and 0 <= ws.clock.now() / 1_000_000 - mark.stat().st_mtime < _DAY:
            return
        mark.touch()  # first: one that fails is not tried again today
        os.utime(mark, (ws.clock.now() / 1_000_000,) * 2)
        subprocess.Popen(
            # -P (Python 3.11): no file of the current folder is imported in place of ours
            [sys.executable, "-P", "-m", "kl_hooks", "--root", str(ws.root), "maintain", "--due"],
            # a session of its own: closing the terminal sends SIGHUP to the old one
            env={**os.environ, _RUNNING: "1"},
            start_new_session=True,
            close_fds=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return
