"""Occasion: whether a prompt is about this repository, and what of it is known here.

An agent's prompt brings a package only where something in it is known here: a path, a name that is
defined, words that are together in the names of one symbol, or a record that holds several of its
words. A greeting, an order such as "run the tests", or a question about the world has none of these
and gets nothing (agents read what they are given, and pay for it).

Measured on 294 such prompts and 390 subjects of fixes in scrapy, click and aiohttp: 3 of 882 pairs
get something (all of them ask about words that the repository has, such as "garbage collection"),
and what is missed among the fixes is about documents, builds and types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import log
from typing import TYPE_CHECKING, Final

from kl_hooks.context.ranking import file_here
from kl_hooks.context.signals import looks_like_code, read_signals
from kl_hooks.index.postings import (
    FIELD_SHIFT,
    OTHER,
    SOURCE,
    Field,
    Segments,
    StoredPostings,
    text_terms,
)
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.package import Signals, Task
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.model.package import Candidate
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_ORDERS: Final = """
    add again all answer apply approve ask back begin better break bring broken bug bugs build call
    change changes check clean clear close code commit commits continue copy create debug delete
    deploy describe detail details diff different difference do doc docs document documentation
    done draft edit end example examples execute explain fail failing feature file files find
    finish first fix folder folders format function functions generate get give go good help hint
    idea implement improve info information install issue issues join keep know last later learn
    less let lint list little load long look main make maybe meaning merge message method mind more
    move need new next note okay once one open order other overview package page part patch plan
    please point possible problem program project pull push put python question quick read readme
    reason refactor release remove rename repo repository rest result results return revert review
    rewrite right run running save second see send set setup share show simple simplify small
    solution some sort start started state step steps still stop story suggest suggestion suite
    summarize summary switch take talk task test tested testing tests text think third time title
    today todo tool tools translate try turn understand undo unit update use user using view wait
    want warning warnings whole word words work working works world write writing wrong yes
