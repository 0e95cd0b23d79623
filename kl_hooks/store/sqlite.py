"""SQLite behind the Database protocol: opened carefully, since a file may be damaged, foreign,
newer or in use.

Opening a database makes SQLite play back the journal next to it, and a crafted journal can name any
file, which is then deleted. So the bytes are looked at first: no links, nobody else's files, our
own mark in the header, no journal that names another.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem, StoreBusy, UsageProblem
from kl_hooks.model.text import one_line
from kl_hooks.store.database import Row, damaged_error, newer_error
from kl_hooks.store.files import sync_folder

_APPLICATION_ID: Final = 0x6B6C3031
"""`application_id`: `kl01`."""
_SIDE_SUFFIXES: Final = ("-journal", "-wal", "-shm")
_HEADER: Final = b"SQLite format 3\0"
# SQLite's pager.c, readSuperJournal: these bytes end a journal that names another one
_SUPER: Final = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"


def _refuse_foreign(path: Path) -> None:
    """StoreDamaged where `path` is not one of our databases, or what is next to it not one of its
    files.

    EnvironmentProblem where it may not be read.
    """
    try:
        for name in (path, *side_files(path)):
            _refuse_links(name)
        if has_content(path):
            _refuse_header(path)
        elif has_open_journal(path):
            raise damaged_error(path, "is empty, but work on it was left unfinished")
        journal = path.with_name(path.name + "-journal")
        if has_content(journal) and _last_bytes(journal) == _SUPER:
            raise damaged_error(journal, "names another journal, which ours never does")
    except PermissionError:
        raise EnvironmentProblem(
            "may not be read by you.", place=str(path), hint="See: kl doctor"
        ) from None


def has_content(path: Path) -> bool:
    """True for a file with content. PermissionError where that is unknown, which is not the same as
    no.
    """
    try:
        return path.lstat().st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False


def side_files(path: Path) -> list[Path]:
    """The files that SQLite may keep beside a database."""
    return [path.with_name(path.name + end) for end in _SIDE_SUFFIXES]


def has_open_journal(path: Path) -> bool:
    """A journal or log with content next to it: somebody is at work on it, or was stopped in the
    middle.
    """
    return any(has_content(name) for name in side_files(path)[:2])


_LOCAL_FILE_SYSTEMS: Final = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "apfs", "bcachefs", "overlay")
)


def is_local(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """True if the file system of `folder` is known to be local; False for the others and where that
    is unknown.
    """
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    real = os.path.realpath(folder)
    best, kind = "", ""
    for line in lines:
        fields = line.split(" ")
        point = fields[1] if len(fields) > 2 else ""
        # only these four characters are escaped here, see getmntent(3); everything else is plain
        # UTF-8
        for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
            point = point.replace(code, character)
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        # `>=`: of two file systems mounted at one point the later one hides the earlier
        if point and inside and len(point) >= len(best):
            best = point
            kind = fields[2]
    return kind in _LOCAL_FILE_SYSTEMS


def _wal_is_safe(version: tuple[int, ...]) -> bool:
    """The bug (two connections, one resets the log while the other writes) is fixed in 3.51.3,
    3.50.7 and 3.44.6.
    """
    return (
        version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)
    )


def _journal_mode(version: tuple[int, ...], folder: Path) -> str:
    """WAL only where it is safe: not on a SQLite with the WAL-reset bug, not on a file system over
    a network.
    """
    if _wal_is_safe(version) and is_local(folder):
        return "WAL"
    return "DELETE"


def _refuse_links(path: Path) -> None:
    try:
        info = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(info.st_mode):
        raise damaged_error(path, "is a link or no file at all")
    if info.st_uid != os.geteuid() and os.geteuid() != 0:
        raise damaged_error(path, "belongs to somebody else")


def _refuse_header(path: Path) -> None:
    with path.open("rb") as file:
        first = file.read(100)
    if first[: len(_HEADER)] != _HEADER:
        raise damaged_error(
            path,
            "is not a database (first bytes"
            f' "{one_line(first[:16].decode("utf-8", "replace"), 40)}")',
        )
    if first[68:72] != _APPLICATION_ID.to_bytes(4, "big"):
        raise damaged_error(path, "is a database, but not one of kl's")


def _last_bytes(path: Path) -> bytes:
    """The last bytes; none where the file was removed meanwhile: a writer that commits removes its
    journal.
    """
    try:
        with path.open("rb") as file:
            file.seek(-min(8, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return file.read(8)
    except FileNotFoundError:
        return b""


FORMAT: Final = 1
"""Number of the whole store's format (`user_version`); raised only where older kl must not write.
"""
_BUSY_MS: Final = 60_000
_RACES: Final = (
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_IOERR_SHORT_READ",
    "SQLITE_PROTOCOL",
    "SQLITE_READONLY_R",
    "SQLITE_CANTOPEN",
)
"""Errors that mean another process was faster, or was stopped in the middle; never that something
is damaged. SQLite also reports a file system without locks as busy (os_unix.c,
sqliteErrorFromPosixError), and one without inodes as a file that can't be opened.
"""
_JOURNAL_PAUSES: Final = (0.001, 0.005, 0.02, 0.05)
"""Seconds before a reader looks again at a journal that seems to be left over."""
_OUTSIDE: Final = (
    "SQLITE_IOERR",
    "SQLITE_FULL",
    "SQLITE_READONLY",
    "SQLITE_AUTH",
    "SQLITE_PERM",
    "SQLITE_NOMEM",
)


class SqliteDatabase:
    """A Database on SQLite."""

    dialect = "sqlite"

    def __init__(
        self, connection: sqlite3.Connection, path: Path, read_only: bool, copy: Path | None = None
    ) -> None:
        self._connection = connection
        self.path = path
        self.read_only = read_only
        self._copy = copy
        self._inode = path.stat().st_ino

    @classmethod
    @contextmanager
    def of_another_program(cls, path: Path) -> Iterator[SqliteDatabase]:
        """Open another program's database for reading; nothing is written. UsageProblem for what is
        none.
        """
        database = None
        try:
            database = cls(_connect(path, "immutable=1", _BUSY_MS), path, read_only=True)
            _configure(database)
            yield database
        except (sqlite3.Error, EnvironmentProblem) as problem:
            raise UsageProblem("it is no database that can be read.", place=str(path)) from problem
        finally:
            if database is not None:
                database.close()

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        with self._translated():
            return self._query(sql, params).fetchall()

    def row(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        with self._translated():
            fetched: Row | None = self._query(sql, params).fetchone()
            return fetched

    def _query(self, sql: str, params: Sequence[Any]) -> sqlite3.Cursor:
        """Execute a query.

        A read-only connection may mistake the journal of a writer for one that a killed writer left:
        it looks at the journal and at the locks one after the other (SQLite, pager.c,
        hasHotJournal). So it tries again after each pause. A journal that really was left is still
        there then.
        """
        pauses = _JOURNAL_PAUSES if self.read_only else ()
        for pause in pauses:
            try:
                return self._connection.execute(sql, params)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
                    raise
            time.sleep(pause)
        return self._connection.execute(sql, params)

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        with self._translated():
            self._connection.execute(sql, params)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._translated():
            self._connection.executemany(sql, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        # a deferred one that reads before it writes gets SQLITE_BUSY at once, without the wait that
        # we asked for
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            # after a full disk and the like SQLite has rolled back by itself
            # (sqlite.org/lang_transaction.html)
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            raise
        self._refuse_moved()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        nested = self._connection.in_transaction
        if not nested:
            self.execute("BEGIN")
        try:
            yield
        finally:
            if not nested and self._connection.in_transaction:
                self.execute("COMMIT")

    def has_table(self, name: str) -> bool:
        return (
            self.row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
            is not None
        )

    def close(self) -> None:
        self._connection.close()
        if self._copy is not None:
            import shutil

            shutil.rmtree(self._copy, ignore_errors=True)

    def _refuse_moved(self) -> None:
        """A database that was moved or deleted while open takes every write into nothing: that is
        not a commit.
        """
        # an unlinked file stays writable through its open descriptors, see unlink(2)
        try:
            same = self.path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            reason = "was moved or deleted while it was open; what was written is lost."
            raise EnvironmentProblem(reason, place=str(self.path), hint="Try again.")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _translate(error, self.path) from error
        except UnicodeDecodeError as error:
            # the message of an error that quotes damaged text, such as a table's name, is no text
            # itself
            raise damaged_error(self.path, f"can't be read ({error})") from error


def _translate(error: sqlite3.Error, path: Path) -> Exception:
    """What an error of SQLite means here: a lost race is StoreBusy, never damage. Our own errors
    stay as they are.
    """
    name = getattr(error, "sqlite_errorname", "") or ""
    reason = f"{one_line(str(error))}, {name}"
    if name.startswith((*_RACES, *_OUTSIDE)) and (refused := _refusal(path, reason)):
        return refused
    if name.startswith(_RACES):
        return StoreBusy(
            f"another process is using it ({reason}).",
            place=str(path),
            hint="Try again, or: kl doctor",
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "decode to UTF-8" in reason:
        return damaged_error(path, f"can't be read ({reason})")
    if name.startswith(_OUTSIDE):
        return EnvironmentProblem(
            f"can't be used ({reason}).", place=str(path), hint="See: kl doctor"
        )
    return error


def _refusal(path: Path, reason: str) -> EnvironmentProblem | None:
    """What the folder of a database can't do, where that is why SQLite failed."""
    from kl_hooks.store.disk import existing_folder, refusal_in

    folder = existing_folder(path.parent)
    if folder.is_dir() and os.access(folder, os.W_OK):
        refusal = refusal_in(folder)
    else:
        refusal = None
    if refusal is None:
        return None
    words = f"can't be used: {refusal.cause.words} ({reason})."
    return EnvironmentProblem(words, place=str(path), hint="See: kl doctor")


