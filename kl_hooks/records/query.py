"""Queries: records by ID, by filter, by words; their past versions and supersession chains; records as JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.model.record import Record
from kl_hooks.records import repository
from kl_hooks.records.repository import KNOWLEDGE_FOLDER, is_expired, kind_folder
from kl_hooks.records.sync import sync
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


NO_LIMIT: Final = 1_000_000
UNKNOWN_KIND_HINT: Final = "Mend .kl/kinds/{}.yaml, or bring it back."
"""What to do about records of a kind that nothing describes."""
_FILED: Final = "SELECT id FROM authored WHERE kind = ? AND id <> ''"
_MOST_EXCLUDED: Final = 10_000
"""Ids that one question may leave out."""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records are meant; what is empty does not matter."""

    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    tag: str = ""
    about: str = ""
    """An Id or a path: records with a link to it, or to something in it."""
    authority: str = ""
    archived: bool = False
    """Those in `archive/` too."""
    expired: bool = False
    """Those that ended too."""


def get_record(ws: Workspace, identifier: str, kind: str = "") -> Record:
    """The record of this id, whatever its case. UsageProblem, with the nearest ids, where there is none."""
    wanted = identifier.strip()
    for _ in range(2):  # a row that becomes a file between the two looks is in neither: look again
        sync(ws, (kind,) if kind else ())
        for where, params in (("id = ?", (wanted,)), ("UPPER(id) = UPPER(?)", (wanted,))):
            found = [r for r in _select(ws, where, params) if kind in ("", r.kind)]
            if found and found[0].kind in ws.kinds:
                return found[0]
            if found:
                reason = f"is of the kind {found[0].kind}, which nothing describes today."
                raise UsageProblem(reason, place=found[0].id, hint=UNKNOWN_KIND_HINT.format(found[0].kind))
    known = [one.id for one in list_records(ws, RecordFilter((kind,) if kind else (), archived=True, expired=True))]
    near = get_close_matches(wanted.upper(), known, 1)
    hint = f"Did you mean {near[0]}?" if near else f"See: kl {kind or 'knowledge'} list"
    raise UsageProblem(f"there is no {kind or 'record'} of this id.", place=wanted or "''", hint=hint)


def list_records(ws: Workspace, wanted: RecordFilter, limit: int = NO_LIMIT) -> list[Record]:
    """The records that are meant, files first, by kind and id; at most `limit`."""
    return list_and_count(ws, wanted, limit)[0]


def list_and_count(ws: Workspace, wanted: RecordFilter, limit: int = NO_LIMIT) -> tuple[list[Record], int]:
    """(the first `limit` records that are meant, how many there are)."""
    sync(ws, wanted.kinds)
    found: list[Record] = []
    filed: list[str] = []
    total = 0
    for database, table, columns in (
        ("graph", "authored", repository.AUTHORED_COLUMNS),
        ("kl", "record", repository.RECORD_COLUMNS),
    ):
        with ws.store.reading(database) as db:
            if db is None:
                continue
            where, params = _sql_filter(ws, table, wanted)
            if table == "record" and (twice := _ids_in_both(db, filed)):
                where, params = f"{where} AND id NOT IN ({placeholders(twice)})", [*params, *twice]
            most = "" if wanted.about else f" LIMIT {max(limit - len(found), 0)}"
            read = repository.record_of_file_row if table == "authored" else repository.record_of_row
            sql = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY kind, id{most}"
            some = [record for row in db.rows(sql, params) if _is_about(ws, record := read(row), wanted.about)]
            counted = db.row(f"SELECT COUNT(*) FROM {table} WHERE {where}", params)
            total += len(some) if wanted.about or not counted else int(counted[0])
            found += some
            if table == "authored":
                filed = [i for kind in _kinds_in_files_and_rows(ws, wanted) for (i,) in db.rows(_FILED, (kind,))]
    return found[:limit], total


def _kinds_in_files_and_rows(ws: Workspace, wanted: RecordFilter) -> list[str]:
    """The kinds that are meant whose records rest now in a row, now in a file."""
    return [k.name for k in ws.kinds.values() if k.home == "state" and k.filed and k.name in (wanted.kinds or ws.kinds)]


def _ids_in_both(db: Database, filed: Sequence[str]) -> list[str]:
    """Of ids that a file has, those that a row has too (a file came back, a step was killed): the file is the truth."""
    found: list[str] = []
    for some in chunks(filed):
        sql = f"SELECT id FROM record WHERE rests = 'state' AND id IN ({placeholders(some)})"
        found += [i for (i,) in db.rows(sql, tuple(some))]
    return found[:_MOST_EXCLUDED]


