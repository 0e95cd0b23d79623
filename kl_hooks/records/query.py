"""Queries: records by ID, by filter, by words, by topic; their past versions and supersession
chains; records as JSON.

A topic is a word of a field `topic` or `category`; a group is a name that older layouts have for a
kind, or for a kind and a topic (`technology_stack`, `failure_patterns`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UnknownRecord, UsageProblem
from kl_hooks.index import index
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.record import Record
from kl_hooks.model.text import suggest_spelling
from kl_hooks.records.repository import (
    KNOWLEDGE_FOLDER,
    expired_at,
    git_output,
    is_expired,
    kind_folder,
    records_in_files,
    records_in_rows,
    select_rows,
)
from kl_hooks.records.sync import sync
from kl_hooks.records.validate import InvalidValue, node_id
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


NO_LIMIT: Final = 1_000_000
_UNKNOWN_KIND_HINT: Final = "Fix .kl/kinds/{}.yaml, or restore it."
_RECORD_FILE: Final = lazy_pattern(r"[A-Z][A-Z0-9]{1,9}-.+\.md")


class RecordFilter(NamedTuple):
    """Which records are selected; an empty field selects all."""

    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    tag: str = ""
    about: str = ""
    """An ID or a path: records with a link to it, to its folder, or to something in it."""
    authority: str = ""
    archived: bool = False
    """Those in `archive/` too."""
    expired: bool = False
    """Those that are expired too."""


class Version(NamedTuple):
    """A past version of a record."""

    name: str
    """A commit, or the number of a row."""
    at: str
    """When it was made (commit) or ended (row), ISO 8601."""
    how: str
    """The commit's subject, or the verb that ended it."""
    values: str = ""
    """Of a row: canonical JSON of its values."""


def get_record(ws: Workspace, identifier: str, kind: str = "") -> Record:
    """Return the record of this ID in any case, or of this title where the kind is known by titles.
    UnknownRecord, with the nearest name, where there is none.
    """
    wanted = identifier.strip()
    for _ in range(2):  # a row that becomes a file between the two selects is in neither: try again
        sync(ws, (kind,) if kind else ())
        # `id = ?` uses the index; kinds in folders of agents (skills) are known by their titles too
        by_name = (
            ("LOWER(title) = LOWER(?)",) if kind in ws.kinds and ws.kinds[kind].folders else ()
        )
        for condition in ("id = ?", "UPPER(id) = UPPER(?)", *by_name):
            matches = [
                record for record in _select(ws, condition, (wanted,)) if kind in ("", record.kind)
            ]
            if matches and matches[0].kind in ws.kinds:
                return matches[0]
            if matches:
                reason = f"is of the kind {matches[0].kind}, which nothing describes today."
                raise UsageProblem(
                    reason, place=matches[0].id, hint=_UNKNOWN_KIND_HINT.format(matches[0].kind)
                )
    from difflib import get_close_matches  # a millisecond that only a wrong ID costs

    kinds = (kind,) if kind else ()
    all_of_kind = list_records(ws, RecordFilter(kinds, archived=True, expired=True))
    id_by_name = {(record.title if by_name else record.id): record.id for record in all_of_kind}
    names_in_capitals = {name.upper(): name for name in id_by_name}
    nearest = [
        names_in_capitals[close]
        for close in get_close_matches(wanted.upper(), names_in_capitals, 1)
    ]
    what = f"{kind or 'record'} of this {'name or id' if by_name else 'id'}"
    raise UnknownRecord(
        f"there is no {what}.",
        place=wanted or "''",
        hint=f"Did you mean {nearest[0]}?" if nearest else "",
        nearest=id_by_name[nearest[0]] if nearest else "",
        other_hint=f"See: kl {kind or 'knowledge'} list",
    )


def get_records(ws: Workspace, ids: Sequence[str]) -> list[Record]:
    """Return the records of these IDs, files first, as they were at the last `sync`.

    Records of a kind that nothing describes are omitted, here as everywhere: how to read them is
    unknown.
    """
    records: dict[str, Record] = {}
    for batch in chunks(ids):
        for record in _select(ws, f"id IN ({placeholders(batch)})", batch):
            if record.kind in ws.kinds:
                records.setdefault(record.id, record)
    return list(records.values())


