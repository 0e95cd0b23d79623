"""The table of pages, in the graph database: derived, made again whenever it is gone."""

from __future__ import annotations

from typing import Final

PAGES: Final = """
CREATE TABLE page (
    -- Every page: authored files, and those of the docs folder.
    path TEXT PRIMARY KEY,
    authored INTEGER NOT NULL,    -- 1: an authored file, whose own table says when it changed; 0: a page of docs
    stamp TEXT NOT NULL,          -- of a page of docs: size, times and number of the file when it was read
    node TEXT NOT NULL,           -- its Id in the graph
    id TEXT NOT NULL,             -- of a record: its id
    title TEXT NOT NULL,
    changed TEXT NOT NULL,        -- when it last changed, ISO 8601: newest first
    links TEXT NOT NULL,          -- JSON: [target, shown, line, column] of each link, as written
    leads TEXT NOT NULL           -- JSON: [node, line] of each link that leads to one page
);
CREATE INDEX page_id ON page (id);
"""
