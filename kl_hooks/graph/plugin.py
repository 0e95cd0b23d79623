"""The hook of `graph`: its tables, in the database `graph`. They are derived and may be thrown
away.
"""

from __future__ import annotations

from typing import Final

from kl_hooks.hookspecs import Schema, schema_hook

TABLES: Final = """
CREATE TABLE link_names (
    -- Every text that a link holds (Ids, relations, methods), once.
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    hash INTEGER NOT NULL         -- CRC-32 of the text, by which it is found
);
CREATE INDEX link_names_hash ON link_names (hash);
CREATE TABLE link_owners (
    -- All links that one file says: re-reading it replaces this row and no other.
    owner INTEGER PRIMARY KEY,    -- name of its path
    count INTEGER NOT NULL,
    packed BLOB NOT NULL          -- see graph/links.py
);
CREATE TABLE link_ends (
    -- Which owners have links from or to a name.
    name INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    PRIMARY KEY (name, owner)
) WITHOUT ROWID;
"""


LINKS: Final = Schema("graph", "graph", (TABLES,), before=3)

kl_schema = schema_hook(LINKS)
"""The tables of links."""
