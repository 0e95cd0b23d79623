"""The table of links, in the database `graph`: derived, so that it may be thrown away and built again."""

from __future__ import annotations

from typing import Final

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
