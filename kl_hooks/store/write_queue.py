"""The queue before a lock: the first to ask is the first to write, however many wait.

A lock that each waiter only tries now and then goes to whoever happens to try at the right moment;
of 64 writers some are never that one. So a waiter puts a ticket into a folder beside the lock: a
file with the next number, locked by flock(2), which the kernel releases when its owner dies. The
owner of the lowest ticket tries the lock. Tickets decide the order alone. Who may write is decided
by the lock, so an older kl that takes no ticket, and a file system where none can be made, stay
correct.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_FIRST_PAUSE: Final = 0.002
"""Seconds between two looks of the first in the queue; those behind it look less often."""
_LONGEST_PAUSE: Final = 0.05
_OVERTAKE_AFTER: Final = 1.0
"""Seconds in which nothing moved, times the tickets ahead, after which a waiter tries the lock all
the same: whoever is ahead may be stopped (Ctrl-Z), and the lock free.
"""
_MOST_WAITS: Final = 12
"""The longest wait in a queue that moves, in multiples of the wait in one that does not."""
_MOST_NUMBERS: Final = 100
"""Numbers tried for a ticket, where others take them first."""


def acquired_in_turn(
    folder: Path, wait: float, attempt: Callable[[], bool], owner: Callable[[], str]
) -> bool:
    """Queue in `folder`; return whether `attempt` took the lock.

    `owner`: who has the lock, as a text that changes with the owner. False where neither the queue
    nor the owner changed for `wait` seconds, and after twelve times as long in any case.
    """
    with _ticket(folder) as number:
        return _wait_for_turn(folder, number, wait, attempt, owner)


def _wait_for_turn(
    folder: Path,
    number: int | None,
    wait: float,
    attempt: Callable[[], bool],
    owner: Callable[[], str],
) -> bool:
    started = moved = time.monotonic()
    position: tuple[int, str] | None = None
    while True:
        ahead = _count_ahead(folder, number)
        now = time.monotonic()
        if position != (position := (ahead, owner())):
            moved = now
        end = min(moved + wait, started + _MOST_WAITS * wait)
        if now >= min(moved + _OVERTAKE_AFTER * ahead, end) and attempt():
            return True
        if now >= end:
            return False
        time.sleep(min(_FIRST_PAUSE * (1 + 2 * ahead), _LONGEST_PAUSE))


@contextmanager
def _ticket(folder: Path) -> Iterator[int | None]:
    """Hold the next number of the queue; None where no ticket can be made."""
    path = None
    handle = -1
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        path, handle = _next_ticket(folder)
    try:
        yield int(path.name) if path else None
    finally:
        if path is not None:
            # its name first: a file that nobody holds is taken for that of a dead process
            with suppress(OSError):
                path.unlink()
            os.close(handle)


def _next_ticket(folder: Path) -> tuple[Path, int]:
    """A new file with a number above all others, and the handle that holds it. OSError where there
    is none.
    """
    for _ in range(_MOST_NUMBERS):
        path = folder / f"{max(_numbers(folder), default=0) + 1:08}"
        with suppress(FileExistsError):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            handle = os.open(path, flags, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # between these two steps another waiter may have removed it, as a dead one's
                if os.fstat(handle).st_nlink:
                    return path, handle
            except BlockingIOError:
                pass
            except BaseException:
                os.close(handle)
                path.unlink(missing_ok=True)
                raise
            os.close(handle)
    raise OSError(f"no number is free in {folder}")


def _count_ahead(folder: Path, number: int | None) -> int:
    """How many tickets are before ours; those of dead processes at the head are removed."""
    if number is None:
        return 0
    ahead = sorted(other for other in _numbers(folder) if other < number)
    while ahead and not _is_alive(folder / f"{ahead[0]:08}"):
        del ahead[0]
    return len(ahead)


def _is_alive(path: Path) -> bool:
    """Whether the owner of a ticket still waits; what a dead one left is removed."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError:  # another user's, who may wait
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(name) for name in os.listdir(folder) if name.isdecimal()]  # noqa: PTH208
    except OSError:
        return []
