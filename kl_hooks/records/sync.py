"""Sync: bring graph and search index up to date with authored files, rows and pages of docs, before
every question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.graph import links
from kl_hooks.index import index
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import Kind
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import Link, NodeText, record_node
from kl_hooks.records.redaction import redact_problem, redact_record, redact_text
from kl_hooks.records.repository import (
    StoredRecord,
    authored_files,
    docs_pages,
    git_output,
    kind_of_path,
    records_in_files,
    records_in_rows,
    shared_columns,
)
from kl_hooks.records.validate import InvalidValue, node_id, node_in
from kl_hooks.store.database import placeholders
from kl_hooks.store.files import read_small
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.records.pages import Page, PageText
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

# Characters of a section that are indexed.
_LONGEST_SECTION: Final = 100_000
# Pages that are read and written together: the texts of 5,000 would take 100 MB.
_PAGES_AT_ONCE: Final = 1000
_SHOWN: Final = 9
"""Problems that are named."""
_KINDS: Final = "kinds"
_CHANGE: Final = "change"
# Raised when something else of a file is indexed than before: then every file is read again.
_READER_VERSION: Final = 6


class SyncResult(NamedTuple):
    """The result of a sync."""

    read: int = 0
    """Files that were read."""
    problems: tuple[Problem, ...] = ()
    """All problems in authored files, and IDs that two files have."""
    trouble: str = ""
    """Why graph and index could not be updated; empty: they could."""


# Database → why it could not be updated at the last sync of this process.
_FAILURES: dict[Path, str] = {}


def sync(ws: Workspace, only: Sequence[str] = ()) -> SyncResult:
    """Bring graph and index up to date with authored files and rows; write nothing if they are.

    `only`: names of kinds; then other kinds and pages are not looked at. A file that can't be read
    keeps its last good version and becomes a problem; the others go on.
    """
    if not ws.initialized and not ws.state.directory.exists():
        return SyncResult()
    try:
        result = _sync(ws, only)
    except (
        EnvironmentProblem,
        OSError,
    ) as problem:  # a read-only disk, a lock: answer from what is indexed
        result = SyncResult(trouble=str(problem))
    _FAILURES[ws.state.graph] = result.trouble
    return result


def last_sync(ws: Workspace) -> SyncResult:
    """Return the problems of the last sync of this process, without another one."""
    with ws.store.reading("graph") as db:
        return SyncResult(0, _stored_problems(db), _FAILURES.get(ws.state.graph, ""))


def sync_notes(ws: Workspace) -> tuple[str, ...]:
    """Return what is wrong in authored files, and why results may be outdated, a sentence each."""
    last = last_sync(ws)
    notes: list[str] = [
        NodeText(str(problem), f"file:{problem.path}", is_quotation=True)
        for problem in last.problems[:_SHOWN]
    ]
    if omitted := len(last.problems) - len(notes):
        notes.append(f"and {omitted} more. See: kl knowledge check")
    if last.trouble:
        notes.append(f"what is found may be old: {last.trouble}")
    return tuple(notes)


def _sync(ws: Workspace, only: Sequence[str]) -> SyncResult:
    digests = [_READER_VERSION, *(kind.digest for kind in ws.kinds.values())]
    digest = hashlib.sha256(repr(digests).encode()).hexdigest()
    with ws.store.reading("graph") as db:
        whole = not only or not _is_read_with(db, digest)
        if whole:
            kinds = ws.kinds
        else:
            kinds = {name: ws.kinds[name] for name in only if name in ws.kinds}
        listed = authored_files(ws.root, kinds, ws.clock.now() * 1000)
        known_files = _known_files(db, digest, kinds)
        known_pages = _known_pages(db)
        cursor = _cursor(db, digest)
        changed, newest = _changed_rows(ws, cursor)
        pages = docs_pages(ws) if whole else known_pages
        same = known_files == listed and newest == cursor and known_pages == pages
        # an empty stamp: changed so lately that equal times prove nothing (as with the index of
        # git: racy-git)
        is_young = "" in listed.values()
        if (
            same
            and "" not in pages.values()
            and not (is_young and _changed_files(ws, db, digest, listed))
        ):
            return SyncResult(0, _stored_problems(db))
    if not listed and not known_files and not changed and not pages:
        return SyncResult()
    with ws.store.writing("graph", "kl (updating the index of records)") as db, db.transaction():
        # another process may have read some since
        known_files = _known_files(db, digest, kinds) or {}
        if not _is_read_with(db, digest):  # another reader: pages are read again too
            db.execute("UPDATE page SET stamp = '' WHERE authored = 0")
        paths = _changed_files(ws, db, digest, listed)
        read = [
            record
            for path in paths
            if (record := _read_file(ws, db, path, listed[path])) is not None
        ]
        in_rows = [
            one.record for one in changed if one.rests == "state" and one.record.kind in ws.kinds
        ]
        dropped = [
            _owner(one.record)
            for one in changed
            if one.rests != "state" or one.record.kind not in ws.kinds
        ]
        removed = sorted(known_files.keys() - listed.keys())
        db.many("DELETE FROM authored WHERE path = ?", [(path,) for path in removed])
        _index_records(ws, db, [*read, *in_rows], [*removed, *dropped])
        _sync_pages(ws, db, {record.path: record for record in read if record.path}, removed, pages)
        for name, value in ((_KINDS, digest), (_CHANGE, str(newest))):
            db.execute("DELETE FROM authored_from WHERE name = ?", (name,))
            db.execute("INSERT INTO authored_from (name, value) VALUES (?, ?)", (name, value))
        return SyncResult(len(paths), _stored_problems(db))


def _cursor(db: Database | None, digest: str) -> int:
    """The number of the last change of rows that the index has; 0 where another reader made it."""
    if db is None or not _is_read_with(db, digest):
        return 0
    row = db.row("SELECT value FROM authored_from WHERE name = ?", (_CHANGE,))
    return int(row[0]) if row else 0


def _is_read_with(db: Database | None, digest: str) -> bool:
    return db is not None and db.row(
        "SELECT value FROM authored_from WHERE name = ?", (_KINDS,)
    ) == (digest,)


def _changed_rows(ws: Workspace, cursor: int) -> tuple[list[StoredRecord], int]:
    """Return the rows that changed after the cursor, and the number of the newest change."""
    with ws.store.reading() as db:
        if db is None:
            return [], 0
        newest = int((db.row("SELECT COALESCE(MAX(change), 0) FROM record") or (0,))[0])
        if newest == cursor:
            return [], newest
        # A smaller number is that of another store (the state was made anew): read all.
        return (
            records_in_rows(db, "change > ? ORDER BY change", (cursor if newest > cursor else 0,)),
            newest,
        )


def _known_files(
    db: Database | None, digest: str, kinds: Mapping[str, Kind]
) -> dict[str, str] | None:
    """Return path → stamp of the files of these kinds as they were read; without stamps if by other
    kinds.
    """
    if db is None:
        return None
    if not _is_read_with(db, digest):
        return dict.fromkeys((path for (path,) in db.rows("SELECT path FROM authored")), "")
    return dict(
        db.rows(
            f"SELECT path, stamp FROM authored WHERE kind IN ({placeholders(kinds)})", tuple(kinds)
        )
    )


def _changed_files(
    ws: Workspace, db: Database | None, digest: str, listed: Mapping[str, str]
) -> list[str]:
    """Return the files that have to be read, by name. `listed`: path → stamp.

    Most questions after a write are asked at once, when its file has no stamp yet. Such a file is
    not read again if its bytes are those that were read last, without a problem. Where there was a
    problem, git decides too what is taken for the file.
    """
    if db is None or not _is_read_with(db, digest):
        return sorted(listed)
    rows = db.rows("SELECT path, stamp, digest, error = '[]' AND id <> '' FROM authored")
    known = {path: (stamp, content, is_sound) for path, stamp, content, is_sound in rows}

    def is_as_read(path: str) -> bool:
        stamp, content, is_sound = known.get(path, (None, "", False))
        if listed[path] or stamp != "":
            return bool(stamp == listed[path])
        return bool(is_sound) and _content_digest(ws, path) == content

    return sorted(path for path in listed if not is_as_read(path))


def _content_digest(ws: Workspace, path: str) -> str:
    """Return the digest of a file as it is stored; empty where the file can't be read."""
    try:
        data = read_small(ws.root / path, within=ws.root)
    except UsageProblem:
        return ""
    if data is None:
        return ""
    return hashlib.sha256(data).hexdigest()


