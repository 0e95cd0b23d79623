"""Store: the databases of one repository. Looking creates nothing; writing takes the lock and brings tables up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.errors import EnvironmentProblem, StoreBusy, StoreDamaged, StoreNewer
from kl_hooks.hookspecs import Schema
from kl_hooks.store.lock import store_lock
from kl_hooks.store.state import State, prepare

if TYPE_CHECKING:
    from kl_hooks.store.database import Database

WAIT: Final = 5.0
"""Seconds to wait for the lock."""


class Store:
    """The databases `kl` (evidence, records) and `graph` (derived) of a repository."""

    def __init__(self, state: State, schemas: Callable[[], Sequence[Schema]], environ: Mapping[str, str]) -> None:
        self.state, self._schemas = state, schemas
        self.wait = float(environ.get("KL_LOCK_WAIT") or WAIT)

    @contextmanager
    def writing(self, database: str = "kl", what: str = "kl") -> Iterator[Database]:
        """The database for writing: made if missing, its tables brought up to date. Inside, this process alone writes.

        StoreBusy after waiting, StoreNewer, StoreDamaged (`graph` is built anew instead), OSError.
        """
        from kl_hooks.store.migrate import migrate

        prepare(self.state)
        path = self._path(database)
        with store_lock(self._lock(database), wait=self.wait, what=what):
            db = self._open(database, path)
            try:
                migrate(db, self._of(database), path, self.state.directory / "backup" if database == "kl" else None)
                yield db
            finally:
                db.close()

    @contextmanager
    def reading(self, database: str = "kl") -> Iterator[Database | None]:
        """The database for reading; None where it does not exist. An older one is brought up to date first if it can be."""
        from kl_hooks.store.migrate import is_current
        from kl_hooks.store.sqlite import open_sqlite

        path = self._path(database)
        if not path.exists() or path.stat().st_size == 0:
            yield None
            return
        db = open_sqlite(path, write=False)
        try:
            if not is_current(db, self._of(database)):
                db.close()
                self._bring_up_to_date(database)
                db = open_sqlite(path, write=False)
            yield db
        finally:
            db.close()

    def _bring_up_to_date(self, database: str) -> None:
        try:
            with self.writing(database):
                return
        except (StoreBusy, StoreNewer, OSError):
            return  # then what is there is read as it is

    def _open(self, database: str, path: Path) -> Database:
        from kl_hooks.store.migrate import refuse_newer
        from kl_hooks.store.sqlite import open_sqlite

        try:
            db = open_sqlite(path, write=True)
            refuse_newer(db, self._of(database), path)
            return db
        except (StoreDamaged, StoreNewer):
            if database == "kl":
                raise
        for end in ("", "-journal", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        return open_sqlite(path, write=True)

    def _of(self, database: str) -> list[Schema]:
        return [schema for schema in self._schemas() if schema.database == database]

    def _path(self, database: str) -> Path:
        if database not in ("kl", "graph"):
            raise EnvironmentProblem(f"there is no database {database!r}.")
        return self.state.database if database == "kl" else self.state.graph

    def _lock(self, database: str) -> Path:
        return self.state.lock if database == "kl" else self.state.graph.with_suffix(".lock")
