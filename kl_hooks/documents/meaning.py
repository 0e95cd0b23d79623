"""Search by meaning: the passages and records nearest to a query, by the vectors of their texts.

Only prose has vectors. For code they lowered what a search finds among its first five from .771 to .746 (measured on
600 tasks of 15 repositories), so its part in a mixed search is by words alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from zlib import crc32

from kl_hooks.documents.indexing import Chunk, load_chunks
from kl_hooks.index.vectors import nearest, update_vectors

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

LEAST: Final = 0.2
"""Cosine from which a text is a match. Of the tuning questions of `bench.search_quality`, nine in ten answers reach it;
of all passages one in five does."""


def find_near(
    ws: Workspace, query: str, allowed: Collection[str], records: Sequence[Record], limit: int,
    progress: Callable[[int, int], object] | None = None,
) -> list[tuple[Chunk | Record, float]]:  # fmt: skip
    """Return (passage or record, cosine) of at most `limit` of `allowed` documents and these records, nearest first.

    What has no vector yet is embedded first: of every document, since vectors of texts that are not named are removed
    one day. EnvironmentProblem where there is no model, or it fails.
    """
    keys: dict[str, list[int]] = {}
    allowed_keys = set()
    with ws.store.reading("graph") as db:
        sql = """SELECT c.id, c.document, c.text_hash, c.heading, f.title
            FROM document_chunks c JOIN document_files f ON f.document = c.document"""
        for number, document, text_hash, heading, title in db.rows(sql) if db is not None else ():
            # the same text under another heading means something else; a checksum of 100,000 headings takes 60 ms
            key = f"{text_hash}:{crc32(f'{title}{heading}'.encode('utf-8', 'replace')):08x}"
            keys.setdefault(key, []).append(number)
            if document in allowed:
                allowed_keys.add(key)
    by_record = {f"record:{one.id}:{crc32(_record_text(one).encode('utf-8', 'replace')):08x}": one for one in records}

    def load(some: Sequence[str]) -> Mapping[str, str]:
        found = {key: _record_text(by_record[key]) for key in some if key in by_record}
        numbers = {keys[key][0]: key for key in some if key in keys}
        return found | {numbers[one.id]: _chunk_text(one) for one in load_chunks(ws, list(numbers))}

    update_vectors(ws, [*keys, *by_record], load, progress)
    found = nearest(ws, query, allowed_keys | by_record.keys(), limit, LEAST)
    chunks = {one.id: one for one in load_chunks(ws, [number for key, _ in found for number in keys.get(key, ())])}
    made: list[tuple[Chunk | Record, float]] = []
    for key, score in found:
        if key in by_record:
            made.append((by_record[key], score))
        made += [(chunks[n], score) for n in keys.get(key, ()) if n in chunks and chunks[n].document in allowed]
    return made[:limit]


def _chunk_text(one: Chunk) -> str:
    return "\n".join((" ".join((one.title, *one.heading)), one.text))


def _record_text(one: Record) -> str:
    return f"{one.title}\n{one.prose}"
