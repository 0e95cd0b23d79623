"""Indexing: every document cut, redacted and found by words; only what changed is read again.

What a document's chunks are follows from its content and from how its collection is cut, so a
document is known by git's ID of its content. Documents are written some at a time: a run that is
killed has done those, and the next one goes on with the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from kl_hooks.documents.chunking import Chunking, Cut, cut
from kl_hooks.documents.collections import REPOSITORY, added_texts, collections, find_collections
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git import files
from kl_hooks.git.files import UNREADABLE_BLOB, FileEntry, path_matches
from kl_hooks.git.objects import MAX_BLOB_BYTES
from kl_hooks.index import index
from kl_hooks.index.postings import CHUNKS, StoredPostings, significant_words
from kl_hooks.index.vectors import embedder_of, similarities
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.records.redaction import redact_text
from kl_hooks.records.repository import select_rows
from kl_hooks.store.database import chunks as some_at_once
from kl_hooks.store.database import placeholders
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.git.worktree import WorktreeScan
    from kl_hooks.model.record import Record
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

SUFFIXES: Final = (".md", ".markdown", ".rst", ".txt", ".ipynb", "README")
"""Ends of the names of files that are documents where the settings name no globs."""
_DOC_FOLDERS: Final = ("docs", "doc", "documentation")
_NO_DOCUMENTS: Final = frozenset(
    (
        "tests",
        "test",
        "testdata",
        "test_data",
        "test-data",
        "testing",
        "fixtures",
        "node_modules",
        "vendor",
        "_vendor",
        "third_party",
        "site-packages",
        "__pycache__",
        "build",
        "dist",
        "locale",
    )
)
"""Folders whose texts are data, other people's, or made by a program."""
_NO_PROSE: Final = lazy_pattern(
    r"(?i)(requirements|constraints|licen[cs]e|copying|robots|cmakelists|entry_points).*\.txt"
)
_SEMANTIC: Final = "semantic"
_BATCH_BYTES: Final = 5_000_000
_BATCH: Final = 1000
"""What is written at once, and lost where a run is killed: two seconds of work. With a fifth of it
the first index of 3,000 documents wrote all words twice, since segments were merged, and took a
third more time (ADR-0050)."""
_KEY_BLOCK: Final = lazy_pattern(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-----END [^\n]{0,60}-----|\Z)", re.DOTALL
)

Watch = Callable[[Iterator[Any], int], Iterator[Any]]
"""Given what is about to come and how many, hands it on: so that progress can be shown."""


class Visibility(Protocol):
    """What may be shown to whoever asks; `kl_hooks.context.access.Access` is one."""

    def shows(self, record: Record) -> bool: ...
    def shows_node(self, identifier: str, kind: str, path: str) -> bool: ...


class Chunk(NamedTuple):
    """A passage of a document that can be found."""

    id: int
    document: str
    """Path from the root of the repository, or ID of a record."""
    collection: str
    heading: tuple[str, ...]
    first_line: int
    last_line: int
    text: str
    """Redacted."""
    text_hash: str
    """16 hexadecimal digits of the sha256 of the text: the same text has the same."""
    title: str
    """Of the document."""

    @property
    def is_file(self) -> bool:
        """Whether its document is a file of the repository."""
        return self.collection == REPOSITORY


class IndexedDocument(NamedTuple):
    """A document as it was cut."""

    document: str
    collection: str
    blob: str
    cut_by: str
    title: str
    error: str
    """Why it has no chunks; empty: it has."""
    chunks: int
    size: int
    """Bytes."""


class Indexed(NamedTuple):
    """What a run of the indexing did."""

    documents: int
    """That there are."""
    read: int
    removed: int
    trouble: str = ""
    """Why not all could be done; what was indexed before is still found."""


_INDEXED_RECORDS: Final = """SELECT id, title FROM record
    WHERE kind = 'document' AND rests = 'state' AND status IN ('processing', 'indexed')"""


class _Source(NamedTuple):
    """A document as it should be indexed."""

    blob: str
    collection: str
    name: str
    how: Chunking
    title: str = ""
    """Empty: as the document has it."""
    model: str = ""
    """Of the strategy `semantic`."""

    @property
    def cut_by(self) -> str:
        """Another one where the same text is cut in another way."""
        return f"{self.how.key}{self.model}"


