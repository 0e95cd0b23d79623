"""The store: the databases of one repository, and the migrations of their tables.

Reading creates nothing. Writing takes the lock and brings the tables up to date, one transaction a
step, with a backup before the first. When a database is opened, its tables and its record of the
steps taken (`schema_step`) are compared; to read it again, only if its tables changed since.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, StoreBusy, StoreDamaged, StoreNewer
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.text import one_line
from kl_hooks.store.database import damaged_error, newer_error
from kl_hooks.store.files import sync_folder
from kl_hooks.store.state import State, prepare_state

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Schema
    from kl_hooks.store.database import Database
    from kl_hooks.store.postgres import Address, Server


_WAIT: Final = 5.0
"""Seconds to wait for the lock, and for a database that another process has locked
(`KL_LOCK_WAIT`).
"""

_PATIENCE: Final = 30.0
"""Seconds after a lock was waited for in vain in which it is only tried."""


class Store:
    """The databases `kl` (evidence, records) and `graph` (derived) of a repository."""

    def __init__(
        self,
        state: State,
        schemas: Callable[[], Sequence[Schema]],
        environ: Mapping[str, str],
        address: Address | None = None,
    ) -> None:
        self.state = state
        self.schemas = schemas
        self.address = address
        self.wait = _seconds(environ.get("KL_LOCK_WAIT", ""))
        self._waited: dict[str, tuple[float, StoreBusy]] = {}
        """Database → when (monotonic) its lock was waited for in vain, and how that failed."""
        self._locked: dict[Path, float] = {}
        """Database → when (monotonic) it was waited for in vain, because another process has locked
        its file.
        """
        self._steps_checked = False
        """Whether the tables of the server were compared with ours."""
        self._has_tables = False
        """Whether the server was seen to have tables, which do not go again."""
        self._sound: dict[Path, tuple[Any, ...]] = {}
        """Database → its `_schema_version` when it was found complete and up to date: a command
        opens one 50 times.
        """
        self._idle: dict[tuple[str, tuple[Schema, ...]], Database] = {}
        """(database, the schemas that were compared) → an open connection that is not in use, see
        `reusing`.
        """
        self._idle_in: int | None = None
        """The thread whose connections these are; None: connections are closed after each reading.
        """

    @contextmanager
    def writing(self, database: str = "kl", what: str = "kl") -> Iterator[Database]:
        """The database for writing: made if missing, its tables brought up to date. Inside, this
        process alone writes.

        Raises StoreBusy after waiting, StoreNewer, StoreDamaged (`graph` is built anew instead), or
        EnvironmentProblem where the disk or the rights are the trouble. In all of them nothing was
        written.
        """
        if database == "kl" and self.address is not None:
            with self._server_writing(what) as db:
                yield db
            return
        if self._idle_in == threading.get_ident():
            for key in [key for key in self._idle if key[0] == database]:
                self._idle.pop(key).close()  # what is written may make the file anew
        with ExitStack() as stack:
            # around the opening alone: an OSError of the caller's block is not one of the state
            # directory
            with _os_errors_as_problems(self.state.directory):
                prepare_state(self.state)
                self._enter_lock(stack, database, what)
                db = self._open(database)
                stack.callback(db.close)
            yield db

    def _enter_lock(self, stack: ExitStack, database: str, what: str) -> None:
        """Wait for the lock once: a command that reads on after StoreBusy asks for it up to three
        times (14 s).
        """
        from kl_hooks.store.files import store_lock

        when, before = self._waited.get(database, (0.0, None))
        waited = before is not None and time.monotonic() - when < _PATIENCE
        try:
            if database == "kl":
                path = self.state.lock
            else:
                path = self.state.graph.with_suffix(".lock")
            stack.enter_context(store_lock(path, wait=0 if waited else self.wait, what=what))
        except StoreBusy as problem:
            if before is not None and waited:
                raise before from None
            self._waited[database] = time.monotonic(), problem
            raise
        self._waited.pop(database, None)

    @contextmanager
    def reading(
        self, database: str = "kl", schemas: tuple[Schema, ...] = ()
    ) -> Iterator[Database | None]:
        """The database for reading; None where it does not exist (for `graph`: or is of no use).

        `schemas`: of `graph`, whose tables alone are read. Then the other ones are not compared,
        for which all plugins would be imported.

        An older one is brought up to date first; where that can't be done, and a newer one, is read
        as it is. Raises StoreBusy, StoreDamaged, EnvironmentProblem as `writing` does.
        """
        if database == "kl" and self.address is not None:
            with closing(self.server.open(read_only=True)) as shared:
                # asked until the answer is yes: a package opens it 50 times, and each question
                # crosses the network
                self._has_tables = self._has_tables or bool(steps_taken(shared))
                yield shared if self._has_tables else None
            return
        if self._idle_in == threading.get_ident():
            idle = self._idle
        else:
            idle = None
        key = database, schemas
        db = idle.pop(key, None) if idle else None
        if db is None:
            with _os_errors_as_problems(self._path(database)):
                db = self._open_to_read(database, schemas)
        try:
            yield db
        finally:
            if db and (
                idle is None or idle is not self._idle or idle.setdefault(key, db) is not db
            ):
                db.close()

    @contextmanager
    def reusing(self) -> Iterator[None]:
        """Within the block this thread opens a database once to read it, not each time: a package
        asks 50 times.
        """
        if self._idle_in is not None:
            yield
            return
        # SQLite's connections belong to a thread (sqlite3)
        self._idle, self._idle_in = ({}, threading.get_ident())
        try:
            yield
        finally:
            idle, self._idle, self._idle_in = self._idle, {}, None
            for db in idle.values():
                db.close()

    @cached_property
    def server(self) -> Server:
        """The team's database. Only where there is an address."""
        from kl_hooks.store.postgres import Server

        assert self.address is not None
        return Server(self.address, self.wait, self._of("kl"))

    @contextmanager
    def _server_writing(self, what: str) -> Iterator[Database]:
        with _os_errors_as_problems(self.state.directory):
            prepare_state(self.state)  # marks and spool stay here
        with self.server.writing(what) as db:
            if not self._steps_checked:
                _refuse_newer(db, self._of("kl"), self.server.place)
                if not _has_all_steps(db, self._of("kl")):
                    hint = "An administrator of the server runs: kl store upgrade"
                    raise EnvironmentProblem(
                        "has tables of an older kl.", place=self.server.place, hint=hint
                    )
                self._steps_checked = True
            yield db

    def upgrade_server(self) -> int:
        """Make the repository on the server, and the tables that it lacks; return how many steps
        were taken.
        """
        with self.server.setting_up() as db:
            return migrate(db, self._of("kl"), self.server.place, None)

    def table_names(self) -> list[str]:
        """The tables of `kl` that the steps of this version make."""
        return sorted(name for one in self._of("kl") for name in _tables_after(one.steps))

    def exists(self) -> bool:
        """Whether evidence may be stored: there is a file, or a server that nobody has asked
        yet.
        """
        return self.address is not None or self.state.database.exists()

    def problem(self) -> EnvironmentProblem | None:
        """What keeps us from writing evidence: newer, damaged, no rights. None: nothing.

        Found without writing; but what somebody left unfinished is finished first, as by any
        reader.
        """
        path = self._path("kl")
        try:
            if self.address is not None:
                with self.reading() as shared:
                    if not shared:
                        return None
                    return self._newer("kl", shared)
            with _os_errors_as_problems(path), ExitStack() as stack:
                db = self._as_it_is(path)
                if db is None:
                    return None
                stack.callback(db.close)
                newer = self._newer("kl", db)
                if newer is None:
                    _refuse_unexpected(db, self._of("kl"), path)
                    _refuse_unrecorded(db, self._of("kl"), path)
                return newer
        except EnvironmentProblem as problem:
            return problem

    def newer(self, db: Database) -> StoreNewer | None:
        """Return the exception for a database `kl` that a newer kl made; None for all others."""
        return self._newer("kl", db)

    def _open(self, database: str) -> Database:
        """For writing, its tables up to date; what is derived is thrown away where it can't be
        used.
        """
        try:
            return _twice(lambda: self._up_to_date(database))
        except (StoreDamaged, StoreNewer):
            if database == "kl":
                raise
        from kl_hooks.store.sqlite import side_files

        path = self._path(database)
        for name in (path, *side_files(path)):
            name.unlink(missing_ok=True)
        return self._up_to_date(database)

    def _up_to_date(self, database: str) -> Database:
        from kl_hooks.store.sqlite import open_sqlite

        path = self._path(database)
        db = open_sqlite(path, write=True, busy_ms=self._busy(path))
        try:
            if database == "kl":
                _refuse_incomplete(db, self._of(database), path)
                _refuse_unrecorded(db, self._of(database), path)
            migrate(
                db,
                self._of(database),
                path,
                self.state.directory / "backup" if database == "kl" else None,
            )
            if database == "kl":
                _refuse_unexpected(db, self._of(database), path)
        except BaseException:
            db.close()
            raise
        return db

    def _open_to_read(self, database: str, schemas: tuple[Schema, ...]) -> Database | None:
        path = self._path(database)
        try:
            db = self._as_it_is(path)
            if db is None or self._sound.get(path) == _schema_version(db):
                return db
            if self._is_current(database, db, schemas):
                if not schemas:
                    self._sound[path] = _schema_version(db)
                return db
            if database == "kl" or not self._newer(database, db, schemas):
                db.close()
                self._bring_up_to_date(database)
                db = self._as_it_is(path)
        except StoreDamaged:
            if database == "kl":
                raise
            return None
        # what could not be brought up to date: evidence is read as it is, what is derived is not
        if db is None or (
            steps_taken(db) if database == "kl" else self._is_current(database, db, schemas)
        ):
            return db
        db.close()
        return None

    def _as_it_is(self, path: Path) -> Database | None:
        from kl_hooks.store.sqlite import has_content, has_open_journal, open_sqlite

        if not has_content(path):
            return None

        def once() -> Database:
            db = open_sqlite(path, write=False, busy_ms=self._busy(path))
            try:
                if path == self.state.database and self._sound.get(path) != _schema_version(db):
                    _refuse_incomplete(db, self._of("kl"), path)
            except BaseException:
                db.close()
                raise
            return db

        try:
            opened = _twice(once)
            self._locked.pop(path, None)
            return opened
        except StoreBusy:
            if self._busy(path):
                self._locked[path] = time.monotonic()
            if not has_open_journal(path):
                raise
        # somebody was stopped in the middle of a write: whoever may write finishes it, then it can
        # be read
        self._bring_up_to_date("kl" if path == self.state.database else "graph")
        return once()

    def _is_current(self, database: str, db: Database, schemas: tuple[Schema, ...]) -> bool:
        """No step is missing; for what is derived: nor is anything newer than we know. `schemas`:
        see `reading`.
        """
        return _has_all_steps(db, schemas or self._of(database)) and (
            database == "kl" or not self._newer(database, db, schemas)
        )

    def _newer(
        self, database: str, db: Database, schemas: tuple[Schema, ...] = ()
    ) -> StoreNewer | None:
        """The exception for one that a newer kl made; None for all others."""
        from kl_hooks.store.sqlite import FORMAT

        path = self._path(database)
        if db.dialect == "sqlite":
            version = db.row("PRAGMA user_version")
        else:
            version = None
        if version and version[0] > FORMAT:
            return newer_error(path, f"format {version[0]}", f"format {FORMAT}")
        try:
            _refuse_newer(
                db,
                schemas or self._of(database),
                path if db.dialect == "sqlite" else self.server.place,
            )
        except StoreNewer as problem:
            return problem
        return None

    def _bring_up_to_date(self, database: str) -> None:
        try:
            with self.writing(database, "kl (bringing its tables up to date)"):
                pass
        except EnvironmentProblem as problem:
            # otherwise what is there is read as it is
            if isinstance(problem, StoreDamaged):
                raise

    def _busy(self, path: Path) -> int:
        """Milliseconds to wait for a file: once, for a package asks ten sources one after the
        other.
        """
        waited = time.monotonic() - self._locked.get(path, -_PATIENCE) < _PATIENCE
        if waited:
            return 0
        return round(self.wait * 1000)

    def _of(self, database: str) -> list[Schema]:
        return [schema for schema in self.schemas() if schema.database == database]

    def _path(self, database: str) -> Path:
        if database not in ("kl", "graph"):
            raise EnvironmentProblem(f"there is no database {database!r}.")
        if database == "kl":
            return self.state.database
        return self.state.graph


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return _WAIT
    # `nan` is not even equal to itself
    if seconds != seconds:
        return _WAIT
    return min(max(seconds, 0.0), 600.0)