def _known_pages(db: Database | None) -> dict[str, str]:
    """Return path → stamp of every page of docs as it was read."""
    if db is None:
        return {}
    return dict(db.rows("SELECT path, stamp FROM page WHERE authored = 0"))


def _read_file(ws: Workspace, db: Database, path: str, stamp: str) -> Record | None:
    """Read an authored file into its row; return the record to index, the last good version if need
    be.
    """
    from kl_hooks.records.document import ParsedDocument, read_document  # brings the reader of YAML

    kind = kind_of_path(path, ws.kinds)
    if kind is None:
        return None
    try:
        data = read_small(ws.root / path, within=ws.root) or b""
        document = read_document(kind, path, data)
    except UsageProblem as problem:
        data = b""
        document = ParsedDocument(None, (Problem(path, 0, 0, problem.reason, problem.hint),))
    # Read before the row is replaced: it may be the last good version.
    stored = next(iter(records_in_files(db, "path = ? AND id <> ''", (path,))), None)
    if (record := document.record) is None:
        # our side of an unfinished merge (stage 2), else the version known here, else the committed
        # one
        record = (
            read_document(kind, path, git_output(ws, "cat-file", "blob", f":2:{path}")).record
            or stored
        )
        record = (
            record
            or read_document(kind, path, git_output(ws, "cat-file", "blob", f"HEAD:{path}")).record
        )
    record = redact_record(record) if record else None
    problems = [redact_problem(one) for one in document.problems]
    error = json.dumps([[p.path, p.line, p.column, p.message, p.hint] for p in problems])
    extra = json.dumps({"text": record.body, "lines": dict(record.lines)} if record else {})
    if record:
        columns = shared_columns(record)
    else:
        columns = ("", "", "", "", None, "{}")
    digest = hashlib.sha256(data).hexdigest()
    db.execute("DELETE FROM authored WHERE path = ?", (path,))
    db.execute(
        "INSERT INTO authored (path, kind, archived, stamp, digest, error, rest, id, status, title,"
        " tags, authority, expires, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            path,
            kind.name,
            int("/archive/" in path),
            stamp,
            digest,
            error,
            extra,
            record.id if record else "",
            *columns,
        ),
    )
    return record


