"""SQLite behind the Database door: opened carefully, since a file may be damaged, foreign, newer or in use."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem, StoreBusy, StoreNewer
from kl_hooks.model.text import one_line
from kl_hooks.store.atomic import sync_folder
from kl_hooks.store.database import Row
from kl_hooks.store.sqlite_look import APPLICATION, beside, damaged, is_there, journal_mode, refuse_foreign, unfinished

FORMAT: Final = 1
"""Number of the whole store's format (`user_version`); raised only where older kl must not write."""
BUSY_MS: Final = 60_000
_RACES: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR_SHORT_READ", "SQLITE_PROTOCOL", "SQLITE_READONLY_R")
"""Errors that say another process was faster, or was stopped in the middle; never that something is damaged."""
_OUTSIDE: Final = ("SQLITE_IOERR", "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_AUTH", "SQLITE_PERM", "SQLITE_NOMEM")


class SqliteDatabase:
    """A Database on SQLite."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection, path: Path, read_only: bool, copy: Path | None = None) -> None:
        self._connection, self.path, self.read_only, self._copy = connection, path, read_only, copy
        self._inode = path.stat().st_ino

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
        self._refuse_moved()

    def close(self) -> None:
        self._connection.close()
        if self._copy is not None:
            import shutil

            shutil.rmtree(self._copy, ignore_errors=True)

    def _refuse_moved(self) -> None:
        """A database that was moved or deleted while open takes every write into nothing: that is not a commit."""
        try:
            same = self.path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            reason = "was moved or deleted while it was open; what was written is lost."
            raise EnvironmentProblem(reason, place=str(self.path), hint="Try again.")

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise translated(error, self.path) from error


def translated(error: sqlite3.Error, path: Path) -> Exception:
    """What an error of SQLite means here: a lost race is StoreBusy, never damage. Our own faults stay as they are."""
    name = getattr(error, "sqlite_errorname", "") or ""
    says = f"{one_line(str(error))}, {name}"
    if name.startswith((*_RACES, "SQLITE_CANTOPEN")):
        return StoreBusy(f"another process is using it ({says}).", place=str(path), hint="Try again, or: kl doctor")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "decode to UTF-8" in says:
        return damaged(path, f"can't be read ({says})")
    if name.startswith(_OUTSIDE):
        return EnvironmentProblem(f"can't be used ({says}).", place=str(path), hint="See: kl doctor")
    return error


def open_sqlite(path: Path, *, write: bool, busy_ms: int = BUSY_MS) -> SqliteDatabase:
    """Opens the database at `path`; for writing it is created if missing, and the caller holds its lock.

    StoreDamaged for what is no database of ours, StoreNewer (when writing) for a newer format, StoreBusy for a lost
    race (after `busy_ms` milliseconds), EnvironmentProblem where the disk or the rights are the trouble.
    """
    refuse_foreign(path)
    if write and not is_there(path):
        _create(path)
    suspect = write and unfinished(path)
    frozen = not write and _frozen(path)
    copy = _copied(path) if frozen and unfinished(path) else None
    mode = "mode=rw" if write or copy else "immutable=1" if frozen else "mode=ro"
    database = None
    try:
        connection = _connect(copy / path.name if copy else path, mode, busy_ms)
        database = SqliteDatabase(connection, path, not write, copy)
        _settle(database)
        if suspect:
            _refuse_broken(database)
    except BaseException as error:
        if database:
            database.close()
        raise (translated(error, path) if isinstance(error, sqlite3.Error) else error) from None
    return database


@lru_cache(maxsize=64)
def full_text_terms(words: tuple[str, ...], tokenizer: str) -> dict[str, str]:
    """Word → the term that a full text with this tokenizer makes of it; words without one are left out.

    Asked of a full text in memory: nobody else folds exactly as SQLite does. Needs FTS5.
    """
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f'CREATE VIRTUAL TABLE said USING fts5(word, tokenize="{tokenizer}")')
        db.execute("CREATE VIRTUAL TABLE terms USING fts5vocab('said', 'instance')")
        db.executemany("INSERT INTO said (rowid, word) VALUES (?, ?)", enumerate(words))
        rows = db.execute("SELECT doc, term FROM terms ORDER BY doc, offset DESC").fetchall()
    return {words[number]: term for number, term in rows}


def _create(path: Path) -> None:
    """An empty database of ours, there whole or not at all."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    connection = sqlite3.connect(new, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        new.unlink(missing_ok=True)
        raise translated(error, path) from error
    finally:
        connection.close()
    new.rename(path)
    sync_folder(path.parent)


def _frozen(path: Path) -> bool:
    """Nothing can be written beside it: SQLite could neither lock nor recover it."""
    return not os.access(path.parent, os.W_OK)


def _copied(path: Path) -> Path:
    """A copy of an unfinished database that can't be finished where it is: recovered there, read, thrown away."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="kl-read-"))
    for name in (path, *beside(path)[:2]):
        if is_there(name):
            shutil.copy(name, folder / name.name)
    return folder


def _connect(path: Path, mode: str, busy_ms: int) -> sqlite3.Connection:
    quoted = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{quoted}?{mode}", uri=True, timeout=busy_ms / 1000, isolation_level=None)


def _settle(database: SqliteDatabase) -> None:
    if sys.version_info >= (3, 12):
        database._connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        database._connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
        database._connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "synchronous = FULL"):
        database.execute(f"PRAGMA {pragma}")
    made = database.row("PRAGMA user_version")
    if not database.read_only and made and made[0] > FORMAT:
        raise newer(database.path, f"format {made[0]}", f"format {FORMAT}")
    foreign = database.rows("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')")
    if foreign:
        shown = ", ".join(f"{kind} {one_line(name, 40)}" for kind, name in foreign[:3])
        raise damaged(database.path, f"holds what kl never makes: {shown}")
    if not database.read_only:
        _set_journal(database)


def _set_journal(database: SqliteDatabase) -> None:
    mode = journal_mode(sqlite3.sqlite_version_info, database.path.parent)
    current = database.row("PRAGMA journal_mode")
    if current and str(current[0]).upper() != mode:
        database.execute(f"PRAGMA journal_mode = {mode}")
    if (
        mode == "DELETE"
    ):  # EXTRA is FULL, and the folder is synced when the journal goes: else a commit could come undone
        database.execute("PRAGMA synchronous = EXTRA")


def _refuse_broken(database: SqliteDatabase) -> None:
    """After an unclean stop: is what SQLite recovered sound?"""
    found = database.row("PRAGMA quick_check(1)")
    if found != ("ok",):
        raise damaged(database.path, f"is malformed ({one_line(str(found and found[0]), 80)})")


def newer(path: Path, theirs: str, ours: str) -> StoreNewer:
    """The exception for a store that a newer kl made."""
    reason = f"was made by a newer kl ({theirs}; this one knows {ours}): it can be read, not written."
    return StoreNewer(
        reason, place=str(path), hint="Upgrade: pip install --upgrade kl-hooks. Captures wait in the spool."
    )
