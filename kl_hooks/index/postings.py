"""Postings: which symbols hold a term, in which field, how often and where; and what the terms of a
text are.

Terms are what a task, a commit message and a symbol's source have in common once identifiers are
split and stemmed. Ranking needs their frequency in each field of a symbol, which FTS5's bm25() does
not give (ADR-0028). The terms of some files are one segment, as in any log-structured index: a
changed file becomes a segment of its own, its old documents are dead, and small segments are merged
into larger ones. So an edit writes the terms of one file, and a query reads the rows of its own
terms only. Source and what only exercises it (tests, examples) are two corpora: the one does not
change how rare a word is in the other.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import accumulate, chain, compress
from operator import not_
from sys import byteorder
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.symbol import SCRIPT_TEST
from kl_hooks.store.database import Rows, chunks, placeholders

if TYPE_CHECKING:
    from collections.abc import Callable


WORD: Final = lazy_pattern(r"[^\W\d]\w*")
_SEAM: Final = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST: Final = 100
"""Characters of a word; what is longer is data (base64, hashes), which nobody asks for."""
_SHORTEST: Final = 2


class Field(IntEnum):
    """Where a term is found in the document of a symbol."""

    NAME = 0
    OWNER = 1
    """The enclosing class."""
    PATH = 2
    BODY = 3
    COMMENT = 4
    STRING = 5
    SIGNATURE = 6
    """With decorators and base classes."""
    DOC = 7


WEIGHTS: Final = (5.0, 5.0, 2.0, 1.5, 1.5, 1.3, 1.0, 0.7)
"""Of a term in each field, as measured: retrieval recipe, ADR-0028."""
_PATH_NOISE: Final = frozenset({"src", "py"})


def split(identifier: str) -> list[str]:
    """`HTTPServer_error2` → `["http", "server", "error2"]`: at `_` and where small and capital
    letters meet.
    """
    return [piece for piece in _SEAM.sub("_", identifier).lower().split("_") if piece]


def terms(words: Iterable[str]) -> list[str]:
    """The terms of identifiers, in their order: the parts of each, then the whole one where it has
    several parts.
    """
    return [term for word in words for term in _terms_of(word)]


def text_terms(text: str) -> list[str]:
    """The terms of the identifiers and words in a text."""
    return terms(WORD.findall(text))


def path_terms(path: str) -> list[str]:
    """The terms of a path; `src` and `py` are in nearly all of them and distinguish none."""
    return terms(word for word in WORD.findall(path) if word not in _PATH_NOISE)


def _terms_of(word: str) -> tuple[str, ...]:
    parts, whole = _split_terms(word)
    if not whole:
        return parts
    return (*parts, whole)


def word_parts(word: str) -> tuple[str, ...]:
    """The stems of an identifier's parts, those of one letter omitted; none of a word that is too
    long.
    """
    if len(word) > _LONGEST:
        return ()
    return tuple(_stemmed(part) for part in split(word) if len(part) >= _SHORTEST)


def _stemmed(word: str) -> str:
    if "_" in word or any(letter.isdigit() for letter in word):
        return word
    return _stem(word)


_CACHED: Final = 20_000
"""Words whose terms are not made anew. The caches of 100,000 names took as much memory as the
vectors of 100,000 passages, and saved no time: over 6.9 million words of source, 275,000 of them
different, both took 7 s (ADR-0050)."""


@lru_cache(maxsize=_CACHED)
def _stem(word: str) -> str:
    # one for each thread: while it stems a word, the stemmer keeps it in its own attributes
    if not hasattr(_THREAD, "stem"):
        _THREAD.stem = _stemmer()
    stem: str = _THREAD.stem(word)
    return stem


_THREAD: Final = threading.local()


def _stemmer() -> Callable[[str], str]:
    # here: 8 ms that only indexing and ranking need. This class and not the package's stemmer(),
    # which prefers another library where one is installed: stored terms must fit those of every
    # later query
    from snowballstemmer.english_stemmer import EnglishStemmer

    stem: Callable[[str], str] = EnglishStemmer().stemWord
    return stem


_STOP_TEXT: Final = """
    a about above after again all also am an and any are as at be because been before being below
    between both but by can cannot could did do does doing don down during each few for from
    further had has have having he her here hers him his how i if in into is isn it its itself just
    let made make makes making may me might more most must my no nor not now of off on once only or
    other our out over own same shall she should so some such than that the their them then there
    these they this those through to too under until up us very was we were what when where which
    while who whom why will with would you your yours"""
_STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
_CHANGE_TEXT: Final = """
    add added adding adds allow allowed allows avoid avoids bug bugs change changed changes
    changing clean cleanup correct correctly deprecate deprecated drop dropped enable ensure
    ensures fix fixed fixes fixing handle handles handling implement implemented improve improved
    improves introduce issue minor move moved moves new pr refactor refactored release remove
    removed removes removing rename renamed replace replaced revert set simplify support supported
    supports switch tweak update updated updates updating use used uses using work works"""
_CHANGE_WORDS: Final = frozenset(_CHANGE_TEXT.split())
"""Verbs of change: nearly every task has one."""
_SUBJECT: Final = 2.0
_REST: Final = 1.3
_MOST: Final = 3.0
_FAINT: Final = 0.3
"""Of a verb of change. The recipe has .6: equal on 240 tasks (R@5 +.002, symbols@10 +.002), but a
name that no other symbol has, such as `add_x`, then outranked the class that the task names by a
word which many symbols have."""
_CODE: Final = lazy_pattern(
    r"`([^`\n]+)`|\b(\w*[a-z0-9]_\w+|_\w+|\w*[a-z0-9][A-Z]\w*|\w+(?=\(\))|\w+(?:\.\w+)+)"
)


class Query(NamedTuple):
    """A task as terms."""

    weights: dict[str, float]
    """Term → how much it counts, in the order of the text."""
    pairs: tuple[tuple[str, str], ...]
    """Terms next to each other in the text, neither of them a stop word; each pair once."""
    names: tuple[str, ...]
    """Words that look like code, as written."""
    words: tuple[str, ...] = ()
    """All words but stop words, verbs of change and short ones, as written, each once."""


def read_query(text: str, most: int = 200) -> Query:
    """The terms of a task: its first line counts more than the rest, verbs of change and short
    words less.

    `most`: words looked at; a pasted log has thousands, and its beginning has the point.
    """
    subject, _, body = text.strip().partition("\n")
    names = tuple(
        dict.fromkeys(
            word for found in _CODE.findall(text[:20_000]) for word in WORD.findall(" ".join(found))
        )
    )
    as_code = {word for name in names for word in (name, name.lower())}
    counts: dict[str, float] = {}
    faint: set[str] = set()
    strong: set[str] = set()
    pairs: dict[tuple[str, str], None] = {}
    words: dict[str, None] = {}
    words_read = 0
    for part, worth in ((subject, _SUBJECT), (body, _REST)):
        before = ""
        for word in WORD.findall(part[:100_000]):
            if words_read >= most:
                break
            if word.lower() in _STOP_WORDS and word not in as_code:
                before = ""
                continue
            words_read += 1
            weak = word not in as_code and (word.lower() in _CHANGE_WORDS or len(word) <= _SHORTEST)
            if not weak:
                words[word] = None
            for term in _terms_of(word):
                counts[term] = counts.get(term, 0.0) + worth
                (faint if weak else strong).add(term)
            for term in word_parts(word):
                if before:
                    pairs[before, term] = None
                before = term
    weights = {
        term: min(count, _MOST) * (_FAINT if term in faint and term not in strong else 1.0)
        for term, count in counts.items()
    }
    return Query(weights, tuple(pairs), names, tuple(words))


class SymbolText(NamedTuple):
    """The source of one function, method or class without what is defined in it; or of a module."""

    place: int
    """Of its row among the symbols of the file."""
    name: str
    """Last part of its name; empty for a module."""
    owner: str
    """Name of the class it is in, or empty."""
    words: str
    """Identifiers and words in the order of the source, separated by spaces; a sign of `MARKS`
    begins another field.
    """


MARKS: Final = {
    ".": Field.BODY,
    "#": Field.COMMENT,
    '"': Field.STRING,
    "(": Field.SIGNATURE,
    "'": Field.DOC,
}
_MOST_TERMS: Final = 0xFFFF
"""Terms of a document and occurrences of one in it that are stored: two bytes each."""


class Document(NamedTuple):
    """The terms of one symbol."""

    place: int
    lengths: tuple[int, ...]
    """Terms in each field."""
    postings: tuple[dict[str, list[int]], ...]
    """Field → term → its positions among the words of the source; of a name, owner, path and whole
    identifier 0.
    """


def document(text: SymbolText, path: Sequence[str]) -> Document:
    """The terms of a symbol. `path`: the terms of its file's path. Pure."""
    fields: tuple[dict[str, list[int]], ...] = tuple({} for _ in Field)
    lengths = [0] * len(Field)
    for field, field_terms in (
        (Field.NAME, terms([text.name])),
        (Field.OWNER, terms([text.owner])),
        (Field.PATH, path),
    ):
        lengths[field] = len(field_terms)
        for term in field_terms:
            fields[field].setdefault(term, []).append(0)
    field = Field.BODY
    position = 1
    into = fields[Field.BODY]
    # one loop without calls but the cached one: it sees every word of every file
    for word in text.words.split(" "):
        if word in MARKS:
            field = MARKS[word]
            into = fields[field]
            continue
        parts, whole = _split_terms(word)
        if position + len(parts) >= _MOST_TERMS:
            break
        for term in parts:
            if term in into:
                into[term].append(position)
            else:
                into[term] = [position]
            position += 1
        lengths[field] += len(parts)
        if whole:
            # a whole identifier is found, but never next to anything: its parts are
            into.setdefault(whole, []).append(0)
            lengths[field] += 1
    return Document(text.place, tuple(lengths), fields)


