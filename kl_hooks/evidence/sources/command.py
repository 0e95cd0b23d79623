"""`kl run -- CMD`: runs a command as if kl were not there, and records how it ended.

Observed from the parent process, which the command can't talk into another exit code. On failure the last of its
output is kept, redacted.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.evidence.capture import PARENT, begin, finish, new_run
from kl_hooks.evidence.place import Place, place_of
from kl_hooks.evidence.sources.spawn import Ended, spawn
from kl_hooks.git.run import LOCAL_VARIABLES
from kl_hooks.model.receipt import Evidence
from kl_hooks.model.symbol import make_id
from kl_hooks.store.redaction import redact, redact_value
from kl_hooks.store.spool import SpoolWriter
from kl_hooks.workspace import Workspace

TAIL: Final = 8 * 1024
"""Characters of output kept of a command that failed."""
LONGEST: Final = 2000
"""Characters of a command line; of a longer one the beginning and a digest of the whole are kept."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    exit: int
    """Its exit code; 128 + n where signal n ended it, as shells say it."""
    run: str
    trouble: str | None
    """Why it was not recorded; None: it was."""


class NotStarted(UsageProblem):
    """The command could not be started. The exit code is the shell's: 127 not found, 126 not executable."""

    def __init__(self, command: str, problem: OSError) -> None:
        super().__init__(f"can't be started: {problem.strerror}.", place=command, hint="Check the name after `--`.")
        self.exit_code = 127 if isinstance(problem, FileNotFoundError) else 126


def run_command(ws: Workspace, argv: Sequence[str]) -> Ran:
    """Runs `argv` (no shell) and records ExitCode evidence. NotStarted where it can't be started.

    What stands in the way of recording is told in `trouble`; the command runs all the same. A record is begun before
    the command: should we be killed, it stays behind as an incomplete run.
    """
    run, shown = new_run(), command_line(argv)
    before, started = place_of(ws.repo), ws.clock.now()
    writer, trouble = _begin(ws, run, before, started, shown)
    try:
        ended = start(argv, ws.environ, run)
    except NotStarted:
        if writer:  # nothing has happened that could be recorded
            writer.path.unlink(missing_ok=True)
            writer.close()
        raise
    if writer:
        fact = fact_of(shown, ended, max(0, ws.clock.now() - started))
        after = place_of(ws.repo, untracked=False)
        trouble = _finish(ws, writer, fact, result_of(ended), before, after)
    return Ran(exit_of(ended), run, trouble)


def run_unrecorded(argv: Sequence[str], environ: Mapping[str, str], trouble: str) -> Ran:
    """Runs `argv` where nothing can be recorded at all, for the reason given."""
    run = new_run()
    return Ran(exit_of(start(argv, environ, run)), run, f"not recorded: {trouble}")


def start(argv: Sequence[str], environ: Mapping[str, str], run: str) -> Ended:
    """Runs it, in an environment that names this run and not the repository of a git hook around us."""
    inner = {k: v for k, v in environ.items() if k not in LOCAL_VARIABLES} | {PARENT: run}
    try:
        return spawn(argv, inner)
    except OSError as problem:
        raise NotStarted(argv[0], problem) from problem


def command_line(argv: Sequence[str]) -> str:
    """The command as a person would type it, redacted word by word and as a whole."""
    text = redact(shlex.join(redact_value([os.fsencode(word).decode("utf-8", "replace") for word in argv])))
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return text


def exit_of(ended: Ended) -> int:
    """The exit code as a shell tells it."""
    return 128 - ended.code if ended.code < 0 else ended.code


def fact_of(shown: str, ended: Ended, micros: int) -> Evidence:
    """ExitCode evidence, with the ID of the process and, where it failed, the last of its output."""
    detail: dict[str, Any] = {"exit": exit_of(ended), "pid": ended.pid}
    if ended.code and ended.tail:
        detail["tail"] = tail_of(ended)
    return Evidence("ExitCode", make_id("command", shown), _word(ended), micros, None, detail)


def tail_of(ended: Ended) -> str:
    """The last of the output, redacted. What was cut off at its beginning could be half a secret: that line goes."""
    text = ended.tail.decode("utf-8", "replace")
    if ended.cut:
        _, newline, rest = text.partition("\n")
        text = rest if newline else text
    return redact(text)[-TAIL:]


def result_of(ended: Ended) -> dict[str, Any]:
    """The result of the receipt."""
    word = _word(ended)
    return {
        "exit": exit_of(ended), "complete": True, "how": "signal" if ended.code < 0 else "finished",
        "verdict": word, "reasons": [], "counts": {word: 1},
    }  # fmt: skip


def _word(ended: Ended) -> str:
    return "failed" if ended.code else "passed"


def _begin(ws: Workspace, run: str, place: Place, started: int, shown: str) -> tuple[SpoolWriter | None, str | None]:
    try:
        return begin(ws, "command", "kl run", place, run=run, started=started, selection={"args": [shown]}), None
    except (OSError, KlError) as problem:
        return None, f"not recorded: {problem}"


def _finish(
    ws: Workspace, writer: SpoolWriter, fact: Evidence, result: dict[str, Any], before: Place, after: Place
) -> str | None:
    try:
        finish(ws, writer, [fact], result, before, after)
    except (OSError, KlError) as problem:
        return f"not recorded: {problem}"
    return None
