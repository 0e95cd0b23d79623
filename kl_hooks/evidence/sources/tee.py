"""Copies output through as it comes and remembers the last of it."""

from __future__ import annotations

import os
import selectors
from collections import deque
from collections.abc import Mapping


def copy_through(routes: Mapping[int, int], kept: deque[bytes], limit: int) -> None:
    """Copies from each file descriptor to its target until all are closed; `kept` holds about the last `limit` bytes.

    A reader of ours that has gone (`kl run … | head`) does not stop the command: its output is read on and dropped.
    """
    size = 0
    open_targets = set(routes.values())
    with selectors.DefaultSelector() as waiting:
        for source in routes:
            waiting.register(source, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    waiting.unregister(key.fd)
                    continue
                kept.append(chunk)
                size += len(chunk)
                while size - len(kept[0]) >= limit:
                    size -= len(kept.popleft())
                target = routes[key.fd]
                if target in open_targets and not _write_all(target, chunk):
                    open_targets.discard(target)


def _write_all(target: int, data: bytes) -> bool:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(target, view) :]
    except OSError:
        return False
    return True
