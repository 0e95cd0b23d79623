"""One writer at a time among the files of a folder, across processes: who compares and then writes loses no other's."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem

WAIT: Final = 5.0
"""Seconds. Who holds it compares two texts and writes one."""


@contextmanager
def folder_locked(folder: Path, wait: float = WAIT) -> Iterator[None]:
    """Holds the folder itself, which makes no file; the kernel lets go for whoever is killed. Does not nest.

    EnvironmentProblem after `wait` seconds; OSError where there is no such folder. A file system without locks (some
    network drives) is written without one.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _take(handle, folder, time.monotonic() + wait)
        yield
    finally:
        os.close(handle)


def _take(handle: int, folder: Path, end: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                place = folder.name or str(folder)
                raise EnvironmentProblem("another kl is writing here.", place=place, hint="Try again.") from None
        except OSError:
            return
        time.sleep(0.01)
