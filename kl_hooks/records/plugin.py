"""The hooks of `records`: its tables, its retriever and its maintenance policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.hookspecs import Policy, Retriever, Schema, Uninstaller, hookimpl, schema_hook

_RECORDS: Final = """
CREATE TABLE record (
    -- Records at home in the state. One that became a file, or was deleted, keeps its row: its id is never used again.
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    tags TEXT NOT NULL,           -- between spaces: ' parser speed '
    authority TEXT NOT NULL,
    made_at TEXT NOT NULL,        -- ISO 8601, UTC
    changed_at TEXT NOT NULL,
    expires TEXT,                 -- the last moment it holds, ISO 8601, UTC; null: it never ends
    rests TEXT NOT NULL,          -- state: here; file: in an authored file; gone: deleted
    change INTEGER NOT NULL,      -- number of the last change of any record: what reads on from there misses none
    body TEXT NOT NULL            -- canonical JSON: field → value
);
CREATE INDEX record_kind ON record (kind, status);
CREATE INDEX record_change ON record (change);
CREATE TABLE record_version (
    -- What a record said before each change.
    id TEXT NOT NULL,
    version INTEGER NOT NULL,     -- from 1
    until TEXT NOT NULL,          -- when it was changed
    how TEXT NOT NULL,            -- the verb
    body TEXT NOT NULL,
    PRIMARY KEY (id, version)
);
CREATE TABLE record_event (
    -- What happened to records, append-only. Every count is a fold over it.
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL,             -- ISO 8601, UTC
    name TEXT NOT NULL,           -- created, injected, reinforced, reviewed, outcome, …
    record TEXT NOT NULL,
    session TEXT NOT NULL,        -- who did it, or in which session; empty: unknown
    body TEXT NOT NULL            -- canonical JSON
);
CREATE INDEX record_event_record ON record_event (record);
CREATE TABLE record_number (
    -- The highest number that any record of a prefix ever had here.
    prefix TEXT PRIMARY KEY,
    highest INTEGER NOT NULL
);
"""

_AUTHORED: Final = """
CREATE TABLE authored (
    -- What each authored file says; of one that can't be read any more, what it said last.
    path TEXT PRIMARY KEY,
    id TEXT NOT NULL,             -- empty: it never could be read
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    tags TEXT NOT NULL,
    authority TEXT NOT NULL,
    expires TEXT,
    archived INTEGER NOT NULL,
    stamp TEXT NOT NULL,          -- size, times and number of the file when it was read
    digest TEXT NOT NULL,         -- sha256 of its content
    error TEXT NOT NULL,          -- JSON list of problems; '[]': none
    body TEXT NOT NULL,           -- canonical JSON: field → value
    rest TEXT NOT NULL            -- JSON: Markdown, lines
);
CREATE INDEX authored_id ON authored (id);
CREATE INDEX authored_kind ON authored (kind, status);
CREATE TABLE authored_from (
    -- How far the records of the state are in this index, and by which kinds files were read.
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
"""


_PAGES: Final = """
CREATE TABLE page (
    -- Every page: authored files, and those of the docs folder.
    path TEXT PRIMARY KEY,
    authored INTEGER NOT NULL,    -- 1: an authored file, whose own table says when it changed; 0: a page of docs
    stamp TEXT NOT NULL,          -- of a page of docs: size, times and number of the file when it was read
    node TEXT NOT NULL,           -- its Id in the graph
    id TEXT NOT NULL,             -- of a record: its id
    title TEXT NOT NULL,
    changed TEXT NOT NULL,        -- when it last changed, ISO 8601: newest first
    links TEXT NOT NULL,          -- JSON: [target, shown, line, column] of each link, as written
    leads TEXT NOT NULL           -- JSON: [node, line] of each link that leads to one page
);
CREATE INDEX page_id ON page (id);
"""

_CHUNKS: Final = """
CREATE TABLE chunk (
    -- A page of docs by its headings: one row for what precedes them, one for each. Records are found whole.
    path TEXT NOT NULL,
    number INTEGER NOT NULL,      -- from 0, in the order of the file
    node TEXT NOT NULL,           -- its Id in the graph: file:docs/x.md, then file:docs/x.md#getting-started
    heading TEXT NOT NULL,        -- JSON: the headings that it is under and its own, outermost first
    line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    PRIMARY KEY (path, number)
) WITHOUT ROWID;
CREATE INDEX chunk_node ON chunk (node);
"""


kl_schema = schema_hook(
    Schema("records", "kl", (_RECORDS,), append_only=("record_event",)),
    Schema("records", "graph", (_AUTHORED, _PAGES, _CHUNKS)),
)


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    from kl_hooks.records.retrieval import find_records

    return [Retriever("records", 120, find_records)]


@hookimpl
def kl_policies() -> Sequence[Policy]:
    from kl_hooks.records.retention import policies

    return policies()


@hookimpl
def kl_uninstallers() -> Sequence[Uninstaller]:
    from kl_hooks.records.repository import authored_folder

    return [Uninstaller("records", authored_folder)]