def _stored_problems(db: Database | None) -> tuple[Problem, ...]:
    if db is None:
        return ()
    errors = db.rows("SELECT error FROM authored WHERE error <> '[]'")
    problems = [Problem(*one) for (error,) in errors for one in json.loads(error)]
    paths: dict[tuple[str, str], list[str]] = {}
    # Not unique in the table: two branches that are merged may bring two files with one ID, and
    # both must be shown.
    shared = "SELECT id FROM authored WHERE id <> '' GROUP BY id HAVING COUNT(*) > 1"
    for kind, identifier, path in db.rows(
        f"SELECT kind, id, path FROM authored WHERE id IN ({shared}) ORDER BY path"
    ):
        paths.setdefault((kind, identifier), []).append(path)
    for (kind, identifier), (*others, last) in paths.items():
        if others:
            from kl_hooks.records.document import duplicate_id

            problems.append(duplicate_id(kind, identifier, last, others))
    return tuple(sorted(problems))


def _owner(record: Record) -> str:
    """Return the key of its links and documents in graph and index: its file, else `record:` and
    its ID.
    """
    return record.path or f"record:{record.id}"


def _record_node(kind: Kind, record: Record) -> str:
    """Return the graph ID of a record: `adr:ADR-0007`, `skill:pdf-tools`, the record ID itself for
    most kinds.
    """
    if kind.folders:
        from kl_hooks.records.document import skill_node

        return skill_node(record.title)
    return record_node(record.id)


