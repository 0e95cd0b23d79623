"""Locks between processes: one writer at a time, for the store and for the files of a folder.

Both are flock(2): the kernel releases them when their holder dies, so no stale lock file has to be judged.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem, StoreBusy
from kl_hooks.model.text import one_line

_FOLDER_WAIT: Final = 5.0
"""Seconds. Whoever holds it compares two texts and writes one."""


@contextmanager
def store_lock(path: Path, *, wait: float, what: str) -> Iterator[None]:
    """Hold the lock at `path` (made if missing) for `what`. Does not nest, not even within one process.

    StoreBusy, naming the holder and what it does, after `wait` seconds; OSError where the file can't be made.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    ours = os.getpid()
    try:
        if not _acquire(handle, wait):
            pid, _, theirs = os.pread(handle, 200, 0).decode("utf-8", "replace").strip().partition(" ")
            who = f"pid {one_line(pid, 20)} ({one_line(theirs, 60)})" if pid else "another process"
            reason = f"the store is busy: {who} holds it. Waited {wait:g} s."
            raise StoreBusy(reason, place=str(path), hint="Try again, or: kl doctor")
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{ours} {one_line(what)}\n".encode(), 0)
            yield
        finally:
            # explicitly, not by closing: the lock belongs to the open file description, which a forked child shares
            if os.getpid() == ours:
                os.ftruncate(handle, 0)
                fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


@contextmanager
def folder_lock(folder: Path, wait: float = _FOLDER_WAIT) -> Iterator[None]:
    """Lock the folder itself, which makes no file. Does not nest.

    EnvironmentProblem after `wait` seconds; OSError where there is no such folder. A file system without locks (some
    network drives) is written without one.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            free = _acquire(handle, wait)
        except OSError:  # ENOLCK, EOPNOTSUPP: this file system has no locks
            free = True
        if not free:
            place = folder.name or str(folder)
            raise EnvironmentProblem("another kl is writing here.", place=place, hint="Try again.")
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, wait: float) -> bool:
    """Take the lock, trying for `wait` seconds; False if somebody else holds it for so long."""
    # flock(2) has no timeout, and an alarm signal would belong to the process that we run in
    end, pause = time.monotonic() + wait, 0.001
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