def _twice(attempt: Callable[[], Database]) -> Database:
    """Damage counts only when it is seen twice: a file read while another process changes it may
    look torn once.
    """
    try:
        return attempt()
    except StoreDamaged:
        time.sleep(0.02)
        return attempt()


@contextmanager
def _os_errors_as_problems(place: Path) -> Iterator[None]:
    """An OSError from the state directory as what it is for a person: an environment that does not
    let us.
    """
    try:
        yield
    except OSError as error:
        from kl_hooks.store.disk import cause_of

        where = str(error.filename or place)
        hint = "Set KL_STATE to a folder that you can write, or see: kl doctor"
        raise EnvironmentProblem(
            f"can't be used: {cause_of(error, place).words}.", place=where, hint=hint
        ) from error


_BACKUPS: Final = 2
_TABLE: Final = lazy_pattern(
    r"(?ia)(?:CREATE\s+TABLE(?:\s+IF\s+NOT\s+EXISTS)?|RENAME\s+TO)\s+[\"`\[]?(\w+)"
)
# `room` is the owner of the tables: the name stays, since other versions of kl read the same
# database
_RECORD: Final = """CREATE TABLE IF NOT EXISTS schema_step (
    -- Which numbered step of which room's tables has been taken.
    room TEXT NOT NULL, step INTEGER NOT NULL, PRIMARY KEY (room, step))"""