def all_records(ws: Workspace) -> list[Record]:
    """Return every record, archived and expired ones too, as they were at the last `sync`."""
    return [record for record in _select(ws, "id <> ''", ()) if record.kind in ws.kinds]


def list_records(ws: Workspace, wanted: RecordFilter, limit: int = NO_LIMIT) -> list[Record]:
    """Return the selected records, files first, by kind and ID; at most `limit`."""
    return list_and_count(ws, wanted, limit)[0]


def list_and_count(
    ws: Workspace, wanted: RecordFilter, limit: int = NO_LIMIT
) -> tuple[list[Record], int]:
    """Return (the first `limit` selected records, the number of all)."""
    sync(ws, wanted.kinds)
    selected: list[Record] = []
    total = 0
    in_both: list[str] = []
    for name, table in (("graph", "authored"), ("kl", "record")):
        with ws.store.reading(name) as db:
            if db is None:
                continue
            where, params = _sql_filter(ws, table, wanted)
            if table == "record" and (in_both := _ids_in_rows(db, in_both)):
                where, params = (
                    f"{where} AND id NOT IN ({placeholders(in_both)})",
                    [*params, *in_both],
                )
            # What a record is about is not a column: then all are read and filtered here.
            if wanted.about:
                most = ""
            else:
                most = f" LIMIT {max(limit - len(selected), 0)}"
            where_sorted = f"{where} ORDER BY kind, id{most}"
            if table == "authored":
                records = records_in_files(db, where_sorted, params)
            else:
                records = [row.record for row in records_in_rows(db, where_sorted, params)]
            records = [record for record in records if _is_about(ws, record, wanted.about)]
            counted = db.row(f"SELECT COUNT(*) FROM {table} WHERE {where}", params)
            total += len(records) if wanted.about or not counted else int(counted[0])
            selected += records
            if table == "authored":
                in_both = _ids_in_files(ws, db, wanted)
    return selected[:limit], total


def search_records(
    ws: Workspace, words: Sequence[str], wanted: RecordFilter, limit: int = 20
) -> list[Record]:
    """Return the selected records with any of the words, best first, at most `limit`. Any text is a
    valid query.
    """
    sync(ws, wanted.kinds)
    kinds = wanted.kinds or tuple(ws.kinds)
    with ws.store.reading("graph") as db:
        # More hits than the limit: the filter may exclude some.
        if db is not None:
            hits = index.search(db, words, max(limit * 4, 100), kinds)
        else:
            hits = []
    ids = list(dict.fromkeys(hit.id for hit in hits))
    records = {record.id: record for record in get_records(ws, ids)}
    return [
        records[identifier]
        for identifier in ids
        if identifier in records and matches_filter(ws, records[identifier], wanted)
    ][:limit]


def matches_filter(ws: Workspace, record: Record, wanted: RecordFilter) -> bool:
    """Return True for a record that the filter selects; its kind is not looked at."""
    return (
        (not wanted.statuses or record.status in wanted.statuses)
        and (not wanted.tag or wanted.tag.lower() in [tag.lower() for tag in record.many("tags")])
        and (not wanted.authority or record.authority == wanted.authority)
        and (wanted.archived or not record.archived)
        and (wanted.expired or not is_expired(ws, record))
        and _is_about(ws, record, wanted.about)
    )


def supersession_chain(ws: Workspace, record: Record) -> list[Record]:
    """Return the record with all that supersede it or that it supersedes, newest to oldest; ends at
    a cycle.
    """
    newest = record
    later_ids = {record.id}
    while following := [
        identifier for identifier in newest.many("superseded_by") if identifier not in later_ids
    ]:
        later = get_records(ws, following[:1])
        if not later:
            break
        newest = later[0]
        later_ids.add(newest.id)
    chain = [newest]
    chain_ids = {newest.id}
    for record in chain:
        older = [
            identifier for identifier in record.many("supersedes") if identifier not in chain_ids
        ]
        chain_ids.update(older)
        chain += get_records(ws, older)
    return chain


