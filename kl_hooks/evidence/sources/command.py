"""`kl run -- CMD`: runs a command as if kl were not there, and records how it ended.

Its terminal, its pipes, its signals and its exit code are those that it would have without us. It
is observed from the parent process, which the command can't talk into another exit code. On failure
the end of its output is stored, redacted.
"""

from __future__ import annotations

import hashlib
import os
import select
import selectors
import shlex
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.evidence.capture import (
    PARENT,
    close_capture,
    new_run_id,
    not_recorded,
    open_capture,
)
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.git.run import LOCAL_VARIABLES
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Evidence
from kl_hooks.model.symbol import make_id
from kl_hooks.store.redaction import redact, redact_value
from kl_hooks.store.spool import SpoolWriter
from kl_hooks.workspace import Workspace

BLOCK = 65536
TAIL_BYTES: Final = 16 * 1024
"""Bytes of output that are remembered."""
TAIL: Final = 8 * 1024
"""Characters of output stored of a command that failed."""
LONGEST: Final = 2000
"""Characters of a command line; of a longer one the beginning and a digest of the whole are stored.
"""
# those that a supervisor sends to us alone; a terminal sends the other two to the whole foreground
# group
_ALWAYS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_FROM_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)


class Ran(NamedTuple):
    """How a command ended."""

    exit: int
    """Its exit code; 128 + n where signal n ended it, as in shells."""
    run: str
    trouble: str | None
    """Why it was not recorded; None: it was."""


class NotStarted(UsageProblem):
    """The command could not be started. The exit code is the shell's: 127 not found, 126 not
    executable.
    """

    def __init__(self, command: str, problem: OSError) -> None:
        super().__init__(
            f"can't be started: {problem.strerror}.",
            place=command,
            hint="Check the name after `--`.",
        )
        self.exit_code = 127 if isinstance(problem, FileNotFoundError) else 126


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    """As `wait` returns it: negative for a signal."""
    tail: bytes
    """About the last `TAIL_BYTES` bytes of its output; nothing of what was written straight to a
    terminal.
    """
    cut: bool
    """The output is longer than `tail`."""
    pid: int = 0
    """Of the process that was started."""


def run_command(ws: Workspace, argv: Sequence[str]) -> Ran:
    """Run `argv` (no shell) and record ExitCode evidence. NotStarted where it can't be started.

    What prevents recording is in `trouble`; the command runs all the same. The record is opened
    before the command: if we are killed, it remains as an incomplete run.
    """
    run = new_run_id()
    shown = command_line(argv)
    trouble = None
    before = worktree_state(ws.repo)
    started = ws.clock.now()
    writer: SpoolWriter | None = None
    try:
        writer = open_capture(
            ws, "command", "kl run", before, run=run, started=started, selection={"args": [shown]}
        )
    except (OSError, KlError) as problem:
        trouble = not_recorded(ws, problem)
    try:
        ended = start(argv, ws.environ, run)
    except NotStarted:
        if writer:  # nothing has happened that could be recorded
            writer.path.unlink(missing_ok=True)
            writer.close()
        raise
    if writer:
        evidence = _exit_evidence(shown, ended, max(0, ws.clock.now() - started))
        ending = "signal" if ended.code < 0 else "finished"
        word = evidence.outcome
        result = {
            "exit": exit_code(ended),
            "complete": True,
            "how": ending,
            "verdict": word,
            "reasons": [],
            "counts": {word: 1},
        }
        try:
            close_capture(
                ws, writer, [evidence], result, before, worktree_state(ws.repo, untracked=False)
            )
        except (OSError, KlError) as problem:
            trouble = not_recorded(ws, problem)
    return Ran(exit_code(ended), run, trouble)


def run_unrecorded(argv: Sequence[str], environ: Mapping[str, str], trouble: str) -> Ran:
    """Run `argv` where nothing can be recorded at all, for the reason given."""
    run = new_run_id()
    return Ran(exit_code(start(argv, environ, run)), run, f"not recorded: {trouble}")


def start(argv: Sequence[str], environ: Mapping[str, str], run: str) -> Ended:
    """Run it in an environment that names this run and not the repository of a git hook around
    us.
    """
    inner = {k: v for k, v in environ.items() if k not in LOCAL_VARIABLES} | {PARENT: run}
    try:
        return spawn(argv, inner)
    except OSError as problem:
        raise NotStarted(argv[0], problem) from problem


def command_line(argv: Sequence[str]) -> str:
    """The command as a person would type it, redacted word by word and as a whole."""
    text = redact(
        shlex.join(redact_value([os.fsencode(word).decode("utf-8", "replace") for word in argv]))
    )
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return text