def sync_documents(
    ws: Workspace, watch: Watch | None = None, scan: WorktreeScan | None = None
) -> Indexed:
    """Index what changed, and remove what was deleted; write nothing if all is as it was.

    `scan`: of at least `document_suffixes`, taken just now.
    """
    if not ws.initialized and not ws.state.directory.exists():
        return Indexed(0, 0, 0)
    entries = {one.path: one for one in _repository_files(ws, scan)}
    wanted = _sources(ws, entries.values())
    paused = {name for name, one in collections(ws).items() if one.status == "paused"}
    with ws.store.reading("graph") as db:
        if db is not None:
            rows = db.rows("SELECT document, blob, cut_by, collection FROM document_files")
        else:
            rows = []
    indexed = {name: made_from for name, *made_from in rows}
    stale = [
        name
        for name, one in wanted.items()
        if indexed.get(name) != [one.blob, one.cut_by, one.collection]
        and not (name in indexed and one.collection in paused)
    ]
    removed = sorted(indexed.keys() - wanted.keys())
    if not stale and not removed:
        return Indexed(len(wanted), 0, 0)
    read = 0
    try:
        contents = _contents(ws, stale, wanted, entries)
        for batch in _batches(watch(contents, len(stale)) if watch else contents):
            with ws.store.writing("graph", "kl (indexing documents)") as db, db.transaction():
                _write(db, batch, wanted, ())
            read += len(batch)
        if removed:
            with ws.store.writing("graph", "kl (indexing documents)") as db, db.transaction():
                _write(db, {}, wanted, removed)
    except (
        EnvironmentProblem,
        OSError,
    ) as problem:  # a read-only disk, a lock: answer from what is indexed
        return Indexed(len(wanted), read, 0, str(problem))
    return Indexed(len(wanted), read, len(removed))


# --- what there is


def is_document(ws: Workspace, path: str) -> bool:
    """Whether a file of the repository is a document: by the globs of the settings, else by its
    name and folder.
    """
    settings = ws.settings.documents
    if path.startswith(".kl/") or (
        settings.exclude and any(path_matches(path, glob) for glob in settings.exclude)
    ):
        return False
    if settings.include:
        return any(path_matches(path, glob) for glob in settings.include)
    if not path.endswith(SUFFIXES):
        return False
    folder, _, name = path.rpartition("/")
    docs = _is_of_docs(folder, ws.settings.docs or "docs")
    if docs is None:
        return False
    if name.endswith(".txt"):
        return (docs or not folder) and not _NO_PROSE.fullmatch(name)
    return (
        docs
        or not name.endswith(".ipynb")
        or "notebook" in path.lower()
        or "example" in path.lower()
    )


@lru_cache(maxsize=1000)  # asked for every file of it
def _is_of_docs(folder: str, docs: str) -> bool | None:
    """Whether it is a folder of documentation; None: nothing in it is a document."""
    names = folder.split("/") if folder else []
    if not _NO_DOCUMENTS.isdisjoint(names) or any(
        one.startswith(".") and one != ".github" for one in names
    ):
        return None
    return bool(names) and (names[0] in _DOC_FOLDERS or f"{folder}/".startswith(f"{docs}/"))


def document_suffixes(ws: Workspace) -> tuple[str, ...]:
    """The ends that names of documents can have; none where a glob has none."""
    include = ws.settings.documents.include
    ends = {re.split(r"[*?\]]|/", glob)[-1] for glob in include}
    if "" in ends:
        return ()
    return tuple(sorted(ends)) or SUFFIXES


def _repository_files(ws: Workspace, scan: WorktreeScan | None) -> list[FileEntry]:
    """The documents among the files of the repository, by their content; without those whose name
    is not UTF-8.
    """
    ends = document_suffixes(ws)
    if ws.repo is not None:
        entries = files.worktree_files(ws.repo, ends, scan)
    else:
        entries = _files_on_disk(ws)
    # a name that is not UTF-8 has surrogates here (PEP 383), which no row can hold
    return [entry for entry in entries if is_document(ws, entry.path) and entry.path.isprintable()]