def steps_taken(db: Database) -> dict[str, int]:
    """Owner of tables → its newest step in this database."""
    has_steps = db.has_table("schema_step")
    if not has_steps:
        return {}
    return dict(db.rows("SELECT room, MAX(step) FROM schema_step GROUP BY room"))


def _schema_version(db: Database) -> tuple[Any, ...]:
    """Another one whenever somebody, in any process, changes a table (sqlite.org/pragma.html), or
    the format.
    """
    return db.row("PRAGMA schema_version"), db.row("PRAGMA user_version")


def _has_all_steps(db: Database, schemas: Sequence[Schema]) -> bool:
    have = steps_taken(db)
    return all(have.get(schema.owner, 0) >= schema.last for schema in schemas)


def _refuse_newer(db: Database, schemas: Sequence[Schema], path: Path | str) -> None:
    """StoreNewer where the database has a step that this kl does not know."""
    have = steps_taken(db)
    for schema in schemas:
        if have.get(schema.owner, 0) > schema.last:
            raise newer_error(path, f"{schema.owner} step {have[schema.owner]}", f"{schema.last}")


def _refuse_older(db: Database, schemas: Sequence[Schema], path: Path | str) -> None:
    """StoreDamaged where the database has steps that no step of this kl follows: it is derived, and
    built anew.
    """
    have = steps_taken(db)
    for schema in schemas:
        if 0 < have.get(schema.owner, 0) <= schema.before:
            raise damaged_error(
                Path(path), f"was made by an older kl ({schema.owner} step {have[schema.owner]})"
            )


