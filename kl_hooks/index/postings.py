"""Postings: which symbols hold a term, in which field, how often and where; written when a file is scanned.

The terms of some files are one segment, as in any log-structured index: a changed file becomes a segment of its own,
its old documents are dead, and small segments are merged into larger ones. So an edit writes the terms of one file, and
a query reads the rows of its own terms only. Source and what only exercises it (tests, examples) are two corpora: the
one does not change how rare a word is in the other.
"""

from __future__ import annotations

import json
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from sys import byteorder
from typing import Any, Final, NamedTuple, Protocol

from kl_hooks.index.terms import Field, SymbolText, document, path_terms
from kl_hooks.store.database import Rows, chunks, placeholders

SOURCE: Final = 0
OTHER: Final = 1
_TEST_FOLDERS: Final = frozenset({"tests", "test", "testdata", "test_data", "test-data", "fixtures"})
_TOP_FOLDERS: Final = frozenset({"testing", "docs", "doc", "docs_src", "examples", "example", "samples", "benchmarks"})


def corpus_of(path: str) -> int:
    """`SOURCE`, or `OTHER` for what exercises or shows source: tests, test data, examples and snippets of docs."""
    *folders, name = path.split("/")
    if not _TEST_FOLDERS.isdisjoint(folders) or (folders and folders[0] in _TOP_FOLDERS):
        return OTHER
    is_test = (
        name.startswith("test_") or name.endswith(("_test.py", "_tests.py")) or name in ("conftest.py", "tests.py")
    )
    return OTHER if is_test else SOURCE


class Columns(NamedTuple):
    """The postings of one term, by document and field."""

    docs: array[int]
    """Numbers of documents, rising; a document is there once for each field that has the term."""
    fields: array[int]
    """Field and term frequency: `field << FIELD_SHIFT | frequency`."""
    lengths: array[int]
    """How many terms the field has in that document."""
    positions: array[int]
    """Where the term is, of each posting in a field of the source as many as its frequency; 0: next to nothing."""


FIELD_SHIFT: Final = 13
FREQUENCY: Final = (1 << FIELD_SHIFT) - 1
_MOST_LENGTH: Final = 0xFFFF
POSITIONED: Final = Field.BODY
"""From this field on postings have positions."""


FileColumns = tuple[list[int], list[int], list[int], list[int]]
"""The columns of a term in one file, as plain lists: most are short, and other processes send them."""


class FileTerms(NamedTuple):
    """The terms of one file, its documents numbered from 0."""

    places: tuple[int, ...]
    lengths: tuple[int, ...]
    postings: dict[str, FileColumns]


def file_terms(path: str, texts: Iterable[Sequence[Any]]) -> FileTerms:
    """The terms of a file. `texts`: of its symbols, see `SymbolText`. Pure."""
    places: list[int] = []
    totals = [0] * len(Field)
    found: dict[str, FileColumns] = {}
    of_path = path_terms(path)
    for number, text in enumerate(texts):
        made = document(SymbolText(*text), of_path)
        places.append(made.place)
        for field, some in enumerate(made.postings):
            size = made.lengths[field]
            totals[field] += size
            size, shifted, positioned = min(size, _MOST_LENGTH), field << FIELD_SHIFT, field >= POSITIONED
            for term, positions in some.items():
                columns = found.get(term)
                if columns is None:
                    columns = found[term] = ([], [], [], [])
                if len(positions) > FREQUENCY:
                    positions = positions[:FREQUENCY]
                columns[0].append(number)
                columns[1].append(shifted | len(positions))
                columns[2].append(size)
                if positioned:
                    columns[3].extend(positions)
    return FileTerms(tuple(places), tuple(totals), found)


def empty_columns() -> Columns:
    """No postings."""
    return Columns(array("I"), array("H"), array("H"), array("H"))


def _extend(columns: Columns, more: Columns | FileColumns, base: int) -> None:
    """Append the postings of a file whose first document has the number `base`."""
    docs, fields, lengths, positions = more
    columns.docs.extend([number + base for number in docs] if base else docs)
    columns.fields.extend(fields)
    columns.lengths.extend(lengths)
    columns.positions.extend(positions)


_COMPRESSED: Final = 200
"""Bytes from which on a row is worth compressing."""


def pack(columns: Columns) -> bytes:
    """Postings as the database keeps them, the same on every machine."""
    head = array("I", (len(columns.docs),))
    raw = b"".join(_little(column).tobytes() for column in (head, *columns))
    return b"z" + zlib.compress(raw, 1) if len(raw) > _COMPRESSED else b"r" + raw


