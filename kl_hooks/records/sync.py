"""Sync: bring graph and search index up to date with authored files, rows and pages of docs, before every question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.index.index import Document
from kl_hooks.model.kind import Kind
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import Link
from kl_hooks.records import repository
from kl_hooks.records.document import ParsedDocument, read_document
from kl_hooks.records.pages import MOST_PAGE_BYTES, Page, PageNames, PageSection, PageText, Wikilink, parse_page
from kl_hooks.records.redaction import redact_problem, redact_record, redact_text
from kl_hooks.records.repository import authored_files, docs_pages, kind_of_path
from kl_hooks.records.validate import InvalidValue, node_id
from kl_hooks.store.database import placeholders
from kl_hooks.store.files import MAX_BYTES, read_small
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.index import index
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


def _record_node(kind: Kind, identifier: str) -> str:
    """The Id of a record in the graph: `adr:ADR-0007` for a decision, the record id itself for most kinds."""
    return f"{kind.node}:{identifier}" if kind.node else identifier


def _owner(record: Record) -> str:
    """Under which its links and documents stand in graph and index: its file, else `record:` and its id."""
    return record.path or f"record:{record.id}"


def _record_links(kind: Kind, record: Record, prefixes: dict[str, str]) -> Iterator[Link]:
    """A Link for each Id in its `ids` fields. `prefixes`: prefix of record ids → prefix of their nodes."""
    source, place = _record_node(kind, record.id), _owner(record)
    for field in kind.all_fields:
        if record.archived and field.relation == "adr_governs":
            continue  # what was put away governs nothing any more
        if field.type == "ids":
            for one in record.many(field.name):
                try:
                    target = node_id(one)
                except InvalidValue:
                    continue  # older than the rule
                begins = target.partition("-")[0]
                if begins in prefixes and prefixes[begins] and ":" not in target:
                    target = f"{prefixes[begins]}:{target}"
                yield Link(
                    source, field.relation or field.name, target, place, record.lines.get(field.name, 0), "record"
                )


def _search_document(kind: Kind, record: Record) -> Document:
    """The record as it is found: by its id, title, tags, and everything it says."""
    said = [
        record.text(f.name)
        for f in kind.all_fields
        if f.type in ("line", "text", "lines", "choice") and f.name != "title"
    ]
    body = "\n".join([record.id, *record.many("tags"), *record.many("about"), *said, record.body])
    return Document(record.id, kind.name, _owner(record), 1, record.title, body)


LINK_RELATION: Final = "references"
_LINK_METHODS: Final = ("wikilink", "markdown link")
PAGE_KIND: Final = "page"
"""What a page of docs, or a section of one, is in the index."""
_LONGEST_SECTION: Final = 100_000
"""Characters of a section that are found by their words."""


def _known_pages(db: Database | None) -> dict[str, str]:
    """Path → stamp of every page of docs, as it was read."""
    return dict(db.rows("SELECT path, stamp FROM page WHERE authored = 0")) if db is not None else {}


def _sync_pages(
    ws: Workspace, db: Database, records: Sequence[Record], gone: Sequence[str], listed: Mapping[str, str]
) -> None:
    """Brings pages and their links up to what files say. Inside a transaction.

    `records`: those of authored files that were read again, their own links already in the graph; `gone`: paths of
    authored files that are no more; `listed`: pages of docs and their stamps, as they are now.
    """
    before = _known_pages(db)
    fresh = [path for path, stamp in listed.items() if not stamp or before.get(path) != stamp]
    vanished = sorted({*gone, *(before.keys() - listed.keys())})
    db.many("DELETE FROM page WHERE path = ?", [(path,) for path in vanished])
    written = [record for record in records if record.path]
    for record in written:
        kind = ws.kinds[record.kind]
        some = "[[" in record.body or "](" in record.body
        text = parse_page(record.path, _page_bytes(ws, record.path)) if some else None
        _write_page_row(db, ws, Page(record.path, _record_node(kind, record.id), record.id, record.title), "", text)
    texts = {path: parse_page(path, _page_bytes(ws, path)) for path in fresh}
    for path, text in texts.items():
        _write_page_row(db, ws, Page(path, f"file:{path}", "", text.title), listed[path], text)
    _index_sections(db, texts, sorted(before.keys() - listed.keys()))
    _resolve_links(ws, db, {record.path: record for record in written}, sorted(before.keys() - listed.keys()))


def _page_bytes(ws: Workspace, path: str) -> bytes:
    try:
        return read_small(ws.root / path, within=ws.root, most=MOST_PAGE_BYTES) or b""
    except UsageProblem:
        return b""


def _write_page_row(db: Database, ws: Workspace, page: Page, stamp: str, text: PageText | None) -> None:
    """The row of a page; one with an id is a record."""
    found = zip(_LINK_METHODS, (text.links, text.files) if text else (), strict=False)
    links = json.dumps([_link_row(one, how) for how, some in found for one in some])
    old = db.row("SELECT leads FROM page WHERE path = ?", (page.path,))
    leads = old[0] if old else "[]"  # what the graph still holds of it
    title = redact_text(page.title)
    row = (page.path, int(bool(page.id)), stamp, page.node, page.id, title, _modified_at(ws, page.path), links, leads)
    db.execute("DELETE FROM page WHERE path = ?", (page.path,))
    db.execute(
        "INSERT INTO page (path, authored, stamp, node, id, title, changed, links, leads)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )


def _link_row(one: Wikilink, how: str) -> list[Any]:
    return [redact_text(one.target), redact_text(one.shown), one.line, one.column, how]


def _modified_at(ws: Workspace, path: str) -> str:
    try:
        seconds = (ws.root / path).lstat().st_mtime
    except OSError:
        return ""
    return datetime.fromtimestamp(max(0, min(seconds, 253402300799)), UTC).isoformat(timespec="microseconds")


def _index_sections(db: Database, texts: Mapping[str, PageText], gone: Sequence[str]) -> None:
    """The sections of pages of docs, and their words, so that each is found by its own."""
    from kl_hooks.index import index

    batch: dict[str, list[index.Document]] = {path: [] for path in gone}
    batch |= {path: _section_documents(path, text) for path, text in texts.items()}
    if not batch:
        return
    db.many("DELETE FROM chunk WHERE path = ?", [(path,) for path in batch])
    rows = [
        (path, number, section_node(path, one), json.dumps([redact_text(word) for word in (*one.around, one.title)]),
         one.line, one.end_line)
        for path, text in texts.items() for number, one in enumerate(text.sections)
    ]  # fmt: skip
    db.many("INSERT INTO chunk (path, number, node, heading, line, end_line) VALUES (?, ?, ?, ?, ?, ?)", rows)
    index.replace_many(db, batch)


def section_node(path: str, section: PageSection) -> str:
    """The Id of a section in the graph; the first one is the page."""
    return f"file:{path}#{section.anchor}" if section.anchor else f"file:{path}"


def _section_documents(path: str, text: PageText) -> list[index.Document]:
    from kl_hooks.index import index

    def document(one: PageSection) -> index.Document:
        title = " › ".join((text.title, *one.around, one.title) if one.anchor else (text.title,))
        body = redact(one.text[:_LONGEST_SECTION])
        return index.Document(
            section_node(path, one), PAGE_KIND, path, one.line, redact(title), body, name=redact(one.title)
        )

    return [document(one) for one in text.sections]


def _resolve_links(ws: Workspace, db: Database, read: Mapping[str, Record], gone: Sequence[str]) -> None:
    """Resolves every link again, since a new title may be what an old link meant; writes those that lead elsewhere now.

    The links of an authored file stand beside those of its record's fields, under one owner; files in `read` were just
    written without them.
    """
    from kl_hooks.graph import links

    prefixes = {one.prefix: one.node for one in ws.kinds.values()}
    batch: dict[str, list[Link]] = {path: [] for path in gone}
    linking = db.rows("SELECT path, authored, node, links, leads FROM page WHERE links <> '[]' OR leads <> '[]'")
    names = _page_names(db) if linking else PageNames(())
    for path, authored, source, written, old in linking:
        found = (
            (link_target(ws, db, names, target, how), line, how) for target, _, line, _, how in json.loads(written)
        )
        leads = [[to, line, how] for to, line, how in found if to]
        if json.dumps(leads) == old and path not in read:
            continue
        db.execute("UPDATE page SET leads = ? WHERE path = ?", (json.dumps(leads), path))
        own = [Link(source, LINK_RELATION, to, path, line, how) for to, line, how in leads]
        if authored:
            record = read.get(path)
            if record is None:
                row = db.row(f"SELECT {repository.AUTHORED_COLUMNS} FROM authored WHERE path = ?", (path,))
                record = repository.record_of_file_row(row) if row else None
            if record is not None:
                own += _record_links(ws.kinds[record.kind], record, prefixes)
        batch[path] = own
    if batch:
        links.replace_many(db, batch)


def _page_names(db: Database) -> PageNames:
    """The names of all pages."""
    return PageNames(Page(*row) for row in db.rows("SELECT path, node, id, title FROM page"))


def link_target(ws: Workspace, db: Database, names: PageNames, target: str, how: str) -> str:
    """The Id that a link leads to; empty where it leads nowhere, or where nobody can tell."""
    found = names.find(target)
    if found:
        return found[0].node if len(found) == 1 else ""
    if how == _LINK_METHODS[1]:
        return f"file:{target}" if (ws.root / target).exists() else ""
    row = db.row("SELECT id FROM documents WHERE owner = ?", (f"record:{target}",))
    return str(row[0]) if row else ""


_KINDS: Final = "kinds"
_CHANGE: Final = "change"
_READER: Final = ("pages", "no secrets", "chunks", "the archive governs nothing")
"""How a file is taken in beside its fields: where that changes, every file is read again."""


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What catching up found."""

    read: int = 0
    """Files that were read."""
    problems: tuple[Problem, ...] = ()
    """Everything wrong in authored files, ids that two files share among it."""
    trouble: str = ""
    """Why graph and index could not be brought up to date; empty: they could."""


