"""`kl run -- CMD`: runs a command as if kl were not there, and records how it ended.

The command has our terminal, our pipes and our signals. On failure the last of its output is kept, redacted.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.capture import PARENT, new_run, record
from kl_hooks.evidence.place import place_of
from kl_hooks.evidence.sources.tee import copy_through
from kl_hooks.git.run import LOCAL_VARIABLES
from kl_hooks.model.ids import make
from kl_hooks.model.receipt import Evidence
from kl_hooks.store.redact import redact
from kl_hooks.workspace.open import Workspace

TAIL: Final = 8 * 1024
"""Bytes of output kept of a command that failed."""
FORWARDED: Final = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    exit: int
    """Its exit code; 128 + n where signal n ended it, as shells say it."""
    run: str
    trouble: str | None
    """Why it was not recorded; None: it was."""


def run_command(ws: Workspace, argv: Sequence[str]) -> Ran:
    """Runs `argv` (no shell) and records ExitCode evidence. UsageProblem where it can't be started."""
    run = new_run()
    before, started = place_of(ws.repo), ws.clock.now()
    environ = {k: v for k, v in ws.environ.items() if k not in LOCAL_VARIABLES} | {PARENT: run}
    code, tail = _spawn(list(argv), environ)
    ended = ws.clock.now()
    outcome = "passed" if code == 0 else "failed"
    shown = redact(shlex.join(argv))
    detail = {"exit": code} | ({"tail": redact(tail.decode("utf-8", "replace"))} if code and tail else {})
    fact = Evidence("ExitCode", make("command", shown), outcome, max(0, ended - started), None, detail)
    result: dict[str, Any] = {
        "exit": code, "complete": True, "how": "finished" if code < 128 else "signal",
        "verdict": outcome, "reasons": [], "counts": {outcome: 1},
    }  # fmt: skip
    trouble = record(
        ws, "command", "kl run", before, [fact], result,
        run=run, started=started, end_place=place_of(ws.repo, untracked=False), selection={"args": [shown]},
    )  # fmt: skip
    return Ran(code, run, trouble)


def _spawn(argv: list[str], environ: dict[str, str]) -> tuple[int, bytes]:
    """The exit code and the last output. Our own terminal is handed on as it is: then nothing is kept."""
    direct = sys.stdout.isatty() and sys.stderr.isatty()
    pipe = None if direct else subprocess.PIPE
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        child = subprocess.Popen(argv, env=environ, stdout=pipe, stderr=pipe)
    except OSError as problem:
        code = 127 if isinstance(problem, FileNotFoundError) else 126
        raise NotStarted(argv[0], problem, code) from problem
    kept: deque[bytes] = deque()
    with _signals_go_to(child):
        if child.stdout and child.stderr:
            copy_through({child.stdout.fileno(): 1, child.stderr.fileno(): 2}, kept, TAIL)
        code = child.wait()
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()
    return (128 - code if code < 0 else code), b"".join(kept)[-TAIL:]


class NotStarted(UsageProblem):
    """The command could not be started. The exit code is the shell's: 127 not found, 126 not executable."""

    def __init__(self, command: str, problem: OSError, code: int) -> None:
        super().__init__(f"can't be started: {problem.strerror}.", place=command, hint="Check the name after `--`.")
        self.exit_code = code


@contextmanager
def _signals_go_to(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """While the command runs: Ctrl-C is its own business (the terminal tells it too), the rest is forwarded."""

    def forward(number: int, frame: FrameType | None) -> None:
        if child.poll() is None:
            os.kill(child.pid, number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