_Split = tuple[tuple[str, ...], str]


@lru_cache(maxsize=_CACHED)
def _split_terms(word: str) -> _Split:
    """The terms of an identifier's parts, and of the whole one where it has several parts."""
    if len(word) <= _LONGEST and len(split(word)) > 1:
        whole = word.lower()
    else:
        whole = ""
    return word_parts(word), _stemmed(whole) if whole else ""


def _split_prose(word: str) -> _Split:
    """The same, and what is too short to be a term of source: prose is asked for `C`, and for
    `4`.
    """
    parts, whole = _split_terms(word)
    if parts or not 0 < len(word) < _SHORTEST:
        return (parts, whole)
    return ((word.lower(),), "")


@lru_cache(maxsize=_CACHED)
def _prose_terms(word: str) -> tuple[str, ...]:
    parts, whole = _split_prose(word)
    if not whole:
        return parts
    return (*parts, whole)


def prose_terms(words: Iterable[str]) -> list[str]:
    """The terms of the words of a text that is no source, in their order; of each its parts, then
    the whole.
    """
    return list(chain.from_iterable(map(_prose_terms, words)))


def significant_words(question: str) -> list[str]:
    """The words of a question without those that every question has; all of them where it has no
    others.
    """
    words = re.findall(r"\w+", question)
    return [word for word in words if word.lower() not in _STOP_WORDS] or words