def _files_on_disk(ws: Workspace) -> list[FileEntry]:
    """The same where there is no git: a file is known by its size and time.

    Links are not followed.
    """
    entries = []
    ends = document_suffixes(ws) or ("",)
    for folder, folders, names in os.walk(ws.root):
        folders[:] = sorted(
            one for one in folders if one not in _NO_DOCUMENTS and not one.startswith(".")
        )
        for name in sorted(one for one in names if one.endswith(ends)):
            path = Path(folder, name)
            try:
                state = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode):
                stamp = f"{state.st_size} {state.st_mtime_ns} {state.st_ino}"
                entries.append(FileEntry(path.relative_to(ws.root).as_posix(), stamp, "100644"))
    return entries


def _sources(ws: Workspace, entries: Iterable[FileEntry]) -> dict[str, _Source]:
    """Document → what it is made from."""
    collections_by_name = collections(ws)
    sources = {
        entry.path: _Source(
            entry.blob, REPOSITORY, entry.path, collections_by_name[REPOSITORY].chunking
        )
        for entry in entries
    }
    # pending, failed and archived ones have a text, and are not found
    ready: dict[str, str] = dict(select_rows(ws, _INDEXED_RECORDS))
    for added in (added_text for added_text in added_texts(ws) if added_text.id in ready):
        if added.collection in collections_by_name:
            chunking = collections_by_name[added.collection].chunking
        else:
            chunking = Chunking()
        sources[added.id] = _Source(
            added.checksum, added.collection, added.stored_name, chunking, ready[added.id]
        )
    if any(source.how.strategy == _SEMANTIC for source in sources.values()):
        # another model, or the first one, cuts in another way
        with suppress(EnvironmentProblem):
            model = embedder_of(ws)
            sources = {
                name: (
                    source._replace(model=f" {model.name} {model.version}")
                    if source.how.strategy == _SEMANTIC
                    else source
                )
                for name, source in sources.items()
            }
    return sources


# --- from content to chunks


def _contents(
    ws: Workspace,
    stale: Sequence[str],
    wanted: Mapping[str, _Source],
    entries: Mapping[str, FileEntry],
) -> Iterator[tuple[str, Cut]]:
    """Each of these documents, read and cut; with an error where it can't be."""
    alike = similarities_of(ws, (wanted[name].how for name in stale))
    paths = [name for name in stale if name in entries]
    readable = [entries[name] for name in paths if entries[name].blob != UNREADABLE_BLOB]
    missing = set(paths)
    for entry, data in _read(ws, readable):
        missing.discard(entry.path)
        yield entry.path, _cut(wanted[entry.path], data, alike)
    for path in sorted(missing):  # git reads no file that is larger than this
        large = [
            data for _, data in _read_from_disk(ws, [entries[path]]) if len(data) > MAX_BLOB_BYTES
        ]
        yield (
            path,
            _cut(wanted[path], large[0], alike) if large else Cut(path, (), "can't be read."),
        )
    for added in added_texts(ws, [name for name in stale if name not in entries], whole=True):
        yield added.id, _cut(wanted[added.id], added.text.encode("utf-8", "replace"), alike)


def _read(ws: Workspace, entries: Sequence[FileEntry]) -> Iterator[tuple[FileEntry, bytes]]:
    if ws.repo is not None:
        return files.read_files(ws.repo, entries)
    return _read_from_disk(ws, entries)


def _read_from_disk(
    ws: Workspace, entries: Sequence[FileEntry]
) -> Iterator[tuple[FileEntry, bytes]]:
    for entry in entries:
        with suppress(UsageProblem):
            data = read_small(ws.root / entry.path, within=ws.root, most=MAX_BLOB_BYTES)
            if data is not None:
                yield entry, data


def similarities_of(
    ws: Workspace, hows: Iterable[Chunking]
) -> Callable[[Sequence[str]], list[float]] | None:
    """What one of these ways of cutting needs: how alike texts are; None where none does, or there
    is no model.
    """
    if all(how.strategy != _SEMANTIC for how in hows):
        return None
    try:
        embedder_of(ws)
    except EnvironmentProblem:
        return None
    return lambda texts: similarities(ws, texts)