def migrate(
    db: Database, schemas: Sequence[Schema], path: Path | str, backup_dir: Path | None
) -> int:
    """Take the missing steps, in the order of their owners' names; return how many. The caller
    holds the store lock.

    With `backup_dir` (made if missing), what has tables already is copied there first. StoreNewer
    as `_refuse_newer`, StoreDamaged as `_refuse_older`.
    """
    _refuse_newer(db, schemas, path)
    _refuse_older(db, schemas, path)
    if _has_all_steps(db, schemas):
        return 0
    if backup_dir and steps_taken(db):
        _back_up(db, backup_dir)
    count = 0
    for schema in sorted(schemas, key=lambda s: s.owner):
        for number, sql in enumerate(schema.steps, schema.before + 1):
            count += _take_step(db, schema.owner, number, sql)
    return count


def _take_step(db: Database, owner: str, number: int, sql: str) -> int:
    with db.transaction():
        db.execute(_RECORD)
        # asked again inside: another process may have taken it while we waited
        if db.row("SELECT 1 FROM schema_step WHERE room = ? AND step = ?", (owner, number)):
            return 0
        for statement in _split_statements(sql):
            db.execute(statement)
        db.execute("INSERT INTO schema_step (room, step) VALUES (?, ?)", (owner, number))
    return 1


