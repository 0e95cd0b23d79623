"""Keeping: a record put where it rests, a row or a file; what is written in one step is undone if the step fails."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import iso
from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.kind import Kind
from kl_hooks.model.record import Record
from kl_hooks.records import rows
from kl_hooks.records.changing import changed
from kl_hooks.records.document import render
from kl_hooks.records.files import path_of
from kl_hooks.store.atomic import write_atomic

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

_WHOLE: Final = 1 << 30
"""Bytes: of a file that may have to be put back, all is read."""


class Kept:
    """The files that one step wrote or removed. If it fails, they are as they were.

    It goes around the transaction of the step: what is written is there before the transaction ends, what is removed
    goes after it. So whoever is killed in between leaves a thing twice, never not at all.
    """

    def __init__(self, ws: Workspace) -> None:
        self._root = ws.root
        self._before: dict[str, bytes | None] = {}
        self._gone: list[str] = []

    def __enter__(self) -> Kept:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for path, data in self._before.items():
                with suppress(OSError):
                    self._put(path, data)
            return
        for path in self._gone:
            try:
                self._put(path, None)
            except OSError as problem:
                raise _unwritten(path, problem) from problem

    def write(self, path: str, data: bytes | None) -> None:
        """Writes a file below the root, or removes it at the end (None). EnvironmentProblem where that can't be."""
        try:
            _folders(self._root, Path(path).parent, make=data is not None)
            before = read_small(self._root / path, within=self._root, most=_WHOLE)
            if data is not None:
                self._before.setdefault(path, before)
                self._put(path, data)
            elif before is not None:
                if not os.access((self._root / path).parent, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                self._gone.append(path)
        except OSError as error:
            raise _unwritten(path, error) from error

    def _put(self, path: str, data: bytes | None) -> None:
        place = self._root / path
        if data is None:
            place.unlink(missing_ok=True)
            return
        write_atomic(place, data, within=self._root)


def _unwritten(path: str, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(f"can't be written: {error.strerror or error}.", place=path)


def keep(ws: Workspace, db: Database, kind: Kind, record: Record, kept: Kept) -> Record:
    """Puts a new record where its kind and status say. Inside a transaction."""
    if kind.home == "state" and record.status not in kind.filed:
        row_of(ws, db, record, "state")
        return record
    return _new_file(ws, db, kind, record, kept)


def put(ws: Workspace, db: Database, kind: Kind, before: Record, after: Record, how: str, kept: Kept) -> Record:
    """Puts a changed record in the place of what it was; a status may move it from row to file, or back."""
    if before.path and (kind.home == "file" or after.status in kind.filed):
        text = (read_small(ws.root / before.path, within=ws.root) or b"").decode("utf-8")
        names = before.values.keys() | after.values.keys()
        differ = {name: after.values.get(name) for name in names if before.values.get(name) != after.values.get(name)}
        ordered = {f.name: differ[f.name] for f in kind.all_fields if f.name in differ}
        kept.write(before.path, changed(kind, text, ordered).encode("utf-8"))
        return Record(after.kind, after.id, after.values, before.body, before.path)
    if before.path:
        row_of(ws, db, Record(after.kind, after.id, after.values), "state")
        remove_file(ws, before, kept)
        return Record(after.kind, after.id, after.values)
    _version(ws, db, before, how)
    if after.status in kind.filed:
        return _new_file(ws, db, kind, after, kept)
    row_of(ws, db, after, "state")
    return after


def remove_file(ws: Workspace, record: Record, kept: Kept) -> None:
    """Deletes the file of a record."""
    kept.write(record.path, None)


def row_of(ws: Workspace, db: Database, record: Record, rests: str) -> None:
    """The row of a record as it is from now on: `state`, `file` (the file says it), `gone`."""
    old = db.row("SELECT made_at FROM record WHERE id = ?", (record.id,))
    change, now = rows.next_change(db), iso(ws.clock.now())
    status, title, tags, authority, expires, body = rows.columns(record)
    db.execute("DELETE FROM record WHERE id = ?", (record.id,))
    db.execute(
        "INSERT INTO record (id, kind, status, title, tags, authority, made_at, changed_at, expires, rests, change,"
        " body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.id,
            record.kind,
            status,
            title,
            tags,
            authority,
            old[0] if old else now,
            now,
            expires,
            rests,
            change,
            body,
        ),
    )


def _new_file(ws: Workspace, db: Database, kind: Kind, record: Record, kept: Kept) -> Record:
    path = path_of(kind, record.id, record.title)
    if os.path.lexists(ws.root / path):
        raise EnvironmentProblem("is there already.", place=path, hint="Move it away, then try again.")
    kept.write(path, render(kind, record).encode("utf-8"))
    if kind.home == "state":
        row_of(ws, db, record, "file")
    return Record(record.kind, record.id, record.values, record.body, path)


def _version(ws: Workspace, db: Database, before: Record, how: str) -> None:
    row = db.row("SELECT COALESCE(MAX(version), 0) + 1 FROM record_version WHERE id = ?", (before.id,))
    db.execute(
        "INSERT INTO record_version (id, version, until, how, body) VALUES (?, ?, ?, ?, ?)",
        (before.id, row[0] if row else 1, iso(ws.clock.now()), how, rows.plain(before.values)),
    )


def _folders(root: Path, folder: Path, *, make: bool) -> None:
    """Makes the folders of a file; EnvironmentProblem if any of them is a link."""
    for place in [*reversed(folder.parents), folder][1:]:
        if (root / place).is_symlink():
            raise EnvironmentProblem("is a link.", place=str(place), hint="Put the folder itself here.")
        if make:
            (root / place).mkdir(exist_ok=True)
