"""The tables of the index, in the database `graph`: derived, so that they may be thrown away and built again."""

from __future__ import annotations

from typing import Final

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

TOKENIZER: Final = "porter unicode61 tokenchars '_'"
"""`_` belongs to a word, so that a whole identifier is a word; its parts are words beside it. SQLite's own Porter
stemmer folds inflections (`wrappers` and `wrapper` are one term): it costs no Python and exists wherever FTS5 does."""

FULL_TEXT: Final = (
    # Made on first need and not as a step of the schema: a SQLite without FTS5 must still open the database.
    "DROP TABLE IF EXISTS documents_words",
    "DROP TABLE IF EXISTS documents_text",
    f"""CREATE VIRTUAL TABLE documents_text USING fts5(
        name, parts, title, place, body,
        content='documents', content_rowid='seq', tokenize="{TOKENIZER}"
    )""",
    "CREATE VIRTUAL TABLE documents_words USING fts5vocab('documents_text', 'row')",
)
WEIGHTS: Final = (10.0, 6.0, 4.0, 2.0, 1.0)
"""What a hit counts in name, parts, title, place, body."""
