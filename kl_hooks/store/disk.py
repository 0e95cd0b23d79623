"""Why the system refused a call in a folder, and what a folder can't do, tried for real.

An error alone does not name its cause: "No space left on device" is also the answer where every
byte is free and no inode is. So the file system is asked what it has left.
"""

from __future__ import annotations

import fcntl
import os
from enum import StrEnum
from errno import EACCES, EDQUOT, EFBIG, EIO, ENOLCK, ENOSPC, EOPNOTSUPP, EPERM, EROFS, ESTALE
from pathlib import Path
from typing import Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.store.files import sync_folder

NEEDED: Final = 256 * 1024
"""Bytes that a run of tests may need at once."""
_NO_LOCKS: Final = frozenset((ENOLCK, EOPNOTSUPP))
_NO_SPACE: Final = frozenset((ENOSPC, EDQUOT, EFBIG))


class Cause(NamedTuple):
    """Why a call was refused."""

    words: str
    fix: str
    """Empty: only the error is known."""


class _Space(NamedTuple):
    """What a file system has left for this user; None where it does not count that."""

    free_bytes: int
    inodes: int | None
    free_inodes: int | None


def cause_of(error: OSError, folder: Path) -> Cause:
    """The cause of `error` in `folder` (which need not exist), and what to do."""
    reason = error.strerror or str(error)
    there = existing_folder(folder)
    if error.errno in _NO_LOCKS:
        words = f"this file system has no locks ({reason})"
        return Cause(words, "mount it with locks (on NFS: start lockd)")
    if error.errno in _NO_SPACE:
        return _cause_of_no_space(error.errno or 0, reason, there)
    if error.errno == EROFS:
        return Cause(f"it is on a file system that is mounted read-only ({reason})", "")
    if error.errno in (EIO, ESTALE):
        words = f"the disk, or the connection to it, fails ({reason})"
        return Cause(words, "look at: dmesg | tail")
    if error.errno in (EACCES, EPERM):
        fix = f"chown -R $(id -un) {there}; chmod -R u+rwX {there}"
        return Cause(reason, fix)
    return Cause(reason, "")


def _cause_of_no_space(number: int, reason: str, folder: Path) -> Cause:
    try:
        space = _space(folder)
    except OSError:
        return Cause(f"the disk is full ({reason})", "df -h")
    amount = f"{space.free_bytes:,} bytes free"
    if number == ENOSPC and space.free_inodes == 0:
        words = f"no inodes are free ({reason}; 0 of {space.inodes:,} inodes, {amount})"
        return Cause(words, f"remove files on it (df -i {folder} counts them)")
    if number == EDQUOT:
        words = f"your quota is used up ({reason}; {amount})"
        return Cause(words, "remove files of yours (quota -s lists it)")
    fix = f"free at least {NEEDED:,} bytes there"
    return Cause(f"the disk is full ({reason}; {amount})", fix)


def _space(folder: Path) -> _Space:
    status = os.statvfs(folder)
    # btrfs and some network file systems make inodes on demand, and report 0 of 0: statvfs(3)
    counted = status.f_files > 0
    return _Space(
        status.f_bavail * status.f_frsize,
        status.f_files if counted else None,
        status.f_favail if counted else None,
    )


def existing_folder(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(place for place in (folder, *folder.parents) if place.exists())


class Step(StrEnum):
    """What kl does in its folders, in words that follow "can't"."""

    MAKE = "make a file"
    LOCK = "lock a file"
    WRITE = f"write {NEEDED:,} bytes"
    SYNC = "sync a file"
    SYNC_FOLDER = "sync the folder"


class Refusal(NamedTuple):
    """The step that failed in a folder, and why."""

    step: Step
    cause: Cause


def refusal_in(folder: Path) -> Refusal | None:
    """The first step that fails in `folder`, which exists; None: all of them were done.

    A file that never gets a name is made, locked in both ways, filled and synced; the folder is
    synced. A file system's own account is not enough: a quota does not show in statvfs(3).
    """
    from tempfile import TemporaryFile

    step = Step.MAKE
    try:
        with TemporaryFile(prefix=".kl-", dir=folder) as file:
            handle = file.fileno()
            step = Step.LOCK
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # captures, the store's lock
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # SQLite
            step = Step.WRITE
            _fill(handle)
            step = Step.SYNC
            os.fsync(handle)  # errors may be delayed until here, on NFS above all: write(2)
            step = Step.SYNC_FOLDER
            sync_folder(folder)
    except OSError as error:
        return Refusal(step, cause_of(error, folder))
    return None


def _fill(handle: int) -> None:
    left = NEEDED
    while left:  # less than asked for is no error: the next call has it
        left -= os.write(handle, b"\0" * left)
