"""The hooks of `code`: its tables, and the scanner for Python.

The tables are in the database `graph`: derived, so that they may be thrown away and built again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.hookspecs import Scanner, Schema, hookimpl, schema_hook

TABLES: Final = """
CREATE TABLE facts (
    -- What a scanner read in a content, whichever file and module it was: once read, never again. Compressed JSON.
    blob TEXT NOT NULL,          -- git's id of the content
    scanner TEXT NOT NULL,       -- the scanner's version
    error TEXT NOT NULL,         -- "line:column: reason", or empty; as it is
    imports BLOB NOT NULL,       -- see code/scanner/python.py
    symbols BLOB NOT NULL,       -- [symbols, words, decorators, text], Ids for a module called "_"
    uses BLOB NOT NULL,
    outline BLOB NOT NULL,
    names BLOB NOT NULL,         -- every identifier in imports, uses and outline, between spaces
    PRIMARY KEY (blob, scanner)
);
CREATE TABLE files (
    -- The files of the work tree as the graph knows them.
    number INTEGER PRIMARY KEY,  -- by which its symbols name it
    path TEXT NOT NULL UNIQUE,
    blob TEXT NOT NULL,
    scanner TEXT NOT NULL,
    module TEXT NOT NULL,        -- the name its symbols stand under
    error TEXT NOT NULL          -- why it has no symbols, or empty
);
CREATE INDEX files_module ON files (module);
CREATE INDEX files_error ON files (path) WHERE error <> '';
CREATE TABLE symbol_rows (
    -- What these files define; a file that could not be read defines nothing.
    file INTEGER NOT NULL,
    place INTEGER NOT NULL,      -- in the order of the scanner; tests come last
    sort TEXT NOT NULL,          -- what is before the colon of its Id
    outer TEXT NOT NULL,         -- what its Id has between the module (of a test: the path) and the name
    name TEXT NOT NULL,          -- its last part, by which people look for it
    line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    signature TEXT NOT NULL,     -- where it starts as one of HEADS, a character stands for head and name
    decorators TEXT NOT NULL,    -- one a line, as written
    doc TEXT NOT NULL,           -- first line of the docstring
    content_hash BLOB NOT NULL,  -- the bytes of the hexadecimal text
    PRIMARY KEY (file, place)
) WITHOUT ROWID;
CREATE INDEX symbol_rows_name ON symbol_rows (name);
CREATE TABLE naming (
    -- What the names of the modules were decided by: names that somebody might import, and whether somebody does.
    name TEXT PRIMARY KEY,
    asked_for INTEGER NOT NULL       -- 0, 1
) WITHOUT ROWID;
CREATE TABLE said (
    -- Every identifier that a file says, apart from the rest of its facts.
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    names TEXT NOT NULL          -- as in facts
);
CREATE TABLE said_by (
    -- Which files say a name: the numbers of those that say any name of a class of names, see code/name_index.py.
    bucket INTEGER PRIMARY KEY,
    files TEXT NOT NULL
);
CREATE TABLE listed (
    -- The files of the work tree again, many to a row: one comparison tells that all of them are as they were.
    first TEXT PRIMARY KEY,      -- the least path that may be in this row; empty in the first one
    files INTEGER NOT NULL,      -- source files among the entries
    stamp TEXT NOT NULL,         -- another one whenever the row is written
    entries TEXT NOT NULL        -- see code/file_index.py
);
CREATE TABLE marks (
    -- The files that marked a project when the names of modules were last decided.
    path TEXT PRIMARY KEY
) WITHOUT ROWID;
CREATE TABLE consulted (
    -- What the links of a file depend on, see code/linker.py.
    path TEXT PRIMARY KEY,
    keys BLOB NOT NULL           -- four bytes for each
) WITHOUT ROWID;
"""

HEADS: Final = {"def ": "\1", "class ": "\2", "async def ": "\3", "": "\4"}
"""How signatures start before the name → the character that is stored for both.

Names, heads and hashes stored once are 0.16 of the size of the source (Django 5.2).
"""


CODE: Final = Schema("code", "graph", (TABLES,), before=7)
"""Facts by content, files, symbols, and what modules are named by."""

kl_schema = schema_hook(CODE)


@hookimpl
def kl_scanners() -> Sequence[Scanner]:
    """Python, by the standard library's parser."""
    # hooks are loaded at every start: what they need is imported when they are called (ADR-0024)
    from kl_hooks.code.languages import own_scanners

    return own_scanners()
