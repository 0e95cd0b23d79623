"""The hooks of `index`: its tables, in the database `graph` (derived, may be thrown away), and its
embedders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.hookspecs import Schema, hookimpl, schema_hook

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Embedder
    from kl_hooks.workspace import Workspace

TABLES: Final = """
CREATE TABLE documents (
    -- What can be found by words and is no source: a record, a section of a page, a violation, a commit.
    owner TEXT NOT NULL,         -- what replaces it as a whole: the page or record it is in
    place INTEGER NOT NULL,      -- among the documents of its owner
    id TEXT NOT NULL,
    kind TEXT NOT NULL,          -- page, commit, the kind of a record …
    path TEXT NOT NULL,
    line INTEGER NOT NULL,
    title TEXT NOT NULL,         -- as shown
    words INTEGER NOT NULL,      -- how many it has
    PRIMARY KEY (owner, place)
) WITHOUT ROWID;
CREATE INDEX documents_id ON documents (id);
CREATE TABLE term_segments (
    -- The terms of some files, written together.
    segment INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,      -- number of its first document; none is ever used again
    docs INTEGER NOT NULL,       -- its documents, those of files that changed since among them
    files BLOB NOT NULL          -- which file has which documents, see index/postings.py
);
CREATE TABLE term_files (
    -- The documents of a file: one for each class, function and method, and one for the module.
    corpus INTEGER NOT NULL,     -- 0 source, 1 tests, examples and the like, 2 what is in `documents`
    path TEXT NOT NULL,          -- of what is no source: its owner
    segment INTEGER NOT NULL,
    first INTEGER NOT NULL,      -- number of its first document
    docs INTEGER NOT NULL,
    minor INTEGER NOT NULL,      -- documents after these that only a search looks at: fields
    places TEXT NOT NULL,        -- JSON: place of each one's symbol among those of the file
    lengths TEXT NOT NULL,       -- terms in each field, without the minor ones: numbers between spaces
    PRIMARY KEY (corpus, path)
) WITHOUT ROWID;
CREATE TABLE term_dead (
    -- Documents in a segment whose file has changed since.
    first INTEGER PRIMARY KEY,
    docs INTEGER NOT NULL
);
CREATE TABLE term_blocks (
    -- Where terms are, some terms to a block: see index/postings.py
    segment INTEGER NOT NULL,
    corpus INTEGER NOT NULL,
    term TEXT NOT NULL,          -- the first one
    packed BLOB NOT NULL,
    PRIMARY KEY (segment, corpus, term)
) WITHOUT ROWID;
CREATE TABLE term_totals (
    -- The files that there are, counted as they are written.
    corpus INTEGER PRIMARY KEY,
    files INTEGER NOT NULL,
    docs INTEGER NOT NULL,
    lengths TEXT NOT NULL        -- as in term_files
);
CREATE TABLE past_commits (
    -- What a commit says and touched: asked of git once. This table and the next two are for an earlier kl, which may
    -- share this database, alone: it counts only files of Python (`source_commits` and its neighbors: all languages).
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


_HISTORY: Final = """
CREATE TABLE source_commits (
    -- What a commit says and which source files it touched: asked of git once.
    sha TEXT NOT NULL,
    time INTEGER NOT NULL,       -- author's, seconds since 1970
    terms TEXT NOT NULL,         -- JSON: term of the message → how often
    changes TEXT NOT NULL,       -- JSON: [[path, path before a rename or empty], …]
    ends TEXT NOT NULL,          -- of the names of what counted as a source file, between spaces
    PRIMARY KEY (sha, ends)      -- who has other scanners asks again
) WITHOUT ROWID;
CREATE TABLE source_history (
    -- One row: the commits that HEAD has, newest first, and the files they touched by their names of today.
    head TEXT NOT NULL,
    ends TEXT NOT NULL,          -- as above
    packed BLOB NOT NULL         -- see index/history.py
);
CREATE TABLE source_history_terms (
    -- Which of these commits have a term in their message.
    term TEXT PRIMARY KEY,
    commits TEXT NOT NULL        -- number of the commit and how often it has the term, between spaces
) WITHOUT ROWID;
"""


_VECTORS: Final = """
CREATE TABLE vector_blocks (
    -- The vectors of some texts, of one model: see index/vectors.py
    model TEXT NOT NULL,         -- name and version of the embedder
    block INTEGER NOT NULL,
    size INTEGER NOT NULL,       -- how many vectors
    dimension INTEGER NOT NULL,
    hashes TEXT NOT NULL,        -- of their texts, each on a line
    vectors BLOB NOT NULL,       -- a scale of each (float32), then their numbers, a byte each
    PRIMARY KEY (model, block)
);
"""


# until step 5 the words were in an FTS5 table, which a SQLite without FTS5 can't even drop; until
# step 6 the files of a segment were JSON
INDEX: Final = Schema("index", "graph", (TABLES,), before=6)

kl_schema = schema_hook(
    INDEX, Schema("history", "graph", (_HISTORY,)), Schema("vectors", "graph", (_VECTORS,))
)
"""What can be found by words, the terms of it and of source, and past commits; and vectors."""


@hookimpl
def kl_embedder(workspace: Workspace) -> Embedder | None:
    """Return the embedder that the user's configuration names."""
    from kl_hooks.index.embedders import make_embedder

    return make_embedder(workspace.settings.embedder, workspace.environ)
