"""Scanning many contents in several processes: each reads and scans its share, and gives facts back.

A content that stops its process (Python's own parser can be made to crash) is found by scanning its share once more,
one content a process, and is said to be unreadable; the others lose nothing. None of them outlives the process that
forked it, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final

_SHARE: Final = 40
_WORK: list[Callable[[Sequence[Any]], list[Any]]] = []
"""What the processes do; set before they are forked, so that nothing of it must be sent."""

Scan = Callable[[Sequence[Any]], list[Any]]
"""Items → a result for each that has one."""


def processes() -> int:
    """How many processes may be forked for this: none where that is unsafe (threads), unusual, or no gain."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return 0
    return min(len(os.sched_getaffinity(0)), 8) if len(os.sched_getaffinity(0)) > 1 else 0


def scan_in_processes(items: Sequence[Any], scan: Scan, crashed: Callable[[Any], Any], count: int = 0) -> Iterator[Any]:
    """The results for all items, in the order of the items' shares; `crashed(item)` for one that stops its process."""
    shares = [items[start : start + _SHARE] for start in range(0, len(items), _SHARE)]
    _WORK.append(scan)
    try:
        broken = []
        with _executor(count or processes() or 1) as executor:
            waiting: list[tuple[Sequence[Any], Future[list[Any]]]] = [(s, executor.submit(_share, s)) for s in shares]
            for share, future in waiting:
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    broken.append(share)
        for share in broken:
            for item in share:
                yield from _alone(item, crashed)
    finally:
        _WORK.pop()


def _executor(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Waits in the background for the end of the process that forked this one, which would never hear of it else."""
    threading.Thread(target=_wait_and_end, daemon=True).start()


def _wait_and_end() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _share(share: Sequence[Any]) -> list[Any]:
    return _WORK[-1](share)


def _alone(item: Any, crashed: Callable[[Any], Any]) -> list[Any]:
    with _executor(1) as executor:
        try:
            return executor.submit(_share, [item]).result()
        except BrokenProcessPool:
            return [crashed(item)]
