"""Documents by their words: replaced by owner, found by BM25F, names counting more than bodies.

What is no source (records, pages, violations, commits) is a corpus beside source and tests; all
have their words in the same postings. Identifiers are split as people write them: `parseArgs`,
`parse_args` and "parse args" have the same parts.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Any, Final

from kl_hooks.index.postings import (
    FIELD_SHIFT,
    FREQUENCY,
    KNOWLEDGE,
    Columns,
    Field,
    SegmentWriter,
    StoredPostings,
    merge_segments,
    path_terms,
    prose_terms,
    remove_files,
    search_terms,
    split,
    stored_totals,
    terms,
)
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.symbol import split_id
from kl_hooks.store.database import Rows, chunks, placeholders

MOST: Final = 32
"""Words of a query that are looked at."""
_LONGEST: Final = 200
"""Characters of a word of a query: nobody's name is longer."""
# an ending comes before those that it ends in (`ies`, `es`, `s`): the first one that fits is
# removed
_ENDINGS: Final = ("ings", "ing", "ied", "ies", "ed", "es", "s", "e", "y")
_SHORTEST: Final = 4
"""Letters of a stem."""
_WORD: Final = lazy_pattern(r"\w+")


def split_all(text: str) -> str:
    """The words of a text, each followed by its parts where it has several; separated by spaces, in
    their order.
    """
    return " ".join(map(_with_parts, _WORD.findall(text)))


@lru_cache(maxsize=20_000)
def _with_parts(word: str) -> str:
    pieces = split(word)
    if len(pieces) > 1:
        return f"{word} {' '.join(pieces)}"
    return word


