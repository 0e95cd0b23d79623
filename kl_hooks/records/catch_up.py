"""Catching up: what authored files and rows say today, brought into graph and index. Nobody has to ask for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.files import MAX_BYTES, read_small
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record
from kl_hooks.records import rows
from kl_hooks.records.document import Read, read
from kl_hooks.records.files import authored, kind_of
from kl_hooks.records.hiding import problem_hidden, record_hidden
from kl_hooks.records.links import document_of, links_of, owner
from kl_hooks.records.pages.places import docs
from kl_hooks.records.pages.take import known as known_pages
from kl_hooks.records.pages.take import take as take_pages
from kl_hooks.store.rows import marks

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

_KINDS: Final = "kinds"
_CHANGE: Final = "change"
_READING: Final = ("pages", "no secrets", "chunks", "the archive governs nothing")
"""How a file is taken in beside its fields: where that changes, every file is read again."""


@dataclass(frozen=True, slots=True)
class Caught:
    """What catching up found."""

    read: int = 0
    """Files that were read."""
    problems: tuple[Problem, ...] = ()
    """Everything wrong in authored files, ids that two files share among it."""
    trouble: str = ""
    """Why graph and index could not be brought up to date; empty: they could."""


_TROUBLE: dict[Path, str] = {}
"""Database → why it could not be brought up to date the last time that this process tried."""


def catch_up(ws: Workspace, only: Sequence[str] = ()) -> Caught:
    """Brings graph and index up to the authored files and the rows of records; writes nothing if they are already.

    `only`: names of kinds; whoever asks for these alone need not wait for a look at the others and at the pages.
    A file that can't be read keeps what it said last, and is told as a problem; the others go on.
    """
    if not ws.initialised and not ws.state.directory.exists():
        return Caught()
    try:
        found = _caught(ws, only)
    except (EnvironmentProblem, OSError) as problem:
        found = Caught(trouble=str(problem))
    _TROUBLE[ws.state.graph] = found.trouble
    return found


def last(ws: Workspace) -> Caught:
    """What the last catching up of this process left, without doing it again."""
    with ws.store.reading("graph") as db:
        return Caught(0, _problems(db), _TROUBLE.get(ws.state.graph, ""))


def _caught(ws: Workspace, only: Sequence[str]) -> Caught:
    shape = _shape(ws.kinds)
    with ws.store.reading("graph") as db:
        whole = not only or not _is_as(db, shape)
        kinds = ws.kinds if whole else {name: ws.kinds[name] for name in only if name in ws.kinds}
        listed = authored(ws.root, kinds, ws.clock.now() * 1000)
        known, cursor = _known(db, shape, kinds), _cursor(db) if _is_as(db, shape) else 0
        changed, newest = _changed_rows(ws, cursor)
        pages = docs(ws) if whole else known_pages(db)
        same = known == listed and newest == cursor and known_pages(db) == pages
        if same and "" not in listed.values() and "" not in pages.values():
            return Caught(0, _problems(db))
    if not listed and not known and not changed and not pages:
        return Caught()
    with ws.store.writing("graph", "kl (taking in records)") as db, db.transaction():
        known = _known(db, shape, kinds) or {}
        if not _is_as(db, shape):
            db.execute("UPDATE page SET stamp = '' WHERE authored = 0")
        fresh = sorted(path for path, stamp in listed.items() if not stamp or known.get(path) != stamp)
        taken = [record for path in fresh if (record := _take(ws, db, path, listed[path])) is not None]
        rested = [record for record, rests in changed if rests == "state" and record.kind in ws.kinds]
        gone = [owner(record) for record, rests in changed if rests != "state" or record.kind not in ws.kinds]
        vanished = sorted(known.keys() - listed.keys())
        db.many("DELETE FROM authored WHERE path = ?", [(path,) for path in vanished])
        _find(ws, db, [*taken, *rested], [*vanished, *gone])
        take_pages(ws, db, taken, vanished, pages)
        for name, value in ((_KINDS, shape), (_CHANGE, str(newest))):
            db.execute("DELETE FROM authored_from WHERE name = ?", (name,))
            db.execute("INSERT INTO authored_from (name, value) VALUES (?, ?)", (name, value))
        return Caught(len(fresh), _problems(db))


def _shape(kinds: Mapping[str, Kind]) -> str:
    """Other kinds, another reading: everything is read again."""
    return hashlib.sha256(
        repr([_READING] + [(k.name, k.plural, k.prefix, k.all_fields, k.statuses) for k in kinds.values()]).encode()
    ).hexdigest()


def _cursor(db: Database | None) -> int:
    row = db.row("SELECT value FROM authored_from WHERE name = ?", (_CHANGE,)) if db else None
    return int(row[0]) if row else 0


def _changed_rows(ws: Workspace, cursor: int) -> tuple[list[tuple[Record, str]], int]:
    """(record, where it rests) for each row of the state that changed after the cursor, and the newest change."""
    with ws.store.reading() as db:
        if db is None:
            return [], 0
        newest = int((db.row("SELECT COALESCE(MAX(change), 0) FROM record") or (0,))[0])
        if newest == cursor:
            return [], newest
        after = cursor if newest > cursor else 0
        sql = f"SELECT {rows.STATE}, rests FROM record WHERE change > ? ORDER BY change"
        return [(rows.from_state(row[:3]), row[3]) for row in db.rows(sql, (after,))], newest


def _is_as(db: Database | None, shape: str) -> bool:
    """True if files were read by these very kinds."""
    return db is not None and db.row("SELECT value FROM authored_from WHERE name = ?", (_KINDS,)) == (shape,)


def _known(db: Database | None, shape: str, kinds: Mapping[str, Kind]) -> dict[str, str] | None:
    """Path → stamp of the files of these kinds, as they were read; None where nothing of it can be used."""
    if db is None:
        return None
    if not _is_as(db, shape):
        return dict.fromkeys((path for (path,) in db.rows("SELECT path FROM authored")), "")
    return dict(db.rows(f"SELECT path, stamp FROM authored WHERE kind IN ({marks(kinds)})", tuple(kinds)))


def _take(ws: Workspace, db: Database, path: str, stamp: str) -> Record | None:
    """Reads one file and keeps what it says; the record that is to be found by it, the last good one if need be."""
    kind = kind_of(path, ws.kinds)
    if kind is None:
        return None
    try:
        data = read_small(ws.root / path, within=ws.root) or b""
        found = None
    except UsageProblem as problem:
        data, found = b"", Read(None, (Problem(path, 0, 0, problem.reason, problem.hint),))
    digest = hashlib.sha256(data[: MAX_BYTES + 1]).hexdigest()
    old = db.row(f"SELECT {rows.AUTHORED} FROM authored WHERE path = ?", (path,))
    found = found or read(kind, path, data)
    record = found.record or _last_good(ws, kind, path, rows.from_file(old) if old and old[2] else None)
    record = record_hidden(record) if record else None
    problems = [problem_hidden(one) for one in found.problems]
    _write(db, (path, kind.name, int("/archive/" in path), stamp, digest), record, problems)
    return record


def _last_good(ws: Workspace, kind: Kind, path: str, known: Record | None) -> Record | None:
    """What the file said before: our side of an unfinished merge, else what we know of it, else what was committed."""
    return _in_git(ws, kind, path, ":2") or known or _in_git(ws, kind, path, "HEAD")


def _in_git(ws: Workspace, kind: Kind, path: str, place: str) -> Record | None:
    from kl_hooks.git.repository import ask
    from kl_hooks.git.run import GitFailed

    if ws.repo is None:
        return None
    try:
        return read(kind, path, ask(ws.repo, "cat-file", "blob", f"{place}:{path}")).record
    except GitFailed:
        return None


def _write(db: Database, file: tuple[Any, ...], record: Record | None, problems: Sequence[Problem]) -> None:
    """The row of a file; `file`: path, kind, archived, stamp, digest."""
    error = json.dumps([[p.path, p.line, p.column, p.message, p.hint] for p in problems])
    rest = json.dumps({"text": record.body, "lines": dict(record.lines)} if record else {})
    seen = rows.columns(record) if record else ("", "", "", "", None, "{}")
    db.execute("DELETE FROM authored WHERE path = ?", file[:1])
    db.execute(
        "INSERT INTO authored (path, kind, archived, stamp, digest, error, rest, id, status, title, tags, authority,"
        " expires, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*file, error, rest, record.id if record else "", *seen),
    )


def _find(ws: Workspace, db: Database, records: Sequence[Record], gone: Sequence[str]) -> None:
    """Links and words of these records from now on; none for what is gone."""
    from kl_hooks.graph import links
    from kl_hooks.index import index

    nodes = {one.prefix: one.node for one in ws.kinds.values()}
    none: dict[str, list[Any]] = {place: [] for place in gone}
    links.replace_many(db, none | {owner(r): list(links_of(ws.kinds[r.kind], r, nodes)) for r in records})
    index.replace_many(db, none | {owner(r): [document_of(ws.kinds[r.kind], r)] for r in records})


def _problems(db: Database | None) -> tuple[Problem, ...]:
    if db is None:
        return ()
    found = [
        Problem(*one)
        for (error,) in db.rows("SELECT error FROM authored WHERE error <> '[]'")
        for one in json.loads(error)
    ]
    places: dict[tuple[str, str], list[str]] = {}
    shared = "SELECT id FROM authored WHERE id <> '' GROUP BY id HAVING COUNT(*) > 1"
    for kind, identifier, path in db.rows(f"SELECT kind, id, path FROM authored WHERE id IN ({shared}) ORDER BY path"):
        places.setdefault((kind, identifier), []).append(path)
    found += [_twice(kind, identifier, some) for (kind, identifier), some in places.items() if len(some) > 1]
    return tuple(sorted(found))


def _twice(kind: str, identifier: str, paths: Sequence[str]) -> Problem:
    """Two branches, or two people, took the same id."""
    hint = f"Give one of them a new id: kl {kind} renumber {paths[-1]}"
    return Problem(paths[-1], 1, 0, f"{identifier} is the id of {', '.join(paths[:-1])} too.", hint)
