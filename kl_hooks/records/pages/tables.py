"""The tables of pages and their sections, in the graph database: derived, made again whenever they are gone."""

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

CHUNKS: Final = """
CREATE TABLE chunk (
    -- A page of docs by its headings: one row for what precedes them, one for each. Records are found whole.
    path TEXT NOT NULL,
    number INTEGER NOT NULL,      -- from 0, in the order of the file
    node TEXT NOT NULL,           -- its Id in the graph: file:docs/x.md, then file:docs/x.md#getting-started
    heading TEXT NOT NULL,        -- JSON: the headings that it is under and its own, outermost first
    line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    PRIMARY KEY (path, number)
) WITHOUT ROWID;
CREATE INDEX chunk_node ON chunk (node);
"""