def _record_links(kind: Kind, record: Record) -> Iterator[Link]:
    """Yield a Link for each ID in its `ids` fields."""
    source = _record_node(kind, record)
    owner = _owner(record)
    for field in kind.all_fields:
        is_link = field.type == "ids" or (field.type == "words" and field.relation)
        if not is_link or (record.archived and field.relation == "adr_governs"):
            continue  # an archived decision governs nothing
        for target_id in record.many(field.name):
            try:
                if field.type == "words":  # names of what is no record, such as an agent
                    target = node_in(field.name.removesuffix("s"), target_id)
                else:
                    target = record_node(node_id(target_id))
            except InvalidValue:
                continue  # written before IDs were validated
            line = record.lines.get(field.name, 0)
            yield Link(source, field.relation or field.name, target, owner, line, "record")


def _search_document(kind: Kind, record: Record) -> index.Document:
    """Return the text of a record that is indexed: its ID, title, tags and fields of text."""
    texts = ("line", "text", "lines", "choice")
    fields = [
        record.text(field.name)
        for field in kind.all_fields
        if field.type in texts and field.name != "title" and not field.is_label
    ]
    body = "\n".join([record.id, *record.many("tags"), *record.many("about"), *fields, record.body])
    return index.Document(record.id, kind.name, _owner(record), 1, record.title, body)


def _index_records(
    ws: Workspace, db: Database, records: Sequence[Record], removed: Sequence[str]
) -> None:
    """Replace links and words of these records, and remove those of these owners."""
    none: dict[str, list[Any]] = {owner: [] for owner in removed}
    links.replace_many(
        db, none | {_owner(r): list(_record_links(ws.kinds[r.kind], r)) for r in records}
    )
    index.replace_many(
        db, none | {_owner(r): [_search_document(ws.kinds[r.kind], r)] for r in records}
    )


def _sync_pages(
    ws: Workspace,
    db: Database,
    read: Mapping[str, Record],
    removed: Sequence[str],
    listed: Mapping[str, str],
) -> None:
    """Bring pages, their sections and their links up to date.

    `read`: path → record of authored files that were read again, links of their fields already in
    the graph; `removed`: paths of authored files; `listed`: pages of docs and their stamps as they
    are now.
    """
    before = _known_pages(db)
    vanished = sorted(before.keys() - listed.keys())
    changed = [path for path, stamp in listed.items() if not stamp or before.get(path) != stamp]
    if read or changed:  # else nothing is read: most questions find all pages as they were
        from kl_hooks.records.pages import Page, read_page
    db.many("DELETE FROM page WHERE path = ?", [(path,) for path in {*removed, *vanished}])
    for path, record in read.items():
        if "[[" in record.body or "](" in record.body:
            text = read_page(ws, path)
        else:
            text = None
        node = _record_node(ws.kinds[record.kind], record)
        _write_page_row(db, ws, Page(path, node, record.id, record.title), "", text)
    _index_sections(db, {}, vanished)
    for start in range(0, len(changed), _PAGES_AT_ONCE):
        texts = {path: read_page(ws, path) for path in changed[start : start + _PAGES_AT_ONCE]}
        for path, text in texts.items():
            _write_page_row(db, ws, Page(path, f"file:{path}", "", text.title), listed[path], text)
        _index_sections(db, texts, ())
    _resolve_links(ws, db, read, vanished)