def search_records(ws: Workspace, words: Sequence[str], wanted: RecordFilter, limit: int = 20) -> list[Record]:
    """The records in which any of the words stands, best first, at most `limit`. Any text is a valid query."""
    from kl_hooks.index import index
    from kl_hooks.index.words import query_words

    sync(ws, wanted.kinds)
    kinds = wanted.kinds or tuple(ws.kinds)
    with ws.store.reading("graph") as db:
        hits = index.search(db, query_words(list(words)), max(limit * 4, 100), kinds) if db is not None else []
    found = list(dict.fromkeys(hit.id for hit in hits))
    known = {r.id: r for r in get_records(ws, found)}
    return [known[i] for i in found if i in known and matches_filter(ws, known[i], wanted)][:limit]


def get_records(ws: Workspace, ids: Sequence[str]) -> list[Record]:
    """The records of these ids, files first. Reads what is there; `sync` is the caller's.

    Those of a kind that nothing describes are left out, here as everywhere: nobody can say what they mean.
    """
    found: dict[str, Record] = {}
    for some in chunks(ids):
        for record in _select(ws, f"id IN ({placeholders(some)})", some):
            if record.kind in ws.kinds:
                found.setdefault(record.id, record)
    return list(found.values())


def supersession_chain(ws: Workspace, record: Record) -> list[Record]:
    """The record and those that took its place or whose place it took, newest to oldest; ends where it would circle."""
    newest, seen = record, {record.id}
    while following := [i for i in newest.many("superseded_by") if i not in seen]:
        later = get_records(ws, following[:1])
        if not later:
            break
        newest = later[0]
        seen.add(newest.id)
    found, line = [newest], {newest.id}
    for one in found:
        older = [i for i in one.many("supersedes") if i not in line]
        line.update(older)
        found += get_records(ws, older)
    return found


def _select(ws: Workspace, where: str, params: Sequence[Any]) -> list[Record]:
    found: list[Record] = []
    with ws.store.reading("graph") as db:
        if db is not None:
            sql = f"SELECT {repository.AUTHORED_COLUMNS} FROM authored WHERE {where} ORDER BY archived, path"
            found += [repository.record_of_file_row(row) for row in db.rows(sql, params)]
    with ws.store.reading() as db:
        if db is not None:
            sql = f"SELECT {repository.RECORD_COLUMNS} FROM record WHERE rests = 'state' AND {where}"
            filed = {record.id for record in found}
            found += [repository.record_of_row(row) for row in db.rows(sql, params) if row[1] not in filed]
    return found


def _sql_filter(ws: Workspace, table: str, wanted: RecordFilter) -> tuple[str, list[Any]]:
    kinds = [name for name in wanted.kinds or ws.kinds if name in ws.kinds]
    parts = ["id <> ''" if table == "authored" else "rests = 'state'", f"kind IN ({placeholders(kinds)})"]
    values: list[Any] = [*kinds]
    if wanted.statuses:
        parts.append(f"status IN ({placeholders(wanted.statuses)})")
        values += wanted.statuses
    if wanted.tag:
        parts.append("tags LIKE ? ESCAPE '!'")
        values.append("% " + re.sub("([!%_])", r"!\1", wanted.tag.lower()) + " %")
    if wanted.authority:
        parts.append("authority = ?")
        values.append(wanted.authority)
    if not wanted.expired:
        parts.append("(expires IS NULL OR expires >= ?)")
        values.append(iso(ws.clock.now()))
    if table == "authored" and not wanted.archived:
        parts.append("archived = 0")
    return " AND ".join(parts), values


def matches_filter(ws: Workspace, record: Record, wanted: RecordFilter) -> bool:
    """Whether a record is one of those that are meant; its kind is not asked."""
    tags = [tag.lower() for tag in record.many("tags")]
    return (
        (not wanted.statuses or record.status in wanted.statuses)
        and (not wanted.tag or wanted.tag.lower() in tags)
        and (not wanted.authority or record.authority == wanted.authority)
        and (wanted.archived or not record.archived)
        and (wanted.expired or not is_expired(ws, record))
        and _is_about(ws, record, wanted.about)
    )


def _is_about(ws: Workspace, record: Record, about: str) -> bool:
    from kl_hooks.records.validate import InvalidValue, node_id

    if not about:
        return True
    kind = ws.kinds[record.kind]
    said = [one for field in kind.all_fields if field.type == "ids" for one in record.many(field.name)]
    try:
        target = node_id(about)
        nodes = [node_id(one) for one in said]
    except InvalidValue:
        return about in said
    inside = target.rstrip("/") + "/"
    return any(
        one == target or one.startswith(inside) or (target + "/").startswith(one.rstrip("/") + "/") for one in nodes
    )