def _split_statements(sql: str) -> list[str]:
    """The statements of a step: each ends with a `;` at the end of a line (the last one may go
    without).
    """
    statements = []
    current = []
    for line in sql.splitlines():
        current.append(line)
        if line.rstrip().endswith(";") and "--" not in line:
            statements.append("\n".join(current))
            current = []
    remaining = [line for line in current if line.strip() and not line.lstrip().startswith("--")]
    if not remaining:
        return statements
    return [*statements, "\n".join(current)]


def _refuse_unexpected(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreDamaged for a table that no step made. Not checked where tables belong to an unknown
    owner (a plugin that is not installed any more).
    """
    if not steps_taken(db).keys() <= {schema.owner for schema in schemas}:
        return
    named = {
        name.lower() for schema in schemas for sql in schema.steps for name in _TABLE.findall(sql)
    }
    tables = [name for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    odd = [
        n
        for n in tables
        if n.lower() not in named and n != "schema_step" and not n.startswith("sqlite_")
    ]
    if odd:
        raise damaged_error(path, f"holds a table that kl never made: {one_line(odd[0], 60)}")


def _back_up(db: Database, directory: Path) -> None:
    """A whole copy before the first step (`VACUUM INTO`, SQLite 3.27); the newest two are
    retained.
    """
    directory.mkdir(mode=0o700, exist_ok=True)
    old = sorted(path for path in directory.glob("kl-*.db") if path.stem[3:].isdecimal())
    number = int(old[-1].stem[3:]) + 1 if old else 1
    new = directory / f".kl-{number:04}.new"
    new.unlink(missing_ok=True)
    try:
        db.execute("VACUUM INTO ?", (str(new),))
        new.chmod(0o600)
        with new.open("rb") as file:
            os.fsync(file.fileno())
        new.rename(directory / f"kl-{number:04}.db")
        sync_folder(directory)
    finally:
        new.unlink(missing_ok=True)
    for path in old[: len(old) + 1 - _BACKUPS]:
        path.unlink(missing_ok=True)


_COMMENT: Final = lazy_pattern(r"(?m)^\s*--.*\n?")
_CHANGE: Final = lazy_pattern(
    r"(?ia)\s*(CREATE|DROP|ALTER)\s+TABLE\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?[\"`\[]?(\w+)"
    r"(?:[\"`\]]?\s+RENAME\s+TO\s+[\"`\[]?(\w+))?"
)


def _refuse_incomplete(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreDamaged where a table is missing that a recorded step made."""
    have = steps_taken(db)  # asked first: of a step that is taken meanwhile the tables are there
    names = _table_names(db)
    for schema in schemas:
        count = have.get(schema.owner, 0)
        lost = _tables_after(schema.steps[:count]) - names if count <= len(schema.steps) else ()
        if lost:
            raise damaged_error(path, f"has lost the table {min(lost)}")


def _refuse_unrecorded(db: Database, schemas: Sequence[Schema], path: Path) -> None:
    """StoreDamaged where a table exists that only a step makes which is not recorded as taken."""
    names = _table_names(db)  # asked first: of a table that is made meanwhile the step is there
    have = steps_taken(db)
    for schema in schemas:
        count = have.get(schema.owner, 0)
        there = (_tables_after(schema.steps) - _tables_after(schema.steps[:count])) & names
        if there:
            raise damaged_error(
                path, f"has the table {min(there)}, but no record that kl made it (schema_step)"
            )


def _table_names(db: Database) -> set[str]:
    return {
        str(name).lower()
        for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    }


@cache
def _tables_after(steps: tuple[str, ...]) -> frozenset[str]:
    """The tables (small letters) that are there after these steps."""
    names: set[str] = set()
    for statement in (one for sql in steps for one in _split_statements(sql)):
        change = _CHANGE.match(_COMMENT.sub("", statement))
        if change is None:
            continue
        what = change[1].upper()
        name = change[2].lower()
        new = (change[3] or "").lower()
        if what == "CREATE":
            names.add(name)
        elif what == "DROP" or new:
            names.discard(name)
            if new:
                names |= {new}
    return frozenset(names)
