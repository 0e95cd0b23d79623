"""`kl run -- CMD`: runs a command as if kl were not there, and records how it ended.

Its terminal, its pipes, its signals and its exit code are those that it would have without us. It is observed from
the parent process, which the command can't talk into another exit code. On failure the end of its output is
stored, redacted.
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
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.evidence.capture import PARENT, close_capture, new_run_id, open_capture
from kl_hooks.evidence.provenance import WorktreeState, worktree_state
from kl_hooks.git.run import LOCAL_VARIABLES
from kl_hooks.model.receipt import Evidence
from kl_hooks.model.symbol import make_id
from kl_hooks.store.redaction import redact, redact_value
from kl_hooks.store.spool import SpoolWriter
from kl_hooks.workspace import Workspace

BLOCK = 65536


def copy_through(routes: Mapping[int, int], kept: deque[bytes], limit: int) -> bool:
    """Copies from each file descriptor to its target until all are closed; `kept` holds about the last `limit` bytes.

    Where our reader has gone (`kl run … | head`), the source is closed too: the command then learns of it exactly as
    it would without us. The sources belong to this function. True if more came than was kept.
    """
    size, cut = 0, False
    with selectors.DefaultSelector() as waiting:
        for source in routes:
            waiting.register(source, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                chunk = os.read(key.fd, BLOCK)
                kept.append(chunk)
                size += len(chunk)
                while size - len(kept[0]) >= limit:
                    size -= len(kept.popleft())
                    cut = True
                if not chunk or not _write_fully(routes[key.fd], chunk):
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return cut


def _write_fully(target: int, data: bytes) -> bool:
    """False where nobody reads any more. A slow reader is waited for, also where somebody made it non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:
            select.select([], [target], [])
        except OSError:
            return False
    return True


TAIL_BYTES: Final = 16 * 1024
"""Bytes of output that are remembered."""
_ALWAYS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_FROM_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    """As `wait` tells it: negative for a signal."""
    tail: bytes
    """About the last `TAIL_BYTES` bytes of its output; nothing of what went straight to a terminal."""
    cut: bool
    """More came out than `tail` holds."""
    pid: int = 0
    """Of the process that was started."""


def spawn(argv: Sequence[str], environ: Mapping[str, str]) -> Ended:
    """Runs `argv` (no shell) and waits for it. OSError where it can't be started.

    A stream that is a terminal is handed on as it is, so that the command sees one; any other is copied through.
    """
    with _open_pipes() as pipes, _forwarded() as children:
        child = subprocess.Popen(argv, env=environ, stdout=pipes.get(1), stderr=pipes.get(2))
        children.append(child)
        kept: deque[bytes] = deque()
        cut = copy_through(pipes.routes(), kept, TAIL_BYTES)
        code = child.wait()
    tail = b"".join(kept)
    return Ended(code, tail[-TAIL_BYTES:], cut or len(tail) > TAIL_BYTES, child.pid)


class _Pipes:
    """Our ends of the pipes and the command's, by the descriptor (1, 2) that they stand for."""

    def __init__(self) -> None:
        self._ours: dict[int, int] = {}
        self._theirs: dict[int, int] = {}

    def add(self, target: int) -> None:
        source, sink = os.pipe()
        self._ours[source], self._theirs[target] = target, sink

    def share(self, target: int, other: int) -> None:
        """Both are one file (`2>&1`): one pipe keeps the order of what is written."""
        self._theirs[target] = self._theirs[other]

    def get(self, target: int) -> int | None:
        return self._theirs.get(target)

    def routes(self) -> dict[int, int]:
        """Source → target. The command's ends are closed here, so that we notice when it has closed them too."""
        routes, self._ours = self._ours, {}
        self.close()
        return routes

    def close(self) -> None:
        for handle in {*self._ours, *self._theirs.values()}:
            os.close(handle)
        self._ours, self._theirs = {}, {}