def past_versions(ws: Workspace, record: Record) -> list[Version]:
    """Return the versions of a record, the newest first: commits of its file, then rows from before
    it was one.
    """
    log = ("log", "--follow", "--format=%x01%h%x00%aI%x00%s", "--", f":(top){record.path}")
    if record.path:
        commits = git_output(ws, *log).decode("utf-8", "replace").split("\1")[1:]
    else:
        commits = []
    sql = "SELECT version, until, how, body FROM record_version WHERE id = ? ORDER BY version DESC"
    return [
        *(Version(*commit.strip("\n").split("\0")) for commit in commits),
        *(
            Version(str(version), until, change, body)
            for version, until, change, body in select_rows(ws, sql, (record.id,))
        ),
    ]


def unreadable_records(ws: Workspace) -> list[tuple[int, str, str]]:
    """Return the records that no kind describes: (how many, where they are, why they are omitted
    and how to fix it).
    """
    sql = "SELECT kind, COUNT(*) FROM record WHERE rests = 'state' GROUP BY kind ORDER BY kind"
    unreadable = [
        (number, f"of the kind {kind}", f"nothing describes it. {_UNKNOWN_KIND_HINT.format(kind)}")
        for kind, number in select_rows(ws, sql)
        if kind not in ws.kinds
    ]
    known_folders = {kind_folder(kind) for kind in ws.kinds.values()}
    for path in sorted((ws.root / KNOWLEDGE_FOLDER).glob("*/")):
        folder = f"{KNOWLEDGE_FOLDER}{path.name}/"
        if folder in known_folders:
            number = 0
        else:
            number = sum(1 for file in path.glob("*.md") if _RECORD_FILE.fullmatch(file.name))
        if number:
            hint = "Fix the file of the kind in .kl/kinds/, or restore it."
            unreadable.append((number, f"in {folder}", f"no kind has this folder. {hint}"))
    return unreadable


def format_value(value: object) -> str:
    """Return a value of a field as people read it, in one line."""
    if isinstance(value, bool):
        if value:
            return "yes"
        return "no"
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value)


def _values_to_dict(record: Record) -> dict[str, Any]:
    """Return field → value, of types that JSON has."""
    return {name: _plain_value(value) for name, value in record.values.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, tuple):
        return value
    return list(value)


def record_to_dict(ws: Workspace, record: Record, *, whole: bool = True) -> dict[str, Any]:
    """Return `kl.record/1`, as `record_now`."""
    return record_now(ws.kinds[record.kind], record, iso(ws.clock.now()), whole=whole)


def record_now(kind: Kind, record: Record, now: str, *, whole: bool = True) -> dict[str, Any]:
    """Return `kl.record/1`. `now`: the moment, by which it may be expired. Without `whole`, a row
    of a list: what lists show, and what identifies it.
    """
    fields = kind.by_name
    values = {
        name: value
        for name, value in _values_to_dict(record).items()
        if name not in fields or not fields[name].internal
    }
    row: dict[str, Any] = {
        "schema": "kl.record/1",
        "id": record.id,
        "kind": record.kind,
        "title": record.title,
        "status": record.status,
        "authority": record.authority,
        "path": record.path,
        "archived": record.archived,
        "expired": expired_at(record, now),
        "broken": record.broken,
    }
    if record.proposal:
        row["proposal"] = record.proposal
    if whole:
        return row | {"fields": values, "body": record.body}
    if kind.list_fields:
        named = (*kind.identity, *kind.list_fields, "source", "date")
    else:
        named = ()
    return row | {
        "tags": values.get("tags", []),
        "fields": {name: values[name] for name in named if name in values},
    }


def _select(ws: Workspace, where: str, params: Sequence[Any]) -> list[Record]:
    """Return the records that a condition selects: files, archived ones last, then rows without a
    file.
    """
    with ws.store.reading("graph") as db:
        if db is not None:
            in_files = records_in_files(db, f"{where} ORDER BY archived, path", params)
        else:
            in_files = []
    with ws.store.reading() as db:
        if db is not None:
            in_rows = records_in_rows(db, f"rests = 'state' AND {where}", params)
        else:
            in_rows = []
    ids = {record.id for record in in_files}
    return [*in_files, *(row.record for row in in_rows if row.record.id not in ids)]


def _sql_filter(ws: Workspace, table: str, wanted: RecordFilter) -> tuple[str, list[Any]]:
    kinds = [name for name in wanted.kinds or ws.kinds if name in ws.kinds]
    parts = [
        "id <> ''" if table == "authored" else "rests = 'state'",
        f"kind IN ({placeholders(kinds)})",
    ]
    values: list[Any] = [*kinds]
    if wanted.statuses:
        parts.append(f"status IN ({placeholders(wanted.statuses)})")
        values += wanted.statuses
    if wanted.tag:
        # `_` and `%` in a tag are no wildcards.
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


