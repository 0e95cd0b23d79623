"""Writing a file so that it is there whole or not at all, also after a power loss."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def write_atomic(path: Path, data: bytes, mode: int = 0o644, *, within: Path | None = None, sync: bool = True) -> None:
    """Writes `data` to `path`: a new file beside it, synced, renamed over it, the folder synced.

    A link at `path` is replaced, not followed. With `within`, no folder between it and the file may be a link: a
    checkout whose `.kl` leads elsewhere gets nothing written there. `mode` as far as the umask allows. `sync=False` is
    for what can be derived again and shows when it is not whole: a power loss may take it. OSError as it comes
    (NotADirectoryError for such a link), ValueError for a `path` that is not in `within`.
    """
    folder = os.open(path.parent, _FOLDER) if within is None else _without_links(within, path.parent)
    new = f".{path.name[:40]}.{os.urandom(8).hex()}"
    try:
        handle = os.open(new, _NEW, mode, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                if sync:
                    os.fsync(handle)
            os.rename(new, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(new, dir_fd=folder)
            raise
        if sync:
            os.fsync(folder)
    finally:
        os.close(folder)


def sync_folder(folder: Path) -> None:
    """Makes new names in `folder` survive a power loss."""
    handle = os.open(folder, _FOLDER)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _without_links(within: Path, folder: Path) -> int:
    """A handle on `folder`, reached from `within` one name at a time, none of them a link."""
    parts = folder.relative_to(within).parts
    if ".." in parts:
        raise ValueError(f"{folder} is not in {within}")
    handle = os.open(within, _FOLDER)
    for part in parts:
        try:
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=handle)
        finally:
            os.close(handle)
        handle = below
    return handle
