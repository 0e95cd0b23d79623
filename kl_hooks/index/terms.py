"""Terms: what a task, a commit message and a symbol's source have in common once identifiers are split and stemmed.

Ranking needs the term frequency in each field of a symbol, which FTS5's bm25() does not give (ADR-0028). Everything
here is pure: the same text gives the same terms on every Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.index.index import split

if TYPE_CHECKING:
    from collections.abc import Callable

WORD: Final = re.compile(r"[^\W\d]\w*")
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


def terms(words: Iterable[str]) -> list[str]:
    """The terms of identifiers, in their order: the parts of each, then the whole one where it has several parts."""
    return [term for word in words for term in _terms_of(word)]


def text_terms(text: str) -> list[str]:
    """The terms of the identifiers and words in a text."""
    return terms(WORD.findall(text))


def path_terms(path: str) -> list[str]:
    """The terms of a path; `src` and `py` are in nearly all of them and distinguish none."""
    return terms(word for word in WORD.findall(path) if word not in _PATH_NOISE)


@lru_cache(maxsize=100_000)  # the distinct identifiers of a large repository
def _terms_of(word: str) -> tuple[str, ...]:
    parts = word_parts(word)
    if len(split(word)) < 2 or len(word) > _LONGEST:
        return parts
    whole = word.lower()
    return (*parts, _stemmed(whole))


@lru_cache(maxsize=100_000)
def word_parts(word: str) -> tuple[str, ...]:
    """The stems of an identifier's parts, those of one letter omitted; none of a word that is too long."""
    if len(word) > _LONGEST:
        return ()
    return tuple(_stemmed(part) for part in split(word) if len(part) >= _SHORTEST)


@lru_cache(maxsize=100_000)
def _stemmed(word: str) -> str:
    if "_" in word or any(letter.isdigit() for letter in word):
        return word
    return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    # here: 8 ms that only indexing and ranking need. This class and not the package's stemmer(), which prefers another
    # library where one is installed: stored terms must fit those of every later query
    from snowballstemmer.english_stemmer import EnglishStemmer

    stem: Callable[[str], str] = EnglishStemmer().stemWord
    return stem


_STOP_TEXT: Final = """
    a about above after again all also am an and any are as at be because been before being below between both but
    by can cannot could did do does doing don down during each few for from further had has have having he her here hers
    him his how i if in into is isn it its itself just let may me might more most must my no nor not now of off on once
    only or other our out over own same shall she should so some such than that the their them then there these they
    this those through to too under until up us very was we were what when where which while who whom why will with
    would you your yours"""
_STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
_CHANGE_TEXT: Final = """
    add added adding adds allow allowed allows avoid avoids bug bugs change changed changes changing clean cleanup
    correct correctly deprecate deprecated drop dropped enable ensure ensures fix fixed fixes fixing handle handles
    handling implement implemented improve improved improves introduce issue make makes making minor move moved moves
    new pr refactor refactored release remove removed removes removing rename renamed replace replaced revert set
    simplify support supported supports switch tweak update updated updates updating use used uses using work
    works"""
_CHANGE_WORDS: Final = frozenset(_CHANGE_TEXT.split())
"""Verbs of change: nearly every task has one."""
_SUBJECT: Final = 2.0
_REST: Final = 1.3
_MOST: Final = 3.0
_FAINT: Final = 0.6
_CODE: Final = re.compile(r"`([^`\n]+)`|\b(\w*[a-z0-9]_\w+|_\w+|\w*[a-z0-9][A-Z]\w*|\w+(?=\(\))|\w+(?:\.\w+)+)")


class Query(NamedTuple):
    """A task as terms."""

    weights: dict[str, float]
    """Term → how much it counts, in the order of the text."""
    pairs: tuple[tuple[str, str], ...]
    """Terms next to each other in the text, neither of them a stop word; each pair once."""
    names: tuple[str, ...]
    """Words that look like code, as written."""


def read_query(text: str, most: int = 200) -> Query:
    """The terms of a task: its first line counts more than the rest, verbs of change and short words less.

    `most`: words looked at; a pasted log has thousands, and its beginning has the point.
    """
    subject, _, rest = text.strip().partition("\n")
    names = tuple(
        dict.fromkeys(word for found in _CODE.findall(text[:20_000]) for word in WORD.findall(" ".join(found)))
    )
    as_code = {word for name in names for word in (name, name.lower())}
    counts: dict[str, float] = {}
    faint: set[str] = set()
    strong: set[str] = set()
    pairs: dict[tuple[str, str], None] = {}
    seen = 0
    for part, worth in ((subject, _SUBJECT), (rest, _REST)):
        before = ""
        for word in WORD.findall(part[:100_000]):
            if seen >= most:
                break
            if word.lower() in _STOP_WORDS and word not in as_code:
                before = ""
                continue
            seen += 1
            weak = word not in as_code and (word.lower() in _CHANGE_WORDS or len(word) <= _SHORTEST)
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
    return Query(weights, tuple(pairs), names)


class SymbolText(NamedTuple):
    """The source of one function, method or class without what is defined in it; or of a module."""

    place: int
    """Of its row among the symbols of the file."""
    name: str
    """Last part of its name; empty for a module."""
    owner: str
    """Name of the class it is in, or empty."""
    words: str
    """Identifiers and words in the order of the source, separated by spaces; a sign of `MARKS` begins another field."""


MARKS: Final = {".": Field.BODY, "#": Field.COMMENT, '"': Field.STRING, "(": Field.SIGNATURE, "'": Field.DOC}
_MOST_TERMS: Final = 0xFFFF
"""Terms of a document and occurrences of one in it that are stored: two bytes each."""


class Document(NamedTuple):
    """The terms of one symbol."""

    place: int
    lengths: tuple[int, ...]
    """Terms in each field."""
    postings: tuple[dict[str, list[int]], ...]
    """Field → term → its positions among the words of the source; of a name, owner, path and whole identifier 0."""


def document(text: SymbolText, path: Sequence[str]) -> Document:
    """The terms of a symbol. `path`: the terms of its file's path. Pure."""
    fields: tuple[dict[str, list[int]], ...] = tuple({} for _ in Field)
    lengths = [0] * len(Field)
    for field, some in ((Field.NAME, terms([text.name])), (Field.OWNER, terms([text.owner])), (Field.PATH, path)):
        lengths[field] = len(some)
        for term in some:
            fields[field].setdefault(term, []).append(0)
    field, position, into = Field.BODY, 1, fields[Field.BODY]
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


@lru_cache(maxsize=100_000)
def _split_terms(word: str) -> tuple[tuple[str, ...], str]:
    """The terms of an identifier's parts, and of the whole one where it has several parts."""
    parts = word_parts(word)
    return parts, _terms_of(word)[len(parts)] if len(_terms_of(word)) > len(parts) else ""
