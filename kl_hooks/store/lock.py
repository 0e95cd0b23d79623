"""The store lock: one writer at a time, across processes. Held by the kernel, so a killed holder leaves none behind."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kl_hooks.errors import StoreBusy
from kl_hooks.model.text import one_line


@contextmanager
def store_lock(path: Path, *, wait: float, what: str) -> Iterator[None]:
    """Holds the lock at `path` (made if missing) for `what`. Does not nest, not even within one process.

    StoreBusy, naming the holder and what it does, after `wait` seconds; OSError where the file can't be made.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    ours = os.getpid()
    try:
        _take(handle, path, wait)
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{ours} {one_line(what)}\n".encode(), 0)
            yield
        finally:
            # said aloud, not left to close: a forked child may hold a copy of the handle, and must not let go for us
            if os.getpid() == ours:
                os.ftruncate(handle, 0)
                fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def _take(handle: int, path: Path, wait: float) -> None:
    started = time.monotonic()
    pause = 0.001
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() - started >= wait:
                pid, _, what = os.pread(handle, 200, 0).decode("utf-8", "replace").strip().partition(" ")
                who = f"pid {one_line(pid, 20)} ({one_line(what, 60)})" if pid else "another process"
                raise StoreBusy(
                    f"the store is busy: {who} holds it. Waited {wait:g} s.",
                    place=str(path),
                    hint="Try again, or: kl doctor",
                ) from None
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