def search_terms(words: Iterable[str]) -> list[str]:
    """The terms of the words of a query, each once."""
    terms = prose_terms(word for text in words for word in re.findall(r"\w+", text))
    return [term for term in dict.fromkeys(terms) if term.strip("_")]


SOURCE: Final = 0
OTHER: Final = 1
KNOWLEDGE: Final = 2
"""What is no source: records, pages and the like."""
CHUNKS: Final = 3
"""Passages of documents: they are many, and change nothing about how rare a word is among records.
"""
_TEST_FOLDERS: Final = frozenset(
    {"tests", "test", "testdata", "test_data", "test-data", "fixtures"}
)
_TOP_FOLDERS: Final = frozenset(
    {"testing", "docs", "doc", "docs_src", "examples", "example", "samples", "benchmarks"}
)


def corpus_of(path: str) -> int:
    """`SOURCE`, or `OTHER` for what exercises or shows source: tests, test data, examples and
    snippets of docs.
    """
    *folders, name = path.split("/")
    if not _TEST_FOLDERS.isdisjoint(folders) or (folders and folders[0] in _TOP_FOLDERS):
        return OTHER
    is_test = (
        name.startswith("test_")
        or name.endswith(("_test.py", "_tests.py"))
        or name in ("conftest.py", "tests.py")
        or SCRIPT_TEST.fullmatch(path)
    )
    if is_test:
        return OTHER
    return SOURCE


class Columns(NamedTuple):
    """The postings of one term, by document and field."""

    docs: array[int]
    """Numbers of documents, rising; a document is there once for each field that has the term."""
    fields: array[int]
    """Field and term frequency: `field << FIELD_SHIFT | frequency`."""
    lengths: array[int]
    """How many terms the field has in that document."""
    positions: array[int]
    """Where the term is, of each posting in a field of the source as many as its frequency; 0: next
    to nothing.
    """


FIELD_SHIFT: Final = 13
FREQUENCY: Final = (1 << FIELD_SHIFT) - 1
_MOST_LENGTH: Final = 0xFFFF
POSITIONED: Final = Field.BODY
"""From this field on postings have positions."""


FileColumns = tuple[list[int], list[int], list[int], list[int]]
"""The columns of a term in one file, as plain lists: most are short, and other processes send them.
"""


class FileTerms(NamedTuple):
    """The terms of one file, its documents numbered from 0."""

    places: tuple[int, ...]
    """Of the minor documents, too: they come last."""
    lengths: tuple[int, ...]
    postings: dict[str, FileColumns]
    minor: int = 0
    """Documents that a ranking takes no notice of, so that they change none: fields and the like.
    """


def file_terms(
    path: str, texts: Iterable[Sequence[Any]], minor: Iterable[SymbolText] = ()
) -> FileTerms:
    """The terms of a file. `texts`: of its symbols, see `SymbolText`; `minor`: of those without
    source. Pure.
    """
    of_path = path_terms(path)
    documents = (document(SymbolText(*text), of_path) for text in texts)
    places: list[int] = []
    totals = [0] * len(Field)
    columns_by_term: dict[str, FileColumns] = {}
    for document_terms in documents:
        for field, size in enumerate(document_terms.lengths):
            totals[field] += size
        _add_document(columns_by_term, len(places), document_terms)
        places.append(document_terms.place)
    major = len(places)
    for text in minor:
        document_terms = document(text, ())
        _add_document(columns_by_term, len(places), document_terms)
        places.append(document_terms.place)
    return FileTerms(tuple(places), tuple(totals), columns_by_term, len(places) - major)


