"""Search for symbols, files and whatever else the index holds: by name first, then by words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Protocol

from kl_hooks.code.languages import is_read
from kl_hooks.code.query.lookup import (
    reexported_symbol,
    select_symbols,
    symbols_by_place,
    symbols_of_id,
)
from kl_hooks.code.query.session import SYMBOL_KINDS
from kl_hooks.index import index
from kl_hooks.index.index import Hit
from kl_hooks.index.postings import OTHER, SOURCE, Segments, StoredPostings, split, word_parts
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.symbol import FILE_SIGN, RECORD_ID, dotted_name, split_id
from kl_hooks.store.database import Rows, chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.symbol import Symbol


ALL_KINDS: Final = (*SYMBOL_KINDS, "test", "file", "violation", "page")
_INFLECTED: Final = 3
"""The rank of a name in another style or inflection: after the same name, before a name that only
begins so.
"""
_OTHERS: Final = 5
"""Records, pages and violations by words, where no kind is asked for."""
_LOOKED_AT: Final = 200
"""Hits of which those that may be shown are chosen."""
_BY_WORDS: Final = 2000
"""Most hits by words that are looked at where only some files are wanted."""
_QUALIFIED: Final = lazy_pattern(r"@.+?\.py(?=\.|$)")


class Found(NamedTuple):
    """A match by name or by words."""

    id: str
    path: str
    line: int
    signature: str
    by: str
    """`name` or `words`: how it was found."""
    kind: str = ""
    """Of what has no prefix in its Id: `memory`, `page`."""
    mark: str = ""
    """What a reader should know of it: that it is quarantined."""


class ShownRecords(Protocol):
    """Which records a search may show; `kl_hooks.records.liveness.LiveRecords` is one."""

    def unasked(self, ids: Collection[str]) -> Collection[str]:
        """Return those that may be shown to somebody who did not ask for their IDs."""

    def mark(self, identifier: str) -> str:
        """Return what is shown beside a record whose ID was asked for; empty: nothing."""


class _NoRecords:
    def unasked(self, ids: Collection[str]) -> Collection[str]:
        return ()

    def mark(self, identifier: str) -> str:
        return ""


_NO_RECORDS: Final[ShownRecords] = _NoRecords()
"""A search that states nothing else shows the records whose IDs it was asked for, and no others."""


def find_all(
    graph: Graph,
    words: Sequence[str],
    kinds: Sequence[str],
    file: str,
    limit: int,
    records: ShownRecords = _NO_RECORDS,
) -> tuple[list[Found], bool]:
    """At most `limit` matches, best first, and whether there are more.

    By name: the same name, then names that begin so; in the case given before any other, short
    before long. A dotted word is an owner's end and the beginning of a name: `Basket.add` finds
    `shop.Basket.add_line`. Then by words, as the index ranks them. `kinds`: only these (none: all).
    `file`: a path, a folder, or a pattern (`src/*.py`).

    Records, pages and violations come after the names that fit whole, before those that only begin
    so: each of them has many words, so they would come last among many symbols, or first among few.
    Records are shown as far as `records` allows.
    """
    wanted = kinds or (*SYMBOL_KINDS, *graph.kinds)
    whole, begun = _symbols_by_name(graph, words, wanted, file)
    others = _others(
        graph,
        words,
        [kind for kind in wanted if kind in graph.kinds],
        file,
        limit if kinds else _OTHERS,
        records,
    )
    matches = list(dict.fromkeys([*whole, *others, *begun, *_files(graph, words, kinds, file)]))
    places = {(match.id, match.path) for match in matches}
    if len(matches) <= limit:
        # what was found by name may come again among these; one more shows whether there are more
        if file:
            spare = _BY_WORDS
        else:
            spare = limit + len(matches) + 1
        symbols = [kind for kind in wanted if kind in SYMBOL_KINDS]
        with graph.db.snapshot():  # the index may be merged meanwhile, see `index.search`
            if symbols:
                by_words = _symbols_by_words(graph, words, symbols, file, spare)
            else:
                by_words = []
        record_kinds = [kind for kind in kinds if kind in graph.kinds]
        if record_kinds:
            hits = index.search(graph.db, words, max(spare, _LOOKED_AT), record_kinds)
        else:
            hits = []
        by_words += map(_hit, _unasked(hits, records)[:spare])
        matches += [
            match
            for match in by_words
            if (match.id, match.path) not in places and path_matches(match.path, file)
        ]
    return matches[:limit], len(matches) > limit


def path_matches(path: str, file: str) -> bool:
    """True if a path is this file, lies in this folder, or fits this pattern; everything does where
    none is given.
    """
    if not file:
        return True
    file = file.removeprefix("./").rstrip("/")
    # fnmatchcase: fnmatch() ignores case on Windows, while git's paths are compared as they are
    return (
        path == file
        or path.startswith(f"{file}/")
        or path.endswith(f"/{file}")
        or fnmatchcase(path, file)
    )


def _unasked(hits: Sequence[Hit], records: ShownRecords) -> list[Hit]:
    """The hits without the records that nobody is shown unasked."""
    ids = {hit.id for hit in hits if hit.kind not in ALL_KINDS}
    shown = records.unasked(ids) if ids else ()
    return [hit for hit in hits if hit.id not in ids or hit.id in shown]


def _others(
    graph: Graph,
    words: Sequence[str],
    kinds: Sequence[str],
    file: str,
    most: int,
    records: ShownRecords,
) -> list[Found]:
    """What is no code: by its id, then by words."""
    by_id = [
        _hit(hit)._replace(by="name", mark=records.mark(hit.id))
        for word in words
        for hit in index.hits_by_id(graph.db, _record_id(word))
    ]
    looked_at = _BY_WORDS if file else max(most, _LOOKED_AT)
    if kinds:
        hits = index.search(graph.db, words, looked_at, kinds)
    else:
        hits = []
    asked = {match.id for match in by_id}
    match_by_id = {
        match.id: match
        for match in (
            *by_id,
            *(_hit(hit) for hit in _unasked(hits, records) if hit.id not in asked),
        )
        if match.kind in kinds and path_matches(match.path, file)
    }
    return list(match_by_id.values())[:most]


def _record_id(word: str) -> str:
    """`adr:ADR-0001` and `adr-0001` as the index has it."""
    if not word.startswith(("file:", "violation:")):
        bare = word.rpartition(":")[2]
    else:
        bare = word
    if not RECORD_ID.fullmatch(bare.upper()):
        return bare
    return bare.upper()


def _symbols_by_name(
    graph: Graph, words: Sequence[str], kinds: Sequence[str], file: str
) -> tuple[list[Found], list[Found]]:
    """The symbols whose name is a word, and those whose name begins with one."""
    ranked: list[tuple[tuple[int, int, str, str], Symbol]] = []
    for symbol in _inflected(graph, words, kinds):
        if path_matches(symbol.path, file):
            ranked.append(((_INFLECTED, len(symbol.id), symbol.id, symbol.path), symbol))
    for word in words:
        for symbol in _symbols_starting_with(graph, word):
            rank = _rank(symbol, word)
            if (
                rank is not None
                and split_id(symbol.id)[0] in kinds
                and path_matches(symbol.path, file)
            ):
                ranked.append(((rank, len(symbol.id), symbol.id, symbol.path), symbol))
    for name in filter(lambda word: "." in word, words):
        if (
            (reexported := reexported_symbol(graph, name))
            and split_id(reexported.id)[0] in kinds
            and path_matches(reexported.path, file)
        ):
            ranked.append(((1, len(reexported.id), reexported.id, reexported.path), reexported))
    order = sorted(ranked, key=lambda pair: pair[0])
    is_whole_and_match = [
        (rank[0] <= _INFLECTED, Found(s.id, s.path, s.line, s.signature, "name"))
        for rank, s in order
    ]
    whole = [match for is_whole, match in is_whole_and_match if is_whole]
    return whole, [match for is_whole, match in is_whole_and_match if not is_whole]


def _inflected(graph: Graph, words: Sequence[str], kinds: Sequence[str]) -> list[Symbol]:
    """The symbols whose name is a word in another style or inflection."""
    names: set[str] = set()
    for word in re.findall(r"\w+", " ".join(word for word in words if "." not in word))[
        : index.MOST
    ]:
        parts = split(word)
        if parts:
            # what inflections have in common begins the name; that of several parts may follow
            # underscores
            like = re.sub(r"([\\%_])", r"\\\1", index.stem(parts[0])[:_BEGINNING]) + "%"
            sql = (
                "SELECT DISTINCT name FROM symbol_rows WHERE name LIKE ? ESCAPE '\\' OR name LIKE ?"
                " ESCAPE '\\'"
            )
            rows = graph.db.rows(sql, (like, f"\\_%{like}" if len(parts) > 1 else like))
            names.update(name for (name,) in rows if _same_name(name, word))
    symbols = [
        symbol
        for batch in chunks(sorted(names))
        for symbol in select_symbols(graph.db, f"name IN ({placeholders(batch)})", batch)
    ]
    return [
        symbol
        for symbol in symbols
        if split_id(symbol.id)[0] in kinds and symbol.id.partition(":")[0] in SYMBOL_KINDS
    ]


_BEGINNING: Final = 3
"""Letters that no inflection changes."""


def _same_name(name: str, word: str) -> bool:
    """True if two names differ in case, style and inflection only: `CartLine`, `cart_lines`,
    `cartline`.
    """
    first_word, second_word = ("".join(split(text)) for text in (name, word))
    return word_parts(first_word) == word_parts(second_word) or _stems(name) == _stems(word)


def _stems(name: str) -> list[tuple[str, ...]]:
    return [word_parts(part) for part in split(name)]


def _symbols_by_words(
    graph: Graph, words: Sequence[str], kinds: Sequence[str], file: str, limit: int
) -> list[Found]:
    """At most `limit` symbols of these kinds whose name, code or docstring has the words, best
    first.
    """
    segments = Segments(graph.db)
    corpora = [StoredPostings(graph.db, corpus, segments) for corpus in (SOURCE, OTHER)]
    fits = index.score(corpora, words).fits
    # no document is in both
    every = {doc: fit for corpus_fits in fits for doc, fit in corpus_fits.items()}
    files: dict[int, str] = {}
    for corpus, corpus_fits in zip(corpora, fits, strict=True):
        files |= corpus.paths_of(corpus_fits, minor=True)
    if file:
        every = {doc: fit for doc, fit in every.items() if path_matches(files[doc], file)}
    matches: list[Found] = []
    for docs in index.best_first(every, 2 * limit):
        symbol_of_document = symbols_of_documents(
            graph.db, corpora, {doc: files[doc] for doc in docs}
        )
        hits = [
            (every[doc], symbol)
            for doc, symbol in symbol_of_document.items()
            if split_id(symbol.id)[0] in kinds
        ]
        hits.sort(key=lambda pair: (-pair[0], pair[1].id, pair[1].path))
        matches += [
            Found(symbol.id, symbol.path, symbol.line, symbol.signature, "words")
            for _, symbol in hits
        ]
        if len(matches) >= limit:
            break
    return matches[:limit]


def symbols_of_documents(
    db: Rows, corpora: Sequence[StoredPostings], files: Mapping[int, str]
) -> dict[int, Symbol]:
    """Document of a corpus of source → its symbol. `files`: document → its file."""
    paths = set(files.values())
    places = {
        path: one for corpus in corpora for path, one in corpus.places(paths, minor=True).items()
    }
    rows = symbols_by_place(db, paths)
    symbol_of: dict[int, Symbol] = {}
    for doc, path in files.items():
        first, place_of = places[path]
        if place_of[doc - first] < len(symbols := rows.get(path, ())):
            symbol_of[doc] = symbols[place_of[doc - first]]
    return symbol_of


def _symbols_starting_with(graph: Graph, word: str) -> Iterator[Symbol]:
    """The symbols whose last part begins with the last part of a word, in any case; and the one
    with that Id.
    """
    yield from symbols_of_id(graph.db, word)
    last = re.split(r"::|[.:#]", word)[-1]
    if last:
        yield from select_symbols(
            graph.db, "name LIKE ? ESCAPE '\\'", (re.sub(r"([\\%_])", r"\\\1", last) + "%",)
        )


def _rank(symbol: Symbol, word: str) -> int | None:
    """How well a name fits, less is better; None: not at all."""
    if symbol.id == word:
        return 0
    prefix, asked = split_id(word)
    name = _QUALIFIED.sub("", dotted_name(symbol.id)).replace("::", ".")
    asked = asked.replace("::", ".").replace(FILE_SIGN, ".")
    if prefix and prefix != split_id(symbol.id)[0]:
        return None
    owner, _, last = name.rpartition(".")
    asked_owner, _, asked_last = asked.rpartition(".")
    # a module that is named by its path may be given without its folders
    ends = (f".{asked_owner.lower()}", f"/{asked_owner.lower()}")
    if asked_owner and not f".{owner.lower()}".endswith(ends):
        return None
    if last.lower() == asked_last.lower():
        if last == asked_last:
            return 1
        return 2
    if last.startswith(asked_last):
        return _INFLECTED + 1
    return _INFLECTED + 2


def _files(graph: Graph, words: Sequence[str], kinds: Sequence[str], file: str) -> list[Found]:
    """Files by path, where files are asked for: by their kind, or by a word that looks like a
    path.
    """
    asked = [
        word for word in words if "file" in kinds or (not kinds and ("/" in word or is_read(word)))
    ]
    if not asked:
        return []
    rows = graph.db.rows("SELECT path, module FROM files ORDER BY path")
    return [
        Found(f"file:{path}", path, 1, f"module {module}", "name")
        for path, module in rows
        if path_matches(path, file) and any(word.lower() in path.lower() for word in asked)
    ]


def _hit(hit: Hit) -> Found:
    return Found(
        hit.id, hit.path, hit.line, hit.title, "words", "" if hit.kind in SYMBOL_KINDS else hit.kind
    )
