"""Moving a store from this clone's SQLite to a team's server, or back: copied, compared, then
switched.

Rows are copied in the order of their keys, a transaction for each batch, so what a killed copy left
is a beginning of the source, and the next one goes on from there. A table that differs in the end
is copied once more from its start.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.store.database import Database, Row, placeholders
from kl_hooks.store.files import store_lock, sync_folder, write_atomic
from kl_hooks.store.sqlite import open_sqlite, side_files
from kl_hooks.store.store import Store, migrate

_BATCH: Final = 2000
_WHAT: Final = "moving the store"


class Table(NamedTuple):
    """A table of kl.db: its columns, and those of its key in their order."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class Moved(NamedTuple):
    """What a migration copied and compared."""

    rows: dict[str, int]
    sha256: str
    """Over all rows of all tables, in the order of their keys: the same on both sides."""


def move_to_server(local: Store, server: Store) -> Moved:
    """Copy this clone's store into the repository of the server, which must be empty or hold the
    beginning of it.

    UsageProblem where it holds something else.
    """
    assert server.address is not None
    mark = local.state.directory / "migration.json"
    goal = {"place": server.address.place, "repository": server.address.repository}
    with ExitStack() as stack:
        source = stack.enter_context(local.writing(what=_WHAT))
        target = stack.enter_context(server.writing(what=_WHAT))
        tables = _tables(source, local)
        if _read_mark(mark) != goal and (
            full := [table.name for table in tables if _count(target, table)]
        ):
            reason = (
                f"the repository {goal['repository']!r} holds rows already ({', '.join(full[:3])})."
            )
            raise UsageProblem(
                reason, place=goal["place"], hint="Name another one: --repository NAME"
            )
        write_atomic(mark, json.dumps(goal).encode(), mode=0o600)
        moved = _copy_all(source, target, tables)
        numbered = [table for table in tables if _is_numbered(source, table)]
        for table in numbered:
            target.row("SELECT skip_numbers(?, ?)", (table.name, table.key[0]))
    mark.unlink()
    return moved


def move_from_server(local: Store, server: Store) -> Moved:
    """Copy what this clone sees of the server's repository into a new `kl.db`; an old one becomes a
    backup.
    """
    state = local.state
    new = state.directory / "migration.db"
    with ExitStack() as stack:
        source = stack.enter_context(server.writing(what=_WHAT))
        stack.enter_context(store_lock(state.lock, wait=local.wait, what=_WHAT))
        target = open_sqlite(new, write=True)
        try:
            schemas = [one for one in local.schemas() if one.database == "kl"]
            migrate(target, schemas, new, None)
            moved = _copy_all(source, target, _tables(target, local))
        finally:
            target.close()
        _replace(state.database, new, state.directory / "backup")
    return moved


def _replace(database: Path, new: Path, backups: Path) -> None:
    if database.exists():
        backups.mkdir(mode=0o700, exist_ok=True)
        numbers = [
            int(one.stem.rpartition("-")[2]) for one in backups.glob("kl-before-migration-*.db")
        ]
        backup = backups / f"kl-before-migration-{max(numbers, default=0) + 1}.db"
        for path, suffix in zip(
            (database, *side_files(database)), ("", "-journal", "-wal", "-shm"), strict=True
        ):
            with suppress(FileNotFoundError):
                path.rename(backup.with_name(backup.name + suffix))
    new.rename(database)
    sync_folder(database.parent)


def _read_mark(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _tables(db: Database, local: Store) -> list[Table]:
    """The tables of a store, as they are in an SQLite database."""
    tables = []
    for name in local.table_names():
        columns = db.rows(f"PRAGMA table_info({name})")
        key = sorted((place, column) for _, column, _, _, _, place in columns if place)
        assert key, f"{name} has no key"
        tables.append(
            Table(name, tuple(row[1] for row in columns), tuple(column for _, column in key))
        )
    return tables


def _is_numbered(db: Database, table: Table) -> bool:
    """Whether SQLite numbers its rows: then the server has to go on after the highest number."""
    kinds = {row[1]: row[2] for row in db.rows(f"PRAGMA table_info({table.name})")}
    return len(table.key) == 1 and str(kinds[table.key[0]]).upper() == "INTEGER"


def _count(db: Database, table: Table) -> int:
    return int(db.rows(f"SELECT COUNT(*) FROM {table.name}")[0][0])


def _copy_all(source: Database, target: Database, tables: Sequence[Table]) -> Moved:
    rows = {}
    whole = hashlib.sha256()
    for table in tables:
        _copy(source, target, table)
        count, wanted = _digest(source, table)
        if (count, wanted) != _digest(target, table):
            # the source was changed since a copy that was killed
            with target.transaction():
                target.execute(f"DELETE FROM {table.name}")
            _copy(source, target, table)
            if (count, wanted) != _digest(target, table):
                raise EnvironmentProblem(
                    f"the copy of {table.name} differs; nothing was switched.", place=table.name
                )
        rows[table.name] = count
        whole.update(f"{table.name} {count} {wanted}\n".encode())
    return Moved(rows, whole.hexdigest())


def _copy(source: Database, target: Database, table: Table) -> None:
    key = ", ".join(table.key)
    last = target.row(
        f"SELECT {key} FROM {table.name} ORDER BY {', '.join(f'{one} DESC' for one in table.key)}"
        " LIMIT 1"
    )
    columns = ", ".join(table.columns)
    sql = f"INSERT INTO {table.name} ({columns}) VALUES ({placeholders(table.columns)})"
    for batch in _batches(source, table, last):
        with target.transaction():
            target.many(sql, batch)


def _batches(db: Database, table: Table, last: Row | None = None) -> Iterator[list[Row]]:
    """The rows after a key, in the order of their keys."""
    key = ", ".join(table.key)
    columns = ", ".join(table.columns)
    places = [table.columns.index(one) for one in table.key]
    while True:
        if last:
            after = f" WHERE ({key}) > ({placeholders(table.key)})"
        else:
            after = ""
        rows = db.rows(
            f"SELECT {columns} FROM {table.name}{after} ORDER BY {key} LIMIT {_BATCH}", last or ()
        )
        if not rows:
            return
        yield rows
        last = tuple(rows[-1][place] for place in places)


def _digest(db: Database, table: Table) -> tuple[int, str]:
    """How many rows there are, and the SHA-256 over them in the order of their keys."""
    count = 0
    digest = hashlib.sha256()
    for batch in _batches(db, table):
        count += len(batch)
        digest.update(repr(batch).encode("utf-8", "surrogatepass"))
    return count, digest.hexdigest()