def open_sqlite(path: Path, *, write: bool, busy_ms: int = _BUSY_MS) -> SqliteDatabase:
    """Open the database at `path`; for writing it is created if missing, and the caller holds its
    lock.

    StoreDamaged for what is no database of ours, StoreNewer (when writing) for a newer format,
    StoreBusy for a lost race (after `busy_ms` milliseconds), EnvironmentProblem where the disk or
    the rights are the trouble.
    """
    _refuse_foreign(path)
    if write and not has_content(path):
        _create(path)
    suspect = write and has_open_journal(path)
    # where nothing can be written next to it, SQLite could neither lock nor recover it
    frozen = not write and not os.access(path.parent, os.W_OK)
    if frozen and has_open_journal(path):
        copy = _copy(path)
    else:
        copy = None
    # immutable: no locks, and no look at a journal (sqlite.org/uri.html); only where nothing can be
    # written anyway
    if write or copy:
        mode = "mode=rw"
    elif frozen:
        mode = "immutable=1"
    else:
        mode = "mode=ro"
    database = None
    try:
        connection = _connect(copy / path.name if copy else path, mode, busy_ms)
        database = SqliteDatabase(connection, path, not write, copy)
        _configure(database)
        # after an unclean stop: is what SQLite recovered sound?
        if suspect and (check := database.row("PRAGMA quick_check(1)")) != ("ok",):
            raise damaged_error(path, f"is malformed ({one_line(str(check and check[0]), 80)})")
    except BaseException as error:
        if database:
            database.close()
        raise (_translate(error, path) if isinstance(error, sqlite3.Error) else error) from None
    return database


