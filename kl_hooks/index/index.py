"""Documents by their words: replaced by owner, found by BM25, names counting more than bodies.

Identifiers are split as people write them: `parseArgs`, `parse_args` and "parse args" have the same parts. A database
without full text (FTS5) is searched by LIKE: slower and plainer, the same answers in kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from kl_hooks.model.symbol import split_id
from kl_hooks.store.database import Rows, placeholders
from kl_hooks.store.database import Rows as StoreRows

MOST: Final = 32
"""Words of a query that are looked at."""
_LONGEST: Final = 200
"""Characters of a word of a query: nobody's name is longer, and LIKE refuses huge patterns."""
# an ending comes before those that it ends in (`ies`, `es`, `s`): the first one that fits is removed
_ENDINGS: Final = ("ings", "ing", "ied", "ies", "ed", "es", "s", "e", "y")
_SHORTEST: Final = 4
"""Letters of a stem."""
_WORD: Final = re.compile(r"\w+")
_SEAM: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def split(identifier: str) -> list[str]:
    """`HTTPServer_error2` → `["http", "server", "error2"]`: at `_` and where small and capital letters meet."""
    return list(_identifier_parts(identifier))


@lru_cache(maxsize=20_000)  # a repository repeats the same words
def _identifier_parts(word: str) -> tuple[str, ...]:
    return tuple(piece for piece in _SEAM.sub("_", word).lower().split("_") if piece)


def split_all(text: str) -> str:
    """The words of a text, each followed by its parts where it has several; separated by spaces, in their order."""
    return " ".join(map(_with_parts, _WORD.findall(text)))


def split_words(words: str) -> str:
    """The same of identifiers with spaces between them: sooner than looking for words in a text."""
    return " ".join(map(_with_parts, words.split())) if words.isascii() else split_all(words)


def _joined_parts(identifier: str) -> str:
    """The parts of one identifier, separated by spaces."""
    return _joined(identifier)


def parts_only(text: str) -> str:
    """The parts of every word of a text, separated by spaces."""
    return " ".join(filter(None, map(_joined, _WORD.findall(text))))


@lru_cache(maxsize=20_000)
def _joined(word: str) -> str:
    return " ".join(_identifier_parts(word))


@lru_cache(maxsize=20_000)
def _with_parts(word: str) -> str:
    pieces = _identifier_parts(word)
    return f"{word} {' '.join(pieces)}" if len(pieces) > 1 else word


def stem(word: str) -> str:
    """What the inflections of an English word have in common: `totals` → `total`, `caching` → `cach`, `entry` → `entr`.

    For asking whether it is anywhere in a text, where no full text can be asked: shorter than a dictionary's stem.
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word.removesuffix(ending)
            break
    # double l and s stay, as in step 1b of Porter's algorithm: `falling` → `fall`, `missed` → `miss`
    if word[-1:] == word[-2:-1] and len(word) > _SHORTEST - 1 and word[-1] not in "aeiousl":
        word = word[:-1]  # `running` → `run`
    return word


def query_words(words: Iterable[str]) -> list[str]:
    """What to look for: the words and their parts in lower case, each once, at most `MOST`.

    Every word given is taken before any part. Signs are dropped, so nothing in a query can mean anything to FTS5.
    """
    given = _given(words)
    return _distinct([*map(str.lower, given), *(part for word in given for part in split(word))])


def _whole_words(words: Iterable[str]) -> list[str]:
    """The same without the parts of identifiers."""
    return _distinct(map(str.lower, _given(words)))


def _given(words: Iterable[str]) -> list[str]:
    return [word for text in words for word in _WORD.findall(text) if len(word) <= _LONGEST]


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for word in words if word.strip("_")))[:MOST]


def _search_by_like(db: Rows, words: Sequence[str], limit: int, kinds: Sequence[str]) -> list[tuple[Any, ...]]:
    """(id, kind, path, line, title, fit) of documents that hold any word, best first; `words` hold no signs.

    A word counts once for each document, by the best column that holds it; inflected, it may go on after its stem.
    """
    fits, params = [], []
    for word in words:
        # `_` and `%` are the wildcards of LIKE, and `_` is part of many identifiers
        like = re.sub(r"([\\_%])", r"\\\1", word)
        root = re.sub(r"([\\_%])", r"\\\1", stem(word)) + "%"
        # a space in front of a column: a word or stem matches where a word begins, the first one included
        fits.append(
            "CASE WHEN lower(d.name) = ? THEN 10000000 WHEN ' ' || d.parts || ' ' LIKE ? ESCAPE '\\' THEN 6000000"
            " WHEN ' ' || d.parts LIKE ? ESCAPE '\\' THEN 5000000"
            " WHEN lower(d.title) LIKE ? ESCAPE '\\' THEN 4000000 WHEN ' ' || d.place LIKE ? ESCAPE '\\'"
            " THEN 2000000 WHEN ' ' || lower(d.body) LIKE ? ESCAPE '\\' THEN 1000000 ELSE 0 END"
        )
        params += [word, f"% {like} %", f"% {root}", f"%{root}", f"% {root}", f"% {root}"]
    only, kind_params = _kind_condition(kinds)
    return db.rows(
        f"SELECT id, kind, path, line, title, fit FROM (SELECT d.*, {' + '.join(fits)} AS fit FROM documents d"
        f" WHERE 1 = 1{only}) AS found WHERE fit > 0 ORDER BY fit DESC, id, path, line LIMIT ?",
        (*params, *kind_params, limit),
    )


def _kind_condition(kinds: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The condition that leaves only these kinds (all, if none is given), and its parameters."""
    return (f" AND d.kind IN ({placeholders(kinds)})", tuple(kinds)) if kinds else ("", ())


