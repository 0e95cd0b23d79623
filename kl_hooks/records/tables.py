"""The tables of records: rows of their own in the database `kl`, what authored files say in the database `graph`."""

from __future__ import annotations

from typing import Final

RECORDS: Final = """
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

AUTHORED: Final = """
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