def unpack(packed: bytes) -> Columns:
    """Postings as they were packed. ValueError for what is none."""
    raw = zlib.decompress(packed[1:]) if packed[:1] == b"z" else packed[1:]
    count, *_ = _column("I", raw[:4])
    docs, fields, lengths = 4 + 4 * count, 4 + 6 * count, 4 + 8 * count
    return Columns(
        _column("I", raw[4:docs]), _column("H", raw[docs:fields]), _column("H", raw[fields:lengths]),
        _column("H", raw[lengths:]),
    )  # fmt: skip


def _column(sort: str, raw: bytes) -> array[int]:
    column: array[int] = array(sort)
    column.frombytes(raw)
    return _little(column)


def _little(column: array[int]) -> array[int]:
    if byteorder == "big":
        column = array(column.typecode, column)
        column.byteswap()
    return column


_LARGE: Final = 8192
"""Documents of a segment that is not merged any more, and of those that are written first: what is packed together
must fit into memory."""
_SMALL: Final = 8
"""Segments that cost a query little, and merging more."""


class SegmentWriter:
    """Writes the terms of files that have none, some files to a segment. Inside one transaction; `close` it."""

    def __init__(self, db: Rows) -> None:
        self._db = db
        self._files: list[tuple[Any, ...]] = []
        self._postings: dict[tuple[int, str], Columns] = {}
        self._segment, self._first = (
            int(number)
            for number in db.rows(
                "SELECT COALESCE(MAX(segment), 0) + 1, COALESCE(MAX(first + docs), 0) FROM term_segments"
            )[0]
        )
        self._next = self._first

    def add(self, path: str, terms: FileTerms) -> None:
        """Write the terms of a file, now or later."""
        corpus = corpus_of(path)
        lengths = " ".join(map(str, terms.lengths))
        count = len(terms.places)
        places = json.dumps(terms.places, separators=(",", ":"))
        self._files.append((path, corpus, self._segment, self._next, places, count, lengths))
        for term, columns in terms.postings.items():
            into = self._postings.get((corpus, term))
            if into is None:
                into = self._postings[corpus, term] = empty_columns()
            _extend(into, columns, self._next)
        self._next += count
        if self._next - self._first >= _LARGE:
            self.close()

    def close(self) -> None:
        """Write what is not written yet; the next file begins another segment."""
        if not self._files:
            return
        self._db.many("INSERT INTO term_files VALUES (?, ?, ?, ?, ?, ?, ?)", self._files)
        _add_to_totals(self._db, [(corpus, docs, lengths) for _, corpus, _, _, _, docs, lengths in self._files], 1)
        _write_segment(self._db, self._segment, self._first, self._next - self._first, self._postings)
        self._files, self._postings = [], {}
        self._segment, self._first = self._segment + 1, self._next


def _write_segment(db: Rows, segment: int, first: int, docs: int, postings: Mapping[tuple[int, str], Columns]) -> None:
    db.many("INSERT INTO term_segments VALUES (?, ?, ?)", [(segment, first, docs)])
    rows = ((segment, *key, pack(postings[key])) for key in sorted(postings))
    db.many("INSERT INTO term_postings VALUES (?, ?, ?, ?)", rows)


def add_files(db: Rows, files: Mapping[str, FileTerms]) -> None:
    """Write the terms of files that have none. Inside one transaction."""
    writer = SegmentWriter(db)
    for path, terms in files.items():
        writer.add(path, terms)
    writer.close()


def remove_files(db: Rows, paths: Iterable[str]) -> None:
    """Forget the terms of files, whether there are any or not. Inside one transaction."""
    for some in chunks(list(paths)):
        condition = f"path IN ({placeholders(some)})"
        _add_to_totals(db, db.rows(f"SELECT corpus, docs, lengths FROM term_files WHERE {condition}", some), -1)
        db.execute(f"DELETE FROM term_files WHERE {condition}", some)


def stored_totals(db: Rows, corpus: int) -> Totals:
    """How large a corpus is."""
    rows = db.rows("SELECT files, docs, lengths FROM term_totals WHERE corpus = ?", (corpus,))
    if not rows:
        return Totals(0, 0, (0,) * len(Field))
    files, docs, lengths = rows[0]
    return Totals(files, docs, tuple(map(int, lengths.split())))


def _add_to_totals(db: Rows, rows: Sequence[tuple[int, int, str]], sign: int) -> None:
    """Count files of (corpus, documents, lengths) in (1) or out (-1)."""
    for corpus in sorted({row[0] for row in rows}):
        files, docs, lengths = stored_totals(db, corpus)
        sums = list(lengths)
        for _, count, text in (row for row in rows if row[0] == corpus):
            # a file that could not be read has no documents, and counts for nothing
            files, docs = files + sign * bool(count), docs + sign * count
            sums = [total + sign * int(length) for total, length in zip(sums, text.split(), strict=True)]
        db.execute("DELETE FROM term_totals WHERE corpus = ?", (corpus,))
        db.execute("INSERT INTO term_totals VALUES (?, ?, ?, ?)", (corpus, files, docs, " ".join(map(str, sums))))