def _cut(
    source: _Source, data: bytes, similarities: Callable[[Sequence[str]], list[float]] | None
) -> Cut:
    return cut(source.name, data, source.how, redact_document, similarities)


def redact_document(text: str) -> str:
    """The text without secrets; its lines keep their numbers."""
    # a key block becomes one word, which would move the lines after it
    return redact_text(
        _KEY_BLOCK.sub(lambda block: "[redacted:private-key]" + "\n" * block[0].count("\n"), text)
    )


def _batches(cut_documents: Iterator[tuple[str, Cut]]) -> Iterator[dict[str, Cut]]:
    batch = dict[str, Cut]()
    size = 0
    for name, document in cut_documents:
        batch[name] = document
        size += document.size
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch = {}
            size = 0
    if batch:
        yield batch


def _write(
    db: Database, batch: Mapping[str, Cut], wanted: Mapping[str, _Source], removed: Sequence[str]
) -> None:
    """Replace these documents. Inside one transaction."""
    old = [(name,) for name in chain(batch, removed)]
    _delete(db, old)
    ((first,),) = db.rows("SELECT COALESCE(MAX(id), 0) + 1 FROM document_chunks")
    texts: dict[str, list[index.Document]] = {name: [] for (name,) in old}
    chunk_rows = list[Any]()
    name_rows = list[Any]()
    file_rows = list[Any]()
    for name, document in batch.items():
        source = wanted[name]
        title = wanted[name].title or redact_text(document.title)
        file_rows.append(
            (
                name,
                source.collection,
                source.blob,
                source.cut_by,
                title,
                document.error,
                len(document.passages),
                document.size,
            )
        )
        for place, passage in enumerate(document.passages):
            number = first + len(chunk_rows)
            chunk_rows.append(
                (
                    number,
                    name,
                    place,
                    json.dumps(passage.heading),
                    *passage[1:],
                    _hash_text(passage.text),
                )
            )
            name_rows += [
                (written.rpartition(".")[2], number, written) for written in passage.names
            ]
            texts[name].append(
                index.Document(
                    f"file:{name}",
                    "document",
                    name,
                    passage.first_line,
                    " ".join((title, *passage.heading)),
                    passage.text,
                    passage.heading[-1] if passage.heading else title,
                )
            )
    db.many("INSERT INTO document_files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", file_rows)
    db.many("INSERT INTO document_chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", chunk_rows)
    db.many("INSERT OR IGNORE INTO document_names VALUES (?, ?, ?)", name_rows)
    index.replace_texts(db, texts, CHUNKS)


def _delete(db: Database, names: Sequence[tuple[str]]) -> None:
    """Delete what is stored of these documents."""
    db.execute("DELETE FROM document_embedded")
    db.many(
        "DELETE FROM document_names"
        " WHERE chunk IN (SELECT id FROM document_chunks WHERE document = ?)",
        names,
    )
    db.many("DELETE FROM document_chunks WHERE document = ?", names)
    db.many("DELETE FROM document_files WHERE document = ?", names)