@contextmanager
def _open_pipes() -> Iterator[_Pipes]:
    pipes = _Pipes()
    try:
        out, err = _is_copied(sys.stdout, 1), _is_copied(sys.stderr, 2)
        if out:
            pipes.add(1)
        if out and err and os.path.sameopenfile(1, 2):
            pipes.share(2, 1)
        elif err:
            pipes.add(2)
        yield pipes
    finally:
        pipes.close()


def _is_copied(stream: object, handle: int) -> bool:
    """False for a closed stream, and for a terminal."""
    if stream is None:
        return False
    stream.flush()  # type: ignore[attr-defined]
    return not os.isatty(handle)


@contextmanager
def _forwarded() -> Iterator[list[subprocess.Popen[bytes]]]:
    """While this lasts, signals that we get go to the command, also those that came before it was there.

    What was ignored when we were started (`nohup`) stays ignored. A Ctrl-C the terminal tells the command itself.
    """
    children: list[subprocess.Popen[bytes]] = []
    before = {n: signal.getsignal(n) for n in (*_ALWAYS, *_FROM_TERMINAL)}
    at_terminal = _terminal_tells_both()

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


def _terminal_tells_both() -> bool:
    """True where a Ctrl-C reaches the command without us: we stand in the foreground of a terminal."""
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
    run, shown = new_run_id(), command_line(argv)
    before, started = worktree_state(ws.repo), ws.clock.now()
    writer, trouble = _begin(ws, run, before, started, shown)
    try:
        ended = start(argv, ws.environ, run)
    except NotStarted:
        if writer:  # nothing has happened that could be recorded
            writer.path.unlink(missing_ok=True)
            writer.close()
        raise
    if writer:
        fact = exit_evidence(shown, ended, max(0, ws.clock.now() - started))
        after = worktree_state(ws.repo, untracked=False)
        trouble = _finish(ws, writer, fact, result_of(ended), before, after)
    return Ran(exit_code(ended), run, trouble)


def run_unrecorded(argv: Sequence[str], environ: Mapping[str, str], trouble: str) -> Ran:
    """Runs `argv` where nothing can be recorded at all, for the reason given."""
    run = new_run_id()
    return Ran(exit_code(start(argv, environ, run)), run, f"not recorded: {trouble}")


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


def exit_code(ended: Ended) -> int:
    """The exit code as a shell tells it."""
    return 128 - ended.code if ended.code < 0 else ended.code


def exit_evidence(shown: str, ended: Ended, micros: int) -> Evidence:
    """ExitCode evidence, with the ID of the process and, where it failed, the last of its output."""
    detail: dict[str, Any] = {"exit": exit_code(ended), "pid": ended.pid}
    if ended.code and ended.tail:
        detail["tail"] = redacted_tail(ended)
    return Evidence("ExitCode", make_id("command", shown), _word(ended), micros, None, detail)


def redacted_tail(ended: Ended) -> str:
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
        "exit": exit_code(ended), "complete": True, "how": "signal" if ended.code < 0 else "finished",
        "verdict": word, "reasons": [], "counts": {word: 1},
    }  # fmt: skip


def _word(ended: Ended) -> str:
    return "failed" if ended.code else "passed"


def _begin(
    ws: Workspace, run: str, place: WorktreeState, started: int, shown: str
) -> tuple[SpoolWriter | None, str | None]:
    try:
        return open_capture(ws, "command", "kl run", place, run=run, started=started, selection={"args": [shown]}), None
    except (OSError, KlError) as problem:
        return None, f"not recorded: {problem}"


def _finish(
    ws: Workspace,
    writer: SpoolWriter,
    fact: Evidence,
    result: dict[str, Any],
    before: WorktreeState,
    after: WorktreeState,
) -> str | None:
    try:
        close_capture(ws, writer, [fact], result, before, after)
    except (OSError, KlError) as problem:
        return f"not recorded: {problem}"
    return None
