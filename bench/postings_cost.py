"""What our segments of packed postings cost against plain SQLite tables of packed postings.

python -m bench.postings_cost [--repository django|large] [--rounds 5] [--edits 20]

The same terms of the same files in three layouts, in turn: our segments
(`kl_hooks/index/postings.py`), a row for each term and file, and a row for each term. Each is
built, brought up to date after edits of single files, and asked for the postings of five terms.
Every answer is compared: the layouts must agree on which documents of which files hold a term.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from bench.repositories import NAMES, NotHere, python_files, repository
from bench.table import Row, show
from kl_hooks.code.scanner.python import scan_guarded
from kl_hooks.code.update import terms_of
from kl_hooks.index import postings
from kl_hooks.index.plugin import TABLES
from kl_hooks.index.postings import Columns, FileTerms, SegmentWriter, StoredPostings

QUERIES: Final = (
    ("queryset", "filter", "cach", "model", "valid"),
    ("migrat", "autodetect", "renam", "field", "state"),
    ("templat", "render", "contex", "loader", "error"),
    ("admin", "changelist", "list", "display", "link"),
)
"""Terms of tasks as they are stored: rare ones and ones that are everywhere."""
Answer = dict[str, set[tuple[str, int, int]]]
"""Term → (path, document of the file, field and frequency)."""


class Connection:
    """SQLite behind the protocol `Rows`."""

    def __init__(self, path: Path) -> None:
        self.raw = sqlite3.connect(path, isolation_level=None)
        self.raw.execute("PRAGMA journal_mode = WAL")
        self.raw.execute("PRAGMA synchronous = NORMAL")

    def rows(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]:
        return self.raw.execute(sql, params).fetchall()

    def execute(self, sql: str, params: Any = ()) -> Any:
        return self.raw.execute(sql, params)

    def many(self, sql: str, rows: Any) -> Any:
        return self.raw.executemany(sql, rows)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        yield

    def megabytes(self) -> float:
        """The size of its pages that are in use."""
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (pages,), (free,), (size,) = (
            self.rows(f"PRAGMA {name}")[0] for name in ("page_count", "freelist_count", "page_size")
        )
        return float((pages - free) * size / 1e6)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.raw.execute("BEGIN IMMEDIATE")
        yield
        self.raw.execute("COMMIT")


class Layout(Protocol):
    """One way to store postings."""

    name: str

    def build(self, db: Connection, files: Mapping[str, FileTerms]) -> None: ...
    def update(self, db: Connection, path: str, terms: FileTerms) -> None: ...
    def find(self, db: Connection, terms: Sequence[str]) -> tuple[dict[str, Columns], Any]:
        """The postings of some terms, and what `answer` needs to name their documents."""
        ...

    def answer(self, found: dict[str, Columns], names: Any) -> Answer: ...


class Segments:
    """Ours: packed blocks of terms in segments that are merged."""

    name = "segments (ours)"

    def build(self, db: Connection, files: Mapping[str, FileTerms]) -> None:
        db.raw.executescript(TABLES)
        with db.transaction():
            writer = SegmentWriter(db)
            for path, terms in files.items():
                writer.add(path, terms)
            writer.close()

    def update(self, db: Connection, path: str, terms: FileTerms) -> None:
        with db.transaction():
            postings.remove_files(db, [path])
            postings.add_files(db, {path: terms})
            postings.merge_segments(db)

    def find(self, db: Connection, terms: Sequence[str]) -> tuple[dict[str, Columns], Any]:
        segments = postings.Segments(db)
        stored = [
            StoredPostings(db, corpus, segments) for corpus in (postings.SOURCE, postings.OTHER)
        ]
        merged: dict[str, Columns] = {}
        for one in stored:
            for term, columns in one.find(terms).items():
                extend(merged, term, columns)
        return merged, stored

    def answer(self, found: dict[str, Columns], names: Any) -> Answer:
        answer: Answer = {}
        for term, columns in found.items():
            files: dict[int, postings.SegmentFile] = {}
            for stored in names:
                files |= stored.files_of(columns.docs)
            answer[term] = {
                (files[doc].path, doc - files[doc].first, field)
                for doc, field in zip(columns.docs, columns.fields, strict=True)
                if doc in files
            }
        return answer


def extend(merged: dict[str, Columns], term: str, columns: Sequence[array[int]]) -> None:
    """Append columns to those of a term."""
    into = merged.setdefault(term, postings.empty_columns())
    for column, added in zip(into, columns, strict=True):
        column.extend(added)


FILES: Final = """
CREATE TABLE files (
    number INTEGER PRIMARY KEY, corpus INTEGER NOT NULL, path TEXT NOT NULL UNIQUE,
    docs INTEGER NOT NULL, minor INTEGER NOT NULL, places TEXT NOT NULL, lengths TEXT NOT NULL, terms BLOB NOT NULL
);
"""


class Table:
    """What both plain tables have: the files, each with the list of its terms, which finds its
    rows when it changes.
    """

    tables = ""

    def build(self, db: Connection, files: Mapping[str, FileTerms]) -> None:
        db.raw.executescript(FILES + self.tables)
        with db.transaction():
            numbers = {path: self.add_file(db, path, files[path]) for path in files}
            self.add_postings(db, {numbers[path]: terms for path, terms in files.items()})

    def add_file(self, db: Connection, path: str, terms: FileTerms) -> int:
        row = (
            postings.corpus_of(path),
            path,
            len(terms.places) - terms.minor,
            terms.minor,
            str(list(terms.places)),
            " ".join(map(str, terms.lengths)),
            zlib.compress("\n".join(terms.postings).encode("utf-8", "surrogatepass"), 1),
        )
        sql = (
            "INSERT INTO files (corpus, path, docs, minor, places, lengths, terms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        return int(db.raw.execute(sql, row).lastrowid or 0)

    def update(self, db: Connection, path: str, terms: FileTerms) -> None:
        with db.transaction():
            ((number, packed),) = db.rows("SELECT number, terms FROM files WHERE path = ?", (path,))
            old = zlib.decompress(packed).decode("utf-8", "surrogatepass").split("\n")
            db.execute("DELETE FROM files WHERE number = ?", (number,))
            self.remove_postings(db, number, old)
            self.add_postings(db, {self.add_file(db, path, terms): terms})

    def add_postings(self, db: Connection, files: Mapping[int, FileTerms]) -> None: ...
    def remove_postings(self, db: Connection, number: int, terms: Sequence[str]) -> None: ...

    def names(self, db: Connection) -> dict[int, tuple[str, int, int, int]]:
        return {
            row[0]: row[1:]
            for row in db.rows("SELECT number, path, corpus, docs, minor FROM files")
        }

    def answer(self, found: dict[str, Columns], names: Any) -> Answer:
        return {
            term: {
                (names[doc >> SHIFT][0], doc & MASK, field)
                for doc, field in zip(columns.docs, columns.fields, strict=True)
            }
            for term, columns in found.items()
        }


SHIFT: Final = 14
MASK: Final = (1 << SHIFT) - 1
"""A document is its file's number and its place in the file."""