def _add_document(columns_by_term: dict[str, FileColumns], number: int, document: Document) -> None:
    for field, field_postings in enumerate(document.postings):
        size = min(document.lengths[field], _MOST_LENGTH)
        shifted = field << FIELD_SHIFT
        positioned = field >= POSITIONED
        for term, positions in field_postings.items():
            columns = columns_by_term.get(term)
            if columns is None:
                columns = columns_by_term[term] = ([], [], [], [])
            if len(positions) > FREQUENCY:
                positions = positions[:FREQUENCY]
            columns[0].append(number)
            columns[1].append(shifted | len(positions))
            columns[2].append(size)
            if positioned:
                columns[3].extend(positions)


def empty_columns() -> Columns:
    """No postings."""
    return Columns(array("I"), array("H"), array("H"), array("H"))


def _extend(columns: Columns, added: Columns | FileColumns, base: int) -> None:
    """Append the postings of a file whose first document has the number `base`."""
    docs, fields, lengths, positions = added
    columns.docs.extend([number + base for number in docs] if base else docs)
    columns.fields.extend(fields)
    columns.lengths.extend(lengths)
    columns.positions.extend(positions)


_BLOCK: Final = 2048
"""Postings of a block: fewer compress worse, more take longer to unpack for one term."""


def pack(block: Mapping[str, Columns]) -> bytes:
    """The postings of some terms as the database keeps them, the same on every machine."""
    names = "\n".join(block).encode("utf-8", "surrogatepass")
    counts = array("I", (len(columns.docs) for columns in block.values()))
    counts.extend(len(columns.positions) for columns in block.values())
    parts = [
        _little(array("I", (len(block), len(names)))).tobytes(),
        names,
        _little(counts).tobytes(),
    ]
    for place in range(len(Columns._fields)):
        # byte by byte of the numbers, as Blosc's shuffle does: the higher ones are nearly all
        # alike, and compress
        whole = b"".join(_little(columns[place]).tobytes() for columns in block.values())
        width = _WIDTHS[place]
        parts += [whole[start::width] for start in range(width)]
    return zlib.compress(b"".join(parts), 1)


_TYPES: Final = ("I", "H", "H", "H")
_WIDTHS: Final = tuple(array(sort).itemsize for sort in _TYPES)


def unpack(packed: bytes, wanted: Container[str]) -> dict[str, Columns]:
    """The postings of the wanted terms among those of a block. ValueError or zlib.error for what is
    none.
    """
    raw = zlib.decompress(packed)
    number, size = _column("I", raw[:8])
    terms = raw[8 : 8 + size].decode("utf-8", "surrogatepass").split("\n")
    counts = _column("I", raw[8 + size : 8 + size + 8 * number])
    places = [place for place, term in enumerate(terms) if term in wanted]
    postings = list(accumulate(counts[:number], initial=0))
    positions = list(accumulate(counts[number:], initial=0))
    columns_by_term: dict[str, list[array[int]]] = {terms[place]: [] for place in places}
    offset = 8 + size + 8 * number
    for sort, width, ends in zip(
        _TYPES, _WIDTHS, (postings, postings, postings, positions), strict=True
    ):
        total = ends[-1]
        for place in places:
            start = ends[place]
            end = ends[place + 1]
            column = bytearray((end - start) * width)
            for byte in range(width):
                column[byte::width] = raw[
                    offset + byte * total + start : offset + byte * total + end
                ]
            columns_by_term[terms[place]].append(_column(sort, column))
        offset += total * width
    return {term: Columns(*columns) for term, columns in columns_by_term.items()}


def _column(sort: str, raw: bytes | bytearray) -> array[int]:
    column: array[int] = array(sort)
    column.frombytes(raw)
    return _little(column)


def _little(column: array[int]) -> array[int]:
    if byteorder == "big":
        column = array(column.typecode, column)
        column.byteswap()
    return column


_LARGE: Final = 32_768
"""Documents of a segment that is not merged any more, and of those that are written first: what is
packed together must fit into memory."""
_SMALL: Final = 8
"""Segments that cost a query little, and merging more."""


_ByCorpus = dict[int, dict[str, Columns]]
"""Corpus → term → its postings."""


class SegmentFile(NamedTuple):
    """A file in a segment."""

    corpus: int
    path: str
    first: int
    docs: int
    minor: int


