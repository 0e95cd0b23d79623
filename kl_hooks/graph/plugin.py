"""The hook of `graph`: its tables, in the database `graph`. They are derived and may be thrown away."""

from __future__ import annotations

from typing import Final

from kl_hooks.hookspecs import Schema, hookimpl

LINKS: Final = """
CREATE TABLE links (
    -- One row for each way that one thing hangs on another, at the place where it says so.
    source TEXT NOT NULL,         -- Id of what depends, defines, imports …
    relation TEXT NOT NULL,       -- defines, imports, inherits, calls, verified_by …
    target TEXT NOT NULL,         -- Id of what it depends on; need not exist here
    path TEXT NOT NULL,           -- the file that says so: re-reading it replaces its rows and no others
    line INTEGER NOT NULL,
    method TEXT NOT NULL,         -- how it was found: import, lazy import …
    confidence INTEGER NOT NULL   -- percent
);
CREATE INDEX links_source ON links (source);
CREATE INDEX links_target ON links (target);
CREATE INDEX links_path ON links (path);
"""

PACKED: Final = """
DROP TABLE links;
CREATE TABLE link_names (
    -- Every text that a link holds (Ids, relations, methods), once.
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
);
CREATE TABLE link_owners (
    -- All links that one file says: re-reading it replaces this row and no other.
    owner INTEGER PRIMARY KEY,    -- name of its path
    count INTEGER NOT NULL,
    packed BLOB NOT NULL          -- see graph/packing.py
);
CREATE TABLE link_ends (
    -- Which owners have links from or to a name.
    name INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    PRIMARY KEY (name, owner)
) WITHOUT ROWID;
CREATE INDEX link_ends_owner ON link_ends (owner);
"""


@hookimpl
def kl_schema() -> Schema:
    """The tables of links."""

    return Schema("graph", "graph", (LINKS, PACKED))