def exit_code(ended: Ended) -> int:
    """The exit code as a shell reports it."""
    if ended.code < 0:
        return 128 - ended.code
    return ended.code


def _exit_evidence(shown: str, ended: Ended, micros: int) -> Evidence:
    """ExitCode evidence, with the ID of the process and, where it failed, the last of its
    output.
    """
    detail: dict[str, Any] = {"exit": exit_code(ended), "pid": ended.pid}
    if ended.code and ended.tail:
        detail["tail"] = redacted_tail(ended)
    return Evidence(
        "ExitCode",
        make_id("command", shown),
        "failed" if ended.code else "passed",
        micros,
        None,
        detail,
    )


def redacted_tail(ended: Ended) -> str:
    """The last of the output, redacted.

    A line that was cut could be half a secret: it is dropped.
    """
    text = ended.tail.decode("utf-8", "replace")
    if ended.cut:
        _, newline, after_newline = text.partition("\n")
        if newline:
            text = after_newline
    return redact(text)[-TAIL:]


def spawn(argv: Sequence[str], environ: Mapping[str, str]) -> Ended:
    """Run `argv` (no shell) and wait for it. OSError where it can't be started.

    A stream that is a terminal is passed on as it is, so that the command sees one; any other is
    copied through.
    """
    out = _is_copied(sys.stdout, 1)
    err = _is_copied(sys.stderr, 2)
    # where both are one file (`2>&1`), one pipe keeps the order of what is written
    if out and err and os.path.sameopenfile(1, 2):
        other = subprocess.STDOUT
    else:
        other = subprocess.PIPE
    with _forwarded() as children:
        child = subprocess.Popen(
            argv,
            env=environ,
            stdout=subprocess.PIPE if out else None,
            stderr=other if err else None,
        )
        children.append(child)
        pipes = [(pipe, target) for pipe, target in ((child.stdout, 1), (child.stderr, 2)) if pipe]
        # copies: `copy_through` closes what it reads from, and Popen would close the same number
        # once more
        routes = {os.dup(pipe.fileno()): target for pipe, target in pipes}
        for pipe, _ in pipes:
            pipe.close()
        last: deque[bytes] = deque()
        cut = copy_through(routes, last, TAIL_BYTES)
        code = child.wait()
    tail = b"".join(last)
    return Ended(code, tail[-TAIL_BYTES:], cut or len(tail) > TAIL_BYTES, child.pid)


def _is_copied(stream: object, handle: int) -> bool:
    """False for a closed stream, and for a terminal."""
    if stream is None:
        return False
    stream.flush()  # type: ignore[attr-defined]
    return not os.isatty(handle)


@contextmanager
def _forwarded() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Inside, signals that we get are forwarded to the command, also those received before it
    started.

    What was ignored when we were started (`nohup`) stays ignored. A terminal sends Ctrl-C to the
    command itself.
    """
    children: list[subprocess.Popen[bytes]] = []
    before = {n: signal.getsignal(n) for n in (*_ALWAYS, *_FROM_TERMINAL)}
    at_terminal = _terminal_signals_both()

    def forward(number: int, frame: FrameType | None) -> None:
        if not (at_terminal and number in _FROM_TERMINAL):
            for child in children:
                if child.poll() is None:
                    os.kill(child.pid, number)

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, forward)
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminal_signals_both() -> bool:
    """True where a Ctrl-C reaches the command without us: we are in the foreground of a
    terminal.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def copy_through(routes: Mapping[int, int], tail: deque[bytes], limit: int) -> bool:
    """Copy from each file descriptor to its target until all are closed; `tail` gets about the last
    `limit` bytes.

    Where our reader has closed the pipe (`kl run … | head`), the source is closed too: the command
    notices it just as it would without us. The sources belong to this function. True if `tail` does
    not have everything.
    """
    size, cut = 0, False
    with selectors.DefaultSelector() as waiting:
        for source in routes:
            waiting.register(source, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                chunk = os.read(key.fd, BLOCK)
                tail.append(chunk)
                size += len(chunk)
                while size - len(tail[0]) >= limit:
                    size -= len(tail.popleft())
                    cut = True
                if not chunk or not _write_fully(routes[key.fd], chunk):
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return cut


def _write_fully(target: int, data: bytes) -> bool:
    """False where nobody reads any more. A slow reader is waited for, also where somebody made it
    non-blocking.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:
            select.select([], [target], [])
        except OSError:
            return False
    return True