def _create(path: Path) -> None:
    """An empty database of ours, there whole or not at all."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    connection = sqlite3.connect(new, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        new.unlink(missing_ok=True)
        raise _translate(error, path) from error
    finally:
        connection.close()
    new.rename(path)
    sync_folder(path.parent)


def _copy(path: Path) -> Path:
    """A copy of an unfinished database that can't be finished where it is: recovered there, read,
    thrown away.
    """
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="kl-read-"))
    for name in (path, *side_files(path)[:2]):
        if has_content(name):
            shutil.copy(name, folder / name.name)
    return folder


def _connect(path: Path, mode: str, busy_ms: int) -> sqlite3.Connection:
    # `%` first, since the others are replaced by texts that contain it (sqlite.org/uri.html)
    quoted = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file:{quoted}?{mode}", uri=True, timeout=busy_ms / 1000, isolation_level=None
    )


def _configure(database: SqliteDatabase) -> None:
    # here and below: what sqlite.org/security.html advises for files that somebody else may have
    # written
    if sys.version_info >= (3, 12):  # Connection.setconfig is new there
        database._connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        database._connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
        database._connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
    # mmap_size: an I/O error in mapped memory is a signal that nobody catches
    # (sqlite.org/mmap.html)
    for pragma in (
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "mmap_size = 0",
        "synchronous = FULL",
    ):
        database.execute(f"PRAGMA {pragma}")
    version = database.row("PRAGMA user_version")
    if not database.read_only and version and version[0] > FORMAT:
        raise newer_error(database.path, f"format {version[0]}", f"format {FORMAT}")
    foreign = database.rows(
        "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"
    )
    if foreign:
        shown = ", ".join(f"{kind} {one_line(name, 40)}" for kind, name in foreign[:3])
        raise damaged_error(database.path, f"holds what kl never makes: {shown}")
    if database.read_only:
        return
    mode = _journal_mode(sqlite3.sqlite_version_info, database.path.parent)
    current = database.row("PRAGMA journal_mode")
    if current and str(current[0]).upper() != mode:
        database.execute(f"PRAGMA journal_mode = {mode}")
    # EXTRA is FULL, and the folder is synced when the journal is deleted: else a commit could come
    # undone
    if mode == "DELETE":
        database.execute("PRAGMA synchronous = EXTRA")