_FAILURES: dict[Path, str] = {}
"""Database → why it could not be brought up to date the last time that this process tried."""


def sync(ws: Workspace, only: Sequence[str] = ()) -> SyncResult:
    """Brings graph and index up to the authored files and the rows of records; writes nothing if they are already.

    `only`: names of kinds; whoever asks for these alone need not wait for a look at the others and at the pages.
    A file that can't be read keeps what it said last, and is told as a problem; the others go on.
    """
    if not ws.initialised and not ws.state.directory.exists():
        return SyncResult()
    try:
        found = _sync(ws, only)
    except (EnvironmentProblem, OSError) as problem:
        found = SyncResult(trouble=str(problem))
    _FAILURES[ws.state.graph] = found.trouble
    return found


def last_sync(ws: Workspace) -> SyncResult:
    """What the last catching up of this process left, without doing it again."""
    with ws.store.reading("graph") as db:
        return SyncResult(0, _stored_problems(db), _FAILURES.get(ws.state.graph, ""))


def _sync(ws: Workspace, only: Sequence[str]) -> SyncResult:
    shape = _kinds_digest(ws.kinds)
    with ws.store.reading("graph") as db:
        whole = not only or not _is_read_with(db, shape)
        kinds = ws.kinds if whole else {name: ws.kinds[name] for name in only if name in ws.kinds}
        listed = authored_files(ws.root, kinds, ws.clock.now() * 1000)
        known, cursor = _known_files(db, shape, kinds), _cursor(db) if _is_read_with(db, shape) else 0
        changed, newest = _changed_rows(ws, cursor)
        pages = docs_pages(ws) if whole else _known_pages(db)
        same = known == listed and newest == cursor and _known_pages(db) == pages
        if same and "" not in listed.values() and "" not in pages.values():
            return SyncResult(0, _stored_problems(db))
    if not listed and not known and not changed and not pages:
        return SyncResult()
    with ws.store.writing("graph", "kl (taking in records)") as db, db.transaction():
        known = _known_files(db, shape, kinds) or {}
        if not _is_read_with(db, shape):
            db.execute("UPDATE page SET stamp = '' WHERE authored = 0")
        fresh = sorted(path for path, stamp in listed.items() if not stamp or known.get(path) != stamp)
        taken = [record for path in fresh if (record := _read_file(ws, db, path, listed[path])) is not None]
        rested = [record for record, rests in changed if rests == "state" and record.kind in ws.kinds]
        gone = [_owner(record) for record, rests in changed if rests != "state" or record.kind not in ws.kinds]
        vanished = sorted(known.keys() - listed.keys())
        db.many("DELETE FROM authored WHERE path = ?", [(path,) for path in vanished])
        _index_records(ws, db, [*taken, *rested], [*vanished, *gone])
        _sync_pages(ws, db, taken, vanished, pages)
        for name, value in ((_KINDS, shape), (_CHANGE, str(newest))):
            db.execute("DELETE FROM authored_from WHERE name = ?", (name,))
            db.execute("INSERT INTO authored_from (name, value) VALUES (?, ?)", (name, value))
        return SyncResult(len(fresh), _stored_problems(db))


