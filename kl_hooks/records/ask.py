"""Asking: records by id, by kind, by words; what they said before; who took whose place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.model.record import Record
from kl_hooks.records import rows
from kl_hooks.records.catch_up import catch_up
from kl_hooks.records.rows import ended
from kl_hooks.store.rows import marks, pieces

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

EVERYTHING: Final = 1_000_000
MEND: Final = "Mend .kl/kinds/{}.yaml, or bring it back."
"""What to do about records of a kind that nothing describes."""
_FILED: Final = "SELECT id FROM authored WHERE kind = ? AND id <> ''"
_MOST: Final = 10_000
"""Ids that one question may leave out."""


@dataclass(frozen=True, slots=True)
class Wanted:
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


def find(ws: Workspace, identifier: str, kind: str = "") -> Record:
    """The record of this id, whatever its case. UsageProblem, with the nearest ids, where there is none."""
    wanted = identifier.strip()
    for _ in range(2):  # a row that becomes a file between the two looks is in neither: look again
        catch_up(ws, (kind,) if kind else ())
        for where, params in (("id = ?", (wanted,)), ("UPPER(id) = UPPER(?)", (wanted,))):
            found = [r for r in _rows(ws, where, params) if kind in ("", r.kind)]
            if found and found[0].kind in ws.kinds:
                return found[0]
            if found:
                reason = f"is of the kind {found[0].kind}, which nothing describes today."
                raise UsageProblem(reason, place=found[0].id, hint=MEND.format(found[0].kind))
    known = [one.id for one in every(ws, Wanted((kind,) if kind else (), archived=True, expired=True))]
    near = get_close_matches(wanted.upper(), known, 1)
    hint = f"Did you mean {near[0]}?" if near else f"See: kl {kind or 'knowledge'} list"
    raise UsageProblem(f"there is no {kind or 'record'} of this id.", place=wanted or "''", hint=hint)


def every(ws: Workspace, wanted: Wanted, limit: int = EVERYTHING) -> list[Record]:
    """The records that are meant, files first, by kind and id; at most `limit`."""
    return listing(ws, wanted, limit)[0]


def listing(ws: Workspace, wanted: Wanted, limit: int = EVERYTHING) -> tuple[list[Record], int]:
    """(the first `limit` records that are meant, how many there are)."""
    catch_up(ws, wanted.kinds)
    found: list[Record] = []
    filed: list[str] = []
    total = 0
    for database, table, columns in (("graph", "authored", rows.AUTHORED), ("kl", "record", rows.STATE)):
        with ws.store.reading(database) as db:
            if db is None:
                continue
            where, params = _where(ws, table, wanted)
            if table == "record" and (twice := _filed_too(db, filed)):
                where, params = f"{where} AND id NOT IN ({marks(twice)})", [*params, *twice]
            most = "" if wanted.about else f" LIMIT {max(limit - len(found), 0)}"
            read = rows.from_file if table == "authored" else rows.from_state
            sql = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY kind, id{most}"
            some = [record for row in db.rows(sql, params) if _is_about(ws, record := read(row), wanted.about)]
            counted = db.row(f"SELECT COUNT(*) FROM {table} WHERE {where}", params)
            total += len(some) if wanted.about or not counted else int(counted[0])
            found += some
            if table == "authored":
                filed = [i for kind in _moving(ws, wanted) for (i,) in db.rows(_FILED, (kind,))]
    return found[:limit], total


def _moving(ws: Workspace, wanted: Wanted) -> list[str]:
    """The kinds that are meant whose records rest now in a row, now in a file."""
    return [k.name for k in ws.kinds.values() if k.home == "state" and k.filed and k.name in (wanted.kinds or ws.kinds)]


def _filed_too(db: Database, filed: Sequence[str]) -> list[str]:
    """Of ids that a file has, those that a row has too (a file came back, a step was killed): the file is the truth."""
    found: list[str] = []
    for some in pieces(filed):
        sql = f"SELECT id FROM record WHERE rests = 'state' AND id IN ({marks(some)})"
        found += [i for (i,) in db.rows(sql, tuple(some))]
    return found[:_MOST]


def search(ws: Workspace, words: Sequence[str], wanted: Wanted, limit: int = 20) -> list[Record]:
    """The records in which any of the words stands, best first, at most `limit`. Any text is a valid query."""
    from kl_hooks.index import index
    from kl_hooks.index.words import query_words

    catch_up(ws, wanted.kinds)
    kinds = wanted.kinds or tuple(ws.kinds)
    with ws.store.reading("graph") as db:
        hits = index.search(db, query_words(list(words)), max(limit * 4, 100), kinds) if db is not None else []
    found = list(dict.fromkeys(hit.id for hit in hits))
    known = {r.id: r for r in by_ids(ws, found)}
    return [known[i] for i in found if i in known and is_wanted(ws, known[i], wanted)][:limit]


def by_ids(ws: Workspace, ids: Sequence[str]) -> list[Record]:
    """The records of these ids, files first. Reads what is there; `catch_up` is the caller's.

    Those of a kind that nothing describes are left out, here as everywhere: nobody can say what they mean.
    """
    found: dict[str, Record] = {}
    for some in pieces(ids):
        for record in _rows(ws, f"id IN ({marks(some)})", some):
            if record.kind in ws.kinds:
                found.setdefault(record.id, record)
    return list(found.values())


def chain(ws: Workspace, record: Record) -> list[Record]:
    """The record and those that took its place or whose place it took, newest to oldest; ends where it would circle."""
    newest, seen = record, {record.id}
    while following := [i for i in newest.many("superseded_by") if i not in seen]:
        later = by_ids(ws, following[:1])
        if not later:
            break
        newest = later[0]
        seen.add(newest.id)
    found, line = [newest], {newest.id}
    for one in found:
        older = [i for i in one.many("supersedes") if i not in line]
        line.update(older)
        found += by_ids(ws, older)
    return found


def _rows(ws: Workspace, where: str, params: Sequence[Any]) -> list[Record]:
    found: list[Record] = []
    with ws.store.reading("graph") as db:
        if db is not None:
            sql = f"SELECT {rows.AUTHORED} FROM authored WHERE {where} ORDER BY archived, path"
            found += [rows.from_file(row) for row in db.rows(sql, params)]
    with ws.store.reading() as db:
        if db is not None:
            sql = f"SELECT {rows.STATE} FROM record WHERE rests = 'state' AND {where}"
            filed = {record.id for record in found}
            found += [rows.from_state(row) for row in db.rows(sql, params) if row[1] not in filed]
    return found


def _where(ws: Workspace, table: str, wanted: Wanted) -> tuple[str, list[Any]]:
    kinds = [name for name in wanted.kinds or ws.kinds if name in ws.kinds]
    parts = ["id <> ''" if table == "authored" else "rests = 'state'", f"kind IN ({marks(kinds)})"]
    values: list[Any] = [*kinds]
    if wanted.statuses:
        parts.append(f"status IN ({marks(wanted.statuses)})")
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


def is_wanted(ws: Workspace, record: Record, wanted: Wanted) -> bool:
    """Whether a record is one of those that are meant; its kind is not asked."""
    tags = [tag.lower() for tag in record.many("tags")]
    return (
        (not wanted.statuses or record.status in wanted.statuses)
        and (not wanted.tag or wanted.tag.lower() in tags)
        and (not wanted.authority or record.authority == wanted.authority)
        and (wanted.archived or not record.archived)
        and (wanted.expired or not ended(ws, record))
        and _is_about(ws, record, wanted.about)
    )


def _is_about(ws: Workspace, record: Record, about: str) -> bool:
    from kl_hooks.records.single import Wrong, node_of

    if not about:
        return True
    kind = ws.kinds[record.kind]
    said = [one for field in kind.all_fields if field.type == "ids" for one in record.many(field.name)]
    try:
        target = node_of(about)
        nodes = [node_of(one) for one in said]
    except Wrong:
        return about in said
    inside = target.rstrip("/") + "/"
    return any(
        one == target or one.startswith(inside) or (target + "/").startswith(one.rstrip("/") + "/") for one in nodes
    )