_TOKENIZER: Final = "porter unicode61 tokenchars '_'"
"""`_` belongs to a word, so that a whole identifier is a word; its parts are further words. SQLite's own Porter
stemmer folds inflections (`wrappers` and `wrapper` are one term): it costs no Python and exists wherever FTS5 does."""

_FULL_TEXT: Final = (
    # Made on first need and not as a step of the schema: a SQLite without FTS5 must still open the database.
    "DROP TABLE IF EXISTS documents_words",
    "DROP TABLE IF EXISTS documents_text",
    f"""CREATE VIRTUAL TABLE documents_text USING fts5(
        name, parts, title, place, body,
        content='documents', content_rowid='seq', tokenize="{_TOKENIZER}"
    )""",
    "CREATE VIRTUAL TABLE documents_words USING fts5vocab('documents_text', 'row')",
)
_WEIGHTS: Final = (10.0, 6.0, 4.0, 2.0, 1.0)
"""What a hit counts in name, parts, title, place, body."""
_RAREST: Final = 16
"""Words that are really asked: a common word costs the most and distinguishes the least."""
_MANY: Final = 1000
"""Documents that cost nothing worth saving."""
_TEXT: Final = "name, parts, title, place, body"


class IndexRows(StoreRows, Protocol):
    """What the index needs of a database; the store's Database is one."""

    @property
    def dialect(self) -> str: ...


Row = tuple[Any, ...]
"""A document with all its texts, as the database keeps it."""


class Document(NamedTuple):
    """Something that can be found by words. Its text is already redacted."""

    id: str
    kind: str
    path: str
    line: int
    title: str
    """Shown with the hit: a symbol's signature."""
    body: str = ""
    """More words, not shown."""
    words: str = ""
    """Identifiers with spaces between them, not shown either."""
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


def replace(db: IndexRows, owner: str, documents: Iterable[Document]) -> int:
    """Makes `documents` the documents of `owner`; returns their number. Call it inside a transaction."""
    return replace_many(db, {owner: list(documents)})


def remove(db: IndexRows, owner: str) -> None:
    """Takes out the documents of `owner`. Call it inside a transaction."""
    replace_many(db, {owner: ()})


def owners(db: IndexRows, kinds: Sequence[str]) -> set[str]:
    """The owners that have documents of these kinds."""

    only, params = _kind_condition(kinds)
    return {row[0] for row in db.rows(f"SELECT DISTINCT d.owner FROM documents d WHERE 1 = 1{only}", params)}


