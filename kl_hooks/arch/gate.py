"""The gate of commits and pushes: the layer check as git hooks run it, without the command line.

`kl_hooks.__main__` asks it for every `kl arch check`. It takes only what our git hooks and
pre-commit hooks ask for; any other argument or setting, and every error, is left to the click
command, which has the messages and exit codes. Without click and the command line a commit costs 26
ms of CPU less (171 for 197, five files, CPython 3.13).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_CALLS: Final = (["--staged"], ["--staged", "--quiet"], ["--pushed"], ["--pushed", "--quiet"])
_CLICK_VARIABLES: Final = ("KL_ARCH_", "KL_ROOT", "_KL_COMPLETE")
"""Starts of variables that set options of `kl arch check` (click's `auto_envvar_prefix`)."""


def main(argv: Sequence[str]) -> int | None:
    """Check what is staged or pushed, print the verdict and return the exit code; None leaves it to
    the command.

    `argv`: behind `kl arch check`. Nothing is printed or read from stdin before None.
    """
    if list(argv) not in _CALLS or any(name.startswith(_CLICK_VARIABLES) for name in os.environ):
        return None
    try:
        checked = _check("--pushed" in argv, "--quiet" in argv, os.environ)
    except Exception:  # the command meets the same error, and has the message for it
        return None
    if checked is None:
        return None
    code, remarks, lines = checked
    try:
        # as a shell reports SIGPIPE
        if _print(remarks, lines):
            return code
        return 128 + 13
    except OSError:
        return None


def _check(
    pushed: bool, quiet: bool, environ: Mapping[str, str]
) -> tuple[int, list[str], list[str]] | None:
    """Return the exit code, the lines for stderr and those for stdout."""
    if pushed and not environ.get("PRE_COMMIT_TO_REF"):
        return None  # the commits are on stdin, which can be read only once
    from kl_hooks.arch.check import CheckOptions, run_check
    from kl_hooks.arch.content import (
        STAGED,
        manifest_on_disk,
        pushed_commits,
        require_repository,
    )
    from kl_hooks.arch.report import output_lines
    from kl_hooks.config.settings import POLICY_FILE
    from kl_hooks.model.actors import agent
    from kl_hooks.model.text import brief
    from kl_hooks.workspace import open_workspace

    ws = open_workspace(Path(os.getcwd()))  # noqa: PTH109
    if ws.settings.maintain == "daily":
        return None  # the command starts the maintenance at its end
    if agent(ws.environ) is not None and os.path.lexists(ws.root / POLICY_FILE):
        return None  # the command applies the policy
    from kl_hooks.git.repository import fork_point

    repo = require_repository(ws)
    started = time.perf_counter()
    sources = {STAGED: ""}
    if pushed:
        sources = {
            rev: since or fork_point(repo, rev)
            for rev, since in pushed_commits(environ, ()).items()
        }
    checked = []
    remarks = [f"warning: {problem}" for problem in ws.missing_plugins]
    for source, since in sources.items():
        verdict, notes = run_check(ws, source, CheckOptions(since))
        if verdict and not (quiet and verdict.clean):
            shown = verdict.warnings
        else:
            shown = ()
        remarks += [*notes, *(f"warning: {one}" for one in shown)]
        checked.append((source, verdict))
    lines = output_lines(
        checked, time.perf_counter() - started, quiet=quiet, on_disk=manifest_on_disk(ws)
    )
    clean = all(verdict is None or verdict.clean for _, verdict in checked)
    return 0 if clean else 1, [f"kl: {brief(one).replace(chr(10), ' ')}" for one in remarks], lines


def _print(remarks: Sequence[str], lines: Sequence[str]) -> bool:
    """Print to stderr and stdout; False where nobody reads stdout any more."""
    for stream, stream_lines in ((sys.stderr, remarks), (sys.stdout, lines)):
        # a path that is not UTF-8 has lone surrogates (PEP 383), which strict encoding refuses to
        # print
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        try:
            stream.write("".join(f"{line}\n" for line in stream_lines))
            stream.flush()
        except BrokenPipeError:
            # so that the interpreter can flush at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return False
    return True
