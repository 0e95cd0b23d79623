"""Search by meaning: the passages and records nearest to a query, by the vectors of their texts.

Only prose has vectors. For code they lowered what a search finds among its first five from .771 to
.746 (measured on 600 tasks of 15 repositories), so its part in a mixed search is by words alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from zlib import crc32

from kl_hooks.documents.indexing import Chunk, load_chunks, sync_documents, visible_documents
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.index.vectors import cosines, nearest, update_vectors, vectors_state, without_vectors
from kl_hooks.records.pages import Page, PageLine, all_pages, read_page
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.store.database import chunks as some_at_once
from kl_hooks.store.database import placeholders

if TYPE_CHECKING:
    from kl_hooks.documents.indexing import Visibility
    from kl_hooks.model.record import Record
    from kl_hooks.store.database import Rows
    from kl_hooks.workspace import Workspace

LEAST: Final = 0.2
"""Cosine from which a text is a match. Of the tuning questions of `bench.search_quality`, nine in
ten answers reach it; of all passages one in five does."""


def find_near(
    ws: Workspace,
    query: str,
    allowed: Collection[str],
    records: Sequence[Record],
    limit: int,
    progress: Callable[[int, int], object] | None = None,
) -> list[tuple[Chunk | Record, float]]:
    """Return (passage or record, cosine) of at most `limit` of `allowed` documents and these
    records, nearest first.

    What has no vector yet is embedded first: of every document, since vectors of texts that are not
    named are removed one day. EnvironmentProblem where there is no model, or it fails.
    """
    by_record = {_record_key(record): record for record in records}
    _embed_missing(ws, by_record, progress)
    with ws.store.reading("graph") as db:
        # where all may be found, the nearest alone are looked up
        if db is None or db.rows("SELECT COUNT(*) FROM document_files") == [(len(allowed),)]:
            keys = None
        else:
            keys = {
                *by_record,
                *(key for key, _, document in _chunk_keys(db) if document in allowed),
            }
    asked = limit
    while True:  # vectors of texts that were removed may be among the nearest
        near = nearest(ws, query, keys, asked, LEAST)
        chunks = _chunks_of_keys(ws, [key for key, _ in near if key not in by_record])
        near_passages: list[tuple[Chunk | Record, float]] = []
        for key, score in near:
            if key in by_record:
                near_passages += [(by_record[key], score)]
            near_passages += [
                (chunk, score) for chunk in chunks.get(key, ()) if chunk.document in allowed
            ]
        if len(near_passages) >= limit or len(near) < asked:
            return near_passages[:limit]
        asked *= 4


def cosines_with(
    ws: Workspace, query: str, matches: Sequence[Chunk | Record]
) -> list[float | None]:
    """Return the cosine of each passage or record with a query; None where it has no vector, as
    before `find_near`. EnvironmentProblem as `find_near`.
    """
    numbers = [match.id for match in matches if isinstance(match, Chunk)]
    key_of_chunk = dict[int, str]()
    with ws.store.reading("graph") as db:
        for batch in some_at_once(numbers) if db is not None else ():
            rows = (
                _chunk_keys(db, f"WHERE c.id IN ({placeholders(batch)})", batch)
                if db is not None
                else ()
            )
            key_of_chunk |= {number: key for key, number, _ in rows}
    keys = [
        key_of_chunk.get(match.id, "") if isinstance(match, Chunk) else _record_key(match)
        for match in matches
    ]
    cosine_of = cosines(ws, query, set(keys))
    return [cosine_of.get(key) for key in keys]


def _record_key(record: Record) -> str:
    return f"record:{record.id}:{crc32(_record_text(record).encode('utf-8', 'replace')):08x}"


def _embed_missing(
    ws: Workspace,
    record_by_key: Mapping[str, Record],
    progress: Callable[[int, int], object] | None,
) -> None:
    """Embed the chunks and these records that have no vector. Where nothing changed since the last
    time, no chunk is looked at.
    """
    with ws.store.reading("graph") as db:
        are_chunks_embedded = db is not None and db.rows("SELECT state FROM document_embedded") == [
            (vectors_state(ws, db),)
        ]
        if db is not None and are_chunks_embedded and not without_vectors(ws, db, record_by_key):
            return
        chunk_id_by_key = (
            {key: number for key, number, _ in _chunk_keys(db)} if db is not None else {}
        )

    def load(wanted: Sequence[str]) -> Mapping[str, str]:
        texts_of_records = {
            key: _record_text(record_by_key[key]) for key in wanted if key in record_by_key
        }
        key_by_chunk_id = {chunk_id_by_key[key]: key for key in wanted if key in chunk_id_by_key}
        return texts_of_records | {
            key_by_chunk_id[chunk.id]: _chunk_text(chunk)
            for chunk in load_chunks(ws, list(key_by_chunk_id))
        }

    update_vectors(ws, [*chunk_id_by_key, *record_by_key], load, progress)
    # where the store is locked or read-only, the next search looks again
    with (
        suppress(EnvironmentProblem, OSError),
        ws.store.writing("graph", "kl (vectors)") as db,
        db.transaction(),
    ):
        db.execute("DELETE FROM document_embedded")
        # others may have written chunks, or removed vectors, meanwhile
        if not without_vectors(ws, db, {key for key, _, _ in _chunk_keys(db)}):
            db.execute("INSERT INTO document_embedded VALUES (?)", (vectors_state(ws, db),))


_KEYS: Final = """SELECT c.text_hash, c.heading, f.title, c.id, c.document
    FROM document_chunks c JOIN document_files f ON f.document = c.document"""


def _chunk_keys(
    db: Rows, condition: str = "", values: Sequence[str | int] = ()
) -> Iterator[tuple[str, int, str]]:
    """Yield (key, chunk, document) of every chunk; `condition`: of these only."""
    for text_hash, heading, title, number, document in db.rows(
        f"{_KEYS} {condition} ORDER BY c.id", values
    ):
        # the same text under another heading means something else; a checksum of 100,000 headings
        # takes 60 ms
        yield (
            f"{text_hash}:{crc32(f'{title}{heading}'.encode('utf-8', 'replace')):08x}",
            number,
            document,
        )


def _chunks_of_keys(ws: Workspace, keys: Sequence[str]) -> dict[str, list[Chunk]]:
    numbers = dict[int, str]()
    with ws.store.reading("graph") as db:
        for batch in some_at_once(keys) if db is not None else ():
            hashes = [key.partition(":")[0] for key in batch]
            rows = (
                _chunk_keys(db, f"WHERE c.text_hash IN ({placeholders(hashes)})", hashes)
                if db is not None
                else ()
            )
            numbers |= {number: key for key, number, _ in rows if key in batch}
    chunks_by_key: dict[str, list[Chunk]] = {}
    for chunk in load_chunks(ws, list(numbers)):
        chunks_by_key.setdefault(numbers[chunk.id], []).append(chunk)
    return chunks_by_key


def add_pages_near(
    ws: Workspace,
    page: Page,
    page_lines: Sequence[PageLine],
    least: int,
    may: Visibility | None = None,
) -> tuple[list[PageLine], str]:
    """Return (pages like a page by their words or by their meaning, the most alike first; why
    meaning took no part).

    `page_lines`: those alike by words. A page has the greater of both percents; by meaning 0 is the
    cosine that most texts reach, `LEAST`, and 100 that of equal ones. `least`: percent below which
    it is omitted.
    """
    line_by_path = {page_line.page.path: page_line for page_line in page_lines}
    sync_documents(ws)
    with ws.store.reading("graph") as db:
        pages = {
            other_page.path: other_page
            for other_page in all_pages(db)
            if other_page.path != page.path
        }
    documents = [document for document in visible_documents(ws, None, may) if document in pages]
    records = [
        record
        for record in list_records(ws, RecordFilter())
        if record.path in pages and (may is None or may.shows(record))
    ]
    try:
        near = find_near(
            ws,
            f"{page.title}\n{read_page(ws, page.path).body[:_BEGINNING]}",
            documents,
            records,
            _NEAREST,
        )
    except EnvironmentProblem as problem:
        return list(page_lines), f"by words only: {problem}"
    for source, cosine in near:
        if isinstance(source, Chunk):
            path = source.document
            line = source.first_line
        else:
            path = source.path
            line = 1
        percent = round(100 * (cosine - LEAST) / (1 - LEAST))
        if percent >= least and (path not in line_by_path or line_by_path[path].percent < percent):
            line_by_path[path] = PageLine(pages[path], line, "", percent)
    return sorted(line_by_path.values(), key=lambda line: (-line.percent, line.page.path)), ""


_BEGINNING: Final = 4_000
"""Characters of a page that state its subject to a model."""
_NEAREST: Final = 100
"""Passages that are looked at: a page has several."""


def _chunk_text(chunk: Chunk) -> str:
    return "\n".join((" ".join((chunk.title, *chunk.heading)), chunk.text))


def _record_text(record: Record) -> str:
    return f"{record.title}\n{record.prose}"