def _write_page_row(
    db: Database, ws: Workspace, page: Page, stamp: str, text: PageText | None
) -> None:
    from kl_hooks.records.pages import written_links

    links = written_links(text) if text else []
    old = db.row("SELECT leads FROM page WHERE path = ?", (page.path,))
    leads = old[0] if old else "[]"  # the links that are still in the graph
    db.execute("DELETE FROM page WHERE path = ?", (page.path,))
    db.execute(
        "INSERT INTO page (path, authored, stamp, node, id, title, changed, links, leads)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            page.path,
            int(bool(page.id)),
            stamp,
            page.node,
            page.id,
            redact_text(page.title),
            _modified_at(ws, page.path),
            json.dumps(links),
            leads,
        ),
    )


def _modified_at(ws: Workspace, path: str) -> str:
    try:
        seconds = (ws.root / path).lstat().st_mtime
    except OSError:
        return ""
    # 253402300799 is the end of the year 9999, the last that datetime has; file systems have later
    # ones.
    return datetime.fromtimestamp(max(0, min(seconds, 253402300799)), UTC).isoformat(
        timespec="microseconds"
    )


def _index_sections(db: Database, texts: Mapping[str, PageText], removed: Sequence[str]) -> None:
    """Index the sections of pages of docs, so that each is found by its own words."""
    batch: dict[str, list[index.Document]] = {path: [] for path in (*removed, *texts)}
    rows = []
    if texts:
        from kl_hooks.records.pages import PAGE_KIND
    for path, text in texts.items():
        for number, section in enumerate(text.sections):
            title = redact(
                " › ".join(
                    (text.title, *section.around, section.title)
                    if section.anchor
                    else (text.title,)
                )
            )
            # headings were redacted where the page was split, its title was not
            body = redact(section.text[:_LONGEST_SECTION])
            name = section.title if section.anchor else redact_text(section.title)
            batch[path].append(
                index.Document(
                    section.node(path), PAGE_KIND, path, section.line, title, body, name=name
                )
            )
            heading = json.dumps([*section.around, name])
            rows.append((path, number, section.node(path), heading, section.line, section.end_line))
    db.many("DELETE FROM chunk WHERE path = ?", [(path,) for path in batch])
    db.many(
        "INSERT INTO chunk (path, number, node, heading, line, end_line) VALUES (?, ?, ?, ?, ?, ?)",
        rows,
    )
    index.replace_many(db, batch)


def _resolve_links(
    ws: Workspace, db: Database, read: Mapping[str, Record], removed: Sequence[str]
) -> None:
    """Resolve every link again, since a new title may be what an old link meant; write those with
    another target.

    The links of an authored file are stored with those of its record's fields, under one owner;
    files in `read` were just written without them.
    """
    batch: dict[str, list[Link]] = {path: [] for path in removed}
    linking = db.rows(
        "SELECT path, authored, node, links, leads FROM page WHERE links <> '[]' OR leads <> '[]'"
    )
    if linking:
        from kl_hooks.records.pages import LINK_RELATION, PageNames, all_pages, link_target

        names = PageNames(all_pages(db))
    for path, authored, source, written, old in linking:
        resolved = (
            (link_target(ws, db, names, target, method), line, method)
            for target, _, line, _, method in json.loads(written)
        )
        leads = [[to, line, method] for to, line, method in resolved if to]
        if json.dumps(leads) == old and path not in read:
            continue
        db.execute("UPDATE page SET leads = ? WHERE path = ?", (json.dumps(leads), path))
        batch[path] = [
            Link(source, LINK_RELATION, to, path, line, method) for to, line, method in leads
        ]
        if authored:
            if path in read:
                records = [read[path]]
            else:
                records = records_in_files(db, "path = ?", (path,))
            batch[path] += [
                link for one in records for link in _record_links(ws.kinds[one.kind], one)
            ]
    if batch:
        links.replace_many(db, batch)
