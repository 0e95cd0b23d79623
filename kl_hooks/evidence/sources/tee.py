"""Copies output through as it comes and remembers the last of it."""

from __future__ import annotations

import os
import select
import selectors
from collections import deque
from collections.abc import Mapping

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
                if not chunk or not _write_all(routes[key.fd], chunk):
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return cut


def _write_all(target: int, data: bytes) -> bool:
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
