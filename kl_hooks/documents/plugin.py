"""The hooks of `documents`: its tables and its retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.hookspecs import Retriever, Schema, hookimpl, schema_hook

_ADDED: Final = """
CREATE TABLE document_collection (
    -- Sets of added documents, and how these are cut.
    name TEXT PRIMARY KEY,
    strategy TEXT NOT NULL,
    chunk_size INTEGER NOT NULL,
    chunk_overlap INTEGER NOT NULL,
    status TEXT NOT NULL,        -- active, paused, archived
    made_at TEXT NOT NULL        -- ISO 8601, UTC
);
CREATE TABLE document_text (
    -- The texts of added documents; title, status and source are in their records.
    id TEXT PRIMARY KEY,         -- of the record
    collection TEXT NOT NULL,
    name TEXT NOT NULL,          -- where it was read
    checksum TEXT NOT NULL,      -- sha256 of the bytes that were read
    packed BLOB NOT NULL         -- redacted, UTF-8, zlib
);
"""

_CHUNKS: Final = """
CREATE TABLE document_files (
    -- Every document as it was cut: files of the repository, and added ones.
    document TEXT PRIMARY KEY,   -- path from the root, or ID of its record
    collection TEXT NOT NULL,
    blob TEXT NOT NULL,          -- git's ID of the content; of an added one sha256
    cut_by TEXT NOT NULL,        -- version and parameters of the chunking
    title TEXT NOT NULL,
    error TEXT NOT NULL,         -- why it has no chunks, or empty
    chunks INTEGER NOT NULL,
    size INTEGER NOT NULL        -- bytes
);
CREATE TABLE document_chunks (
    -- The passages of these documents. Their words are in the postings, under the document.
    id INTEGER PRIMARY KEY,
    document TEXT NOT NULL,
    place INTEGER NOT NULL,      -- from 0, in the order of the document
    heading TEXT NOT NULL,       -- JSON: headings that it is under, outermost first
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    text TEXT NOT NULL,          -- redacted
    text_hash TEXT NOT NULL      -- 16 hexadecimal digits of the sha256 of the text
);
CREATE UNIQUE INDEX document_chunks_place ON document_chunks (document, place);
CREATE TABLE document_names (
    -- The names in a chunk that look like code, by their last parts.
    name TEXT NOT NULL,
    chunk INTEGER NOT NULL,
    written TEXT NOT NULL,       -- the whole name, as written
    PRIMARY KEY (name, chunk, written)
) WITHOUT ROWID;
CREATE INDEX document_names_chunk ON document_names (chunk);
"""

_EMBEDDED: Final = """
CREATE INDEX document_chunks_hash ON document_chunks (text_hash);
CREATE TABLE document_embedded (
    -- One row where every chunk has a vector: then a search need not ask for each.
    state TEXT NOT NULL          -- model, number and size of the blocks of vectors
);
"""


kl_schema = schema_hook(
    Schema("documents", "kl", (_ADDED,)), Schema("documents", "graph", (_CHUNKS, _EMBEDDED))
)
"""Added documents and their collections; and chunks, which are derived."""


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    """`documents`: the passages that have words of the task; `graph`: those that name the code that
    it names.
    """
    # here: plugins are imported by every command that makes the manager, retrievers by few
    from kl_hooks.documents.retrieval import find_documents, find_linked

    return [Retriever("documents", 95, find_documents), Retriever("graph", 60, find_linked, rows=3)]


@hookimpl(trylast=True)
def kl_summarize(passages: Sequence[tuple[str, str]]) -> str:
    """Without a model the passages themselves are the answer."""
    from kl_hooks.documents.rounds import quoted

    return quoted(passages)
