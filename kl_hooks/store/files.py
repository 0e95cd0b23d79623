"""Files: small ones read with care, whole ones written completely or not at all, and one writer at
a time.

Locks are flock(2): the kernel releases them when their holder dies, so no stale lock file has to be
judged.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem, StoreBusy, UsageProblem
from kl_hooks.model.text import one_line

MAX_BYTES: Final = 256 * 1024
"""Of a file that is parsed; nothing that people write is longer."""


def read_small(path: Path, within: Path | None = None, most: int = MAX_BYTES) -> bytes | None:
    """The bytes of a file, None where there is none; one byte more than `most` is the most that is
    read.

    `within`: a folder that the file must really lie in, links followed (for files of a checkout).
    UsageProblem for a folder, a pipe, a device, a link that leads out, or a file that may not be
    read.
    """
    try:
        if within is not None and not path.resolve().is_relative_to(within.resolve()):
            raise UsageProblem(
                "a link that leads out of the repository.",
                place=str(path),
                hint="Put the file itself here.",
            )
        # O_NONBLOCK: opening a named pipe waits for a writer otherwise, see fifo(7)
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    # RuntimeError: resolve() of a loop of links, before CPython 3.13; ValueError: a NUL in the name
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageProblem(f"can't be read: {error}.", place=str(path)) from error
    return _read_regular(handle, path, most)


def _read_regular(handle: int, path: Path, most: int) -> bytes:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageProblem("is not a file.", place=str(path), hint="Move it away.")
    with os.fdopen(handle, "rb") as file:
        return file.read(most + 1)


def read_without_links(within: Path, path: Path, most: int = MAX_BYTES) -> bytes | None:
    """The same for a file in `within`, which is reached by no link: neither a folder on the way nor
    the file is one. `path` is relative.

    UsageProblem where one is, and as `read_small`.
    """
    try:
        folder = _without_links(within, within / path.parent)
        try:
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(path.name, flags, dir_fd=folder)
        finally:
            os.close(folder)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        linked = isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.ENOTDIR)
        if linked:
            reason = "is reached by a link."
        else:
            reason = f"can't be read: {error}."
        raise UsageProblem(reason, place=str(path)) from error
    return _read_regular(handle, path, most)


def read_given(path: Path, most: int = 256 * 1024 * 1024) -> bytes:
    """All of a file that somebody names.

    UsageProblem where it is none, or is longer than `most`.
    """
    # asked first: a pipe has no size, and may never end
    if not path.is_file():
        raise UsageProblem(
            "is not a file.", place=str(path), hint="Write what a pipe or a device gives to a file."
        )
    content = read_small(path, most=most) or b""
    if len(content) > most:
        raise UsageProblem(
            f"has more than {most:,} bytes.", place=str(path), hint="Split it, and give its parts."
        )
    return content


_DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def write_atomic(
    path: Path, data: bytes, mode: int = 0o644, *, within: Path | None = None, sync: bool = True
) -> None:
    """Write `data` to `path`: a new file in its folder, synced, renamed over it, the folder synced.

    A link at `path` is replaced, not followed. With `within`, no folder between it and the file may
    be a link: a checkout whose `.kl` leads elsewhere gets nothing written there. `mode` as far as
    the umask allows. `sync=False` is for what can be derived again and shows when it is not whole:
    a power loss may destroy it. Raises OSError (NotADirectoryError for such a link), ValueError for
    a `path` that is not in `within`.
    """
    if within is None:
        folder = os.open(path.parent, _DIRECTORY_FLAGS)
    else:
        folder = _without_links(within, path.parent)
    # a name of 255 bytes (NAME_MAX) would leave no space for ours
    new = f".{path.name[:40]}.{os.urandom(8).hex()}"
    try:
        handle = os.open(new, _NEW_FILE_FLAGS, mode, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                if sync:
                    # before the rename: with delayed allocation an empty file may get the name
                    # (ext4, LWN 322823)
                    os.fsync(handle)
            os.rename(new, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(new, dir_fd=folder)
            raise
        if sync:
            # fsync(2): syncing a file does not make its entry in the folder durable
            os.fsync(folder)
    finally:
        os.close(folder)


def sync_folder(folder: Path) -> None:
    """Make new names in `folder` survive a power loss."""
    handle = os.open(folder, _DIRECTORY_FLAGS)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _without_links(within: Path, folder: Path) -> int:
    """A handle on `folder`, reached from `within` one name at a time, none of them a link."""
    parts = folder.relative_to(within).parts
    if ".." in parts:
        raise ValueError(f"{folder} is not in {within}")
    handle = os.open(within, _DIRECTORY_FLAGS)
    # one name at a time: O_NOFOLLOW concerns the last part of a path only, see open(2)
    for part in parts:
        try:
            below = os.open(part, _DIRECTORY_FLAGS | os.O_NOFOLLOW, dir_fd=handle)
        finally:
            os.close(handle)
        handle = below
    return handle


_FOLDER_WAIT: Final = 5.0
"""Seconds. Whoever holds it compares two texts and writes one."""


@contextmanager
def store_lock(path: Path, *, wait: float, what: str) -> Iterator[None]:
    """Hold the lock at `path` (made if missing) for `what`. Does not nest, not even within one
    process.

    Whoever waits queues (`write_queue`). StoreBusy, naming the holder and what it does, where
    nothing moved for `wait` seconds; OSError where the file can't be made.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    ours = os.getpid()
    started = time.monotonic()
    try:
        if not _acquire_in_turn(handle, path.with_suffix(".queue"), wait):
            pid, _, task = _owner(handle).partition(" ")
            if pid:
                holder_text = f"pid {one_line(pid, 20)} ({one_line(task, 60)})"
            else:
                holder_text = "another process"
            waited = max(wait, round(time.monotonic() - started))
            reason = f"the store is busy: {holder_text} holds it. Waited {waited:g} s."
            raise StoreBusy(reason, place=str(path), hint="Try again, or: kl doctor")
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{ours} {one_line(what)}\n".encode(), 0)
            yield
        finally:
            # explicitly, not by closing: the lock belongs to the open file description, which a
            # forked child shares
            if os.getpid() == ours:
                os.ftruncate(handle, 0)
                fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


@contextmanager
def folder_lock(folder: Path, wait: float = _FOLDER_WAIT) -> Iterator[None]:
    """Lock the folder itself, which makes no file. Does not nest.

    EnvironmentProblem after `wait` seconds; OSError where there is no such folder. A file system
    without locks (some network drives) is written without one.
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


def _acquire_in_turn(handle: int, queue: Path, wait: float) -> bool:
    """Take the lock at once where it is free and nobody waits, else after the earlier waiters."""
    if (wait <= 0 or not (queue.is_dir() and os.listdir(queue))) and _try_lock(handle):  # noqa: PTH208
        return True
    if wait <= 0:
        return False
    # here, since it is of no use to the many commands that wait for nobody
    from kl_hooks.store.write_queue import acquired_in_turn

    return acquired_in_turn(queue, wait, lambda: _try_lock(handle), lambda: _owner(handle))


def _owner(handle: int) -> str:
    """What the process that has the lock wrote into its file; empty where it has not yet."""
    return os.pread(handle, 200, 0).decode("utf-8", "replace").strip()


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _acquire(handle: int, wait: float) -> bool:
    """Take the lock, trying for `wait` seconds; False if another process holds it for so long."""
    # flock(2) has no timeout, and an alarm signal would belong to the process that we run in
    end = time.monotonic() + wait
    pause = 0.001
    while True:
        if _try_lock(handle):
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
