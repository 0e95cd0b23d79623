"""Search: one ranked list over documents, records and code.

All are scored by one formula over the same postings (BM25F, names and headings before text), with how rare a word is
counted over all of them, so a passage, a decision and a function can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kl_hooks.documents.indexing import (
    Chunk,
    Visibility,
    load_chunks,
    ranked_chunks,
    sync_documents,
    visible_documents,
)
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.index import index
from kl_hooks.index.postings import (
    CHUNKS,
    KNOWLEDGE,
    OTHER,
    SOURCE,
    Segments,
    StoredPostings,
    corpus_of,
    search_terms,
    significant_words,
)
from kl_hooks.model.symbol import Symbol, split_id
from kl_hooks.model.text import one_line
from kl_hooks.records.liveness import filter_live
from kl_hooks.records.query import RecordFilter, get_records
from kl_hooks.records.sync import sync

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

MODES: Final = ("keyword",)
"""Ways to search, the default first."""
KINDS: Final = ("document", "record", "code")
MOST: Final = 50
_LONGEST_QUERY: Final = 2000
_CODE: Final = ("namespace", "type", "interface", "function", "method", "property", "field")
_SNIPPET: Final = 320
_SNIPPET_LINES: Final = 4
_LOOKED_AT: Final = 200
"""Best matches of each kind that are loaded: what may not be shown is among them, and must not shorten the answer."""
_TESTS: Final = 0.6
"""What the score of a test counts: it has the words of all that it tests. Asked about tests, people name them."""
_CHANGES: Final = 0.7
"""What a passage of a changelog counts: it names everything once, and explains nothing."""
_CHANGELOG: Final = re.compile(r"(?i)(^|/)(change|history|news|release|whats?_?-?new)[^/]*(/|$)")
_WORD: Final = re.compile(r"\w+")


class Snippet(NamedTuple):
    """The lines of a match with the most words of the query."""

    line: int
    """Of its beginning, in the file or the text of the record."""
    text: str
    matches: tuple[tuple[int, int], ...]
    """Where words of the query are in it."""


@dataclass(frozen=True, slots=True)
class Result:
    """A match."""

    kind: str
    """One of `KINDS`."""
    id: str
    path: str
    """Empty where it is no file of the repository."""
    line: int
    end_line: int
    title: str
    """With its headings; of code its signature."""
    snippet: Snippet
    score: float
    """1 is the best match of this search."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """What the score is made of."""
    marks: tuple[str, ...] = ()
    """What a reader should know of it: who wrote it, what is stale."""
    chunk: Chunk | None = None
    record: Record | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer to a search."""

    query: str
    mode: str
    results: tuple[Result, ...]
    total: int
    """All matches that may be shown."""
    counts: Mapping[str, int]
    """Kind → its matches."""
    notes: tuple[str, ...] = ()
    """What could not take part, and why."""


def search(
    ws: Workspace, query: str, mode: str = MODES[0], collections: Collection[str] = (), top_k: int = 10, *,
    kinds: Collection[str] = (), may: Visibility | None = None,
) -> SearchAnswer:  # fmt: skip
    """The best matches of documents, live records and code.

    `collections`: documents of these only, and nothing else unless `kinds` has it. `may`: what whoever asks may be
    shown; everything else is neither listed nor counted. UsageProblem for an unknown mode, kind or collection.
    """
    query = query[:_LONGEST_QUERY]
    for name, known in ((mode, MODES), *((kind, KINDS) for kind in kinds)):
        if name not in known:
            raise UsageProblem("is not known.", place=one_line(name, 60), hint=f"One of: {', '.join(known)}.")
    wanted = tuple(kinds) or (KINDS[:1] if collections else KINDS)
    sync(ws)
    indexed = sync_documents(ws)
    notes = [f"documents: {indexed.trouble}"] if indexed.trouble else []
    allowed = visible_documents(ws, collections or None, may) if "document" in wanted else ()
    words = significant_words(query)
    with _graph(ws, notes) as db:
        found, counts = _keyword(ws, db, words, allowed, wanted, may) if db is not None else ([], {})
    terms = set(search_terms(words))
    results = [_result(one, terms) for one in found[: min(top_k, MOST)]]
    return SearchAnswer(query, mode, tuple(results), sum(counts.values()), counts, tuple(notes))


@contextmanager
def _graph(ws: Workspace, notes: list[str]) -> Iterator[Database | None]:
    """The graph with today's code in it; where that can't be, without it, and a note."""
    from kl_hooks.code.query.session import refresh_graph

    try:
        refresh_graph(ws)
    except EnvironmentProblem as problem:
        notes.append(f"code: {problem.reason}")
    with ws.store.reading("graph") as db:
        yield db


class _Match(NamedTuple):
    """What was found, before it is shown."""

    score: float
    best: float
    """The score of the best match."""
    what: Chunk | Record | Symbol