def _hash_text(text: str) -> str:
    """By which the same text is known."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


# --- questions


def visible_documents(
    ws: Workspace, names: Collection[str] | None = None, may: Visibility | None = None
) -> dict[str, str]:
    """Document → its collection, of those in these collections (None: all that are not archived)
    that may be shown.

    Every search, list and count is made of these.
    """
    wanted = find_collections(ws, names or ())
    with ws.store.reading("graph") as db:
        sql = "SELECT document, collection FROM document_files ORDER BY document"
        collection_of = {
            document: collection
            for document, collection in (db.rows(sql) if db is not None else ())
            if collection in wanted
        }
    if may is None:
        return collection_of
    from kl_hooks.records.query import get_records

    records = {
        record.id: record
        for record in get_records(
            ws,
            [
                document
                for document, collection in collection_of.items()
                if collection != REPOSITORY
            ],
        )
    }
    return {
        document: collection
        for document, collection in collection_of.items()
        if (
            may.shows_node(f"file:{document}", "page", document)
            if collection == REPOSITORY
            else document in records and may.shows(records[document])
        )
    }


def indexed_documents(ws: Workspace, documents: Collection[str]) -> list[IndexedDocument]:
    """These documents as they were cut, by name."""
    with ws.store.reading("graph") as db:
        if db is not None:
            rows = db.rows("SELECT * FROM document_files ORDER BY document")
        else:
            rows = []
    return [one for one in map(IndexedDocument._make, rows) if one.document in documents]


def search_chunks(
    ws: Workspace,
    query: str,
    *,
    collections: Collection[str] | None = None,
    limit: int = 10,
    may: Visibility | None = None,
) -> list[tuple[int, float]]:
    """The (chunk, score) of the chunks that match any of the words best: BM25F, headings before
    text.

    `collections`: only these; `may`: what the caller may be shown. What may not be shown is not
    counted either.
    """
    sync_documents(ws)
    allowed = visible_documents(ws, collections, may)
    with ws.store.reading("graph") as db:
        if db is None or not allowed:
            return []
        with db.snapshot():
            corpus = StoredPostings(db, CHUNKS)
            (fits,) = index.score([corpus], significant_words(query)).fits
            return ranked_chunks(db, corpus, fits, allowed, limit)[0]


def ranked_chunks(
    db: Database,
    corpus: StoredPostings,
    fits: Mapping[int, int],
    allowed: Collection[str],
    most: int,
) -> tuple[list[tuple[int, float]], int]:
    """The best `most` chunks of allowed documents among what a search of the corpus found, and how
    many there are.
    """
    if len(corpus.existing(allowed)) < corpus.totals.files:
        fits = {doc: fits[doc] for doc, path in corpus.paths_of(fits).items() if path in allowed}
    # all that are as good as the last one: which of them come first is known when they are looked
    # up
    least = min(nlargest(most, fits.values()), default=0)
    best = [doc for doc, fit in fits.items() if fit >= least]
    owners = corpus.files_of(best)
    score_of = {(owners[doc].path, doc - owners[doc].first): fits[doc] / 1_000_000 for doc in best}
    ranked: list[tuple[float, str, int, int]] = []
    for batch in some_at_once(sorted({path for path, _ in score_of})):
        sql = (
            "SELECT document, place, id FROM document_chunks WHERE document IN"
            f" ({placeholders(batch)})"
        )
        rows = db.rows(sql, batch)
        ranked += [
            (-score_of[row[0], row[1]], *row) for row in rows if (row[0], row[1]) in score_of
        ]
    # by place, not by number: that depends on what was indexed first
    return [(number, -score) for score, _, _, number in sorted(ranked)[:most]], len(fits)


def load_chunks(ws: Workspace, ids: Sequence[int]) -> list[Chunk]:
    """The chunks of these numbers, in this order; without those that were replaced."""
    sql = """SELECT c.id, c.document, f.collection, c.heading, c.first_line, c.last_line,
            c.text, c.text_hash, f.title
        FROM document_chunks c JOIN document_files f ON f.document = c.document
        WHERE c.id IN ({})"""
    chunk_by_number: dict[int, Chunk] = {}
    with ws.store.reading("graph") as db:
        for batch in some_at_once(ids) if db is not None else ():
            for row in db.rows(sql.format(placeholders(batch)), batch) if db is not None else ():
                chunk_by_number[row[0]] = Chunk._make(
                    (*row[:3], tuple(json.loads(row[3])), *row[4:])
                )
    return [chunk_by_number[number] for number in ids if number in chunk_by_number]


def chunks_of(ws: Workspace, document: str) -> list[Chunk]:
    """The chunks of a document, in its order."""
    with ws.store.reading("graph") as db:
        sql = "SELECT id FROM document_chunks WHERE document = ? ORDER BY place"
        if db is not None:
            ids = [number for (number,) in db.rows(sql, (document,))]
        else:
            ids = []
    return load_chunks(ws, ids)


def sizes_of(ws: Workspace) -> dict[str, int]:
    """Document → characters of its chunks."""
    with ws.store.reading("graph") as db:
        sql = "SELECT document, SUM(LENGTH(text)) FROM document_chunks GROUP BY document"
        if db is None:
            return {}
        return dict(db.rows(sql))
