"""Search: one ranked list over documents, records and code.

All are scored by one formula over the same postings (BM25F, names and headings before text), with
how rare a word is counted over all of them, so a passage, a decision and a function can be
compared. A score is the share of the query that a text has, from 0 to 1,
whatever else was found. So is a cosine; the two are added as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.documents.indexing import (
    Chunk,
    Visibility,
    document_suffixes,
    load_chunks,
    ranked_chunks,
    sync_documents,
    visible_documents,
)
from kl_hooks.documents.meaning import cosines_with, find_near
from kl_hooks.documents.mentions import stale_mentions
from kl_hooks.documents.neighborhood import Scope, neighborhood
from kl_hooks.documents.retrieval import CHANGELOG, passage_id
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
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.excerpt import Excerpt
from kl_hooks.model.symbol import NodeId, Symbol, record_node, split_id
from kl_hooks.model.text import CHARACTERS_OF_A_TOKEN, counted, one_line
from kl_hooks.records.liveness import filter_live
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.repository import select_rows
from kl_hooks.records.sync import sync

if TYPE_CHECKING:
    from kl_hooks.git.worktree import WorktreeScan
    from kl_hooks.model.record import Record
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


FUSIONS: Final = ("rrf", "weighted", "simple", "cascade")
"""Reciprocal rank; weighted sum of scores; best score; one list after the other."""
_K: Final = 60
"""Of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009)."""
_SCORE = 0.5
_OVERLAP = 0.3
_PLACE = 0.2
"""Weights of what `rerank` adds up."""


class Fused(NamedTuple):
    """Something that at least one list has."""

    id: str
    score: float
    """0 to 1."""
    parts: Mapping[str, float]
    """List → what it adds to the score, for `--explain`."""


def fuse(
    method: str,
    lists: Mapping[str, Sequence[tuple[str, float]]],
    weights: Callable[[str], Mapping[str, float]],
) -> list[Fused]:
    """Return what is in the lists, each once, best first; ties by ID.

    `lists`: name → (ID, score from 0 to 1), best first. No score is divided by the best of its
    list: where nothing is near, the nearest would count as a perfect match. Of a cascade the first
    list comes first. `weights`: ID → how much each list counts for it in a weighted sum, 1 in all
    at most.
    """
    parts_by_id: dict[str, dict[str, float]] = {}
    for place, (name, ranked) in enumerate(lists.items()):
        for rank, (identifier, score) in enumerate(ranked, 1):
            parts = parts_by_id.setdefault(identifier, {})
            if name in parts:
                continue  # a list has each ID once; of a second one the first, better, place counts
            if method == "rrf":
                parts[name] = 1 / (_K + rank)
            elif method == "weighted":
                parts[name] = weights(identifier).get(name, 0.0) * max(0.0, score)
            elif method == "simple":
                parts[name] = max(0.0, score)
            elif not parts:  # of a cascade: the first list that has it decides
                parts[name] = (len(lists) - place - 1 + 1 / rank) / len(lists)
    highest = method in ("simple", "cascade")
    fused = [
        Fused(identifier, round(max(parts.values()) if highest else sum(parts.values()), 6), parts)
        for identifier, parts in parts_by_id.items()
    ]
    return sorted(fused, key=lambda identifier: (-identifier.score, identifier.id))


def rerank(
    ranking: Sequence[Fused], stems: Collection[str], texts: Mapping[str, str]
) -> list[Fused]:
    """Return the list ranked again: by score, by how many of the query's stems a text has, and by
    place before.

    `texts`: ID → text in lower case.
    """
    reranked = []
    for place, match in enumerate(ranking):
        text = texts.get(match.id, "")
        if stems:
            overlap = sum(stem in text for stem in stems) / len(stems)
        else:
            overlap = 0.0
        parts = {
            "score": _SCORE * match.score,
            "overlap": _OVERLAP * overlap,
            "place": _PLACE / (1 + 0.1 * place),
        }
        reranked.append(Fused(match.id, round(sum(parts.values()), 6), {**match.parts, **parts}))
    return sorted(reranked, key=lambda match: (-match.score, match.id))


MODES: Final = ("keyword", "vector", "hybrid", "graph")
"""Ways to search, the default first: by words, by meaning, by both, by what is linked with the best
of these.
"""
_WEIGHTS: Final = {"keyword": 0.5, "vector": 0.5}
"""Of the lists of a hybrid search in a `weighted` fusion, chosen on the tuning questions of
`bench.search_quality`.
"""
_WEAK_SHARE: Final = 0.2
"""Share of the query from which a match by words is one. Of the tuning questions 19 in 20 have a
match above it; of questions about other software half."""
_WEAK_COSINE: Final = 0.25
"""Cosine from which a match by meaning is one: of the answers to the tuning questions nine in ten
have it."""
_FIRST: Final = 3
"""Places in which a passage stays that alone has a rare word of the query."""
_RARE: Final = 100
"""Passages from which on a word that only one of them has is rare."""
_COMPOUND: Final = lazy_pattern(r"\w\W+\w")
_AROUND: Final = "?,.;:!()[]{}<>\"'`"
"""Signs around a word of a question that are no part of it."""
_OF_CODE: Final = {"keyword": 0.7}
"""The same for code, which has no vectors: the best by words comes after prose that is best by
both, and before prose that only one list has."""
_FUSED: Final = 100
"""Best matches of each list that are fused."""
_RERANKED: Final = 50
"""Best matches that are ranked again."""
KINDS: Final = ("document", "record", "code")
MOST: Final = 50
_LONGEST_QUERY: Final = 2000
_CODE: Final = ("namespace", "type", "interface", "function", "method", "property", "field")
_SNIPPET: Final = 320
_SNIPPET_LINES: Final = 4
_LOOKED_AT: Final = 200
"""Best matches of each kind that are loaded: what may not be shown is among them, and must not
shorten the answer.
"""
_TESTS: Final = 0.6
"""What the score of a test counts: it has the words of all that it tests. Asked about tests, people
name them.
"""
_CHANGES: Final = 0.7
"""What a passage of a changelog counts: it names everything once, and explains nothing."""
_WORD: Final = lazy_pattern(r"\w+")


class Snippet(NamedTuple):
    """The lines of a match with the most words of the query."""

    line: int
    """Of its beginning, in the file or the text of the record."""
    text: str
    matches: tuple[tuple[int, int], ...]
    """Where words of the query are in it."""


@dataclass(frozen=True, slots=True)
class Result(Excerpt):
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
    """0 to 1: how much of the query it has, or how near it is. Scores of two searches compare."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """What the score is made of."""
    is_weak: bool = False
    """Whether it has little of the query and is not near: what a search finds where nothing fits.
    """
    marks: tuple[str, ...] = ()
    """What a reader should know of it: who wrote it, what is stale."""
    chunk: Chunk | None = None
    record: Record | None = None

    @property
    def origin(self) -> NodeId:
        """The document, the record or the symbol."""
        if self.chunk is None:
            return NodeId(self.id)
        return NodeId(f"file:{self.path}" if self.chunk.is_file else self.chunk.document)


class SearchAnswer(NamedTuple):
    """The answer to a search."""

    query: str
    mode: str
    took_part: tuple[str, ...]
    """What ranked: `words`, `meaning`, `links`."""
    results: tuple[Result, ...]
    total: int
    """All matches that may be shown."""
    counts: Mapping[str, int]
    """Kind → its matches."""
    notes: tuple[str, ...] = ()
    """What could not take part, and why."""
    communities: tuple[CommunitySummary, ...] = ()
    """Of a search by graph: what is linked with the best matches, that with the most weight first.
    """


class CommunitySummary(NamedTuple):
    """A community in one line, and its members."""

    summary: str
    members: tuple[NodeId, ...]
    relations: Mapping[str, int]
    """Relation → links of it inside."""
    seeds: int
    """Members that the query itself found."""


class Options(NamedTuple):
    """How a search ranks what it finds."""

    fusion: str = "weighted"
    """Of a hybrid search: one of `FUSIONS`."""
    rerank: bool = False
    """Rank the best matches again, by how many words of the query each has."""
    progress: Callable[[int, int], object] | None = None
    """(texts embedded, of how many), while those that have no vector yet get one."""
    freshness: bool = False
    """Mark passages that name code which changed after they were written."""
    hops: int = 2
    """Of a search by graph: most links from a match to what is shown with it."""
    budget: int = 4000
    """Of a search by graph: tokens of summaries and snippets."""


AS_USUAL: Final = Options()


def search(
    ws: Workspace,
    query: str,
    mode: str = MODES[0],
    collections: Collection[str] = (),
    top_k: int = 10,
    *,
    kinds: Collection[str] = (),
    may: Visibility | None = None,
    options: Options = AS_USUAL,
) -> SearchAnswer:
    """The best matches of documents, live records and code.

    `collections`: documents of these only, and nothing else unless `kinds` has it. `may`: what
    whoever asks may be shown; everything else is neither listed nor counted. A mode that can't run
    here gives way to `keyword`, with a note. UsageProblem for an empty query, and an unknown mode,
    fusion, kind or collection.
    """
    query = replace_surrogates(query[:_LONGEST_QUERY])  # no tokenizer takes bytes that are no text
    _refuse_unknown(query, mode, options, kinds)
    wanted = tuple(kinds) or (KINDS[:1] if collections else KINDS)
    with ws.store.reusing():
        return _search(ws, query, mode, collections, top_k, wanted, kinds, may, options)


def _search(
    ws: Workspace,
    query: str,
    mode: str,
    collections: Collection[str],
    top_k: int,
    wanted: Collection[str],
    kinds: Collection[str],
    may: Visibility | None,
    options: Options,
) -> SearchAnswer:
    # code is found by the passages that name it, so a search by graph starts from all that matches
    looked = KINDS if mode == "graph" and not collections else wanted
    sync(ws)
    scan = _scan(ws)
    indexed = sync_documents(ws, scan=scan)
    if indexed.trouble:
        notes = [f"documents: {indexed.trouble}"]
    else:
        notes = []
    allowed = visible_documents(ws, collections or None, may) if "document" in looked else {}
    if "document" in wanted:
        notes += _waiting(ws, collections, may)
    if mode == "vector" and "code" in kinds:
        notes.append("code has no vectors: it is searched by words only.")
        mode = "keyword" if wanted == ("code",) else "hybrid"
    near, mode = _near_in_meaning(ws, query, mode, looked, allowed, may, options, notes)
    words = significant_words(query)
    asked = _Asked(query, words, mode, looked, wanted, allowed, may, options)
    with _graph(ws, notes, scan) as db:
        ranking = _rank(ws, db, asked, near, notes)
    terms = set(search_terms(words))
    counts = ranking.counts
    groups = ranking.groups
    if options.rerank:
        matches = _reranked(ranking.matches, terms)
    else:
        matches = ranking.matches
    matches, copies = _one_each_text(_with_lone_first(matches, ranking.lone))
    if copies:
        counts["document"] -= sum(map(len, copies.values()))
    results = _results(ws, matches[: min(top_k, MOST)], terms, copies, stale=options.freshness)
    if results and all(result.is_weak for result in results):
        notes.append("only weak matches: they have few words of the query, and are not near it.")
    if mode == "graph":
        results, groups, omitted = _within_budget(results, groups, options.budget)
        if omitted:
            notes += [f"over the budget of {options.budget} tokens: {omitted}"]
    return SearchAnswer(
        query,
        mode,
        ranking.took_part,
        tuple(results),
        sum(counts.values()),
        counts,
        tuple(notes),
        tuple(groups),
    )


class _Asked(NamedTuple):
    """A search, checked."""

    query: str
    words: Sequence[str]
    """The significant ones."""
    mode: str
    looked: Collection[str]
    """Kinds that are ranked, …"""
    wanted: Collection[str]
    """… and those of them that are shown."""
    allowed: Mapping[str, str]
    """The documents that may be shown."""
    may: Visibility | None
    options: Options


class _Ranking(NamedTuple):
    """All that was found, the best first."""

    matches: list[_Match]
    lone: frozenset[str]
    """Keys of matches that alone have a rare word of the query."""
    counts: dict[str, int]
    """Kind → number of matches."""
    groups: list[CommunitySummary]
    took_part: tuple[str, ...]
    """What ranked: `words`, `meaning`, `links`."""


def _rank(
    ws: Workspace,
    db: Database | None,
    asked: _Asked,
    near: Sequence[tuple[Chunk | Record, float]],
    notes: list[str],
) -> _Ranking:
    """What fits by words, by meaning, and by links. `near`: the nearest in meaning."""
    mode = asked.mode
    options = asked.options
    matches: list[_Match] = []
    lone = frozenset[str]()
    counts = dict.fromkeys(asked.looked, 0)
    groups = list[CommunitySummary]()
    took_part = ["words"] if mode != "vector" else []
    if mode in ("vector", "hybrid") or near:
        took_part.append("meaning")
    if mode != "vector" and db is not None:
        with db.snapshot():  # the index may be merged meanwhile, see `index.search`
            matches, counts = _keyword(ws, db, asked)
        marked = _with_lone_compounds(matches, asked.query)[:_FIRST]
        lone = frozenset(_key(match.what) for match in marked if match.is_lone)
    if mode != "keyword":
        matches = _joined(ws, asked.query, matches, near, mode, options, notes)
        matches = _with_lone_first(matches, lone)  # what is linked with them counts, too
        if mode in ("graph", "hybrid") and db is not None:
            took_part.append("links")
            scope = Scope(ws, asked.allowed, asked.may)
            if mode == "graph":
                matches, groups = _linked(db, scope, asked.wanted, matches, options)
            else:
                matches = _lifted_by_links(db, scope, matches, options)
        counts = {
            kind: sum(_kind_of(match.what) == kind for match in matches) for kind in asked.wanted
        }
    return _Ranking(matches, lone, counts, groups, tuple(took_part))


def _near_in_meaning(
    ws: Workspace,
    query: str,
    mode: str,
    looked: Collection[str],
    allowed: Mapping[str, str],
    may: Visibility | None,
    options: Options,
    notes: list[str],
) -> tuple[list[tuple[Chunk | Record, float]], str]:
    """What is near by its vector, and the mode that the search has then: without vectors it is by
    words, which `notes` states.
    """
    if mode == "keyword":
        return [], mode
    try:
        if "record" in looked:
            records = _live_records(ws, may)
        else:
            records = []
        return find_near(ws, query, allowed, records, _FUSED, options.progress), mode
    except EnvironmentProblem as problem:
        notes.append(f"searched by words only: {problem}")
        return [], "graph" if mode == "graph" else "keyword"


def _joined(
    ws: Workspace,
    query: str,
    matches: Sequence[_Match],
    near: Sequence[tuple[Chunk | Record, float]],
    mode: str,
    options: Options,
    notes: list[str],
) -> list[_Match]:
    """The matches by words and by meaning in one ranking, one of each section."""
    if max(len(matches), len(near)) >= _FUSED:
        notes.append(f"the best {_FUSED} by words and by meaning are looked at, there may be more.")
    method = {"vector": "simple", "graph": Options().fusion}.get(mode, options.fusion)
    if mode != "vector" and near:
        near = [*near, *_with_cosines(ws, query, matches[:_FUSED], near)]
    return _one_each_section(_fused(matches, near, method))


def _with_cosines(
    ws: Workspace,
    query: str,
    matches: Sequence[_Match],
    near: Sequence[tuple[Chunk | Record, float]],
) -> list[tuple[Chunk | Record, float]]:
    """(passage or record, cosine) of the matches by words that are not among the nearest: what is
    not near by its vector is not therefore without one.
    """
    keys = {_key(what) for what, _ in near}
    prose = [
        match.what
        for match in matches
        if not isinstance(match.what, Symbol) and _key(match.what) not in keys
    ]
    cosines = zip(prose, cosines_with(ws, query, prose), strict=True)
    ranked = [(what, cosine) for what, cosine in cosines if cosine is not None]
    return sorted(ranked, key=lambda pair: -pair[1])


def _refuse_unknown(query: str, mode: str, options: Options, kinds: Collection[str]) -> None:
    if not query.strip():
        raise UsageProblem(
            "is empty.", place="query", hint="Such as: kl search how are secrets removed"
        )
    for name, choices in (
        (mode, MODES),
        (options.fusion, FUSIONS),
        *((kind, KINDS) for kind in kinds),
    ):
        if name not in choices:
            raise UsageProblem(
                "is not known.", place=one_line(name, 60), hint=f"One of: {', '.join(choices)}."
            )


def _waiting(ws: Workspace, collections: Collection[str], may: Visibility | None) -> list[str]:
    """A note where added documents are not indexed: a search that finds none of them would state
    that there is none.
    """
    sql = """SELECT id FROM record WHERE kind = 'document' AND rests = 'state'
        AND status IN ('pending', 'processing', 'failed')"""
    records = [
        one
        for one in get_records(ws, [identifier for (identifier,) in select_rows(ws, sql)])
        if (not collections or one.text("collection") in collections)
        and (may is None or may.shows(one))
    ]
    if not records:
        return []
    number = Counter("failed" if one.status == "failed" else "pending" for one in records)
    states = " and ".join(
        f"{counted(count, 'document')} {status}" for status, count in sorted(number.items())
    )
    return [f"not indexed: {states}. Index them with: kl document process"]


def _live_records(ws: Workspace, may: Visibility | None) -> list[Record]:
    # a document is found by its passages
    every = [one for one in list_records(ws, RecordFilter()) if one.kind != "document"]
    live, _ = filter_live(ws, every, RecordFilter())
    return [one for one in live if may is None or may.shows(one)]


def _fused(
    word_matches: Sequence[_Match], neighbors: Sequence[tuple[Chunk | Record, float]], method: str
) -> list[_Match]:
    """What was found by words and by meaning, as one list."""
    every = {
        _key(what): what
        for what in (*(match.what for match in word_matches), *(what for what, _ in neighbors))
    }
    lists = {
        "keyword": [(_key(match.what), match.score) for match in word_matches[:_FUSED]],
        "vector": [(_key(what), cosine) for what, cosine in neighbors],
    }
    fused = fuse(method, lists, lambda key: _OF_CODE if key.startswith("code ") else _WEIGHTS)
    # the scores as they were, beside what each adds to the fused one
    by_words = {_key(match.what): match for match in word_matches}
    cosine_of = dict(lists["vector"])
    fused_matches = []
    for match in fused:
        word_match = by_words.get(match.id)
        parts = {**match.parts, **(word_match.parts if word_match else {})}
        if match.id in cosine_of:
            parts["cosine"] = cosine_of[match.id]
        is_weak = word_match is None or word_match.is_weak
        is_weak = is_weak and cosine_of.get(match.id, 0.0) < _WEAK_COSINE
        fused_matches.append(_Match(match.score, every[match.id], parts, is_weak))
    return fused_matches


def _one_each_section(matches: Sequence[_Match]) -> list[_Match]:
    """Without further passages under the same heading: a vector of one is near where those of its
    neighbors are.
    """
    sections = set()
    first_matches = []
    for match in matches:
        what = match.what
        section = (what.document, what.heading) if isinstance(what, Chunk) else _key(what)
        if section not in sections:
            sections.add(section)
            first_matches.append(match)
    return first_matches


def _one_each_text(matches: Sequence[_Match]) -> tuple[list[_Match], dict[int, list[str]]]:
    """Without passages that are in several documents, word by word; (the rest, chunk that stays →
    IDs of the others).

    A runbook may have been added to two collections, or be in the repository, too: then its file
    stays.
    """
    same: dict[tuple[str, ...], list[Chunk]] = {}
    for match in matches:
        if isinstance(match.what, Chunk):
            same.setdefault(
                (match.what.text_hash, match.what.title, *match.what.heading), []
            ).append(match.what)
    copies: dict[int, list[str]] = {}
    stays: dict[int, Chunk | None] = {}
    for copies_of_text in same.values():
        if len(copies_of_text) > 1:
            best = next(
                (passage for passage in copies_of_text if passage.is_file), copies_of_text[0]
            )
            stays |= dict.fromkeys((passage.id for passage in copies_of_text), None) | {
                copies_of_text[0].id: best
            }
            copies[best.id] = [
                passage_id(passage) for passage in copies_of_text if passage is not best
            ]
    distinct_matches = []
    for match in matches:
        what = stays.get(match.what.id, match.what) if isinstance(match.what, Chunk) else match.what
        if what is not None:
            distinct_matches.append(match._replace(what=what))
    return distinct_matches, copies


def _with_lone_compounds(matches: Sequence[_Match], query: str) -> Sequence[_Match]:
    """The matches by words; the first one that alone has a word such as `CVE-2013-1888` or
    `--no-cache`, whose parts others have, is marked so.
    """
    tokens = {token.strip(_AROUND) for token in query.split()}
    marked = list(matches)
    for token in sorted(token for token in tokens if _COMPOUND.search(token)):
        pattern = re.compile(rf"(?<!\w){re.escape(token)}(?!\w)", re.IGNORECASE)
        places = [
            place for place, match in enumerate(matches) if pattern.search(_text_of(match.what))
        ]
        if len(places) == 1:
            marked[places[0]] = marked[places[0]]._replace(is_lone=True, is_weak=False)
    return marked


def _with_lone_first(matches: list[_Match], lone: Collection[str]) -> list[_Match]:
    """The matches, those that alone have a rare word of the query among the first three: no other
    text is what somebody means who writes an ID.

    `lone`: keys of at most three of them.
    """
    first = matches[:_FIRST]
    further = matches[_FIRST:]
    below = [match for match in further if _key(match.what) in lone]
    displaced = [match for match in reversed(first) if _key(match.what) not in lone][: len(below)]
    if not displaced:
        return matches
    least = min(match.score for match in displaced)
    lifted = [
        match._replace(
            score=max(match.score, least), parts={**match.parts, "alone": least - match.score}
        )
        for match in below
    ]
    keys = {_key(match.what) for match in (*displaced, *below)}
    return [
        *(match for match in first if _key(match.what) not in keys),
        *lifted,
        *reversed(displaced),
        *(match for match in further if _key(match.what) not in keys),
    ]


_SEEDS: Final = 5
"""Best matches that a search by graph starts from."""
_OWN: Final = 0.7
"""Of the score of a search by graph: how well a text matches by itself; the rest is its weight
among what is linked.
"""
_LINKS: Final = 0.15
"""Of what a match of a hybrid search lacks to a full score: how much its weight among what is
linked with the best five adds."""


def _linked(
    db: Database, scope: Scope, wanted: Collection[str], matches: Sequence[_Match], options: Options
) -> tuple[list[_Match], list[CommunitySummary]]:
    """What is linked with the best matches, these first of all; and the communities of it."""
    own = {_key(match.what): match for match in matches}
    seeds = _seeds(matches)
    is_weak = all(match.is_weak for match in matches[:_SEEDS])
    around = neighborhood(db, seeds, options.hops, scope)
    weights = around.weights(seeds)
    linked_values = scope.look_up(db, list(around.levels))
    linked = []
    for node, what in linked_values.items():
        if what is None or _kind_of(what) not in wanted:
            continue
        links = (1 - _OWN) * weights[node]
        if match := own.get(_key(what)):
            score = _OWN * match.score
            parts = {**match.parts, "own": score, "links": links}
            linked.append(
                match._replace(score=score + links, parts=parts, is_weak=match.is_weak and is_weak)
            )
        else:
            linked.append(_Match(links, what, {"own": 0.0, "links": links}, is_weak))
    linked.sort(key=lambda match: (-match.score, _key(match.what)))

    def name(node: str) -> str:
        what = linked_values.get(node)
        if isinstance(what, Chunk):
            return " › ".join((what.title, *what.heading[-1:]))
        if what is None:
            return node
        return what.id + (f" {what.title}" if not isinstance(what, Symbol) else "")

    groups = [
        CommunitySummary(
            one_line(community.summary(name), _LONGEST_SUMMARY),
            tuple(map(NodeId, community.members)),
            community.relations,
            community.seeds,
        )
        for community in around.communities(weights, seeds)
    ]
    return linked, groups


def _seeds(matches: Sequence[_Match]) -> dict[str, float]:
    """Node → weight of the best matches, 1 of the first: where a walk over links starts."""
    best = max((match.score for match in matches[:_SEEDS]), default=0.0) or 1.0
    return {_node(match.what): match.score / best for match in matches[:_SEEDS]}


def _lifted_by_links(
    db: Database, scope: Scope, matches: Sequence[_Match], options: Options
) -> list[_Match]:
    """The matches by words and by meaning, those that are linked with the best five higher."""
    seeds = _seeds(matches)
    around = neighborhood(db, seeds, options.hops, scope)
    weights = around.weights(seeds)
    lifted = []
    for match in matches:
        links = _LINKS * (1 - match.score) * weights.get(_node(match.what), 0.0)
        parts = {**match.parts, "links": links}
        lifted.append(match._replace(score=match.score + links, parts=parts) if links else match)
    return sorted(lifted, key=lambda match: (-match.score, _key(match.what)))


_LONGEST_SUMMARY: Final = 800


def _within_budget(
    results: Sequence[Result], groups: Sequence[CommunitySummary], budget: int
) -> tuple[list[Result], list[CommunitySummary], str]:
    """The first summaries, in at most half of the budget, and the first results that fit; and what
    was omitted.
    """
    left = budget * CHARACTERS_OF_A_TOKEN
    stated = list[CommunitySummary]()
    for group in groups:
        if len(group.summary) > left - budget * CHARACTERS_OF_A_TOKEN // 2:
            break
        left -= len(group.summary)
        stated.append(group)
    shown = list[Result]()
    for result in results:
        if (size := len(result.id) + len(result.title) + len(result.snippet.text)) > left:
            break
        left -= size
        shown.append(result)
    omitted = [
        counted(number, noun)
        for number, noun in (
            (len(groups) - len(stated), "summary"),
            (len(results) - len(shown), "result"),
        )
        if number
    ]
    return shown, stated, " and ".join(omitted)


def _node(what: Chunk | Record | Symbol) -> str:
    if isinstance(what, Chunk):
        return passage_id(what)
    if isinstance(what, Symbol):
        return what.id
    return record_node(what.id)


def _reranked(matches: Sequence[_Match], terms: Collection[str]) -> list[_Match]:
    first = {_key(match.what): match for match in matches[:_RERANKED]}
    texts = {
        key: " ".join(sorted(set(search_terms([_text_of(match.what)]))))
        for key, match in first.items()
    }
    again = rerank(
        [Fused(key, match.score, match.parts) for key, match in first.items()], terms, texts
    )
    return [first[match.id]._replace(score=match.score, parts=match.parts) for match in again]


def _text_of(what: Chunk | Record | Symbol) -> str:
    if isinstance(what, Chunk):
        return " ".join((what.title, *what.heading, what.text))
    if isinstance(what, Symbol):
        return " ".join(filter(None, (what.id, what.signature, what.doc)))
    return f"{what.title} {what.prose}"


def _key(what: Chunk | Record | Symbol) -> str:
    return f"{_kind_of(what)} {what.id}"


def _kind_of(what: Chunk | Record | Symbol) -> str:
    if isinstance(what, Chunk):
        return "document"
    if isinstance(what, Symbol):
        return "code"
    return "record"


def _scan(ws: Workspace) -> WorktreeScan | None:
    """One look at the files on disk, for documents and code."""
    from kl_hooks.code.query.session import graph_suffixes
    from kl_hooks.git.files import suffix_pathspecs
    from kl_hooks.git.worktree import scan_worktree

    ends = document_suffixes(ws)
    if not ws.repo:
        return None
    return scan_worktree(ws.repo, suffix_pathspecs((*ends, *graph_suffixes(ws)) if ends else ()))


@contextmanager
def _graph(ws: Workspace, notes: list[str], scan: WorktreeScan | None) -> Iterator[Database | None]:
    """The graph with today's code in it; where that can't be, without it, and a note."""
    from kl_hooks.code.query.session import refresh_graph

    try:
        refresh_graph(ws, scan=scan)
    except EnvironmentProblem as problem:
        notes.append(f"code: {problem.reason}")
    with ws.store.reading("graph") as db:
        yield db


class _Match(NamedTuple):
    """What was found, before it is shown."""

    score: float
    what: Chunk | Record | Symbol
    parts: Mapping[str, float]
    """What the score is made of."""
    is_weak: bool
    is_lone: bool = False
    """Whether it alone has a rare word of the query."""


def _keyword(ws: Workspace, db: Database, asked: _Asked) -> tuple[list[_Match], dict[str, int]]:
    """The best matches of every kind by words, and how many there are of each."""
    segments = Segments(db)
    corpora = {
        number: StoredPostings(db, number, segments)
        for number in (SOURCE, OTHER, KNOWLEDGE, CHUNKS)
    }
    kind_of = {SOURCE: "code", OTHER: "code", KNOWLEDGE: "record", CHUNKS: "document"}
    unasked = [place for place, corpus in enumerate(corpora) if kind_of[corpus] not in asked.looked]
    # every test is about testing: counted with them, `test` would be too common a word to look for
    # in the docs
    scores = index.score(list(corpora.values()), asked.words, (OTHER,), unasked)
    fits = dict(zip(corpora, scores.fits, strict=True))
    scored: list[tuple[float, Any]] = []
    lone_chunks = set[int]()
    counts = dict.fromkeys(asked.looked, 0)
    if "document" in asked.looked:
        chunks, counts["document"] = _documents(ws, db, corpora[CHUNKS], fits[CHUNKS], asked)
        scored += chunks
        if corpora[CHUNKS].totals.docs >= _RARE:
            lone = dict(zip(corpora, scores.lone, strict=True))[CHUNKS] & fits[CHUNKS].keys()
            fits_of_lone = {document: fits[CHUNKS][document] for document in lone}
            ranked, _ = ranked_chunks(db, corpora[CHUNKS], fits_of_lone, asked.allowed, _FIRST)
            lone_chunks = {number for number, _ in ranked}
    if "record" in asked.looked:
        records = _records(ws, db, corpora[KNOWLEDGE], fits[KNOWLEDGE], asked.may)
        counts["record"] = len(records)
        scored += records
    if "code" in asked.looked:
        symbols, counts["code"] = _code(
            db, [corpora[SOURCE], corpora[OTHER]], {**fits[SOURCE], **fits[OTHER]}, asked.may
        )
        scored += symbols
    # equal scores: documents, records, code, each in its own order; sorted() is stable
    matches = []
    for score, what in sorted(scored, key=lambda pair: -pair[0]):
        if scores.highest:
            share = min(score / scores.highest, 1.0)
        else:
            share = 0.0
        is_lone = isinstance(what, Chunk) and what.id in lone_chunks
        parts = {"words": share, "bm25": score}
        matches.append(_Match(share, what, parts, share < _WEAK_SHARE and not is_lone, is_lone))
    return matches, counts


def _documents(
    ws: Workspace, db: Database, corpus: StoredPostings, fits: Mapping[int, int], asked: _Asked
) -> tuple[list[tuple[float, Chunk]], int]:
    """The best passages with their scores, and how many passages there are."""
    ranked, number = ranked_chunks(db, corpus, fits, asked.allowed, _LOOKED_AT)
    score_of = dict(ranked)
    chunks = [
        (score_of[chunk.id] * (_CHANGES if CHANGELOG.search(chunk.document) else 1), chunk)
        for chunk in load_chunks(ws, list(score_of))
    ]
    return chunks, number


def _records(
    ws: Workspace,
    db: Database,
    corpus: StoredPostings,
    fits: Mapping[int, int],
    may: Visibility | None,
) -> list[tuple[float, Record]]:
    """The records that fit and may be shown, with their scores."""
    hits = index.hits_of(db, corpus, fits, [kind for kind in ws.kinds if kind != "document"])
    live, _ = filter_live(ws, get_records(ws, [hit.id for hit in hits]), RecordFilter())
    shown = {record.id: record for record in live if may is None or may.shows(record)}
    return [(hit.rank / 1_000_000, shown[hit.id]) for hit in hits if hit.id in shown]


def _code(
    db: Database, corpora: Sequence[StoredPostings], fits: Mapping[int, int], may: Visibility | None
) -> tuple[list[tuple[float, Symbol]], int]:
    """The symbols that match, of files that may be shown, and how many there are."""
    from kl_hooks.code.query.search import symbols_of_documents

    files = {
        doc: path for corpus in corpora for doc, path in corpus.paths_of(fits, minor=True).items()
    }
    if may is not None:
        shown = {
            path for path in set(files.values()) if may.shows_node(f"file:{path}", "file", path)
        }
        files = {doc: path for doc, path in files.items() if path in shown}
    order = sorted(files, key=lambda doc: (-fits[doc], doc))[:_LOOKED_AT]
    symbols = symbols_of_documents(db, corpora, {doc: files[doc] for doc in order})
    scored = [
        (fits[doc] / 1_000_000 * (_TESTS if corpus_of(symbol.path) == OTHER else 1), symbol)
        for doc, symbol in symbols.items()
        if split_id(symbol.id)[0] in _CODE
        and (may is None or may.shows_node(symbol.id, "symbol", symbol.path))
    ]
    return scored, len(files) - (len(order) - len(scored))


# --- what is shown


_COPIES: Final = 3
"""Other passages with the text of a result that are named."""


def _results(
    ws: Workspace,
    shown: Sequence[_Match],
    terms: Collection[str],
    copies: Mapping[int, Sequence[str]],
    *,
    stale: bool,
) -> list[Result]:
    marks = _passage_marks(
        ws, [match.what for match in shown if isinstance(match.what, Chunk)], stale=stale
    )
    for match in shown:
        if isinstance(match.what, Chunk) and match.what.id in copies:
            # of one long line there may be hundreds
            others = sorted({*copies[match.what.id]} - {passage_id(match.what)})
            if len(others) > _COPIES:
                further = [f"also in {counted(len(others) - _COPIES, 'other passage')}"]
            else:
                further = []
            also = [*(f"also {other}" for other in others[:_COPIES]), *further]
            marks[match.what.id] = (*marks.get(match.what.id, ()), *also)
    return [_result(match, terms, marks) for match in shown]


def _passage_marks(
    ws: Workspace, passages: Sequence[Chunk], *, stale: bool
) -> dict[int, tuple[str, ...]]:
    """Chunk → what a reader should know: who added it, that it reads like an instruction; `stale`:
    what it names that has changed. Of the repository's own files the last alone.
    """
    added = [passage for passage in passages if not passage.is_file]
    records = {
        record.id: record
        for record in get_records(ws, sorted({passage.document for passage in added}))
    }
    marks: dict[int, tuple[str, ...]] = {}
    for passage in added:
        record = records.get(passage.document)
        author_marks = () if record is None or record.authority == "human" else (record.authority,)
        marks[passage.id] = (
            *author_marks,
            *(("reads like an instruction",) if injection_reasons(passage.text) else ()),
        )
    if stale:
        every = stale_mentions(ws, {passage.document for passage in passages})
        for passage in passages:
            own = [
                mention
                for mention in every.get(passage.document, ())
                if mention.written in passage.text
            ]
            marks[passage.id] = (
                *marks.get(passage.id, ()),
                *(f"stale: {mention}" for mention in own[:2]),
            )
    return marks


def _result(match: _Match, words: Collection[str], marks: Mapping[int, tuple[str, ...]]) -> Result:
    value = match.what
    score = match.score
    parts = match.parts
    if isinstance(value, Chunk):
        title = " › ".join(dict.fromkeys((value.title, *value.heading)))
        path = value.document if value.is_file else ""
        snippet = _snippet_of(value.text, words, value.first_line)
        return Result(
            "document",
            passage_id(value),
            path,
            value.first_line,
            value.last_line,
            title,
            snippet,
            score,
            parts,
            match.is_weak,
            marks.get(value.id, ()),
            value,
        )
    if isinstance(value, Symbol):
        text = "\n".join(filter(None, (value.signature, value.doc)))
        snippet = _snippet_of(text, words, value.line)
        return Result(
            "code",
            value.id,
            value.path,
            value.line,
            value.end_line,
            split_id(value.id)[1],
            snippet,
            score,
            parts,
            match.is_weak,
        )
    author_marks = (value.authority,) if value.authority != "human" else ()
    return Result(
        "record",
        value.id,
        value.path,
        1 if value.path else 0,
        0,
        value.title,
        _snippet_of(value.prose, words, 0),
        score,
        parts,
        match.is_weak,
        author_marks,
        record=value,
    )


def _snippet_of(text: str, words: Collection[str], first_line: int) -> Snippet:
    """The lines with the most different terms (as of `search_terms`) of a query, and what follows
    as far as it fits.
    """
    lines = text.split("\n")
    marks = [
        [
            found.span()
            for found in _WORD.finditer(line)
            if not _terms_of(found[0]).isdisjoint(words)
        ]
        for line in lines
    ]
    terms = [
        {term for start, end in spans for term in _terms_of(line[start:end])} & set(words)
        for line, spans in zip(lines, marks, strict=True)
    ]
    # of three lines the first counts most: the snippet begins with it
    values = [
        2 * len(own) + len(set().union(*terms[number + 1 : number + 3]) - own)
        for number, own in enumerate(terms)
    ]
    if any(values):
        begin = values.index(max(values))
    else:
        begin = next((n for n, line in enumerate(lines) if line.strip()), 0)
    excerpt = ""
    matches = list[tuple[int, int]]()
    for number in range(begin, min(begin + _SNIPPET_LINES, len(lines))):
        line = lines[number].rstrip()
        if excerpt and len(excerpt) + len(line) > _SNIPPET:
            break
        start = len(excerpt)
        excerpt += line[:_SNIPPET] + "\n"
        matches += [(start + a, start + b) for a, b in marks[number] if b <= _SNIPPET]
    return Snippet(first_line + begin if first_line else 0, excerpt.rstrip("\n"), tuple(matches))


@lru_cache(maxsize=10_000)
def _terms_of(word: str) -> frozenset[str]:
    return frozenset(search_terms([word]))


def communities_to_dict(answer: SearchAnswer) -> list[dict[str, Any]]:
    """The communities of an answer as JSON has them."""
    return [{**one._asdict(), "members": list(one.members)} for one in answer.communities]


def result_to_dict(result: Result, *, explain: bool = False) -> dict[str, Any]:
    """A match as JSON has it."""
    plain: dict[str, Any] = {
        "id": result.id,
        "kind": result.kind,
        "title": result.title,
        "path": result.path,
        "line": result.line,
        "end_line": result.end_line,
        "score": round(result.score, 4),
        "is_weak": result.is_weak,
        "snippet": {
            "line": result.snippet.line,
            "text": result.snippet.text,
            "matches": [*map(list, result.snippet.matches)],
        },
    }
    if result.chunk is not None:
        plain |= {"collection": result.chunk.collection, "document": result.chunk.document}
        plain |= {"heading": list(result.chunk.heading)}
    if result.record is not None:
        plain |= {
            "record_kind": result.record.kind,
            "status": result.record.status,
            "authority": result.record.authority,
        }
    if result.marks:
        plain["marks"] = list(result.marks)
    if explain:
        plain["parts"] = {name: round(value, 4) for name, value in result.parts.items()}
    return plain
