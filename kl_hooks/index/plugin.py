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

TERMS: Final = """
CREATE TABLE term_segments (
    -- The terms of some files, written together.
    segment INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,      -- number of its first document; none is ever used again
    docs INTEGER NOT NULL        -- its documents, those of files that changed since among them
);
CREATE TABLE term_files (
    -- The documents of a file: one for each class, function and method, and one for the module.
    path TEXT PRIMARY KEY,
    corpus INTEGER NOT NULL,     -- 0 source, 1 tests, examples and the like
    segment INTEGER NOT NULL,
    first INTEGER NOT NULL,      -- number of its first document
    places TEXT NOT NULL,        -- JSON: place of each one's symbol among those of the file
    docs INTEGER NOT NULL,
    lengths TEXT NOT NULL        -- terms in each field, of all of them: numbers between spaces
) WITHOUT ROWID;
CREATE TABLE term_postings (
    -- Where a term is: see index/postings.py
    segment INTEGER NOT NULL,
    corpus INTEGER NOT NULL,
    term TEXT NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (segment, corpus, term)
) WITHOUT ROWID;
"""

HISTORY: Final = """
CREATE TABLE past_commits (
    -- What a commit says and touched: asked of git once.
    sha TEXT PRIMARY KEY,
    time INTEGER NOT NULL,       -- author's, seconds since 1970
    terms TEXT NOT NULL,         -- JSON: term of the message → how often
    changes TEXT NOT NULL        -- JSON: [[path, path before a rename or empty], …]
) WITHOUT ROWID;
CREATE TABLE history_state (
    -- One row: the commits that HEAD has, newest first, and the files they touched by their names of today.
    head TEXT NOT NULL,
    packed BLOB NOT NULL         -- see index/history.py
);
CREATE TABLE history_terms (
    -- Which of these commits have a term in their message.
    term TEXT PRIMARY KEY,
    commits TEXT NOT NULL        -- number of the commit and how often it has the term, between spaces
) WITHOUT ROWID;
"""

# emptied, because what is there was not counted: the scanner has a new version, so every file is written again
TOTALS: Final = """
CREATE INDEX term_files_first ON term_files (first);
CREATE TABLE term_totals (
    -- The files that there are, counted as they are written.
    corpus INTEGER PRIMARY KEY,
    files INTEGER NOT NULL,
    docs INTEGER NOT NULL,
    lengths TEXT NOT NULL        -- as in term_files
);
DELETE FROM term_files;
DELETE FROM term_segments;
DELETE FROM term_postings;
"""


@hookimpl
def kl_schema() -> Schema:
    """The documents, what their full text is worth, the terms of source, and past commits."""
    return Schema("index", "graph", (DOCUMENTS, FOLDED, TERMS, HISTORY, TOTALS))
