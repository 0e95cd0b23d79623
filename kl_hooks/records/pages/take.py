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
from kl_hooks.records.pages.read import MOST_BYTES, Text, page_text
from kl_hooks.records.pages.wikilink import Wikilink

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

RELATION: Final = "references"
_METHOD: Final = "wikilink"
_KIND: Final = "page"


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
        some = "[[" in record.body
        found = page_text(record.path, _content(ws, record.path)).links if some else ()
        _put(db, ws, Page(record.path, node(kind, record.id), record.id, record.title), True, "", found)
    texts = {path: page_text(path, _content(ws, path)) for path in fresh}
    for path, text in texts.items():
        _put(db, ws, Page(path, f"file:{path}", "", text.title), False, listed[path], text.links)
    _find(db, texts, sorted(before.keys() - listed.keys()))
    _join(ws, db, {record.path: record for record in written}, sorted(before.keys() - listed.keys()))


def _content(ws: Workspace, path: str) -> bytes:
    try:
        return read_small(ws.root / path, within=ws.root, most=MOST_BYTES) or b""
    except UsageProblem:
        return b""


def _put(db: Database, ws: Workspace, page: Page, authored: bool, stamp: str, said: Sequence[Wikilink]) -> None:
    links = json.dumps([[hidden(one.target), hidden(one.shown), one.line, one.column] for one in said])
    old = db.row("SELECT leads FROM page WHERE path = ?", (page.path,))
    leads = old[0] if old else "[]"  # what the graph still holds of it
    title = hidden(page.title)
    row = (page.path, int(authored), stamp, page.node, page.id, title, _changed(ws, page.path), links, leads)
    db.execute("DELETE FROM page WHERE path = ?", (page.path,))
    db.execute(
        "INSERT INTO page (path, authored, stamp, node, id, title, changed, links, leads)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )


def _changed(ws: Workspace, path: str) -> str:
    try:
        seconds = (ws.root / path).lstat().st_mtime
    except OSError:
        return ""
    return datetime.fromtimestamp(max(0, min(seconds, 253402300799)), UTC).isoformat(timespec="microseconds")


def _find(db: Database, texts: Mapping[str, Text], gone: Sequence[str]) -> None:
    """The words of pages of docs, so that they are found by them."""
    from kl_hooks.index import index
    from kl_hooks.store.redact import redact

    batch: dict[str, list[Any]] = {path: [] for path in gone}
    for path, text in texts.items():
        body = redact(text.body[:100_000])
        batch[path] = [index.Document(f"file:{path}", _KIND, path, 1, redact(text.title), body)]
    if batch:
        index.replace_many(db, batch)


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
        leads = [[to, line] for target, _, line, _ in json.loads(written) if (to := leads_to(db, names, target))]
        if json.dumps(leads) == old and path not in read:
            continue
        db.execute("UPDATE page SET leads = ? WHERE path = ?", (json.dumps(leads), path))
        own = [Link(source, RELATION, to, path, line, _METHOD) for to, line in leads]
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


def leads_to(db: Database, names: Names, target: str) -> str:
    """The Id that a link leads to; empty where it leads nowhere, or where nobody can tell."""
    found = names.find(target)
    if found:
        return found[0].node if len(found) == 1 else ""
    row = db.row("SELECT id FROM documents WHERE owner = ?", (f"record:{target}",))
    return str(row[0]) if row else ""