class RowOfTermAndFile(Table):
    """A row for each term of each file: its columns one after the other, not compressed."""

    name = "row per (term, file)"
    tables = """
    CREATE TABLE postings (
        term TEXT NOT NULL, file INTEGER NOT NULL, packed BLOB NOT NULL, PRIMARY KEY (term, file)
    ) WITHOUT ROWID;
    """

    def add_postings(self, db: Connection, files: Mapping[int, FileTerms]) -> None:
        rows = (
            (term, number, packed_row(columns))
            for number, terms in files.items()
            for term, columns in terms.postings.items()
        )
        # sorted where there are many: SQLite appends then
        db.many("INSERT INTO postings VALUES (?, ?, ?)", sorted(rows) if len(files) > 1 else rows)

    def remove_postings(self, db: Connection, number: int, terms: Sequence[str]) -> None:
        db.many(
            "DELETE FROM postings WHERE term = ? AND file = ?", ((term, number) for term in terms)
        )

    def find(self, db: Connection, terms: Sequence[str]) -> tuple[dict[str, Columns], Any]:
        marks = ", ".join("?" * len(terms))
        sql = f"SELECT term, file, packed FROM postings WHERE term IN ({marks}) ORDER BY term, file"
        merged: dict[str, Columns] = {}
        for term, number, packed in db.rows(sql, terms):
            into = merged.get(term) or merged.setdefault(term, postings.empty_columns())
            numbers = array("H", packed)
            count = numbers[0]
            base = number << SHIFT
            into.docs.extend([base + doc for doc in numbers[1 : 1 + count]])
            into.fields.extend(numbers[1 + count : 1 + 2 * count])
            into.lengths.extend(numbers[1 + 2 * count : 1 + 3 * count])
            into.positions.extend(numbers[1 + 3 * count :])
        return merged, self.names(db)


def packed_row(columns: postings.FileColumns) -> bytes:
    """The columns of a term in one file."""
    docs, fields, lengths, positions = columns
    return array("H", [len(docs), *docs, *fields, *lengths, *positions]).tobytes()


