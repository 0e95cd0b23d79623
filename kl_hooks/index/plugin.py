"""The hook of `index`: its tables, in the database `graph`. They are derived and may be thrown away."""

from __future__ import annotations

from typing import Final

from kl_hooks.hookspecs import Schema, hookimpl

DOCUMENTS: Final = """
CREATE TABLE documents (
    -- One row for each thing that can be found by words.
    seq INTEGER PRIMARY KEY,   -- ties the row to its entry in the full text
    owner TEXT NOT NULL,       -- what replaces it as a whole: the file it stands in
    id TEXT NOT NULL,
    kind TEXT NOT NULL,        -- function, type, commit …
    path TEXT NOT NULL,
    line INTEGER NOT NULL,
    name TEXT NOT NULL,        -- last part of the id's name: feed_bytes
    parts TEXT NOT NULL,       -- that name split: feed bytes
    title TEXT NOT NULL,       -- as shown: a symbol's signature
    place TEXT NOT NULL,       -- words of the whole name and of the path
    body TEXT NOT NULL         -- what else it says, identifiers as they are and split
);
CREATE INDEX documents_owner ON documents (owner);
CREATE INDEX documents_id ON documents (id);
CREATE TABLE index_state (
    -- One row: what the full text over the documents is worth.
    full_text TEXT NOT NULL    -- none: not made; ready; stale: written by a SQLite that has no FTS5
);
INSERT INTO index_state (full_text) VALUES ('none');
"""

FOLDED: Final = """
-- From here on the full text folds inflections. Only marked here: a SQLite without FTS5 could not drop it.
UPDATE index_state SET full_text = 'stale' WHERE full_text = 'ready';
"""


@hookimpl
def kl_schema() -> Schema:
    """The documents, and what their full text is worth."""
    return Schema("index", "graph", (DOCUMENTS, FOLDED))