def merge_segments(db: Rows) -> None:
    """Merge small segments, and write those anew that are mostly dead. Inside one transaction.

    Segments grow as in the logarithmic method (Bentley and Saxe 1980): each document is written anew O(log n) times.
    """
    sizes = sorted(db.rows("SELECT docs, segment FROM term_segments WHERE docs < ?", (_LARGE,)))
    alive = dict(db.rows("SELECT segment, SUM(docs) FROM term_files GROUP BY segment"))
    chosen, total = 0, 0
    for place, (docs, _) in enumerate(sizes):
        if place and total >= docs:
            chosen = place + 1
        total += docs
    merged = {segment for _, segment in sizes[:chosen]} if chosen > _SMALL else set()
    every = db.rows("SELECT docs, segment FROM term_segments")
    merged |= {segment for docs, segment in every if alive.get(segment, 0) * 2 < docs}
    dead = {segment for _, segment in every if not alive.get(segment)}
    _delete_segments(db, sorted(dead))
    if merged - dead:
        _rewrite(db, sorted(merged - dead))


def _rewrite(db: Rows, segments: Sequence[int]) -> None:
    """Make one segment of these, without their dead documents."""
    marks = placeholders(segments)
    rows = db.rows(f"SELECT path, first, docs FROM term_files WHERE segment IN ({marks}) ORDER BY first", segments)
    new, first = db.rows("SELECT MAX(segment) + 1, MAX(first + docs) FROM term_segments")[0]
    starts = [row[1] for row in rows]
    moved = dict(zip(starts, accumulate((row[2] for row in rows), initial=first), strict=False))
    postings: dict[tuple[int, str], Columns] = {}
    old = f"SELECT corpus, term, packed FROM term_postings WHERE segment IN ({marks}) ORDER BY segment"
    for corpus, term, packed in db.rows(old, segments):
        into = postings.setdefault((corpus, term), empty_columns())
        for doc, field, length, positions in postings_of(unpack(packed)):
            place = bisect_right(starts, doc) - 1
            if place >= 0 and doc < starts[place] + rows[place][2]:
                into.docs.append(moved[starts[place]] + doc - starts[place])
                into.fields.append(field)
                into.lengths.append(length)
                into.positions.extend(positions)
    # segments were merged before: the documents of an older number may belong to a newer segment
    postings = {key: _sorted(columns) for key, columns in postings.items() if columns.docs}
    _delete_segments(db, segments)
    _write_segment(db, new, first, sum(row[2] for row in rows), postings)
    db.many(
        "UPDATE term_files SET segment = ?, first = ? WHERE path = ?", [(new, moved[row[1]], row[0]) for row in rows]
    )


def _delete_segments(db: Rows, segments: Sequence[int]) -> None:
    db.many("DELETE FROM term_postings WHERE segment = ?", [(segment,) for segment in segments])
    db.many("DELETE FROM term_segments WHERE segment = ?", [(segment,) for segment in segments])


def _sorted(columns: Columns) -> Columns:
    made = empty_columns()
    for doc, field, length, positions in sorted(postings_of(columns), key=lambda one: one[:2]):
        made.docs.append(doc)
        made.fields.append(field)
        made.lengths.append(length)
        made.positions.extend(positions)
    return made


def postings_of(columns: Columns) -> Iterator[tuple[int, int, int, array[int]]]:
    """(document, field and frequency, length of the field, positions) of each posting."""
    at = 0
    for doc, field, length in zip(columns.docs, columns.fields, columns.lengths, strict=True):
        count = field & FREQUENCY if field >> FIELD_SHIFT >= POSITIONED else 0
        yield doc, field, length, columns.positions[at : at + count]
        at += count


class Totals(NamedTuple):
    """How large a corpus is."""

    files: int
    docs: int
    lengths: tuple[int, ...]
    """Terms in each field, of all documents."""

    def averages(self) -> tuple[float, ...]:
        """Mean length of each field over all documents; 0 where it is empty everywhere."""
        return tuple(length / self.docs if self.docs else 0.0 for length in self.lengths)


class Postings(Protocol):
    """The terms of a corpus, wherever they are stored."""

    @property
    def totals(self) -> Totals: ...

    def find(self, terms: Iterable[str]) -> dict[str, Columns]:
        """Term → where it is, of those that are anywhere. Documents of no file, dead ones, may be among them."""
        ...

    def paths_of(self, docs: Collection[int]) -> dict[int, str]:
        """Document → its file; those of no file are omitted."""
        ...

    def existing(self, paths: Iterable[str]) -> set[str]:
        """Those of these files that the corpus has."""
        ...

    def documents(self, path: str) -> tuple[int, Sequence[int]]:
        """The number of a file's first document, and the places that all of them have among the file's symbols."""
        ...