class SegmentWriter:
    """Writes the terms of files that have none, some files to a segment. Inside one transaction;
    `close` it.
    """

    def __init__(self, db: Rows) -> None:
        self._db = db
        self._files: list[SegmentFile] = []
        self._rows: list[tuple[Any, ...]] = []
        self._postings: _ByCorpus = {}
        self._segment, self._first = (
            int(number)
            for number in db.rows(
                "SELECT COALESCE(MAX(segment), 0) + 1, COALESCE(MAX(first + docs), 0) FROM"
                " term_segments"
            )[0]
        )
        self._next = self._first

    def add(self, path: str, terms: FileTerms, corpus: int | None = None) -> None:
        """Write the terms of a file, now or later. `corpus`: of what is no file."""
        if corpus is None:
            corpus = corpus_of(path)
        postings = self._postings.setdefault(corpus, {})
        for term, columns in terms.postings.items():
            into = postings.get(term)
            if into is None:
                into = postings[term] = empty_columns()
            _extend(into, columns, self._next)
        self._add_file(corpus, path, terms.places, terms.lengths, terms.minor)

    def add_prose(
        self, owner: str, documents: Sequence[Mapping[Field, Sequence[str]]], corpus: int
    ) -> list[int]:
        """Write documents of which the terms of each field are given, now or later; return how many
        each has.

        Without positions: no search asks what is next to what in prose, and they are most of what
        would be written.
        """
        totals = [0] * len(Field)
        counts = list[int]()
        postings = self._postings.setdefault(corpus, {})
        for number, document_fields in enumerate(documents, self._next):
            left = _MOST_TERMS
            for field in sorted(document_fields):
                terms = document_fields[field][:left]
                size = len(terms)
                shifted = field << FIELD_SHIFT
                left -= size
                totals[field] += size
                for term, count in Counter(terms).items():
                    into = postings.get(term)
                    if into is None:
                        into = postings[term] = empty_columns()
                    into.docs.append(number)
                    into.fields.append(shifted | (count if count < FREQUENCY else FREQUENCY))
                    into.lengths.append(size)
            counts.append(_MOST_TERMS - left)
        self._add_file(corpus, owner, range(len(documents)), totals, 0)
        return counts

    def _add_file(
        self, corpus: int, path: str, places: Sequence[int], lengths: Sequence[int], minor: int
    ) -> None:
        """Note a file whose terms were added. Its documents are numbered from the next free number
        on.
        """
        docs = len(places) - minor
        self._files.append(SegmentFile(corpus, path, self._next, docs, minor))
        self._rows.append(
            (
                corpus,
                path,
                self._segment,
                self._next,
                docs,
                minor,
                json.dumps([*places], separators=(",", ":")),
                " ".join(map(str, lengths)),
            )
        )
        self._next += len(places)
        if self._next - self._first >= _LARGE:
            self.close()

    def close(self) -> None:
        """Write what is not written yet; the next file begins another segment."""
        if not self._files:
            return
        self._db.many("INSERT INTO term_files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self._rows)
        _add_to_totals(self._db, [(row[0], row[4], row[7]) for row in self._rows], 1)
        _write_segment(
            self._db,
            self._segment,
            self._first,
            self._next - self._first,
            self._files,
            self._postings,
        )
        self._files = []
        self._rows = []
        self._postings = {}
        self._segment, self._first = self._segment + 1, self._next


def _write_segment(
    db: Rows, segment: int, first: int, docs: int, files: Sequence[SegmentFile], postings: _ByCorpus
) -> None:
    db.many(
        "INSERT INTO term_segments VALUES (?, ?, ?, ?)",
        [(segment, first, docs, _pack_files(files))],
    )
    db.many(
        "INSERT INTO term_blocks VALUES (?, ?, ?, ?)",
        ((segment, *row) for row in _blocks(postings)),
    )


def _pack_files(files: Sequence[SegmentFile]) -> bytes:
    """The files that have documents: their number, four columns of numbers, and their paths, which
    have no NUL.
    """
    with_documents = [file for file in files if file.docs + file.minor]
    numbers = array("I", [len(with_documents)])
    for column in (
        [file.corpus for file in with_documents],
        [file.first for file in with_documents],
        [file.docs for file in with_documents],
        [file.minor for file in with_documents],
    ):
        numbers.extend(column)
    paths = "\0".join(file.path for file in with_documents).encode("utf-8", "surrogatepass")
    return zlib.compress(_little(numbers).tobytes() + paths, 1)


def _unpack_files(packed: bytes) -> _Files:
    raw = zlib.decompress(packed)
    (count,) = _column("I", raw[:4])
    corpora, firsts, docs, minor = (
        _column("I", raw[4 + 4 * count * at : 4 + 4 * count * (at + 1)]) for at in range(4)
    )
    if count:
        paths = raw[4 + 16 * count :].decode("utf-8", "surrogatepass").split("\0")
    else:
        paths = []
    return _Files(corpora, paths, firsts, docs, minor)


def _blocks(postings: _ByCorpus) -> Iterator[tuple[int, str, bytes]]:
    """(corpus, first term, block) of these terms, in their order."""
    for corpus, columns_by_term in sorted(postings.items()):
        block: dict[str, Columns] = {}
        size = 0
        for term in sorted(columns_by_term):
            count = len(columns_by_term[term].docs)
            if not count:
                continue
            if block and size + count > _BLOCK:
                yield corpus, next(iter(block)), pack(block)
                block = {}
                size = 0
            block[term] = columns_by_term[term]
            size += count
        if block:
            yield corpus, next(iter(block)), pack(block)


def add_files(db: Rows, files: Mapping[str, FileTerms], corpus: int | None = None) -> None:
    """Write the terms of files that have none. Inside one transaction."""
    writer = SegmentWriter(db)
    for path, terms in files.items():
        writer.add(path, terms, corpus)
    writer.close()


def remove_files(db: Rows, paths: Iterable[str], corpora: Sequence[int] = (SOURCE, OTHER)) -> None:
    """Forget the terms of files, whether there are any or not. Inside one transaction."""
    for batch in chunks(list(paths)):
        condition = f"corpus IN ({placeholders(corpora)}) AND path IN ({placeholders(batch)})"
        asked = (*corpora, *batch)
        rows = db.rows(
            f"SELECT corpus, docs, lengths, first, minor FROM term_files WHERE {condition}", asked
        )
        _add_to_totals(db, [row[:3] for row in rows], -1)
        dead = [(first, docs + minor) for _, docs, _, first, minor in rows if docs + minor]
        db.many("INSERT INTO term_dead VALUES (?, ?)", dead)
        db.execute(f"DELETE FROM term_files WHERE {condition}", asked)


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
            sums = [
                total + sign * int(length) for total, length in zip(sums, text.split(), strict=True)
            ]
        db.execute("DELETE FROM term_totals WHERE corpus = ?", (corpus,))
        db.execute(
            "INSERT INTO term_totals VALUES (?, ?, ?, ?)",
            (corpus, files, docs, " ".join(map(str, sums))),
        )


def merge_segments(db: Rows) -> None:
    """Merge small segments, and write those anew that are mostly dead. Inside one transaction.

    Segments grow as in the logarithmic method (Bentley and Saxe 1980): each document is written
    anew O(log n) times.
    """
    every = sorted(db.rows("SELECT docs, segment, first FROM term_segments"))
    dead = db.rows("SELECT first, docs FROM term_dead")
    alive = {
        segment: docs - sum(count for start, count in dead if first <= start < first + docs)
        for docs, segment, first in every
    }
    chosen, total = 0, 0
    small = [(docs, segment) for docs, segment, _ in every if docs < _LARGE]
    for place, (docs, _) in enumerate(small):
        if place and total >= docs:
            chosen = place + 1
        total += docs
    if chosen > _SMALL:
        merged = {segment for _, segment in small[:chosen]}
    else:
        merged = set()
    merged |= {segment for docs, segment, _ in every if alive[segment] * 2 < docs}
    empty = {segment for segment, docs in alive.items() if not docs}
    _delete_segments(db, sorted(empty))
    if merged - empty:
        _rewrite(db, sorted(merged - empty))


def _rewrite(db: Rows, segments: Sequence[int]) -> None:
    """Make one segment of these, without their dead documents."""
    marks = placeholders(segments)
    columns = "corpus, path, first, docs, minor"
    old = (
        f"SELECT {columns} FROM term_files WHERE segment IN ({marks}) AND docs + minor > 0 ORDER BY"
        " first"
    )
    files = [SegmentFile(*row) for row in db.rows(old, segments)]
    new, first = db.rows("SELECT MAX(segment) + 1, MAX(first + docs) FROM term_segments")[0]
    starts = accumulate((one.docs + one.minor for one in files), initial=first)
    moved = {one.first: start for one, start in zip(files, starts, strict=False)}
    numbers = {
        one.first + place: moved[one.first] + place
        for one in files
        for place in range(one.docs + one.minor)
    }
    postings: _ByCorpus = {}
    # by first document: numbers rise from segment to segment, and those of what is made of them,
    # too
    blocks = f"""SELECT b.corpus, b.packed FROM term_blocks b
        JOIN term_segments s ON s.segment = b.segment
        WHERE b.segment IN ({marks}) ORDER BY s.first, b.corpus, b.term"""
    for corpus, packed in db.rows(blocks, segments):
        into = postings.setdefault(corpus, {})
        for term, term_columns in unpack(packed, Everything()).items():
            _extend_moved(into.setdefault(term, empty_columns()), term_columns, numbers)
    _delete_segments(db, segments)
    files = [one._replace(first=moved[one.first]) for one in files]
    _write_segment(db, new, first, sum(one.docs + one.minor for one in files), files, postings)
    db.execute(f"UPDATE term_files SET segment = ? WHERE segment IN ({marks})", (new, *segments))
    sql = "UPDATE term_files SET first = ? WHERE corpus = ? AND path = ?"
    db.many(sql, [(one.first, one.corpus, one.path) for one in files])


class Everything(Container[str]):
    """Contains every term."""

    def __contains__(self, term: object) -> bool:
        return True


def _delete_segments(db: Rows, segments: Sequence[int]) -> None:
    for segment in segments:
        ((first, docs),) = db.rows(
            "SELECT first, docs FROM term_segments WHERE segment = ?", (segment,)
        )
        db.execute("DELETE FROM term_dead WHERE first >= ? AND first < ?", (first, first + docs))
        db.execute("DELETE FROM term_blocks WHERE segment = ?", (segment,))
        db.execute("DELETE FROM term_segments WHERE segment = ?", (segment,))


def _extend_moved(columns: Columns, moved: Columns, numbers: Mapping[int, int]) -> None:
    """Append the postings of the documents that have a new number, under that."""
    docs = [numbers.get(doc, -1) for doc in moved.docs]
    if -1 not in docs:  # nearly always: one by one takes five times as long
        _extend(columns, moved._replace(docs=array("I", docs)), 0)
        return
    for doc, (_, field, length, positions) in zip(docs, postings_of(moved), strict=True):
        if doc >= 0:
            columns.docs.append(doc)
            columns.fields.append(field)
            columns.lengths.append(length)
            columns.positions.extend(positions)


def postings_of(columns: Columns) -> Iterator[tuple[int, int, int, array[int]]]:
    """(document, field and frequency, length of the field, positions) of each posting."""
    offset = 0
    for doc, field, length in zip(columns.docs, columns.fields, columns.lengths, strict=True):
        if field >> FIELD_SHIFT >= POSITIONED:
            count = field & FREQUENCY
        else:
            count = 0
        yield doc, field, length, columns.positions[offset : offset + count]
        offset += count


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
        """Term → where it is, of those that are anywhere. Documents of no file, dead ones, may be
        among them.
        """
        ...

    def paths_of(self, docs: Collection[int]) -> dict[int, str]:
        """Document → its file; those of no file are omitted."""
        ...

    def existing(self, paths: Iterable[str]) -> set[str]:
        """Those of these files that the corpus has."""
        ...

    def places(self, paths: Collection[str]) -> Mapping[str, tuple[int, Sequence[int]]]:
        """Path → the number of its first document, and the places that all of them have among the
        file's symbols.
        """
        ...


class _Files(NamedTuple):
    """Files as columns, by their first documents."""

    corpora: Sequence[int]
    paths: Sequence[str]
    firsts: Sequence[int]
    docs: Sequence[int]
    minor: Sequence[int]

    def chosen(self, marks: Iterable[bool]) -> _Files:
        """Some of them."""
        is_chosen = list(marks)
        if all(is_chosen):
            return self
        return _Files(
            list(compress(self.corpora, is_chosen)),
            list(compress(self.paths, is_chosen)),
            list(compress(self.firsts, is_chosen)),
            list(compress(self.docs, is_chosen)),
            list(compress(self.minor, is_chosen)),
        )

    def places(self, docs: Iterable[int], minor: bool = False) -> dict[int, int]:
        """Document → the place of its file here; those of no file are omitted, and minor ones
        unless `minor`.
        """
        place_of: dict[int, int] = {}
        place = -1
        end = 0
        following = -1
        # in order, a file is looked for once and not for each of its documents
        for doc in sorted(docs):
            if doc >= following:
                place = bisect_right(self.firsts, doc) - 1
                if place < 0:
                    continue
                end = self.firsts[place] + self.docs[place] + (self.minor[place] if minor else 0)
                if place + 1 < len(self.firsts):
                    following = self.firsts[place + 1]
                else:
                    following = doc + (1 << 62)
            if doc < end:
                place_of[doc] = place
        return place_of


class Segments:
    """The segments in the database, and which of their documents belong to which file; of one
    corpus, or of all.
    """

    def __init__(self, db: Rows, corpus: int | None = None) -> None:
        if corpus is not None:
            sql = """SELECT corpus, path, first, docs, minor FROM term_files
                WHERE corpus = ? AND docs + minor > 0 ORDER BY first"""
            columns = tuple(zip(*db.rows(sql, (corpus,)), strict=True))
            self.files = _Files(*columns) if columns else _Files((), (), (), (), ())
            self.numbers = [
                number for (number,) in db.rows("SELECT segment FROM term_segments ORDER BY first")
            ]
            return
        rows = db.rows("SELECT segment, files FROM term_segments ORDER BY first")
        dead = {first for (first,) in db.rows("SELECT first FROM term_dead")}
        self.numbers = [number for number, _ in rows]
        files = _Files(array("I"), [], array("I"), array("I"), array("I"))
        for _, packed in rows:
            for column, more_files in zip(files, _unpack_files(packed), strict=True):
                cast("list[object]", column).extend(cast("list[object]", more_files))
        if dead:
            self.files = files.chosen(map(not_, map(dead.__contains__, files.firsts)))
        else:
            self.files = files
        """Those that there are."""


class StoredPostings:
    """The terms of a corpus in the database; only the blocks of terms that are asked for are
    read.
    """

    def __init__(self, db: Rows, corpus: int = SOURCE, segments: Segments | None = None) -> None:
        self._db, self._corpus = db, corpus
        self.totals = stored_totals(db, corpus)
        # source has many files, which are read sooner where they are listed together
        self._segments = segments or Segments(db, corpus if corpus in (KNOWLEDGE, CHUNKS) else None)
        self._files = self._segments.files.chosen(map(corpus.__eq__, self._segments.files.corpora))

    def find(self, terms: Iterable[str]) -> dict[str, Columns]:
        """As `Postings.find`."""
        wanted = sorted(set(terms)) if self._files.paths else ()
        columns_by_term: dict[str, Columns] = {}
        for batch in chunks(wanted):
            # the block of a term is the last one that begins before it or with it
            sql = f"""WITH wanted(term) AS (VALUES {", ".join(["(?)"] * len(batch))})
                SELECT w.term, s.segment, (SELECT MAX(b.term) FROM term_blocks b
                    WHERE b.segment = s.segment AND b.corpus = ? AND b.term <= w.term)
                FROM term_segments s, wanted w ORDER BY s.first, w.term"""
            blocks: dict[tuple[int, str], set[str]] = {}
            for term, segment, first in self._db.rows(sql, (*batch, self._corpus)):
                if first is not None:
                    blocks.setdefault((segment, first), set()).add(term)
            for segment in dict.fromkeys(number for number, _ in blocks):
                here = [first for number, first in blocks if number == segment]
                sql = f"""SELECT term, packed FROM term_blocks
                    WHERE segment = ? AND corpus = ? AND term IN ({placeholders(here)})"""
                for first, packed in self._db.rows(sql, (segment, self._corpus, *here)):
                    for term, columns in unpack(packed, blocks[segment, first]).items():
                        if term in columns_by_term:
                            _extend(columns_by_term[term], columns, 0)
                        else:
                            columns_by_term[term] = columns
        return columns_by_term

    def paths_of(self, docs: Iterable[int], minor: bool = False) -> dict[int, str]:
        """As `Postings.paths_of`; `minor`: of minor documents, too."""
        paths = self._files.paths
        return {doc: paths[place] for doc, place in self._files.places(docs, minor).items()}

    def there(self, docs: Any) -> Any:
        """Which documents of an array are those of a file, minor ones, too."""
        import numpy

        firsts, ends = self._ranges
        places = numpy.searchsorted(firsts, docs, "right") - 1
        if len(firsts):
            return (places >= 0) & (docs < ends[places])
        return numpy.zeros(len(docs), bool)

    def files_of(self, docs: Iterable[int]) -> dict[int, SegmentFile]:
        """Document → its file, of the minor ones, too."""
        place_of = self._files.places(docs, minor=True)
        return {
            doc: SegmentFile._make(column[place] for column in self._files)
            for doc, place in place_of.items()
        }

    @cached_property
    def _ranges(self) -> tuple[Any, Any]:
        """The first document of each file, and that after its last."""
        import numpy

        firsts, docs, minor = (numpy.array(one, numpy.int64) for one in self._files[2:])
        return firsts, firsts + docs + minor

    @cached_property
    def _known(self) -> set[str]:
        return set(compress(self._files.paths, self._files.docs))

    def existing(self, paths: Iterable[str]) -> set[str]:
        """As `Postings.existing`."""
        return self._known.intersection(paths)

    def places(
        self, paths: Collection[str], minor: bool = False
    ) -> dict[str, tuple[int, Sequence[int]]]:
        """As `Postings.places`; `minor`: of the minor ones, too."""
        places_by_path: dict[str, tuple[int, Sequence[int]]] = {}
        for batch in chunks(sorted(paths)):
            sql = (
                "SELECT path, first, places, docs FROM term_files WHERE corpus = ? AND path IN"
                f" ({placeholders(batch)})"
            )
            for path, first, places, docs in self._db.rows(sql, (self._corpus, *batch)):
                every = json.loads(places)
                places_by_path[path] = (first, every if minor else every[:docs])
        return places_by_path


class MemoryPostings:
    """The terms of some files that are all in memory: of a revision, which nobody wants to
    store.
    """

    def __init__(self, files: Mapping[str, FileTerms]) -> None:
        self._files = {path: files[path] for path in sorted(files) if files[path].places}
        starts = accumulate((len(one.places) for one in self._files.values()), initial=0)
        self._starts = dict(zip(self._files, starts, strict=False))
        self._docs = {path: len(one.places) - one.minor for path, one in self._files.items()}
        lengths = tuple(sum(one.lengths[field] for one in self._files.values()) for field in Field)
        self.totals = Totals(len(self._files), sum(self._docs.values()), lengths)

    def find(self, terms: Iterable[str]) -> dict[str, Columns]:
        """As `Postings.find`."""
        wanted = set(terms)
        columns_by_term: dict[str, Columns] = {}
        for path, file in self._files.items():
            for term in wanted & file.postings.keys():
                _extend(
                    columns_by_term.setdefault(term, empty_columns()),
                    file.postings[term],
                    self._starts[path],
                )
        return columns_by_term

    def paths_of(self, docs: Collection[int]) -> dict[int, str]:
        """As `Postings.paths_of`."""
        paths = list(self._files)
        docs_of = list(self._docs.values())
        minor = [self._files[path].minor for path in paths]
        files = _Files([], paths, list(self._starts.values()), docs_of, minor)
        return {doc: paths[place] for doc, place in files.places(docs).items()}

    def existing(self, paths: Iterable[str]) -> set[str]:
        """As `Postings.existing`."""
        return self._files.keys() & set(paths)

    def places(self, paths: Collection[str]) -> dict[str, tuple[int, Sequence[int]]]:
        """As `Postings.places`."""
        return {
            p: (self._starts[p], self._files[p].places[: self._docs[p]])
            for p in paths
            if p in self._files
        }
