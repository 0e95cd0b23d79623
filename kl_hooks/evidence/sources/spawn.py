"""Runs a command as if we were not there: its terminal, its pipes, its signals, its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

from kl_hooks.evidence.sources.tee import copy_through

KEPT: Final = 16 * 1024
"""Bytes of output that are remembered."""
_ALWAYS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_FROM_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    """As `wait` tells it: negative for a signal."""
    tail: bytes
    """About the last `KEPT` bytes of its output; nothing of what went straight to a terminal."""
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
        cut = copy_through(pipes.routes(), kept, KEPT)
        code = child.wait()
    tail = b"".join(kept)
    return Ended(code, tail[-KEPT:], cut or len(tail) > KEPT, child.pid)


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
        out, err = _copied(sys.stdout, 1), _copied(sys.stderr, 2)
        if out:
            pipes.add(1)
        if out and err and os.path.sameopenfile(1, 2):
            pipes.share(2, 1)
        elif err:
            pipes.add(2)
        yield pipes
    finally:
        pipes.close()


def _copied(stream: object, handle: int) -> bool:
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