def _paths_of(docs: Collection[int], files: Sequence[tuple[int, int, str]]) -> dict[int, str]:
    """Document → its file. `files`: (first document, documents, path), rising."""
    starts = [first for first, _, _ in files]
    found: dict[int, str] = {}
    for doc in docs:
        place = bisect_right(starts, doc) - 1
        if place >= 0 and doc < starts[place] + files[place][1]:
            found[doc] = files[place][2]
    return found


_ALL: Final = 20
"""A look-up of a file costs as much as reading so many."""


class StoredPostings:
    """The terms of a corpus in the database; only the rows of terms that are asked for are read."""

    def __init__(self, db: Rows, corpus: int = SOURCE) -> None:
        self._db, self._corpus = db, corpus
        self.totals = stored_totals(db, corpus)
        self._segments = [row[0] for row in db.rows("SELECT segment FROM term_segments ORDER BY first")]

    def find(self, terms: Iterable[str]) -> dict[str, Columns]:
        """As `Postings.find`."""
        found: dict[str, Columns] = {}
        for some in chunks(sorted(set(terms))):
            for segment in self._segments:
                sql = f"""SELECT term, packed FROM term_postings
                    WHERE segment = ? AND corpus = ? AND term IN ({placeholders(some)})"""
                for term, packed in self._db.rows(sql, (segment, self._corpus, *some)):
                    columns = unpack(packed)
                    if term in found:
                        _extend(found[term], columns, 0)
                    else:
                        found[term] = columns
        return found

    def paths_of(self, docs: Collection[int]) -> dict[int, str]:
        """As `Postings.paths_of`."""
        if len(docs) * _ALL > self.totals.files:
            sql = "SELECT first, docs, path FROM term_files WHERE corpus = ? AND docs > 0 ORDER BY first"
            return _paths_of(docs, self._db.rows(sql, (self._corpus,)))
        sql = "SELECT first, docs, path FROM term_files WHERE first <= ? AND docs > 0 ORDER BY first DESC LIMIT 1"
        found: dict[int, str] = {}
        first, count, path = 0, 0, ""
        for doc in sorted(docs):
            if not first <= doc < first + count:
                rows = self._db.rows(sql, (doc,))
                first, count, path = rows[0] if rows else (0, 0, "")
            if first <= doc < first + count:
                found[doc] = path
        return found

    def existing(self, paths: Iterable[str]) -> set[str]:
        """As `Postings.existing`."""
        found: set[str] = set()
        for some in chunks(sorted(set(paths))):
            sql = f"SELECT path FROM term_files WHERE corpus = ? AND docs > 0 AND path IN ({placeholders(some)})"
            found.update(path for (path,) in self._db.rows(sql, (self._corpus, *some)))
        return found

    def documents(self, path: str) -> tuple[int, Sequence[int]]:
        """As `Postings.documents`."""
        rows = self._db.rows("SELECT first, places FROM term_files WHERE path = ?", (path,))
        return (rows[0][0], json.loads(rows[0][1])) if rows else (0, ())


class MemoryPostings:
    """The terms of some files that are all in memory: of a revision, which nobody wants to store."""

    def __init__(self, files: Mapping[str, FileTerms]) -> None:
        self._files = {path: files[path] for path in sorted(files) if files[path].places}
        starts = accumulate((len(one.places) for one in self._files.values()), initial=0)
        self._starts = dict(zip(self._files, starts, strict=False))
        lengths = tuple(sum(one.lengths[field] for one in self._files.values()) for field in Field)
        self.totals = Totals(len(self._files), sum(len(one.places) for one in self._files.values()), lengths)

    def find(self, terms: Iterable[str]) -> dict[str, Columns]:
        """As `Postings.find`."""
        wanted = set(terms)
        found: dict[str, Columns] = {}
        for path, one in self._files.items():
            for term in wanted & one.postings.keys():
                _extend(found.setdefault(term, empty_columns()), one.postings[term], self._starts[path])
        return found

    def paths_of(self, docs: Collection[int]) -> dict[int, str]:
        """As `Postings.paths_of`."""
        files = [(self._starts[path], len(one.places), path) for path, one in self._files.items()]
        return _paths_of(docs, files)

    def existing(self, paths: Iterable[str]) -> set[str]:
        """As `Postings.existing`."""
        return self._files.keys() & set(paths)

    def documents(self, path: str) -> tuple[int, Sequence[int]]:
        """As `Postings.documents`."""
        return self._starts[path], self._files[path].places