class RowOfTerm(Table):
    """A row for each term: its postings in all files, packed as our blocks are."""

    name = "row per term"
    tables = "CREATE TABLE postings (term TEXT PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;"

    def add_postings(self, db: Connection, files: Mapping[int, FileTerms]) -> None:
        merged: dict[str, Columns] = {}
        for number, terms in files.items():
            for term, (docs, *others) in terms.postings.items():
                numbered = array("I", [(number << SHIFT) + doc for doc in docs])
                extend(merged, term, [numbered, *(array("H", column) for column in others)])
        if len(files) == 1:
            stored = self._stored(db, list(merged))
            merged = {
                term: self._joined(stored.get(term), columns) for term, columns in merged.items()
            }
        db.many(
            "INSERT OR REPLACE INTO postings VALUES (?, ?)",
            ((term, postings.pack({term: merged[term]})) for term in sorted(merged)),
        )

    def _stored(self, db: Connection, terms: Sequence[str]) -> dict[str, Columns]:
        stored: dict[str, Columns] = {}
        for start in range(0, len(terms), 400):
            batch = terms[start : start + 400]
            marks = ", ".join("?" * len(batch))
            for term, packed in db.rows(
                f"SELECT term, packed FROM postings WHERE term IN ({marks})", batch
            ):
                stored |= postings.unpack(packed, (term,))
        return stored

    def _joined(self, stored: Columns | None, added: Columns) -> Columns:
        if stored is None:
            return added
        for column, more in zip(stored, added, strict=True):
            column.extend(more)
        return stored

    def remove_postings(self, db: Connection, number: int, terms: Sequence[str]) -> None:
        rows = []
        for term, columns in self._stored(db, terms).items():
            left = postings.empty_columns()
            for doc, field, length, positions in postings.postings_of(columns):
                if doc >> SHIFT != number:
                    left.docs.append(doc)
                    left.fields.append(field)
                    left.lengths.append(length)
                    left.positions.extend(positions)
            rows.append((postings.pack({term: left}), term))
        db.many("UPDATE postings SET packed = ? WHERE term = ?", rows)

    def find(self, db: Connection, terms: Sequence[str]) -> tuple[dict[str, Columns], Any]:
        return self._stored(db, terms), self.names(db)


LAYOUTS: Final[tuple[Layout, ...]] = (Segments(), RowOfTermAndFile(), RowOfTerm())


class Stopwatch:
    """CPU milliseconds of this process: layout → question → of each time that it was asked."""

    def __init__(self) -> None:
        self.costs: dict[str, dict[str, list[float]]] = {one.name: {} for one in LAYOUTS}

    @contextmanager
    def timed(self, layout: Layout, question: str) -> Iterator[None]:
        started = time.process_time()
        yield
        taken = (time.process_time() - started) * 1000
        self.costs[layout.name].setdefault(question, []).append(taken)


def read_terms(name: str) -> dict[str, FileTerms]:
    """The terms of every Python file of a repository."""
    top = repository(name).top
    return {
        path: terms_of(
            path, scan_guarded((top / path).read_bytes(), path, path[:-3].replace("/", "."))
        )
        for path in python_files(top)
    }


def edited(terms: FileTerms, number: int) -> FileTerms:
    """The terms after an edit: one more, and one less."""
    columns = dict(terms.postings)
    dropped = next(iter(columns), "")
    columns.pop(dropped, None)
    if terms.places:
        columns[f"benchterm{number}"] = (
            [0],
            [postings.Field.BODY << postings.FIELD_SHIFT | 1],
            [1],
            [1],
        )
    return terms._replace(postings=columns)


def measured(
    files: Mapping[str, FileTerms], rounds: int, edits: int
) -> tuple[Stopwatch, dict[str, float]]:
    """The costs of each layout, measured in turn; and layout → MB after the edits."""
    watch, sizes = Stopwatch(), dict[str, float]()
    chance = random.Random(28)
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            stores = [
                (layout, Connection(Path(folder, f"{number}.db")))
                for number, layout in enumerate(LAYOUTS)
            ]
            for layout, db in stores:
                with watch.timed(layout, "build"):
                    layout.build(db, files)
            for number, path in enumerate(chance.sample(sorted(files), edits)):
                terms = edited(files[path], number)
                for layout, db in stores:
                    with watch.timed(layout, "update of one file"):
                        layout.update(db, path, terms)
            for asked in QUERIES:
                answers = []
                for layout, db in stores:
                    with watch.timed(layout, "query of 5 terms"):
                        found, names = layout.find(db, asked)
                    answers.append(layout.answer(found, names))
                if any(answer != answers[0] for answer in answers) or not any(answers[0].values()):
                    raise SystemExit("the layouts disagree on where the terms are")
            for layout, db in stores:
                sizes[layout.name] = db.megabytes()
                db.raw.close()
    return watch, sizes


def rows(
    costs: Mapping[str, Mapping[str, Sequence[float]]], sizes: Mapping[str, float]
) -> list[Row]:
    """The rows of the table: each plain table against ours."""
    ours = LAYOUTS[0].name
    shown = []
    for question in costs[ours]:
        limit = statistics.median(costs[ours][question])
        for name, taken in costs.items():
            median = statistics.median(taken[question])
            ratio = None if name == ours else median / limit
            shown.append(
                Row(
                    f"{question}: {name}",
                    f"{median:,.1f} ms CPU",
                    ratio,
                    "" if name == ours else "ours",
                )
            )
    for name, size in sizes.items():
        ratio = None if name == ours else size / sizes[ours]
        shown.append(Row(f"size: {name}", f"{size:,.1f} MB", ratio, "" if name == ours else "ours"))
    return shown


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repository", choices=NAMES, default="django")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--edits", type=int, default=20)
    asked = options.parse_args()
    try:
        files = read_terms(asked.repository)
    except NotHere as problem:
        raise SystemExit(str(problem)) from None
    watch, sizes = measured(files, asked.rounds, asked.edits)
    show(f"postings of {len(files):,} files", rows(watch.costs, sizes))


if __name__ == "__main__":
    main()
