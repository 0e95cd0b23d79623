"""The hooks of `code`: its tables, and the scanner for Python.

The tables are in the database `graph`: derived, so that they may be thrown away and built again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.hookspecs import Scanner, Schema, hookimpl

CODE: Final = """
CREATE TABLE facts (
    -- What a scanner read in a content, whichever file and module it was: once read, never again.
    blob TEXT NOT NULL,          -- git's id of the content
    scanner TEXT NOT NULL,       -- the scanner's version
    error TEXT NOT NULL,         -- "line:column: reason", or empty
    imports TEXT NOT NULL,       -- JSON, see code/scan.py
    symbols TEXT NOT NULL,       -- JSON [symbols, words], Ids for a module called "_"
    PRIMARY KEY (blob, scanner)
);
CREATE TABLE files (
    -- The files of the work tree as the graph knows them.
    path TEXT PRIMARY KEY,
    blob TEXT NOT NULL,
    scanner TEXT NOT NULL,
    module TEXT NOT NULL,        -- the name its symbols stand under
    error TEXT NOT NULL          -- why it has no symbols, or empty
);
CREATE TABLE symbols (
    -- What these files define; a file that could not be read defines nothing.
    id TEXT NOT NULL,
    path TEXT NOT NULL,
    line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    signature TEXT NOT NULL,
    doc TEXT NOT NULL,           -- first line of the docstring
    content_hash TEXT NOT NULL
);
CREATE INDEX symbols_id ON symbols (id);
CREATE INDEX symbols_path ON symbols (path);
"""

# a new step and not another text of the first: a database that has run a step is never given it again
USES: Final = """
DROP TABLE facts;
DROP TABLE files;
DROP TABLE symbols;
CREATE TABLE facts (
    -- What a scanner read in a content, whichever file and module it was: once read, never again.
    blob TEXT NOT NULL,          -- git's id of the content
    scanner TEXT NOT NULL,       -- the scanner's version
    error TEXT NOT NULL,         -- "line:column: reason", or empty
    imports TEXT NOT NULL,       -- JSON, see code/scan.py
    symbols TEXT NOT NULL,       -- JSON [symbols, words, decorators], Ids for a module called "_"
    uses TEXT NOT NULL,          -- JSON, see code/uses.py
    outline TEXT NOT NULL,       -- JSON, see code/uses.py
    names TEXT NOT NULL,         -- every identifier in imports, uses and outline, between spaces
    PRIMARY KEY (blob, scanner)
);
CREATE TABLE files (
    -- The files of the work tree as the graph knows them.
    path TEXT PRIMARY KEY,
    blob TEXT NOT NULL,
    scanner TEXT NOT NULL,
    module TEXT NOT NULL,        -- the name its symbols stand under
    error TEXT NOT NULL          -- why it has no symbols, or empty
);
CREATE INDEX files_module ON files (module);
CREATE TABLE symbols (
    -- What these files define; a file that could not be read defines nothing.
    id TEXT NOT NULL,
    name TEXT NOT NULL,          -- its last part, by which people look for it
    path TEXT NOT NULL,
    line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    signature TEXT NOT NULL,
    decorators TEXT NOT NULL,    -- one a line, as written
    doc TEXT NOT NULL,           -- first line of the docstring
    content_hash TEXT NOT NULL
);
CREATE INDEX symbols_id ON symbols (id);
CREATE INDEX symbols_name ON symbols (name);
CREATE INDEX symbols_path ON symbols (path);
CREATE TABLE naming (
    -- What the names of the modules were decided by: names that somebody might import, and whether somebody does.
    name TEXT PRIMARY KEY,
    asked_for INTEGER NOT NULL       -- 0, 1; 2: the name is the path of a file that marks a project
) WITHOUT ROWID;
"""

MENTIONED: Final = """
CREATE TABLE said (
    -- Every identifier that a file says, apart from the rest of its facts: all files are asked at every change.
    path TEXT PRIMARY KEY,
    names TEXT NOT NULL          -- as in facts
) WITHOUT ROWID;
INSERT INTO said (path, names)
    SELECT f.path, x.names FROM files f JOIN facts x ON x.blob = f.blob AND x.scanner = f.scanner;
"""

# an empty blob is that of no file: the next update finds every file changed, and makes its rows anew
LISTED: Final = """
CREATE TABLE listed (
    -- The files of the work tree again, many to a row: one comparison tells that all of them are as they were.
    first TEXT PRIMARY KEY,      -- the least path that may be in this row; empty in the first one
    files INTEGER NOT NULL,      -- source files among the entries
    stamp TEXT NOT NULL,         -- another one whenever the row is written
    entries TEXT NOT NULL        -- see code/listed.py
);
CREATE INDEX files_error ON files (path) WHERE error <> '';
DROP TABLE said;
CREATE TABLE said (
    -- Every identifier that a file says, apart from the rest of its facts.
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    names TEXT NOT NULL          -- as in facts
);
CREATE TABLE said_by (
    -- Which files say a name: the numbers of those that say any name of a class of names, see code/said.py.
    bucket INTEGER PRIMARY KEY,
    files TEXT NOT NULL
);
CREATE TABLE marks (
    -- The files that marked a project when the names of modules were last decided.
    path TEXT PRIMARY KEY
) WITHOUT ROWID;
DELETE FROM naming;
UPDATE files SET blob = '';
"""

RENAMED: Final = """
DROP TABLE IF EXISTS renamed;
CREATE TABLE renamed (
    -- What modules have under another name than it bears where it is from, see code/reach.py.
    word TEXT NOT NULL,          -- the name it bears there; of a star import the module's
    key TEXT NOT NULL,           -- the name it has here; `*` for all that a star import brings
    path TEXT NOT NULL           -- the file that says so
);
CREATE INDEX renamed_word ON renamed (word);
CREATE INDEX renamed_path ON renamed (path);
DELETE FROM listed;
UPDATE files SET blob = '';
"""

CONSULTED: Final = """
DROP TABLE renamed;
CREATE TABLE consulted (
    -- What the links of a file depend on, see code/invalidation.py.
    path TEXT PRIMARY KEY,
    keys BLOB NOT NULL           -- four bytes for each
) WITHOUT ROWID;
DELETE FROM listed;
UPDATE files SET blob = '';
"""


@hookimpl
def kl_schema() -> Schema:
    """Facts by content, files, symbols, and what modules are named by."""

    return Schema("code", "graph", (CODE, USES, MENTIONED, LISTED, RENAMED, CONSULTED))


@hookimpl
def kl_scanners() -> Sequence[Scanner]:
    """Python, by the standard library's parser."""
    # hooks are loaded at every start: what they need is imported when they are called (ADR-0024)
    from kl_hooks.code.scanner.python import VERSION, imports_guarded, scan_guarded

    return [Scanner("python", (".py",), VERSION, scan_guarded, imports_guarded)]