def _kinds_digest(kinds: Mapping[str, Kind]) -> str:
    """Other kinds, another reading: everything is read again."""
    return hashlib.sha256(
        repr([_READER] + [(k.name, k.plural, k.prefix, k.all_fields, k.statuses) for k in kinds.values()]).encode()
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
        sql = f"SELECT {repository.RECORD_COLUMNS}, rests FROM record WHERE change > ? ORDER BY change"
        return [(repository.record_of_row(row[:3]), row[3]) for row in db.rows(sql, (after,))], newest


def _is_read_with(db: Database | None, shape: str) -> bool:
    """True if files were read by these very kinds."""
    return db is not None and db.row("SELECT value FROM authored_from WHERE name = ?", (_KINDS,)) == (shape,)


def _known_files(db: Database | None, shape: str, kinds: Mapping[str, Kind]) -> dict[str, str] | None:
    """Path → stamp of the files of these kinds, as they were read; None where nothing of it can be used."""
    if db is None:
        return None
    if not _is_read_with(db, shape):
        return dict.fromkeys((path for (path,) in db.rows("SELECT path FROM authored")), "")
    return dict(db.rows(f"SELECT path, stamp FROM authored WHERE kind IN ({placeholders(kinds)})", tuple(kinds)))


def _read_file(ws: Workspace, db: Database, path: str, stamp: str) -> Record | None:
    """Reads one file and keeps what it says; the record that is to be found by it, the last good one if need be."""
    kind = kind_of_path(path, ws.kinds)
    if kind is None:
        return None
    try:
        data = read_small(ws.root / path, within=ws.root) or b""
        found = None
    except UsageProblem as problem:
        data, found = b"", ParsedDocument(None, (Problem(path, 0, 0, problem.reason, problem.hint),))
    digest = hashlib.sha256(data[: MAX_BYTES + 1]).hexdigest()
    old = db.row(f"SELECT {repository.AUTHORED_COLUMNS} FROM authored WHERE path = ?", (path,))
    found = found or read_document(kind, path, data)
    record = found.record or _last_good_version(
        ws, kind, path, repository.record_of_file_row(old) if old and old[2] else None
    )
    record = redact_record(record) if record else None
    problems = [redact_problem(one) for one in found.problems]
    _write_file_row(db, (path, kind.name, int("/archive/" in path), stamp, digest), record, problems)
    return record


def _last_good_version(ws: Workspace, kind: Kind, path: str, known: Record | None) -> Record | None:
    """What the file said before: our side of an unfinished merge, else what we know of it, else what was committed."""
    return _version_in_git(ws, kind, path, ":2") or known or _version_in_git(ws, kind, path, "HEAD")


def _version_in_git(ws: Workspace, kind: Kind, path: str, place: str) -> Record | None:
    from kl_hooks.git.repository import git_in
    from kl_hooks.git.run import GitFailed

    if ws.repo is None:
        return None
    try:
        return read_document(kind, path, git_in(ws.repo, "cat-file", "blob", f"{place}:{path}")).record
    except GitFailed:
        return None


def _write_file_row(db: Database, file: tuple[Any, ...], record: Record | None, problems: Sequence[Problem]) -> None:
    """The row of a file; `file`: path, kind, archived, stamp, digest."""
    error = json.dumps([[p.path, p.line, p.column, p.message, p.hint] for p in problems])
    rest = json.dumps({"text": record.body, "lines": dict(record.lines)} if record else {})
    seen = repository.shared_columns(record) if record else ("", "", "", "", None, "{}")
    db.execute("DELETE FROM authored WHERE path = ?", file[:1])
    db.execute(
        "INSERT INTO authored (path, kind, archived, stamp, digest, error, rest, id, status, title, tags, authority,"
        " expires, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*file, error, rest, record.id if record else "", *seen),
    )


def _index_records(ws: Workspace, db: Database, records: Sequence[Record], gone: Sequence[str]) -> None:
    """Links and words of these records from now on; none for what is gone."""
    from kl_hooks.graph import links
    from kl_hooks.index import index

    nodes = {one.prefix: one.node for one in ws.kinds.values()}
    none: dict[str, list[Any]] = {place: [] for place in gone}
    links.replace_many(db, none | {_owner(r): list(_record_links(ws.kinds[r.kind], r, nodes)) for r in records})
    index.replace_many(db, none | {_owner(r): [_search_document(ws.kinds[r.kind], r)] for r in records})


def _stored_problems(db: Database | None) -> tuple[Problem, ...]:
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
    found += [_duplicate_id(kind, identifier, some) for (kind, identifier), some in places.items() if len(some) > 1]
    return tuple(sorted(found))


def _duplicate_id(kind: str, identifier: str, paths: Sequence[str]) -> Problem:
    """Two branches, or two people, took the same id."""
    hint = f"Give one of them a new id: kl {kind} renumber {paths[-1]}"
    return Problem(paths[-1], 1, 0, f"{identifier} is the id of {', '.join(paths[:-1])} too.", hint)
