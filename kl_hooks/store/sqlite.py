"""SQLite behind the Database door: opened carefully, since a file may be damaged, foreign, newer or in use."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import StoreBusy, StoreDamaged, StoreNewer
from kl_hooks.model.text import one_line
from kl_hooks.store.database import Row
from kl_hooks.store.filesystem import is_local

FORMAT: Final = 1
"""Number of the whole store's format (`user_version`); raised only where older kl must not write."""
APPLICATION: Final = 0x6B6C3031
"""`application_id`: `kl01`."""
BUSY_MS: Final = 60_000
_HEADER: Final = b"SQLite format 3\0"
_RACES: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN", "SQLITE_IOERR_SHORT_READ", "SQLITE_PROTOCOL")


class SqliteDatabase:
    """A Database on SQLite."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection, path: Path, read_only: bool) -> None:
        self._connection, self.path, self.read_only = connection, path, read_only

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        with self._telling():
            return self._connection.execute(sql, params).fetchall()

    def row(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        with self._telling():
            found: Row | None = self._connection.execute(sql, params).fetchone()
            return found

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        with self._telling():
            self._connection.execute(sql, params)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._telling():
            self._connection.executemany(sql, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise translated(error, self.path) from error


def translated(error: sqlite3.Error, path: Path) -> Exception:
    """What an error of SQLite means here: a lost race is StoreBusy, never damage."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(_RACES):
        return StoreBusy(f"another process is using it ({name}).", place=str(path), hint="Try again, or: kl doctor")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "decode to UTF-8" in str(error):
        return StoreDamaged(f"can't be read ({one_line(str(error))}).", place=str(path), hint="See: kl doctor")
    if name.startswith(("SQLITE_IOERR", "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_AUTH", "SQLITE_PERM")):
        return OSError(0, f"{one_line(str(error))} ({name})", str(path))
    return error


def open_sqlite(path: Path, *, write: bool) -> SqliteDatabase:
    """Opens the database at `path`; for writing it is created if missing.

    StoreDamaged for what is no database of ours, StoreNewer (when writing) for a newer format, StoreBusy for a lost race.
    """
    exists = path.exists() and path.stat().st_size > 0
    if exists:
        _probe(path)
    try:
        connection = _connect(path, write)
        database = SqliteDatabase(connection, path, not write)
        _settle(database, write, exists)
    except sqlite3.Error as error:
        raise translated(error, path) from error
    return database


def _probe(path: Path) -> None:
    """Looks at the bytes before SQLite may act on them: opening a crafted journal can delete foreign files."""
    with path.open("rb") as file:
        first = file.read(len(_HEADER))
    if first != _HEADER:
        shown = one_line(first.decode("utf-8", "replace"), 40)
        raise StoreDamaged(f'is not a database (first bytes "{shown}").', place=str(path), hint="See: kl doctor")
    journal = path.with_name(path.name + "-journal")
    for beside in (path, journal):
        if beside.exists() and (beside.is_symlink() or beside.stat().st_uid not in (os.getuid(), 0)):
            raise StoreDamaged("is a link, or somebody else's.", place=str(beside), hint="See: kl doctor")
    if journal.exists() and journal.stat().st_size > 512 and _names_a_master(journal):
        raise StoreDamaged("names another journal, which ours never does.", place=str(journal), hint="See: kl doctor")


def _names_a_master(journal: Path) -> bool:
    """A journal that ends in SQLite's magic number names a super-journal: a path that recovery would delete."""
    with journal.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        return file.read(8) == b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"


def _connect(path: Path, write: bool) -> sqlite3.Connection:
    if write:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        return sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    quoted = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    frozen = not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists()
    mode = "immutable=1" if frozen else "mode=ro"
    return sqlite3.connect(f"file:{quoted}?{mode}", uri=True, timeout=BUSY_MS / 1000, isolation_level=None)


def _settle(database: SqliteDatabase, write: bool, exists: bool) -> None:
    if sys.version_info >= (3, 12):
        database._connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "synchronous = FULL"):
        database.execute(f"PRAGMA {pragma}")
    if not exists:
        if write:
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {FORMAT}")
            _journal(database)
        return
    ours = database.row("PRAGMA application_id")
    if ours != (APPLICATION,):
        raise StoreDamaged("is a database, but not one of kl's.", place=str(database.path), hint="See: kl doctor")
    made = database.row("PRAGMA user_version")
    if write and made and made[0] > FORMAT:
        database.close()
        raise newer(database.path, f"format {made[0]}", f"format {FORMAT}")
    foreign = database.rows("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')")
    if foreign:
        shown = ", ".join(f"{kind} {one_line(name, 40)}" for kind, name in foreign[:3])
        raise StoreDamaged(f"holds what kl never makes: {shown}.", place=str(database.path), hint="See: kl doctor")
    if write:
        _journal(database)


def newer(path: Path, theirs: str, ours: str) -> StoreNewer:
    """The exception for a store that a newer kl made."""
    reason = f"was made by a newer kl ({theirs}; this one knows {ours}): it can be read, not written."
    return StoreNewer(
        reason, place=str(path), hint="Upgrade: pip install --upgrade kl-hooks. Captures wait in the spool."
    )


def _journal(database: SqliteDatabase) -> None:
    """WAL only where it is safe: not on a SQLite with the WAL-reset bug, not on a file system over a network."""
    mode = "WAL" if wal_is_safe(sqlite3.sqlite_version_info) and is_local(database.path.parent) else "DELETE"
    current = database.row("PRAGMA journal_mode")
    if current and str(current[0]).upper() != mode:
        database.execute(f"PRAGMA journal_mode = {mode}")


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """The bug (two connections, one resets the log while the other writes) is fixed in 3.51.3, 3.50.7 and 3.44.6."""
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)