"""
_ORDER_WORDS: Final = frozenset(_ORDERS.split())
"""Words of orders to an agent, and of every repository. They select nothing; what is found by
others may hold them. Relevance alone rests on this list: no verdict does.
"""
_ORDER_TERMS: Final = frozenset(text_terms(" ".join(sorted(_ORDER_WORDS))))
_NAMING: Final = frozenset((Field.NAME, Field.OWNER, Field.PATH, Field.SIGNATURE))
_FEWEST_WORDS: Final = 2
"""Words of the prompt that one symbol, or one record, must hold …"""
_LEAST_WORTH: Final = 5.0
_WORTH_OF_SMALL: Final = 0.7
"""… and what the sum of their inverse document frequencies must be: two words that a fifth of the
symbols have are worth 3. In a small repository it is this share of the most that a word can have.
"""
_CALL: Final = lazy_pattern(r"(?<![\w.])([A-Za-z_]\w{2,80})\(")
_CAPITALIZED: Final = lazy_pattern(r"(?<![\w./@-])([A-Z][A-Za-z0-9]{2,80})(?![\w/@-])")
_ASCII_NAME: Final = lazy_pattern(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]{2,80}(?![A-Za-z0-9_])")
_MOST_NAMES: Final = 30
_RECORDS: Final = 10


class Occasion(NamedTuple):
    """What of a prompt is known here; all empty: nothing, so it brings nothing."""

    paths: tuple[str, ...] = ()
    """Files that it names, as they are here."""
    names: tuple[str, ...] = ()
    """Functions, methods, classes and variables that it names and that are defined here."""
    words: tuple[str, ...] = ()
    """Words, as their stems, that one symbol has in its name, class, signature or path."""
    records: tuple[str, ...] = ()
    """IDs of records that hold several of its words, or that it names."""


def find_occasion(ws: Workspace, text: str) -> Occasion:
    """Return what of a prompt this repository knows. EnvironmentProblem if a store can't be
    read.
    """
    from kl_hooks.code.query.session import refresh_graph

    signals = read_signals(text)
    with ws.store.reading("graph") as db:
        is_there = db is not None
    if not is_there:
        refresh_graph(ws)
    with ws.store.reading("graph") as db:
        if db is not None:
            code = _in_code(ws, db, text, signals)
        else:
            code = Occasion()
    if any(code):
        return code
    return Occasion(records=_in_records(ws, text, signals))


def _in_code(ws: Workspace, db: Database, text: str, signals: Signals) -> Occasion:
    named = [*signals.paths, *(path for path, _ in signals.frames)]
    named += [test.partition("::")[0] for test in signals.tests]
    paths = tuple(dict.fromkeys(filter(None, (_path_here(ws, db, path) for path in named))))
    names = tuple(_defined(db, text, signals))
    if paths or names:
        return Occasion(paths, names)
    with db.snapshot():  # another process may merge the segments between two of the queries
        segments = Segments(db)
        for corpus in (SOURCE, OTHER):
            if words := _together(StoredPostings(db, corpus, segments), signals.keywords):
                return Occasion(words=words)
    return Occasion()


def _path_here(ws: Workspace, db: Database, path: str) -> str:
    """Return the one file here that a path means; empty for none, and for one outside."""
    if here := file_here(db, path):
        return here
    if path.startswith("/") or ".." in path.split("/"):
        return ""
    if ws.exists(path):
        return path
    return ""


def _defined(db: Database, text: str, signals: Signals) -> Iterator[str]:
    """Yield the names of the prompt that symbols here have, in their order."""
    spelled = [name.rpartition(".")[2] for name in signals.symbols]
    # in a language without spaces a name has letters of it at both sides
    spelled += [name for name in _ASCII_NAME.findall(text) if looks_like_code(name)]
    called = [match[1] for match in _CALL.finditer(text)]
    names = dict.fromkeys([*spelled, *called][:_MOST_NAMES])
    # a capital letter alone is the beginning of a sentence as often: only a class is meant by it
    classes = dict.fromkeys(
        match[1] for match in _CAPITALIZED.finditer(text) if match[1].lower() not in _ORDER_WORDS
    )
    found = {name for name, _ in _symbols_named(db, names)}
    found |= {
        name
        for name, sort in _symbols_named(db, list(classes)[:_MOST_NAMES])
        if sort in ("type", "interface")
    }
    yield from (name for name in dict.fromkeys([*names, *classes]) if name in found)


def _symbols_named(db: Database, names: Collection[str]) -> list[tuple[str, str]]:
    """Return (name, kind) of the symbols with one of these names; modules are not among them."""
    rows: list[tuple[str, str]] = []
    for batch in chunks(sorted(names)):
        sql = f"""SELECT DISTINCT name, sort FROM symbol_rows
            WHERE name IN ({placeholders(batch)}) AND sort <> 'namespace'"""
        rows += [(name, sort) for name, sort in db.rows(sql, batch)]
    return rows


def _together(postings: StoredPostings, keywords: Sequence[str]) -> tuple[str, ...]:
    """Return the terms that one symbol has together, where they are enough; else none.

    One of them must be in what names the symbol; the others may be anywhere in its text.
    """
    terms = dict.fromkeys(
        term for word in keywords for term in text_terms(word) if term not in _ORDER_TERMS
    )
    columns_by_term = postings.find(terms)
    number = max(postings.totals.docs, 1)
    worth: dict[int, float] = {}
    terms_of: dict[int, list[str]] = {}
    naming: set[int] = set()
    for term in (term for term in terms if term in columns_by_term):
        columns = columns_by_term[term]
        docs = set(columns.docs)
        idf = log(1 + (number - len(docs) + 0.5) / (len(docs) + 0.5))
        for doc in docs:
            worth[doc] = worth.get(doc, 0.0) + idf
            terms_of.setdefault(doc, []).append(term)
        naming |= {
            doc
            for doc, packed in zip(columns.docs, columns.fields, strict=True)
            if packed >> FIELD_SHIFT in _NAMING
        }
    least = min(_LEAST_WORTH, _WORTH_OF_SMALL * log(1 + number))
    enough = [doc for doc in naming if len(terms_of[doc]) >= _FEWEST_WORDS and worth[doc] >= least]
    existing = postings.paths_of(enough)
    best = max(
        (doc for doc in enough if doc in existing), key=lambda doc: (worth[doc], -doc), default=None
    )
    if best is None:
        return ()
    return tuple(terms_of[best])


def _in_records(ws: Workspace, text: str, signals: Signals) -> tuple[str, ...]:
    """Return the IDs of records that hold several words of the prompt, or that it names."""
    from kl_hooks.records.retrieval import find_records

    words = [word for word in signals.keywords if word not in _ORDER_WORDS]
    if not words and not signals.symbols:
        return ()
    found = find_records(ws, Task(text, signals), _RECORDS)
    return tuple(record.id for record in found if _holds(record, words, text))


def _holds(record: Candidate, words: Sequence[str], text: str) -> bool:
    """True where a record has enough of the words, or the prompt has its ID."""
    if record.id in text:
        return True
    record_terms = set(text_terms(f"{record.title} {record.summary} {record.text}"))
    word_terms = [set(text_terms(word)) for word in words]
    return sum(not record_terms.isdisjoint(terms) for terms in word_terms) >= _FEWEST_WORDS