def stem(word: str) -> str:
    """What the inflections of an English word have in common: `totals` → `total`, `caching` →
    `cach`, `entry` → `entr`.

    For asking whether it is anywhere in a text: shorter than a dictionary's stem.
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word.removesuffix(ending)
            break
    # double l and s stay, as in step 1b of Porter's algorithm: `falling` → `fall`, `missed` →
    # `miss`
    if word[-1:] == word[-2:-1] and len(word) > _SHORTEST - 1 and word[-1] not in "aeiousl":
        word = word[:-1]  # `running` → `run`
    return word


def query_words(words: Iterable[str]) -> list[str]:
    """What to look for: the words and their parts in lower case, each once, at most `MOST`.

    Every word given is taken before any part. Signs are dropped.
    """
    whole_words = [word for text in words for word in _WORD.findall(text) if len(word) <= _LONGEST]
    forms = [*map(str.lower, whole_words), *(part for word in whole_words for part in split(word))]
    return list(dict.fromkeys(word for word in forms if word.strip("_")))[:MOST]


class Document(NamedTuple):
    """Something that can be found by words. Its text is already redacted."""

    id: str
    kind: str
    path: str
    line: int
    title: str
    """Shown with the hit."""
    body: str = ""
    """More words, not shown."""
    name: str = ""
    """What people call it, where that is not the last part of its id: a heading."""


class Hit(NamedTuple):
    """A document that was found."""

    id: str
    kind: str
    path: str
    line: int
    title: str
    rank: int
    """How well it fits, millionths; more is better, comparable within one search only."""


def replace(db: Rows, owner: str, documents: Iterable[Document]) -> int:
    """Makes `documents` the documents of `owner`; returns their number. Call it inside a
    transaction.
    """
    return replace_many(db, {owner: list(documents)})


def remove(db: Rows, owner: str) -> None:
    """Takes out the documents of `owner`. Call it inside a transaction."""
    replace_many(db, {owner: ()})


def owners(db: Rows, kinds: Sequence[str]) -> set[str]:
    """The owners that have documents of these kinds."""
    if kinds:
        where = f" WHERE kind IN ({placeholders(kinds)})"
    else:
        where = ""
    return {row[0] for row in db.rows(f"SELECT DISTINCT owner FROM documents{where}", tuple(kinds))}


def hits_of_owner(db: Rows, owner: str) -> list[Hit]:
    """The documents of an owner, by id and place; their rank is 0."""
    sql = (
        "SELECT id, kind, path, line, title, 0 FROM documents WHERE owner = ? ORDER BY id, path,"
        " line"
    )
    return [Hit(*row) for row in db.rows(sql, (owner,))]


def hits_by_id(db: Rows, identifier: str) -> list[Hit]:
    """The documents of this id; their rank is 0."""
    sql = "SELECT id, kind, path, line, title, 0 FROM documents WHERE id = ? ORDER BY path, line"
    return [Hit(*row) for row in db.rows(sql, (identifier,))]


def replace_many(db: Rows, batch: Mapping[str, Sequence[Document]]) -> int:
    """Owner → its documents from now on (none: it is taken out); returns how many there are in the
    batch.

    Call it inside a transaction.
    """
    db.many("DELETE FROM documents WHERE owner = ?", [(owner,) for owner in batch])
    for owner, words in replace_texts(db, batch, KNOWLEDGE).items():
        rows = [
            (owner, place, one.id, one.kind, one.path, one.line, one.title, count)
            for place, (one, count) in enumerate(zip(batch[owner], words, strict=True))
        ]
        db.many("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return sum(map(len, batch.values()))


def replace_texts(
    db: Rows, batch: Mapping[str, Sequence[Document]], corpus: int
) -> dict[str, list[int]]:
    """The words alone of each owner's documents from now on; returns how many terms each document
    has.

    For whoever has a table of its own for the rest. Call it inside a transaction.
    """
    remove_files(db, batch, (corpus,))
    writer = SegmentWriter(db)
    counts = dict[str, list[int]]()
    for owner, documents in batch.items():
        if documents:
            counts[owner] = writer.add_prose(owner, list(map(_terms, documents)), corpus)
    writer.close()
    merge_segments(db)
    return counts


def _terms(document: Document) -> dict[Field, list[str]]:
    """The terms of a document, in the fields that those of a symbol have."""
    around, _, last = split_id(document.id)[1].rpartition(".")
    name = document.name or last
    return {
        # a name of several words is one identifier here: its parts, and the whole
        Field.NAME: terms(["_".join(_WORD.findall(name))]),
        Field.PATH: path_terms(document.path),
        Field.BODY: prose_terms(_WORD.findall(document.body)),
        Field.SIGNATURE: prose_terms(_WORD.findall(f"{name} {document.title}")),
        Field.DOC: prose_terms(_WORD.findall(around)),
    }


_COUNTS: Final = (10.0, 2.0, 2.0, 1.0, 1.0, 1.0, 4.0, 2.0)
"""What a hit counts in each field: name, owner, path, body, comment, string, signature, docstring.
"""
_K1: Final = 1.2
_B: Final = 0.75
_RAREST: Final = 16
"""Terms that are really asked: a common one costs the most and distinguishes the least."""
_MANY: Final = 1000
"""Documents that cost nothing worth saving."""


class Scores(NamedTuple):
    """What a search by words found in some corpora."""

    fits: list[dict[int, int]]
    """Of each corpus: document → how well it fits, in millionths."""
    highest: float
    """A bound of what a text with all the words may score: a score divided by it is how much of
    the query a text has, whatever else there is."""
    lone: list[frozenset[int]]
    """Of each corpus the documents that alone have one of the words in it."""


def score(
    corpora: Sequence[StoredPostings],
    words: Iterable[str],
    uncounted: Collection[int] = (),
    unasked: Collection[int] = (),
) -> Scores:
    """Return how well documents of each corpus fit: BM25F over all of them together.

    `uncounted`: places of corpora whose documents do not count for how rare a word is, unless no
    other has it. `unasked`: of those that only count for that.

    Of many terms only the rarest are looked at, and none that is in many documents and half of all,
    if there are others: it distinguishes none of them.
    """
    asked = search_terms(words)[: 2 * MOST]
    columns = [corpus.find(asked) for corpus in corpora]
    # numpy takes longer to import than it saves once, so it is used where something else needed it;
    # same results
    numpy: Any = sys.modules.get("numpy")
    values = [
        {
            term: _values_as_arrays(numpy, corpus, one) if numpy else _values(corpus, one)
            for term, one in corpus_columns.items()
        }
        for corpus, corpus_columns in zip(corpora, columns, strict=True)
    ]
    counted = [place for place in range(len(corpora)) if place not in uncounted]
    counts = _document_counts(asked, values, counted)
    total = sum(corpora[place].totals.docs for place in counted) or sum(
        corpus.totals.docs for corpus in corpora
    )
    common = max(_MANY, total / 2)
    by_rarity = sorted(counts, key=lambda term: (counts[term], term))
    rarest = ([term for term in by_rarity if counts[term] < common] or by_rarity)[:_RAREST]
    missing = [term for term in asked if term not in counts][: _RAREST - len(rarest)]
    idf = {
        term: log(1 + (max(total - counts.get(term, 0), 0) + 0.5) / (counts.get(term, 0) + 0.5))
        for term in (*rarest, *missing)
    }
    add_up = _sums_of_arrays if numpy else _sums
    fits = [
        (
            {}
            if place in unasked
            else add_up(
                [(idf[term], corpus_columns[term]) for term in rarest if term in corpus_columns]
            )
        )
        for place, corpus_columns in enumerate(values)
    ]
    return Scores(fits, (_K1 + 1) * sum(idf.values()), list(map(_lone_documents, values)))


_Columns = Mapping[str, tuple[Any, Any]]
"""Term → numbers of documents, and what each adds."""


def _document_counts(
    asked: Iterable[str], values: Sequence[_Columns], counted: Collection[int]
) -> dict[str, int]:
    """Term → number of documents with it, of those that any has. `counted`: places of the corpora
    that count, unless only others have the term.
    """
    counts = {}
    for term in asked:
        sizes = [len(columns[term][0]) if term in columns else 0 for columns in values]
        if count := sum(sizes[place] for place in counted) or sum(sizes):
            counts[term] = count
    return counts


def _lone_documents(columns: _Columns) -> frozenset[int]:
    """The documents that alone have one of the terms in a corpus."""
    alone = (documents for documents, _ in columns.values() if len(documents) == 1)
    return frozenset(int(document) for documents in alone for document in documents)


def _sums(weighted: Sequence[tuple[float, tuple[Any, Any]]]) -> dict[int, int]:
    sums: dict[int, float] = {}
    for idf, (docs, values) in weighted:
        for doc, value in zip(docs, values, strict=True):
            sums[doc] = sums.get(doc, 0.0) + idf * value * (_K1 + 1) / (value + _K1)
    return {doc: round(fit * 1_000_000) for doc, fit in sums.items()}


def _values(corpus: StoredPostings, columns: Columns) -> tuple[Any, Any]:
    """Documents of those that there are, and how often each has a term, by field."""
    slopes = [_B / average if average else 0.0 for average in corpus.totals.averages()]
    there = corpus.paths_of(set(columns.docs), minor=True)
    values: dict[int, float] = {}
    for doc, packed, length in zip(columns.docs, columns.fields, columns.lengths, strict=True):
        if doc in there:
            field = packed >> FIELD_SHIFT
            value = _COUNTS[field] * (packed & FREQUENCY) / (1 - _B + slopes[field] * length)
            values[doc] = values.get(doc, 0.0) + value
    return values.keys(), values.values()


# The same with arrays: of 18,000 passages in a tenth of the time. Every sum is made in the same
# order, so that not a bit of a score differs.


def _sums_of_arrays(weighted: Sequence[tuple[float, tuple[Any, Any]]]) -> dict[int, int]:
    import numpy

    if not weighted:
        return {}
    docs = numpy.concatenate([documents for _, (documents, _) in weighted])
    if not len(docs):
        return {}
    # numbers of documents are nearly without gaps: no need to sort them
    first = docs.min()
    parts = [idf * values * (_K1 + 1) / (values + _K1) for idf, (_, values) in weighted]
    sums = numpy.bincount(docs - first, numpy.concatenate(parts))
    found_docs = numpy.flatnonzero(sums)
    fits = numpy.rint(sums[found_docs] * 1_000_000).astype(numpy.int64)
    return dict(zip((found_docs + first).tolist(), fits.tolist(), strict=True))


def _values_as_arrays(numpy: Any, corpus: StoredPostings, columns: Columns) -> tuple[Any, Any]:
    docs, fields, lengths = (numpy.array(one) for one in columns[:3])
    there = corpus.there(docs)
    docs, fields, lengths = docs[there], fields[there], lengths[there]
    slopes = numpy.array([_B / average if average else 0.0 for average in corpus.totals.averages()])
    field_numbers = fields >> FIELD_SHIFT
    values = (
        numpy.array(_COUNTS)[field_numbers]
        * (fields & FREQUENCY)
        / (1 - _B + slopes[field_numbers] * lengths)
    )
    # documents rise, those of several fields are next to each other
    first = numpy.ones(len(docs), bool)
    first[1:] = docs[1:] != docs[:-1]
    return docs[first], (
        numpy.bincount(numpy.cumsum(first) - 1, values, int(first.sum())) if len(docs) else values
    )


def best_first(score_by_document: Mapping[int, int], batch_size: int) -> Iterator[list[int]]:
    """The documents that fit, best first, at least `batch_size` at a time; equal ones together."""
    order = sorted(score_by_document, key=lambda doc: (-score_by_document[doc], doc))
    start = 0
    while start < len(order):
        end = min(start + batch_size, len(order))
        while (
            end < len(order) and score_by_document[order[end]] == score_by_document[order[end - 1]]
        ):
            end += 1
        yield order[start:end]
        start = end


def search(db: Rows, words: Sequence[str], limit: int, kinds: Sequence[str] = ()) -> list[Hit]:
    """At most `limit` documents with any of the words: as given, inflected, or as a part of an
    identifier.

    Best first, equal ones by id. `kinds` leaves only documents of these kinds. Any text is a valid
    query: signs are ignored; a query without a word finds nothing.
    """
    if limit < 1:
        return []
    # another process may merge the segments between two of the queries: then some documents would
    # not be found
    with db.snapshot():
        if not stored_totals(db, KNOWLEDGE).docs:
            return []
        corpus = StoredPostings(db, KNOWLEDGE)
        (fits,) = score([corpus], words).fits
        hits: list[Hit] = []
        for docs in best_first(fits, max(2 * limit, 200)):
            hits += hits_of(db, corpus, {doc: fits[doc] for doc in docs}, kinds)
            if len(hits) >= limit:
                break
        return hits[:limit]


def hits_of(
    db: Rows, corpus: StoredPostings, fits: Mapping[int, int], kinds: Sequence[str]
) -> list[Hit]:
    """The documents of these kinds (none: all) that `score` found in the corpus of knowledge, best
    first.
    """
    files = corpus.files_of(fits)
    wanted = {(files[doc].path, doc - files[doc].first): fit for doc, fit in fits.items()}
    hits: list[Hit] = []
    for batch in chunks(sorted({owner for owner, _ in wanted})):
        sql = (
            "SELECT owner, place, id, kind, path, line, title FROM documents WHERE owner IN"
            f" ({placeholders(batch)})"
        )
        for owner, place, *row in db.rows(sql, batch):
            if (owner, place) in wanted and (not kinds or row[1] in kinds):
                hits.append(Hit._make((*row, wanted[owner, place])))
    return sorted(hits, key=lambda hit: (-hit.rank, hit.id, hit.path, hit.line))
