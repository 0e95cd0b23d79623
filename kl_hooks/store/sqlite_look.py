"""What a database file is, told from its bytes before SQLite may act on them.

Opening a database makes SQLite play back the journal beside it, and a crafted journal can name any file, which is then
deleted. So: no links, nobody else's files, our own mark in the header, no journal that names another.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem, StoreDamaged
from kl_hooks.model.text import one_line
from kl_hooks.store.filesystem import is_local

APPLICATION: Final = 0x6B6C3031
"""`application_id`: `kl01`."""
BESIDE: Final = ("-journal", "-wal", "-shm")
_HEADER: Final = b"SQLite format 3\0"
_SUPER: Final = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"


def refuse_foreign(path: Path) -> None:
    """StoreDamaged where what is at `path` is not one of our databases, or what is beside it not one of its files.

    EnvironmentProblem where it may not be read.
    """
    try:
        _refuse_foreign(path)
    except PermissionError:
        raise EnvironmentProblem("may not be read by you.", place=str(path), hint="See: kl doctor") from None


def _refuse_foreign(path: Path) -> None:
    for name in (path, *beside(path)):
        _refuse_links(name)
    if is_there(path):
        _refuse_header(path)
    elif unfinished(path):
        raise damaged(path, "is empty, but work on it was left unfinished")
    journal = path.with_name(path.name + "-journal")
    if is_there(journal) and _end(journal) == _SUPER:
        raise damaged(journal, "names another journal, which ours never does")


def is_there(path: Path) -> bool:
    """A file with something in it. PermissionError where that can't be told, which is not the same as no."""
    try:
        return path.lstat().st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False


def beside(path: Path) -> list[Path]:
    """The files that SQLite may keep beside a database."""
    return [path.with_name(path.name + end) for end in BESIDE]


def unfinished(path: Path) -> bool:
    """A journal or log with content beside it: somebody is at work on it, or was stopped in the middle."""
    return any(is_there(name) for name in beside(path)[:2])


def damaged(path: Path, reason: str) -> StoreDamaged:
    """The exception, with the way out. Nothing is ever moved or deleted by us."""
    hint = f"Captures wait in the spool. Keep it for a look: mv {path.name} {path.name}.damaged; then: kl doctor"
    return StoreDamaged(f"{reason}.", place=str(path), hint=hint)


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """The bug (two connections, one resets the log while the other writes) is fixed in 3.51.3, 3.50.7 and 3.44.6."""
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)


def journal_mode(version: tuple[int, ...], folder: Path) -> str:
    """WAL only where it is safe: not on a SQLite with the WAL-reset bug, not on a file system over a network."""
    return "WAL" if wal_is_safe(version) and is_local(folder) else "DELETE"


def _refuse_links(path: Path) -> None:
    try:
        info = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(info.st_mode):
        raise damaged(path, "is a link or no file at all")
    if info.st_uid != os.geteuid() and os.geteuid() != 0:
        raise damaged(path, "belongs to somebody else")


def _refuse_header(path: Path) -> None:
    with path.open("rb") as file:
        first = file.read(100)
    if first[: len(_HEADER)] != _HEADER:
        raise damaged(path, f'is not a database (first bytes "{one_line(first[:16].decode("utf-8", "replace"), 40)}")')
    if first[68:72] != APPLICATION.to_bytes(4, "big"):
        raise damaged(path, "is a database, but not one of kl's")


def _end(path: Path) -> bytes:
    """The last bytes; none where the file is gone by now, which is what a journal does when its writer commits."""
    try:
        with path.open("rb") as file:
            file.seek(-min(8, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return file.read(8)
    except FileNotFoundError:
        return b""