def _keyword(
    ws: Workspace, db: Database, words: Sequence[str], allowed: Collection[str], wanted: Collection[str],
    may: Visibility | None,
) -> tuple[list[_Match], dict[str, int]]:  # fmt: skip
    """The best matches of every kind by words, and how many there are of each."""
    segments = Segments(db)
    corpora = {number: StoredPostings(db, number, segments) for number in (SOURCE, OTHER, KNOWLEDGE, CHUNKS)}
    fits = dict(zip(corpora, index.score(list(corpora.values()), words), strict=True))
    found: list[tuple[float, Any]] = []
    counts = dict.fromkeys(wanted, 0)
    if "document" in wanted:
        ranked = ranked_chunks(db, corpora[CHUNKS], fits[CHUNKS], allowed)
        counts["document"] = len(ranked)
        scores = dict(ranked[:_LOOKED_AT])
        found += [
            (scores[one.id] * (_CHANGES if _CHANGELOG.search(one.document) else 1), one)
            for one in load_chunks(ws, list(scores))
        ]
    if "record" in wanted:
        hits = index.hits_of(db, corpora[KNOWLEDGE], fits[KNOWLEDGE], tuple(ws.kinds))
        live, _ = filter_live(ws, get_records(ws, [hit.id for hit in hits]), RecordFilter())
        shown = {one.id: one for one in live if may is None or may.shows(one)}
        counts["record"] = len(shown)
        found += [(hit.rank / 1_000_000, shown[hit.id]) for hit in hits if hit.id in shown]
    if "code" in wanted:
        some, counts["code"] = _code(db, [corpora[SOURCE], corpora[OTHER]], {**fits[SOURCE], **fits[OTHER]}, may)
        found += some
    best = max((score for score, _ in found), default=1.0) or 1.0
    # equal scores: documents, records, code, each in its own order; sorted() is stable
    return [_Match(score, best, one) for score, one in sorted(found, key=lambda pair: -pair[0])], counts


def _code(
    db: Database, corpora: Sequence[StoredPostings], fits: Mapping[int, int], may: Visibility | None
) -> tuple[list[tuple[float, Symbol]], int]:
    """The symbols that match, of files that may be shown, and how many there are."""
    from kl_hooks.code.query.search import symbols_of_documents

    files = {doc: path for corpus in corpora for doc, path in corpus.paths_of(fits, minor=True).items()}
    if may is not None:
        shown = {path for path in set(files.values()) if may.shows_node(f"file:{path}", "file", path)}
        files = {doc: path for doc, path in files.items() if path in shown}
    order = sorted(files, key=lambda doc: (-fits[doc], doc))[:_LOOKED_AT]
    symbols = symbols_of_documents(db, corpora, {doc: files[doc] for doc in order})
    found = [
        (fits[doc] / 1_000_000 * (_TESTS if corpus_of(one.path) == OTHER else 1), one)
        for doc, one in symbols.items()
        if split_id(one.id)[0] in _CODE and (may is None or may.shows_node(one.id, "symbol", one.path))
    ]  # fmt: skip
    return found, len(files) - (len(order) - len(found))


# --- what is shown


def _result(match: _Match, words: Collection[str]) -> Result:
    one, score = match.what, match.score / match.best
    parts = {"bm25": match.score}
    if isinstance(one, Chunk):
        title = " › ".join(dict.fromkeys((one.title, *one.heading)))
        anchor = f"#L{one.first_line}-L{one.last_line}"
        return Result(
            "document", (f"file:{one.document}" if one.is_file else one.document) + anchor,
            one.document if one.is_file else "", one.first_line, one.last_line, title,
            snippet_of(one.text, words, one.first_line), score, parts, chunk=one,
        )  # fmt: skip
    if isinstance(one, Symbol):
        text = "\n".join(filter(None, (one.signature, one.doc)))
        snippet = snippet_of(text, words, one.line)
        return Result("code", one.id, one.path, one.line, one.end_line, split_id(one.id)[1], snippet, score, parts)
    body = "\n".join(text for text in one.values.values() if isinstance(text, str) and text != one.title)
    marks = (one.authority,) if one.authority != "human" else ()
    return Result(
        "record", one.id, one.path, 1 if one.path else 0, 0, one.title, snippet_of(body, words, 0), score, parts,
        marks, record=one,
    )  # fmt: skip


def snippet_of(text: str, words: Collection[str], first_line: int) -> Snippet:
    """The lines with the most different terms (as of `search_terms`) of a query, and what follows as far as it fits."""
    lines = text.split("\n")
    marks = [[found.span() for found in _WORD.finditer(line) if _is_match(found[0], words)] for line in lines]
    terms = [{term for start, end in spans for term in search_terms([line[start:end]])} & set(words)
             for line, spans in zip(lines, marks, strict=True)]  # fmt: skip
    # of three lines the first counts most: the snippet begins with it
    values = [
        2 * len(own) + len(set().union(*terms[number + 1 : number + 3]) - own) for number, own in enumerate(terms)
    ]
    begin = values.index(max(values)) if any(values) else next((n for n, line in enumerate(lines) if line.strip()), 0)
    made, matches = "", list[tuple[int, int]]()
    for number in range(begin, min(begin + _SNIPPET_LINES, len(lines))):
        line = lines[number].rstrip()
        if made and len(made) + len(line) > _SNIPPET:
            break
        start = len(made)
        made += line[:_SNIPPET] + "\n"
        matches += [(start + a, start + b) for a, b in marks[number] if b <= _SNIPPET]
    return Snippet(first_line + begin if first_line else 0, made.rstrip("\n"), tuple(matches))


def _is_match(word: str, words: Collection[str]) -> bool:
    return not set(search_terms([word])).isdisjoint(words)


def result_to_dict(one: Result, *, explain: bool = False) -> dict[str, Any]:
    """A match as JSON has it."""
    plain: dict[str, Any] = {
        "id": one.id, "kind": one.kind, "title": one.title, "path": one.path, "line": one.line,
        "end_line": one.end_line, "score": round(one.score, 4),
        "snippet": {"line": one.snippet.line, "text": one.snippet.text, "matches": [*map(list, one.snippet.matches)]},
    }  # fmt: skip
    if one.chunk is not None:
        plain |= {"collection": one.chunk.collection, "document": one.chunk.document}
        plain |= {"heading": list(one.chunk.heading)}
    if one.record is not None:
        plain |= {"record_kind": one.record.kind, "status": one.record.status, "authority": one.record.authority}
    if one.marks:
        plain["marks"] = list(one.marks)
    if explain:
        plain["parts"] = {name: round(value, 4) for name, value in one.parts.items()}
    return plain