def hits_of_owner(db: IndexRows, owner: str) -> list[Hit]:
    """The documents of an owner, by id and place; their rank is 0."""
    sql = "SELECT id, kind, path, line, title, 0 FROM documents WHERE owner = ? ORDER BY id, path, line"
    return [Hit(*row) for row in db.rows(sql, (owner,))]


def hits_by_id(db: IndexRows, identifier: str) -> list[Hit]:
    """The documents of this id; their rank is 0."""
    sql = "SELECT id, kind, path, line, title, 0 FROM documents WHERE id = ? ORDER BY path, line"
    return [Hit(*row) for row in db.rows(sql, (identifier,))]


def replace_many(db: IndexRows, batch: Mapping[str, Sequence[Document]]) -> int:
    """Owner → its documents from now on (none: it is taken out); returns how many there are in the batch.

    Call it inside a transaction.
    """
    full_text = _writable_text(db)
    owners = [(owner,) for owner in batch]
    first = int(db.rows("SELECT COALESCE(MAX(seq), 0) + 1 FROM documents")[0][0])
    if first > 1:
        if full_text:
            # The full text keeps no copy of what it indexed: deleted rows must be given again.
            old = f"SELECT 'delete', seq, {_TEXT} FROM documents WHERE owner = ?"
            db.many(f"INSERT INTO documents_text (documents_text, rowid, {_TEXT}) {old}", owners)
        db.many("DELETE FROM documents WHERE owner = ?", owners)
    return add_rows(db, {owner: text_rows(documents) for owner, documents in batch.items()})


def text_rows(documents: Iterable[Document]) -> list[Row]:
    """Documents as `add_rows` takes them. Pure."""
    return list(map(_row, documents))


def add_rows(db: IndexRows, batch: Mapping[str, Sequence[Row]]) -> int:
    """Owner that has no documents yet → its documents; returns how many there are. Call it inside a transaction."""
    full_text = _writable_text(db)
    first = int(db.rows("SELECT COALESCE(MAX(seq), 0) + 1 FROM documents")[0][0])
    # numbered here and not by SQLite: executemany() gives no row IDs back, and the full text needs the same ones
    made = ((owner, row) for owner, some in batch.items() for row in some)
    rows = [(seq, owner, *row) for seq, (owner, row) in enumerate(made, first)]
    if not rows:
        return 0
    db.many(f"INSERT INTO documents (seq, owner, id, kind, path, line, {_TEXT}) VALUES ({', '.join('?' * 11)})", rows)
    if full_text:
        texts = [(row[0], *row[6:]) for row in rows]
        db.many(f"INSERT INTO documents_text (rowid, {_TEXT}) VALUES (?, ?, ?, ?, ?, ?)", texts)
    return len(rows)


def search(db: IndexRows, words: Sequence[str], limit: int, kinds: Sequence[str] = ()) -> list[Hit]:
    """At most `limit` documents with any of the words: as given, inflected, or as a part of an identifier.

    Best first, equal ones by id. `kinds` leaves only documents of these kinds. Any text is a valid query:
    signs are ignored; a query without a word finds nothing.
    """

    wanted = query_words(words)
    if not wanted or limit < 1:
        return []
    if _state(db) != "ready" or not _has_fts5(db):
        return [Hit(*row) for row in _search_by_like(db, wanted, limit, kinds)]
    asked = " OR ".join(f'"{word}"' for word in _worth_asking(db, wanted))
    if not asked:
        return []
    return [Hit(*row[:-1]) for row in _matching(db, asked, limit, kinds)]


def search_names(db: IndexRows, words: Sequence[str], limit: int, kinds: Sequence[str] = ()) -> list[Hit]:
    """At most `limit` documents whose name is one of the words, whatever its case, style and inflection; best first.

    `baskets` finds `Basket`, `cart_line` finds `CartLine`. None where there is no full text to ask.
    """
    wanted = _whole_words(words)
    if not wanted or limit < 1 or _state(db) != "ready" or not _has_fts5(db):
        return []
    # to the tokenizer `CartLine` is the one word `cartline`
    whole = dict.fromkeys([*wanted, *(word.replace("_", "") for word in wanted)])
    found = _matching(db, " OR ".join(f'name : "{word}"' for word in whole), limit, kinds)
    for parts in map(split, re.findall(r"\w+", " ".join(words))[:MOST]):
        if len(parts) < 2:
            continue
        # `^` means from the start of the column (FTS5); that the name ends there too is checked below
        same = _matching(db, f'parts : ^ "{" ".join(parts)}"', _MANY, kinds)
        found += [row for row in same if len(row[-1].split()) == len(parts)][:limit]
    hits = dict.fromkeys(Hit(*row[:-1]) for row in found)
    return sorted(hits, key=lambda hit: (-hit.rank, hit.id, hit.path, hit.line))[:limit]


