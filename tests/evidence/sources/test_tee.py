"""Copying output through: every byte arrives, the last are remembered, and no reader is needed for
ever.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections import deque
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.evidence.sources.command import BLOCK, copy_through


def fed(chunks: list[bytes]) -> tuple[int, threading.Thread]:
    """A descriptor out of which these chunks come, and who writes them."""
    source, sink = os.pipe()

    def write() -> None:
        try:
            for chunk in chunks:
                view = memoryview(chunk)
                while view:
                    view = view[os.write(sink, view) :]
        except BrokenPipeError:
            pass
        os.close(sink)

    return source, started(write)


def started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def drained(source: int, into: list[bytes]) -> threading.Thread:
    def read() -> None:
        while chunk := os.read(source, 4096):
            into.append(chunk)
        os.close(source)

    return started(read)


@given(st.lists(st.binary(min_size=1, max_size=300_000), max_size=4), st.integers(1, 100_000))
def test_every_byte_arrives_and_the_last_are_stored(chunks: list[bytes], limit: int) -> None:
    source, writer = fed(chunks)
    arrived: list[bytes] = []
    end, target = os.pipe()
    reader = drained(end, arrived)
    stored: deque[bytes] = deque()
    cut = copy_through({source: target}, stored, limit)
    os.close(target)
    writer.join()
    reader.join()
    whole, tail = b"".join(chunks), b"".join(stored)
    assert b"".join(arrived) == whole
    assert tail[-limit:] == whole[-limit:]
    assert len(tail) < limit + BLOCK
    assert cut == (len(tail) < len(whole))


def test_a_slow_reader_that_does_not_block_misses_nothing() -> None:
    content = os.urandom(3_000_000)
    source, writer = fed([content])
    end, target = os.pipe()
    os.set_blocking(target, False)
    fcntl.fcntl(target, fcntl.F_SETPIPE_SZ, 4096)
    arrived: list[bytes] = []
    reader = drained(end, arrived)
    copy_through({source: target}, deque(), 100)
    os.close(target)
    writer.join()
    reader.join()
    assert b"".join(arrived) == content


def test_where_the_reader_has_ended_the_writer_learns_of_it() -> None:
    source, writer = fed([b"x" * BLOCK] * 100_000)
    end, target = os.pipe()
    os.close(end)
    copy_through({source: target}, deque(), 100)
    writer.join(timeout=20)
    assert not writer.is_alive(), "it would have written 6 GB"
    os.close(target)


def test_one_stream_whose_reader_has_ended_does_not_stop_the_other() -> None:
    quiet, first = fed([b"a" * 10])
    loud, second = fed([b"b" * 200_000])
    removed, closed = os.pipe()
    os.close(removed)
    end, target = os.pipe()
    arrived: list[bytes] = []
    reader = drained(end, arrived)
    copy_through({quiet: closed, loud: target}, deque(), 100)
    os.close(target)
    for thread in (first, second, reader):
        thread.join()
    assert b"".join(arrived) == b"b" * 200_000
    os.close(closed)
