"""diskcache with its dangerous features off. It unpickles what its own rows mark as pickled, opens
and removes whatever file name they contain, and obeys whatever settings they carry; whoever can
write the database could use each of these.

Here: no pickle in either direction, no file but those of the shape that diskcache itself writes, no
setting but ours. Refusals are OSErrors, which diskcache takes for a miss.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from contextlib import suppress
from errno import EPERM
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

import diskcache
from diskcache.core import ENOVAL, METADATA, MODE_BINARY, MODE_RAW

from kl_hooks.model.definitions import lazy_pattern

_FILE: Final = lazy_pattern(r"[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{28}\.val", re.ASCII)
# SQLite's pager.c, readSuperJournal: these bytes end a journal that names another one, which is
# then deleted
_MAGIC: Final = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_MAX_BYTES: Final = 64 * 1024 * 1024
_DATABASE: Final = "cache.db"


class _Refused(OSError):
    """A row, a file or a setting that is not of our making."""

    def __init__(self, what: object) -> None:
        super().__init__(EPERM, f"refused: {what!r}"[:200])


class _Disk(diskcache.Disk):  # type: ignore[misc]
    """Text keys, bytes values; raw or in a file of ours."""

    def put(self, key: Any) -> tuple[str, bool]:
        """The key as the database has it."""
        if type(key) is not str:
            raise _Refused(key)
        return key, True

    def get(self, key: Any, raw: Any) -> str:
        """The way back. Refused for a pickled key."""
        if raw != 1 or type(key) is not str:
            raise _Refused(key)
        return key

    def store(self, value: Any, read: bool, key: Any = None) -> Any:
        """(size, mode, file name, value) of a row."""
        if type(value) is not bytes or read:
            raise _Refused(type(value))
        return super().store(value, False, key)

    def fetch(self, mode: Any, filename: Any, value: Any, read: bool) -> bytes:
        """The value of a row. Refused for what `store` never makes."""
        if mode == MODE_RAW and filename is None and type(value) is bytes and not read:
            return value
        if mode == MODE_BINARY and value is None and not read:
            return self._bytes(self._path(filename))
        raise _Refused((mode, filename))

    def remove(self, file_path: Any) -> None:
        """Remove a value's file and the folders that it leaves empty; anything else stays."""
        with suppress(OSError):
            path = self._path(file_path)
            path.unlink()
            path.parent.rmdir()
            path.parent.parent.rmdir()

    def _path(self, name: Any) -> Path:
        if type(name) is not str or not _FILE.fullmatch(name):
            raise _Refused(name)
        path = Path(self._directory, name)
        if path.parent.is_symlink() or path.parent.parent.is_symlink():
            raise _Refused(name)
        return path

    def _bytes(self, path: Path) -> bytes:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            info = os.fstat(handle)
            if not S_ISREG(info.st_mode) or info.st_size > _MAX_BYTES:
                raise _Refused(path.name)
            return file.read(_MAX_BYTES)


_SETTINGS: Final = {
    "statistics": 0,
    "tag_index": 0,
    "eviction_policy": "least-recently-stored",
    "cull_limit": 10,
    "sqlite_auto_vacuum": 1,
    "sqlite_cache_size": 1024,
    # diskcache's own are WAL and 64 MB of mapped memory; `store.sqlite` has the reasons against
    # both
    "sqlite_journal_mode": "delete",
    "sqlite_mmap_size": 0,
    "sqlite_synchronous": 1,
    "disk_min_file_size": 32768,
    "disk_pickle_protocol": 5,
}


class GuardedCache(diskcache.Cache):  # type: ignore[misc]
    """A diskcache that takes no setting from its own database: they become pragmas and attributes
    as they are.
    """

    def __init__(self, directory: Path, size_limit: int) -> None:
        self._ours = {**_SETTINGS, "size_limit": size_limit}
        if "~" in str(directory) or "$" in str(directory):
            raise _Refused(directory)  # diskcache would expand it to some other place
        try:
            super().__init__(str(directory), timeout=1, disk=_Disk, **self._ours)
        except BaseException:
            self.close()
            raise

    def reset(self, key: Any, value: Any = ENOVAL, update: bool = True) -> Any:
        """As in diskcache. Refused for a setting that is not ours, or not as we set it."""
        if key not in self._ours and key not in METADATA:
            raise _Refused(key)
        if (
            value is not ENOVAL
            and key in self._ours
            and (type(key) is not str or value != self._ours[key])
        ):
            raise _Refused((key, value))
        return super().reset(key, value, update)

    def count_expired(self, now: float) -> int:
        """How many values `expire(now)` would drop."""
        cursor = self._sql(
            "SELECT COUNT(*) FROM Cache WHERE 0 < expire_time AND expire_time < ?", (now,)
        )
        return int(cursor.fetchone()[0])

    def live_keys(self, prefix: str) -> list[str]:
        """The keys that begin with `prefix`, of values that have not expired."""
        sql = (
            "SELECT key FROM Cache WHERE substr(key, 1, ?) = ? AND (expire_time IS NULL OR"
            " expire_time > ?) AND raw = 1 ORDER BY key"
        )
        return [
            key for (key,) in self._sql(sql, (len(prefix), prefix, time.time())) if type(key) is str
        ]


def open_cache(directory: Path, size_limit: int) -> GuardedCache:
    """The cache in `directory`, which is ours and 0700. What is there is thrown away where it can't
    be trusted or read.

    OSError or sqlite3.Error where it can't be used now (another process is at it, for instance).
    """
    try:
        _probe(directory / _DATABASE)
        return GuardedCache(directory, size_limit)
    except (
        _Refused,
        sqlite3.DatabaseError,
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
    ) as error:
        # SQLITE_ERROR: SQL that does not fit, so tables that are not diskcache's; else a lost race
        # or a full disk
        if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorname != "SQLITE_ERROR":
            raise
    for end in ("", "-journal", "-wal", "-shm"):
        (directory / (_DATABASE + end)).unlink(missing_ok=True)
    return GuardedCache(directory, size_limit)


def _probe(database: Path) -> None:
    """Before SQLite acts on it: no links, no journal that names a foreign file, nobody who holds it
    for long.
    """
    for end in ("", "-journal", "-wal", "-shm"):
        path = database.with_name(database.name + end)
        if path.is_symlink():
            raise _Refused(path.name)
    journal = database.with_name(database.name + "-journal")
    if journal.exists() and journal.read_bytes()[-8:] == _MAGIC:
        raise _Refused(journal.name)
    if not database.exists():
        return
    # diskcache retries for 60 seconds where the database is locked (core.py); here that is an
    # error, so a miss
    connection = sqlite3.connect(database, timeout=0.5, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        settings = connection.execute("SELECT key, value FROM Settings").fetchall()
    finally:
        connection.close()
    for key, _ in settings:
        if key not in _SETTINGS and key not in METADATA and key != "size_limit":
            raise _Refused(key)
