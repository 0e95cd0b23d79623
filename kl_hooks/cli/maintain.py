"""`kl maintain`: periodic maintenance, from cron, CI, or once a day in the background of another
command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.cli.output import echo, echo_lines
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR
from kl_hooks.operations import maintenance as operations

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


def _exit_code(maintenance: operations.Maintenance, _request: Any) -> int:
    if maintenance.notes:
        return ENVIRONMENT_ERROR
    return CLEAN


@operation_command(operations.MAINTAIN, exit_code=_exit_code)
def maintain(maintenance: operations.Maintenance, _request: operations.MaintainRequest) -> None:
    """Print what was done."""
    echo_lines(
        f"{action.name:<8} {action.result}" for action in maintenance.actions if not action.trouble
    )
    if not maintenance.actions:
        echo("Nothing is due.")


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
