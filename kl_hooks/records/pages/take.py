"""Taking in pages: their titles and links into the graph database, as often as a file or a title changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.files import read_small
from kl_hooks.errors import UsageProblem
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import Link
from kl_hooks.records.hiding import hidden
from kl_hooks.records.links import links_of, node
from kl_hooks.records.pages.names import Names, Page
from kl_hooks.records.pages.read import MOST_BYTES, Section, Text, page_text
from kl_hooks.records.pages.wikilink import Wikilink
from kl_hooks.store.redact import redact

if TYPE_CHECKING:
    from kl_hooks.index import index
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

RELATION: Final = "references"
METHODS: Final = ("wikilink", "markdown link")
KIND: Final = "page"
"""What a page of docs, or a section of one, is in the index."""
MOST_TEXT: Final = 100_000
"""Characters of a section that are found by their words."""


def known(db: Database | None) -> dict[str, str]:
    """Path → stamp of every page of docs, as it was read."""
    return dict(db.rows("SELECT path, stamp FROM page WHERE authored = 0")) if db is not None else {}


def take(
    ws: Workspace, db: Database, records: Sequence[Record], gone: Sequence[str], listed: Mapping[str, str]
) -> None:
    """Brings pages and their links up to what files say. Inside a transaction.

    `records`: those of authored files that were read again, their own links already in the graph; `gone`: paths of
    authored files that are no more; `listed`: pages of docs and their stamps, as they are now.
    """
    before = known(db)
    fresh = [path for path, stamp in listed.items() if not stamp or before.get(path) != stamp]
    vanished = sorted({*gone, *(before.keys() - listed.keys())})
    db.many("DELETE FROM page WHERE path = ?", [(path,) for path in vanished])
    written = [record for record in records if record.path]
    for record in written:
        kind = ws.kinds[record.kind]
        some = "[[" in record.body or "](" in record.body
        text = page_text(record.path, _content(ws, record.path)) if some else None
        _put(db, ws, Page(record.path, node(kind, record.id), record.id, record.title), "", text)
    texts = {path: page_text(path, _content(ws, path)) for path in fresh}
    for path, text in texts.items():
        _put(db, ws, Page(path, f"file:{path}", "", text.title), listed[path], text)
    _find(db, texts, sorted(before.keys() - listed.keys()))
    _join(ws, db, {record.path: record for record in written}, sorted(before.keys() - listed.keys()))


def _content(ws: Workspace, path: str) -> bytes:
    try:
        return read_small(ws.root / path, within=ws.root, most=MOST_BYTES) or b""
    except UsageProblem:
        return b""


def _put(db: Database, ws: Workspace, page: Page, stamp: str, text: Text | None) -> None:
    """The row of a page; one with an id is a record."""
    found = zip(METHODS, (text.links, text.files) if text else (), strict=False)
    links = json.dumps([_link(one, how) for how, some in found for one in some])
    old = db.row("SELECT leads FROM page WHERE path = ?", (page.path,))
    leads = old[0] if old else "[]"  # what the graph still holds of it
    title = hidden(page.title)
    row = (page.path, int(bool(page.id)), stamp, page.node, page.id, title, _changed(ws, page.path), links, leads)
    db.execute("DELETE FROM page WHERE path = ?", (page.path,))
    db.execute(
        "INSERT INTO page (path, authored, stamp, node, id, title, changed, links, leads)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )


def _link(one: Wikilink, how: str) -> list[Any]:
    return [hidden(one.target), hidden(one.shown), one.line, one.column, how]


def _changed(ws: Workspace, path: str) -> str:
    try:
        seconds = (ws.root / path).lstat().st_mtime
    except OSError:
        return ""
    return datetime.fromtimestamp(max(0, min(seconds, 253402300799)), UTC).isoformat(timespec="microseconds")


def _find(db: Database, texts: Mapping[str, Text], gone: Sequence[str]) -> None:
    """The sections of pages of docs, and their words, so that each is found by its own."""
    from kl_hooks.index import index

    batch: dict[str, list[index.Document]] = {path: [] for path in gone}
    batch |= {path: _documents(path, text) for path, text in texts.items()}
    if not batch:
        return
    db.many("DELETE FROM chunk WHERE path = ?", [(path,) for path in batch])
    rows = [
        (path, number, node_of(path, one), json.dumps([hidden(word) for word in (*one.around, one.title)]),
         one.line, one.end_line)
        for path, text in texts.items() for number, one in enumerate(text.sections)
    ]  # fmt: skip
    db.many("INSERT INTO chunk (path, number, node, heading, line, end_line) VALUES (?, ?, ?, ?, ?, ?)", rows)
    index.replace_many(db, batch)


def node_of(path: str, section: Section) -> str:
    """The Id of a section in the graph; the first one is the page."""
    return f"file:{path}#{section.anchor}" if section.anchor else f"file:{path}"


def _documents(path: str, text: Text) -> list[index.Document]:
    from kl_hooks.index import index

    def document(one: Section) -> index.Document:
        title = " › ".join((text.title, *one.around, one.title) if one.anchor else (text.title,))
        body = redact(one.text[:MOST_TEXT])
        return index.Document(node_of(path, one), KIND, path, one.line, redact(title), body, name=redact(one.title))

    return [document(one) for one in text.sections]


def _join(ws: Workspace, db: Database, read: Mapping[str, Record], gone: Sequence[str]) -> None:
    """Resolves every link again, since a new title may be what an old link meant; writes those that lead elsewhere now.

    The links of an authored file stand beside those of its record's fields, under one owner; files in `read` were just
    written without them.
    """
    from kl_hooks.graph import links
    from kl_hooks.records import rows

    prefixes = {one.prefix: one.node for one in ws.kinds.values()}
    batch: dict[str, list[Link]] = {path: [] for path in gone}
    linking = db.rows("SELECT path, authored, node, links, leads FROM page WHERE links <> '[]' OR leads <> '[]'")
    names = names_of(db) if linking else Names(())
    for path, authored, source, written, old in linking:
        found = ((leads_to(ws, db, names, target, how), line, how) for target, _, line, _, how in json.loads(written))
        leads = [[to, line, how] for to, line, how in found if to]
        if json.dumps(leads) == old and path not in read:
            continue
        db.execute("UPDATE page SET leads = ? WHERE path = ?", (json.dumps(leads), path))
        own = [Link(source, RELATION, to, path, line, how) for to, line, how in leads]
        if authored:
            record = read.get(path)
            if record is None:
                row = db.row(f"SELECT {rows.AUTHORED} FROM authored WHERE path = ?", (path,))
                record = rows.from_file(row) if row else None
            if record is not None:
                own += links_of(ws.kinds[record.kind], record, prefixes)
        batch[path] = own
    if batch:
        links.replace_many(db, batch)


def names_of(db: Database) -> Names:
    """The names of all pages."""
    return Names(Page(*row) for row in db.rows("SELECT path, node, id, title FROM page"))


def leads_to(ws: Workspace, db: Database, names: Names, target: str, how: str) -> str:
    """The Id that a link leads to; empty where it leads nowhere, or where nobody can tell."""
    found = names.find(target)
    if found:
        return found[0].node if len(found) == 1 else ""
    if how == METHODS[1]:
        return f"file:{target}" if (ws.root / target).exists() else ""
    row = db.row("SELECT id FROM documents WHERE owner = ?", (f"record:{target}",))
    return str(row[0]) if row else ""