def _ids_in_files(ws: Workspace, db: Database, wanted: RecordFilter) -> list[str]:
    """Return the IDs in files of the selected kinds whose records are now in a row, now in a
    file.
    """
    moving = (name for name, kind in ws.kinds.items() if kind.storage == "state" and kind.filed)
    kinds = [name for name in moving if name in (wanted.kinds or ws.kinds)]
    return [
        i
        for (i,) in db.rows(
            f"SELECT id FROM authored WHERE kind IN ({placeholders(kinds)}) AND id <> ''", kinds
        )
    ]


def _ids_in_rows(db: Database, ids: Sequence[str]) -> list[str]:
    """Return those of the IDs of files that a row has too (a file is back, a step was killed): the
    file counts.
    """
    ids_in_rows: list[str] = []
    for batch in chunks(ids):
        sql = f"SELECT id FROM record WHERE rests = 'state' AND id IN ({placeholders(batch)})"
        ids_in_rows += [identifier for (identifier,) in db.rows(sql, batch)]
    return ids_in_rows[:10_000]  # SQLite allows 32,766 parameters in one statement since 3.32


def _is_about(ws: Workspace, record: Record, about: str) -> bool:
    if not about:
        return True
    ids = [
        node
        for field in ws.kinds[record.kind].all_fields
        if field.type == "ids"
        for node in record.many(field.name)
    ]
    try:
        target = node_id(about)
        nodes = [node_id(node) for node in ids]
    except InvalidValue:
        return about in ids
    # a slash behind each: else `src/ab` would be in `src/a`
    inside = f"{target.rstrip('/')}/"
    folders = [f"{node.rstrip('/')}/" for node in nodes]
    return any(node.startswith(inside) or inside.startswith(node) for node in folders)


_GROUPS: Final[Mapping[str, str]] = {
    "architecture_decisions": "decision",
    "adrs": "decision",
    "project_decisions": "decision",
    "failure_patterns": "failure",
    "failed_approaches": "failure",
    "task_outcomes": "outcome",
    "turn_states": "turn",
    "feature_overviews": "feature",
    "feature_specs": "feature",
    "role_constraints": "role",
    "quality_gate_configs": "gate",
    "implementation_modes": "mode",
    "captured_knowledge": "fact",
}
"""Group → the kind that is meant as a whole."""


class Selection:
    """The records of a topic or a group."""

    def __init__(self, kinds: Mapping[str, Kind], name: str) -> None:
        """UsageProblem for a word that is neither."""
        word = name.strip().lower().replace("-", "_").replace(" ", "_")
        fields = {kind.name: field for kind in kinds.values() if (field := topic_field(kind))}
        # a spelling of a word counts as the word: `rules` selects what is stored as `rule`
        self._words = {
            kind: (field.name, field.also.get(word, word))
            for kind, field in fields.items()
            if word in field.choices or word in field.also
        }
        """Kind → (field, its word); two empty texts: all records of the kind."""
        # a group goes first: `role_constraints` is the kind as a whole, though a fact has a
        # category of that name
        if _GROUPS.get(word) in kinds:
            self._words = {_GROUPS[word]: ("", "")}
        if not self._words:
            known_words = sorted(
                {
                    *_GROUPS,
                    *(
                        choice
                        for field in fields.values()
                        for choice in (*field.choices, *field.also)
                    ),
                }
            )
            hint = suggest_spelling(word, known_words) or f"There are: {', '.join(known_words)}."
            raise UsageProblem("unknown topic or group.", place=name, hint=hint)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that have such records."""
        return tuple(self._words)

    def holds(self, record: Record) -> bool:
        """Return True for a record that belongs to it."""
        name, word = self._words.get(record.kind, ("", None))
        return word is not None and (not name or record.text(name) == word)


def topic_field(kind: Kind) -> Field | None:
    """Return the field with the topic of a record; None for a kind without one."""
    choices = {field.name: field for field in kind.fields if field.type == "choice"}
    return choices.get("topic") or choices.get("category")