def _matching(db: IndexRows, asked: str, limit: int, kinds: Sequence[str]) -> list[Row]:
    """The rows of hits for a query in FTS5's language, best first, each with the parts of its name at the end."""

    only, params = _kind_condition(kinds)
    # bm25() of FTS5 is negative, and smaller for a better hit
    weights = ", ".join(str(weight) for weight in _WEIGHTS)
    return db.rows(
        "SELECT d.id, d.kind, d.path, d.line, d.title,"
        f" CAST(ROUND(-1000000 * bm25(documents_text, {weights})) AS INTEGER) AS fit, d.parts"
        " FROM documents_text JOIN documents d ON d.seq = documents_text.rowid"
        f" WHERE documents_text MATCH ?{only} ORDER BY fit DESC, d.id, d.path, d.line LIMIT ?",
        (asked, *params, limit),
    )


def _row(document: Document) -> Row:
    identifier, kind, path, line, title, body, words, called = document
    around, _, name = split_id(identifier)[1].rpartition(".")
    name = called or name
    place = " ".join(filter(None, (_parts(around), parts_only(name), _parts(path.removesuffix(".py")))))
    words_of_text = split_all(f"{title} {body}")
    if words:
        words_of_text = f"{words_of_text} {split_words(words)}"
    return (
        identifier,
        kind,
        path,
        line,
        name,
        parts_only(name) if called else _joined_parts(name),
        title,
        place,
        words_of_text,
    )


@lru_cache(maxsize=64)  # the documents of a file, and what is in a class, come one after the other
def _parts(text: str) -> str:
    return parts_only(text)


def _worth_asking(db: IndexRows, words: Sequence[str]) -> list[str]:
    """The words worth asking for, in the order given: of many only the rarest, and none that is in many documents
    and half of all, if there are others: BM25 counts it as nothing, but must visit every document for it.
    """
    from kl_hooks.store.sqlite import full_text_terms

    # SQLite itself is asked for the terms: no other stemmer folds exactly as its own does (ADR-0021)
    term_of = full_text_terms(tuple(words), _TOKENIZER)
    terms = sorted(set(term_of.values()))
    seen = dict(db.rows(f"SELECT term, doc FROM documents_words WHERE term IN ({placeholders(terms)})", tuple(terms)))
    common = max(_MANY, int(db.rows("SELECT COUNT(*) FROM documents")[0][0]) / 2)
    found = sorted((term for term in terms if term in seen), key=lambda term: (seen[term], term))
    rare = [term for term in found if seen[term] < common]
    asked = set((rare or found)[:_RAREST])
    # reversed twice: of several words with one term the first one given remains, in the order of the query
    return list({term: word for word, term in reversed(term_of.items()) if term in asked}.values())[::-1]


def _state(db: IndexRows) -> str:
    return str(db.rows("SELECT full_text FROM index_state")[0][0])


def _has_fts5(db: IndexRows) -> bool:
    # asked each time: interpreters with and without FTS5 share one database (ADR-0021)
    return db.dialect == "sqlite" and bool(db.rows("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"))


def _writable_text(db: IndexRows) -> bool:
    """True where the full text is there and can be maintained; creates it on first need, and again when it is stale."""
    state = _state(db)
    if not _has_fts5(db):
        if state == "ready":
            # rows written from here on are missing in the full text; whoever has FTS5 rebuilds it before its next write
            db.execute("UPDATE index_state SET full_text = 'stale'")
        return False
    if state != "ready":
        for statement in _FULL_TEXT:
            db.execute(statement)
        db.execute("INSERT INTO documents_text (documents_text) VALUES ('rebuild')")
        db.execute("UPDATE index_state SET full_text = 'ready'")
    return True