def format_value(value: object) -> str:
    """A value of a field as people read it, in one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def values_to_dict(record: Record) -> dict[str, Any]:
    """Field → its value, of types that JSON has."""
    return {
        name: dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
        for name, value in record.values.items()
    }


def record_to_dict(ws: Workspace, record: Record, *, whole: bool = True) -> dict[str, Any]:
    """`kl.record/1`. Without `whole`, a row of a list: the fields that lists show, and what the record is known by."""

    fields = ws.kinds[record.kind].by_name
    values = {n: v for n, v in values_to_dict(record).items() if n not in fields or not fields[n].internal}
    made: dict[str, Any] = {
        "schema": "kl.record/1", "id": record.id, "kind": record.kind, "title": record.title, "status": record.status,
        "authority": record.authority, "path": record.path, "archived": record.archived,
        "expired": is_expired(ws, record),
        "broken": record.broken,
    }  # fmt: skip
    if record.proposal:
        made["proposal"] = record.proposal
    if whole:
        return made | {"fields": values, "body": record.body}
    kind = ws.kinds[record.kind]
    named = (*kind.identity, *kind.beside, "source", "date") if kind.beside else ()
    return made | {"tags": values.get("tags", []), "fields": {name: values[name] for name in named if name in values}}


@dataclass(frozen=True, slots=True)
class Version:
    """A version that is past."""

    name: str
    """A commit, or the number of a row."""
    at: str
    """When it was made (commit) or ended (row), ISO 8601."""
    how: str
    """The commit's subject, or the verb that ended it."""
    said: str = ""
    """Of a row: canonical JSON of its values."""


def past_versions(ws: Workspace, record: Record) -> list[Version]:
    """The versions of a record, the newest first: commits of its file, then rows from before it was one."""
    return [*_versions_in_git(ws, record), *_versions_in_rows(ws, record)]


def _versions_in_git(ws: Workspace, record: Record) -> list[Version]:
    from kl_hooks.git.repository import git_in
    from kl_hooks.git.run import GitFailed

    if ws.repo is None or not record.path:
        return []
    try:
        out = git_in(ws.repo, "log", "--follow", "--format=%x01%h%x00%aI%x00%s", "--", f":(top){record.path}")
    except GitFailed:
        return []  # no commit yet
    cells = [one.strip("\n").split("\0") for one in out.decode("utf-8", "replace").split("\1")[1:]]
    return [Version(name, at, subject) for name, at, subject in cells]


def _versions_in_rows(ws: Workspace, record: Record) -> list[Version]:
    with ws.store.reading() as db:
        sql = "SELECT version, until, how, body FROM record_version WHERE id = ? ORDER BY version DESC"
        found = db.rows(sql, (record.id,)) if db else []
    return [Version(str(n), until, how, json.dumps(json.loads(body), sort_keys=True)) for n, until, how, body in found]


_RECORD_FILE: Final = re.compile(r"[A-Z][A-Z0-9]{1,9}-.+\.md")
"""What the file of a record is called."""


def rows_of_unknown_kinds(ws: Workspace) -> dict[str, int]:
    """Kind → how many of its records rest in the state, for kinds that are not in the catalogue."""
    with ws.store.reading() as db:
        sql = "SELECT kind, COUNT(*) FROM record WHERE rests = 'state' GROUP BY kind ORDER BY kind"
        rows = db.rows(sql) if db is not None else []
    return {kind: number for kind, number in rows if kind not in ws.kinds}


def files_of_unknown_kinds(ws: Workspace) -> dict[str, int]:
    """Folder → how many files of records lie in it, for folders of `.kl/knowledge` that no kind has."""
    known = {kind_folder(kind) for kind in ws.kinds.values()}
    found: dict[str, int] = {}
    for name in _folder_entries(f"{ws.root}/{KNOWLEDGE_FOLDER}"):
        place = f"{KNOWLEDGE_FOLDER}{name}/"
        if place not in known:
            number = sum(1 for one in _folder_entries(f"{ws.root}/{place}") if _RECORD_FILE.fullmatch(one))
            found |= {place: number} if number else {}
    return found


def _folder_entries(place: str) -> list[str]:
    try:
        return sorted(os.listdir(place))  # noqa: PTH208
    except OSError:
        return []
