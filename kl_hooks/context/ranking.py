"""Ranking of code for a task: which files and symbols its text means, by words, names, imports and
past commits.

The recipe was measured on history before it was built, and its weights are given (ADR-0028): change
none without `kl context replay`. Pure over a `CodeReader`; sums are made in a fixed order and
scores are rounded to millionths, so that every Python ranks alike.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import nlargest
from itertools import accumulate
from math import log, sqrt
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kl_hooks.code.languages import is_source
from kl_hooks.code.query.lookup import REST, SIGNATURE, symbols_by_id
from kl_hooks.context.signals import MOST_TEXT, without_report
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.graph import links
from kl_hooks.index.history import StoredHistory
from kl_hooks.index.postings import (
    FIELD_SHIFT,
    FREQUENCY,
    OTHER,
    POSITIONED,
    SOURCE,
    WEIGHTS,
    Field,
    Segments,
    StoredPostings,
    corpus_of,
    path_terms,
    read_query,
    text_terms,
)
from kl_hooks.model.decay import half_life
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.package import Candidate, Signals
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.index.history import History
    from kl_hooks.index.postings import Columns, Postings, Query
    from kl_hooks.model.package import Task
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_FILE_WEIGHTS: Final[Mapping[str, float]] = {
    "sym5": 1.5,
    "symmax": 1.7,
    "path": 1.15,
    "past commits": 1.1,
    "messages": 1.5,
    "pairs": 1.0,
    "names": 0.75,
    "imports": 0.4,
}
"""Signal → its weight in a file's score; each signal is divided by its maximum over the files."""
_EXACT: Final = 0.05
"""A file that defines a name of the task just so gets the best file's score and this share more: it
comes first, and what is near to the best file otherwise stays near to it."""
_EXACT_WORD: Final = 0.0
"""The same of a word in small letters, which may be only a word."""
_EXACT_FILES: Final = 3
"""Files that define a name, of which each is meant."""
_FRAME: Final = 0.6
_FRAME_DECAY: Final = 0.6
_WITH_TESTS: Final = 0.5
_EXECUTED: Final = 0.5
_CHANGED_SINCE: Final = 1.0
"""Of a pasted failure: what its innermost frame in source adds to a file, each next frame, past
commits that changed the file together with the failing tests, what these executed and passing tests
did not, and a change of what they execute since they passed; shares of the best file's score. All
but the last, which new tests do not have, were chosen on 60 fixes of four repositories by
`bench.failing_tests`; the figures are in ADR-0031."""
_SYMBOL_WORDS: Final = 3.6
_SYMBOL_NAMES: Final = 1.0
_SYMBOL_PAIRS: Final = 1.05
_SYMBOL_CALLER: Final = 0.9
_SYMBOL_FILE: Final = 1.6
_SYMBOL_CHANGED: Final = 3.6
_SYMBOL_EXACT: Final = 1.5
_TOP_LEVEL: Final = 0.5
_CLASS: Final = -0.15
_SATURATION: Final = 0.9
_LENGTH: Final = 0.5
_DECAY: Final = 0.5
"""What the next best symbol of a file counts, of the one before it."""
_CALLED: Final = 30
"""Best symbols whose callers gain."""
_FILES: Final = 60
"""Best files whose symbols are ranked."""
_COMMITS: Final = 100
_COMMIT_FILES: Final = 12
_COMMIT_HALF_LIFE: Final = 730
_MESSAGE_HALF_LIFE: Final = 700
"""Days."""
_K1: Final = 1.2
_B: Final = 0.75
_IMPORTED: Final = 100
"""Files that lift those that import them."""
_WEAK: Final = 0.001
"""Of the strongest one: what a file with less gives is not seen in the result."""
ROWS: Final = 650
"""Candidates of a task: more do not fit any usual budget."""
_SHOWN_PATHS: Final = 100
"""Files of source that become candidates: as many paths as a package of 4,000 tokens begins with …
"""
_SHOWN: Final = 50
"""… those of them with their symbols …"""
_SHOWN_OTHERS: Final = 10
"""… and files of tests and examples, with their symbols."""
_NEAR_FILE: Final = 4
_NEAR_SYMBOL: Final = 10
"""Percent of the best one's score: a file or a symbol with less is nearer to nothing than to the
task. Of 240 tasks this cuts 21 and 47 percent of what is ranked, and with it 1.0 and 0.5 percent of
what was changed."""
_NEAR_OTHER: Final = 25
"""The same of tests and examples, where the task is not about them."""
_FAR: Final = "below the relevance threshold: less than {} % of the score of the best one"
_CHANGED: Final = "past commits with such messages changed it"
HAS_WORDS: Final = "has words of the task"
"""The least precise reason: whoever shows a place may name the words instead."""
_WORDS: Final[Mapping[str, str]] = {
    "sym5": HAS_WORDS,
    "symmax": HAS_WORDS,
    "words": HAS_WORDS,
    "names": "its name is in the task",
    "exact name": "its name is in the task",
    "path": "its path has words of the task",
    "past commits": _CHANGED,
    "messages": _CHANGED,
    "pairs": "has words of the task next to each other",
    "imports": "imports what the task means",
    "callers": "calls what the task means",
    "file": "is in a file that fits",
    "traceback": "a frame of the traceback in the task",
    "failing tests": "past commits changed it with the failing test",
    "executed": "executed by the failing test and by few that pass",
    "changed": "changed since the failing test passed",
}
"""Signal → the reason that a person reads."""
_ABOUT_TESTS: Final = lazy_pattern(
    r"(?i)\b(?:tests?|testing|pytest|unittest|fixtures?|conftest|examples?)\b"
)
_OTHER_SHARE: Final = 80
"""Percent that a test counts against source where a task is about tests."""
_PATH: Final = lazy_pattern(r"(?<![\w./-])[\w./-]{1,300}\.\w{1,5}\b")


_RANKED: Final = ("function", "method", "property", "type", "interface")
"""Kinds of symbols that are ranked."""
OUTERMOST: Final = ("function", "type", "interface")
"""Kinds of symbols that a module itself defines."""


class SymbolRow(NamedTuple):
    """A symbol of a file, as ranking needs it."""

    id: str
    line: int
    signature: str = ""
    doc: str = ""
    """First line of the docstring."""
    qualname: str = ""
    """Its name within its module; empty for the module."""

    @property
    def kind(self) -> str:
        """`function`, `method`, `property`, `type`, `interface` or `namespace`."""
        return self.id.partition(":")[0]


class CodeReader(Protocol):
    """One corpus of a repository's code."""

    @property
    def postings(self) -> Postings: ...

    @property
    def history(self) -> History | None: ...

    def symbols(self, places: Mapping[str, Collection[int]]) -> Mapping[tuple[str, int], SymbolRow]:
        """(path, place) → the symbol there, of these places in files; postings call symbols by
        place.
        """
        ...

    def definitions(self, names: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Name → the file of each function, method and class of that name."""
        ...

    def outermost(self, names: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Name → the file of each function and class of that name that a module itself defines."""
        ...

    def importers(self, paths: Collection[str]) -> Mapping[str, Collection[str]]:
        """Path → the files that import it."""
        ...


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file, and how well it fits."""

    path: str
    score: int
    """Millionths; comparable within one ranking only."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """Signal → what it gave, millionths; of the best files only."""
    is_source: bool = True
    """False for tests, examples and the like."""


@dataclass(frozen=True, slots=True)
class RankedSymbol:
    """A function, method or class, and how well it fits."""

    id: str
    path: str
    line: int
    qualname: str
    """Its name within its module: `Flask.dispatch_request`."""
    kind: str
    score: int
    parts: Mapping[str, int] = field(default_factory=dict)
    is_source: bool = True
    signature: str = ""
    doc: str = ""


_Ranked = TypeVar("_Ranked", RankedFile, RankedSymbol)


class CodeRanking(NamedTuple):
    """Files and symbols, best first; ties by path and ID."""

    files: tuple[RankedFile, ...] = ()
    symbols: tuple[RankedSymbol, ...] = ()


class Failure(NamedTuple):
    """What a pasted failure points at, besides its words."""

    tests: frozenset[str] = frozenset()
    """Files of the failing tests."""
    frames: tuple[str, ...] = ()
    """Files of the traceback, the innermost frame's first, each once."""
    suspects: tuple[tuple[str, str, float], ...] = ()
    """(ID, path, score) of what the tests executed."""
    changed: tuple[tuple[str, str], ...] = ()
    """(ID, path) of the symbols that changed since the tests passed."""


_NO_FAILURE: Final = Failure()
_NO_SIGNALS: Final = Signals()


def rank_code(ws: Workspace, task: str, signals: Signals = _NO_SIGNALS) -> CodeRanking:
    """Rank the files and symbols of the working tree for a task. EnvironmentProblem if there is no
    graph to ask.
    """
    from kl_hooks.code.query.session import refresh_graph

    trouble: EnvironmentProblem | None = None
    try:
        refresh_graph(ws)
        _update_history(ws)
    except EnvironmentProblem as problem:  # an older graph is better than none
        trouble = problem
    with ws.store.reading("graph") as db:
        if db is None:
            if trouble is not None:
                raise trouble
            return CodeRanking()
        frames = (file_here(db, path) for path, _ in reversed(signals.frames))
        failure = Failure(
            frozenset(name.partition("::")[0] for name in signals.tests),
            tuple(dict.fromkeys(path for path in frames if path and corpus_of(path) == SOURCE)),
            *_recorded(ws, db, signals.tests),
        )
        # another process may merge the segments between two of the queries: then some files would
        # not be found
        with db.snapshot():
            segments = Segments(db)
            others = StoredCode(db, OTHER, segments)
            query = read_query(task)
            if failure.tests:
                query = _without_words_of_tests(query, others.postings)
            source = rank(StoredCode(db, SOURCE, segments), query, failure=failure)
            return merge(
                source, rank(others, query, is_source=False, most=_missing(source, task)), task
            )


def _missing(source: CodeRanking, task: str) -> int:
    """How many symbols of tests and examples become candidates besides those of source."""
    if is_about_tests(task):
        return sys.maxsize  # ranked among those of source: any can be
    paths = {one.path for one in source.files[:_SHOWN]}
    files = min(len(source.files), _SHOWN_PATHS)
    return max(ROWS - files - sum(one.path in paths for one in source.symbols), 0)


def _recorded(
    ws: Workspace, db: Database, tests: Sequence[str]
) -> tuple[tuple[tuple[str, str, float], ...], tuple[tuple[str, str], ...]]:
    """What recorded runs show of failing tests; nothing where they can't be read: the words are
    still there.
    """
    if not tests:
        return (), ()
    from kl_hooks.proof.failures import changed_since_pass
    from kl_hooks.proof.symbol_tests import suspects

    try:
        suspects_found = tuple(suspects(ws, tests))
        changed = symbols_by_id(db, sorted(set().union(*changed_since_pass(ws, tests).values())))
    except EnvironmentProblem:
        return (), ()
    return suspects_found, tuple((symbol.id, symbol.path) for symbol in changed.values())


def file_here(db: Database, path: str) -> str:
    """Return the one file of the graph that a path of any machine means; empty if there is none."""
    name = path.rpartition("/")[2]
    rows = db.rows("SELECT path FROM files WHERE path = ? OR path LIKE ?", (name, f"%/{name}"))
    # LIKE ignores case in ASCII and takes `_` for any sign (SQLite): compare again; of several the
    # longest end wins
    fitting = [known for (known,) in rows if path == known or path.endswith(f"/{known}")]
    if not fitting:
        fitting = [known for (known,) in rows if known.endswith(f"/{path}")]
    return max(fitting, key=lambda path_here: (len(path_here), path_here), default="")


def _without_words_of_tests(query: Query, tests: Postings) -> Query:
    """The query of a pasted failure, in which words count less the more tests have them: `runner`,
    `assert`.
    """
    columns_by_term = tests.find(query.weights)
    number = tests.totals.docs + 1
    having = {
        term: len(set(columns_by_term[term].docs)) if term in columns_by_term else 0
        for term in query.weights
    }
    weights = {
        term: weight * log(1 + number / (1 + having[term])) / log(1 + number)
        for term, weight in query.weights.items()
    }
    return query._replace(weights=weights)


def find_code(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """The files and symbols of the working tree for a task, as candidates; EnvironmentProblem as
    `rank_code`.
    """
    text = without_report(task.text[: 2 * MOST_TEXT])
    return code_candidates(rank_code(ws, text, task.signals), limit, is_about_tests(text))


def code_candidates(ranking: CodeRanking, limit: int, about_tests: bool = False) -> list[Candidate]:
    """At most `limit` candidates: the best files, then the best symbols; each by its rank and with
    its score.

    What is far below the best one states so in `beyond`.
    """
    source = [one for one in ranking.files if one.is_source][:_SHOWN_PATHS]
    others = [one for one in ranking.files if not one.is_source][:_SHOWN_OTHERS]
    paths = {one.path for one in (*source, *others)}
    shown = {one.path for one in (*source[:_SHOWN], *others)}
    files = list(_with_distance(ranking.files, _NEAR_FILE, about_tests))
    far = {one.path: why for one, why in files if why}
    candidates = [
        Candidate(
            id=f"file:{one.path}",
            kind="file",
            title=one.path,
            text="",
            summary="",
            path=one.path,
            score=one.score,
            parts=tuple(one.parts.items()),
            reasons=_reasons(one.parts),
            beyond=why,
        )
        for one, why in files
        if one.path in paths
    ]
    candidates += [
        Candidate(
            id=one.id,
            kind="symbol",
            title=one.signature,
            text="",
            summary=one.doc,
            path=one.path,
            line=one.line,
            score=one.score,
            parts=tuple(one.parts.items()),
            reasons=_reasons(one.parts),
            beyond=far.get(one.path, why),
        )
        for one, why in _with_distance(ranking.symbols, _NEAR_SYMBOL, about_tests)
        if one.path in shown
    ]
    return candidates[:limit]


def _with_distance(
    ranked: Sequence[_Ranked], near: int, about_tests: bool
) -> Iterator[tuple[_Ranked, str]]:
    """Yield each with why it is too far from the best one; an empty text where it is not."""
    best = {
        kind: max((item.score for item in ranked if item.is_source is kind), default=0)
        for kind in (True, False)
    }
    for item in ranked:
        # where a task is not about tests, they are ranked by themselves: their scores do not
        # compare to those of source
        top = best[item.is_source]
        percent = near if item.is_source else _NEAR_OTHER
        if about_tests:
            top = max(best.values())
            percent = near
        yield item, _FAR.format(percent) if item.score * 100 < top * percent else ""


def _reasons(parts: Mapping[str, int]) -> tuple[str, ...]:
    """What gave most to a score, in words."""
    best = sorted(
        (name for name in parts if parts[name] > 0), key=lambda name: (-parts[name], name)
    )
    return tuple(dict.fromkeys(_WORDS[name] for name in best if name in _WORDS))[:3]


def _update_history(ws: Workspace) -> None:
    """Bring the index of past commits up to HEAD; write nothing if it is."""
    from kl_hooks.code.languages import scanners_of, source_suffixes
    from kl_hooks.git.commits import ancestors, touched_files
    from kl_hooks.git.repository import head
    from kl_hooks.index import history
    from kl_hooks.store.redaction import redact

    tip = head(ws.repo)[0] if ws.repo else None
    if ws.repo is None or tip is None:
        return
    suffixes = source_suffixes(scanners_of(ws))
    ends = " ".join(suffixes)
    with ws.store.reading("graph") as db:
        if db is not None and history.stored_head(db, ends) == tip:
            return
        shas = ancestors(ws.repo, history.LISTED)
        if db is not None:
            missing = history.unknown_commits(db, ends, shas)
        else:
            missing = shas
    new = [
        history.PastCommit(
            one.sha,
            one.time,
            history.message_terms(redact(one.message)),
            tuple(history.Change(redact(path), redact(old)) for path, old in one.changes),
        )
        for one in touched_files(ws.repo, missing, suffixes)
    ]
    with ws.store.writing("graph") as db, db.transaction():
        history.store_history(db, tip, ends, shas, new)


class StoredCode:
    """One corpus of the code graph's database, as ranking reads it."""

    def __init__(self, db: Database, corpus: int, segments: Segments | None = None) -> None:
        self._db = db
        self.postings: Postings = StoredPostings(db, corpus, segments)
        self.history: History | None = StoredHistory(db) if corpus == SOURCE else None

    def symbols(self, places: Mapping[str, Collection[int]]) -> Mapping[tuple[str, int], SymbolRow]:
        """As `CodeReader.symbols`."""
        files: dict[int, tuple[str, str]] = {}
        for batch in chunks(sorted(places)):
            sql = f"SELECT number, path, module FROM files WHERE path IN ({placeholders(batch)})"
            files.update(
                (number, (path, module)) for number, path, module in self._db.rows(sql, batch)
            )
        wanted = [(number, index) for number, (path, _) in files.items() for index in places[path]]
        row_of: dict[tuple[str, int], SymbolRow] = {}
        for those in chunks(wanted):
            # the numbers are ours, and two for each row are more than a statement takes (SQLite
            # before 3.32: 999); CROSS JOIN: these first, as the query planner does not know how few
            # they are
            pairs = ", ".join(f"({number}, {index})" for number, index in those)
            sql = f"""WITH wanted(file, place) AS (VALUES {pairs})
                SELECT r.file, r.place, r.sort, {REST}, r.line, {SIGNATURE}, r.doc
                FROM wanted w CROSS JOIN symbol_rows r ON r.file = w.file AND r.place = w.place"""
            for number, index, sort, suffix, line, signature, doc in self._db.rows(sql):
                path, module = files[number]
                row_of[path, index] = SymbolRow(
                    f"{sort}:{module}{suffix}", line, signature, doc, suffix[1:]
                )
        return row_of

    def definitions(self, names: Collection[str]) -> Mapping[str, Sequence[str]]:
        """As `CodeReader.definitions`."""
        return self._paths_of(names, _RANKED, "")

    def outermost(self, names: Collection[str]) -> Mapping[str, Sequence[str]]:
        """As `CodeReader.outermost`."""
        return self._paths_of(names, OUTERMOST, " AND r.outer = '.'")

    def _paths_of(
        self, names: Collection[str], kinds: Sequence[str], condition: str
    ) -> Mapping[str, Sequence[str]]:
        rows: list[tuple[str, str]] = []
        for batch in chunks(sorted(names)):
            sql = f"""SELECT r.name, f.path FROM symbol_rows r JOIN files f ON f.number = r.file
                WHERE r.name IN ({placeholders(batch)}) AND r.sort IN ({placeholders(kinds)})
                {condition}"""
            rows += self._db.rows(sql, (*batch, *kinds))
        existing = self.postings.existing(path for _, path in rows)
        paths_of_name: dict[str, list[str]] = {}
        for name, path in rows:
            if path in existing:
                paths_of_name.setdefault(name, []).append(path)
        return paths_of_name

    def importers(self, paths: Collection[str]) -> Mapping[str, Collection[str]]:
        """As `CodeReader.importers`."""
        # of what links to a file, source files alone do so by importing it, and the rest is nothing
        # that is ranked
        owners_of_target = links.owners_of_ends(
            self._db, [f"file:{path}" for path in sorted(paths)]
        )
        return {target.removeprefix("file:"): owners for target, owners in owners_of_target.items()}


def rank(
    reader: CodeReader,
    task: str | Query,
    is_source: bool = True,
    failure: Failure = _NO_FAILURE,
    most: int = ROWS,
) -> CodeRanking:
    """Rank the files and symbols of one corpus for a task. Without a word that is known anywhere:
    nothing.

    `most`: so many symbols of the files that become candidates are wanted; those after them are not
    all there.
    """
    if isinstance(task, str):
        query = read_query(task)
    else:
        query = task
    if not query.weights:
        return CodeRanking()
    scores = _Scores(reader, query, failure)
    files = scores.files(is_source)
    return CodeRanking(
        files, scores.symbols(files[:_FILES], _SHOWN if is_source else _SHOWN_OTHERS, most)
    )


def merge(source: CodeRanking, other: CodeRanking, task: str) -> CodeRanking:
    """One ranking of source and of what only exercises it: the latter comes last, unless the task
    is about it.
    """
    if not is_about_tests(task):
        return CodeRanking(source.files + other.files, source.symbols + other.symbols)
    best_file, best_symbol = (
        max((item.score for item in some), default=1) for some in (source.files, source.symbols)
    )
    files = (*source.files, *_scaled(other.files, best_file))
    symbols = (*source.symbols, *_scaled(other.symbols, best_symbol))
    return CodeRanking(
        tuple(sorted(files, key=lambda item: (-item.score, item.path))),
        tuple(sorted(symbols, key=lambda item: (-item.score, item.id, item.path))),
    )


def is_about_tests(task: str) -> bool:
    """True for a task about tests, fixtures or examples, or one that names a source file of
    these.
    """
    return bool(_ABOUT_TESTS.search(task)) or any(
        is_source(path) and corpus_of(path) == OTHER for path in _PATH.findall(task)
    )


def _scaled(other: Sequence[_Ranked], best: int) -> list[_Ranked]:
    """The same with scores that compare to those of source, of which `best` is the best."""
    top = max((one.score for one in other), default=0)
    if top > 0:
        return [replace(one, score=one.score * best * _OTHER_SHARE // (top * 100)) for one in other]
    return []


class _Commits(NamedTuple):
    """The commits of the history, each by its number there."""

    files: list[list[str]]
    """Those that there still are."""
    is_counted: list[bool]
    """Whether it touched some of these, and not too many."""
    days: list[float]
    """Its age, from the newest one."""
    worth: list[float]
    """What its message weighs for each of its files."""
    lengths: Sequence[tuple[int, int]]

    @property
    def number(self) -> int:
        """Of those that count."""
        return sum(self.is_counted)

    @property
    def mean_length(self) -> float:
        """Of the messages of those that count."""
        pairs = zip(self.lengths, self.is_counted, strict=True)
        return sum(whole for (whole, _), counts in pairs if counts) / self.number


class _MessageMatches(NamedTuple):
    """The messages that have words of the task."""

    scores: dict[int, float]
    """Commit → how well its message fits."""
    about: dict[str, dict[str, float]]
    """Path → word → how much the messages about it have it."""
    idf: dict[str, float]


def _touched_files(commits: _Commits, scores: Mapping[int, float]) -> dict[str, float]:
    """Path → what the best commits give to it."""
    aged = {
        commit: score * (0.3 + 0.7 * half_life(commits.days[commit], _COMMIT_HALF_LIFE))
        for commit, score in scores.items()
    }
    touched: dict[str, float] = {}
    best = sorted(aged, key=lambda commit: (-round(aged[commit], 9), commit))[:_COMMITS]
    for commit in best:
        for path in commits.files[commit]:
            gain = (aged[commit] / aged[best[0]]) ** 2 / len(commits.files[commit]) ** 0.3
            touched[path] = touched.get(path, 0.0) + gain
    return touched


class _Bounded(NamedTuple):
    """A symbol of which only its signals are known, and not yet its kind."""

    file: RankedFile
    position: int
    """Among the symbols of the file; 0 is the module."""
    parts: dict[str, float]
    total: float
    """The sum of the parts; its score is within what its kind adds or takes."""


class _Scores:
    """The signals of one task in one corpus."""

    def __init__(self, reader: CodeReader, query: Query, failure: Failure) -> None:
        self._reader = reader
        self._query = query
        self._failure = failure
        self._totals = reader.postings.totals
        self._averages = self._totals.averages()
        self._columns = reader.postings.find(query.weights)
        self._path_of = reader.postings.paths_of(_all_docs(self._columns.values()))
        self._idf: dict[str, float] = {}
        self.words: dict[int, float] = {}
        """Document → BM25F over all fields."""
        self.names: dict[int, float] = {}
        """Document → BM25F over its name and class."""
        for term in query.weights:
            if term in self._columns:
                self._add_term(term, self._columns[term])
        self.pairs = self._pair_scores()
        self._file_scores: dict[str, float] = {}

    def _add_term(self, term: str, columns: Columns) -> None:
        """Add what one term gives to every document that has it."""
        # a field that is empty everywhere has no length to divide by
        slopes = [_LENGTH / average if average else 0.0 for average in self._averages]
        path_of = self._path_of
        everywhere: dict[int, float] = {}
        in_names: dict[int, float] = {}
        for doc, packed, length in zip(columns.docs, columns.fields, columns.lengths, strict=True):
            if doc not in path_of:  # dead
                continue
            place = packed >> FIELD_SHIFT
            value = WEIGHTS[place] * (packed & FREQUENCY) / (1 - _LENGTH + slopes[place] * length)
            everywhere[doc] = everywhere.get(doc, 0.0) + value
            if place <= Field.OWNER:
                in_names[doc] = in_names.get(doc, 0.0) + value
        if not everywhere:
            return
        self._idf[term] = _idf(self._totals.docs, len(everywhere))
        factor = self._query.weights[term] * self._idf[term] * (1 + _SATURATION)
        for sums, values in ((self.words, everywhere), (self.names, in_names)):
            for doc, value in values.items():
                sums[doc] = sums.get(doc, 0.0) + factor * value / (value + _SATURATION)

    def _pair_scores(self) -> dict[int, float]:
        """Document → what terms that are neighbors in the task and in the document give."""
        scores: dict[int, float] = {}
        docs: dict[str, frozenset[int]] = {}
        for first, second in self._query.pairs:
            if first not in self._idf or second not in self._idf:
                continue
            for term in (first, second):
                if term not in docs:
                    docs[term] = frozenset(self._columns[term].docs)
            documents_with_both = docs[first] & docs[second]
            if not documents_with_both:
                continue
            before, after = (
                _positions(self._columns[term], documents_with_both) for term in (first, second)
            )
            hits = sorted(
                doc
                for doc in before.keys() & after.keys()
                if doc in self._path_of
                and not {place + 1 for place in before[doc]}.isdisjoint(after[doc])
            )
            worth = _idf(self._totals.docs, len(hits))
            for doc in hits:
                scores[doc] = scores.get(doc, 0.0) + worth
        return scores

    def files(self, is_source: bool) -> tuple[RankedFile, ...]:
        """Every file that any signal names, best first."""
        best = self._by_file(self.words)
        signals: dict[str, Mapping[str, float]] = {
            "sym5": {path: _geometric(values) for path, values in best.items()},
            "symmax": {path: max(values) for path, values in best.items()},
            "path": self._path_scores(),
            "pairs": {
                path: _geometric(values) for path, values in self._by_file(self.pairs).items()
            },
            "names": self._name_scores(),
        }
        signals["past commits"], signals["messages"] = self._history_scores()
        signals["imports"] = self._import_scores(
            *(_of_maximum(signals[name]) for name in ("sym5", "past commits", "messages"))
        )
        parts: dict[str, dict[str, float]] = {}
        for name, weight in _FILE_WEIGHTS.items():
            for path, value in _of_maximum(signals[name]).items():
                if value > 0:
                    parts.setdefault(path, {})[name] = weight * value
        best_words = max((sum(some.values()) for some in parts.values()), default=1.0)
        exact = self._exact_scores(parts, best_words)
        for name, values in {"exact name": exact, **self._failure_scores()}.items():
            for path, value in values.items():
                parts.setdefault(path, {})[name] = best_words * value
        self._file_scores = {path: round(sum(some.values()), 9) for path, some in parts.items()}
        scores = {path: _millionths(score) for path, score in self._file_scores.items()}
        return tuple(
            RankedFile(path, scores[path], _whole(parts[path]) if place < _FILES else {}, is_source)
            for place, path in enumerate(sorted(parts, key=lambda path: (-scores[path], path)))
        )

    def _exact_scores(
        self, parts: Mapping[str, Mapping[str, float]], best: float
    ) -> dict[str, float]:
        """What lifts each file with an exact name to the best one, in shares of the best score;
        among several, what else they have decides.
        """
        scores: dict[str, float] = {}
        for path, worth in self._exact_names.items():
            own = sum(parts.get(path, {}).values()) / best
            scores[path] = 1 - own + _EXACT * own + max(worth.values())
        return scores

    @cached_property
    def _exact_names(self) -> dict[str, dict[str, float]]:
        """File → the words of the task that few files define just so, with what each is worth.

        A word is no name by its form: `Resolver` is one where a class has it.
        """
        words = self._query.words
        # the words of a pasted failure are its report's: its frames and tests decide
        if not words or self._failure != _NO_FAILURE:
            return {}
        outermost = self._reader.outermost(words)
        if self._query.names:
            anywhere = self._reader.definitions(self._query.names)
        else:
            anywhere = {}
        named: dict[str, dict[str, float]] = {}
        for word in words:
            is_code = word in self._query.names or not word.islower()
            paths = set(outermost.get(word) or anywhere.get(word, ()))
            if len(paths) <= (_EXACT_FILES if is_code else 1):
                for path in paths:
                    named.setdefault(path, {})[word] = _EXACT if is_code else _EXACT_WORD
        return named

    def _failure_scores(self) -> dict[str, dict[str, float]]:
        """What a pasted failure gives to files, in shares of the best file's score."""
        frames = {
            path: _FRAME * _FRAME_DECAY**place for place, path in enumerate(self._failure.frames)
        }
        together: dict[str, float] = {}
        history = self._reader.history
        if history is not None and self._failure.tests:
            newest = max(history.times, default=0)
            for time, files in zip(history.times, history.files, strict=True):
                if len(files) <= _COMMIT_FILES and not self._failure.tests.isdisjoint(files):
                    age = max(0, newest - time) / 86_400
                    for path in files:
                        worth = (0.3 + 0.7 * half_life(age, _COMMIT_HALF_LIFE)) / len(files)
                        together[path] = together.get(path, 0.0) + worth
        existing = self._reader.postings.existing(together)
        shares = _of_maximum({path: worth for path, worth in together.items() if path in existing})
        executed: dict[str, list[float]] = {}
        for _, path, score in self._failure.suspects:
            executed.setdefault(path, []).append(score)
        existing = self._reader.postings.existing(executed)
        most = _of_maximum(
            {path: max(scores) for path, scores in executed.items() if path in existing}
        )
        return {
            "traceback": frames,
            "failing tests": {path: _WITH_TESTS * share for path, share in shares.items()},
            "executed": {path: _EXECUTED * share for path, share in most.items()},
            "changed": dict.fromkeys(
                self._reader.postings.existing(path for _, path in self._failure.changed),
                _CHANGED_SINCE,
            ),
        }

    def _by_file(self, scores: Mapping[int, float]) -> dict[str, list[float]]:
        scores_of_path: dict[str, list[float]] = {}
        for doc, score in scores.items():
            scores_of_path.setdefault(self._path_of[doc], []).append(score)
        return scores_of_path

    def _path_scores(self) -> dict[str, float]:
        score_of_path: dict[str, float] = {}
        for term, weight in self._query.weights.items():
            if term not in self._idf:
                continue
            columns = self._columns[term]
            with_term = {
                self._path_of[doc]
                for doc, packed in zip(columns.docs, columns.fields, strict=True)
                if packed >> FIELD_SHIFT == Field.PATH and doc in self._path_of
            }
            for path in with_term:
                if term in path_terms(path.rpartition("/")[2]):
                    nearness = 1.0
                else:
                    nearness = 0.5
                worth = min(weight, 1.5) * log(1 + self._totals.files / len(with_term))
                score_of_path[path] = score_of_path.get(path, 0.0) + worth * nearness
        return score_of_path

    def _name_scores(self) -> dict[str, float]:
        """What names of the task give to the files that define them."""
        score_of_path: dict[str, float] = {}
        if self._query.names:
            defined = self._reader.definitions(self._query.names)
        else:
            defined = {}
        for name in self._query.names:
            paths = sorted(set(defined.get(name, ())))
            for path in paths:
                score_of_path[path] = score_of_path.get(path, 0.0) + 1 / len(paths)
        return score_of_path

    def _history_scores(self) -> tuple[dict[str, float], dict[str, float]]:
        """What past commits with such messages touched; and the messages of a file taken as a text
        about it.
        """
        commits = self._read_commits()
        if commits is None:
            return {}, {}
        matches = self._matching_messages(commits)
        return _touched_files(commits, matches.scores), self._message_scores(commits, matches)

    def _read_commits(self) -> _Commits | None:
        """The commits of the history with the files that there still are; None where none
        counts.
        """
        history = self._reader.history
        if history is None or not history.times:
            return None
        existing = self._reader.postings.existing(path for paths in history.files for path in paths)
        files = [[path for path in paths if path in existing] for paths in history.files]
        is_counted = [bool(paths) and len(paths) <= _COMMIT_FILES for paths in files]
        if not any(is_counted):
            return None
        newest = max(history.times)
        days = [max(0, newest - time) / 86_400 for time in history.times]
        worth = [
            half_life(age, _MESSAGE_HALF_LIFE) / sqrt(len(paths)) if counts else 0.0
            for age, paths, counts in zip(days, files, is_counted, strict=True)
        ]
        return _Commits(files, is_counted, days, worth, history.lengths)

    def _matching_messages(self, commits: _Commits) -> _MessageMatches:
        """Rank the messages by the words of the task (BM25), and count these words by file."""
        assert self._reader.history is not None
        commits_of_term = self._reader.history.find(self._query.weights)
        scores: dict[int, float] = {}
        about: dict[str, dict[str, float]] = {}
        idf: dict[str, float] = {}
        number = commits.number
        mean = commits.mean_length
        for term, weight in self._query.weights.items():
            hits = [
                (commit, count)
                for commit, count in commits_of_term.get(term, ())
                if commits.is_counted[commit]
            ]
            if not hits:
                continue
            idf[term] = _idf(number, len(hits))
            for commit, count in hits:
                if mean:
                    norm = _K1 * (1 - _B + _B * commits.lengths[commit][0] / mean)
                else:
                    norm = _K1
                scores[commit] = scores.get(commit, 0.0) + weight * idf[term] * count * (
                    _K1 + 1
                ) / (count + norm)
                for path in commits.files[commit]:
                    of_file = about.setdefault(path, {})
                    of_file[term] = of_file.get(term, 0.0) + commits.worth[commit]
        return _MessageMatches(scores, about, idf)

    def _message_scores(self, commits: _Commits, matches: _MessageMatches) -> dict[str, float]:
        """Path → how well all messages about it, together, fit the task."""
        lengths: dict[str, float] = {}
        for commit, paths in enumerate(commits.files):
            for path in paths if commits.is_counted[commit] else ():
                worth = commits.worth[commit] * commits.lengths[commit][1]
                lengths[path] = lengths.get(path, 0.0) + worth
        average = sum(lengths.values()) / len(lengths)
        messages = {}
        for path, masses in matches.about.items():
            total = 0.0
            for term, mass in masses.items():
                density = mass / (0.5 + 0.5 * lengths[path] / average)
                weight = self._query.weights[term] * matches.idf[term]
                total += weight * 2 * density / (density + 1)
            messages[path] = total
        return messages

    def _import_scores(
        self,
        symbols: Mapping[str, float],
        commits: Mapping[str, float],
        messages: Mapping[str, float],
    ) -> dict[str, float]:
        """What files give to those that import them: an entry point fits where what it calls
        does.
        """
        strength = {
            path: (
                (
                    symbols.get(path, 0.0)
                    + 0.5 * commits.get(path, 0.0)
                    + 0.3 * messages.get(path, 0.0)
                )
                / 1.8
            )
            ** 3
            for path in symbols.keys() | commits.keys() | messages.keys()
        }
        strong = [path for path, value in strength.items() if value > _WEAK]
        best = sorted(strong, key=lambda path: (-round(strength[path], 9), path))[:_IMPORTED]
        importers = self._reader.importers(best)
        existing = self._reader.postings.existing(
            importer for some in importers.values() for importer in some
        )
        score_of_path: dict[str, float] = {}
        for path in best:
            those = sorted((existing & set(importers.get(path, ()))) - {path})
            for importer in those:
                score_of_path[importer] = score_of_path.get(importer, 0.0) + strength[path] / (
                    len(those) + 1
                )
        return score_of_path

    def symbols(
        self, files: Sequence[RankedFile], shown: int, most: int
    ) -> tuple[RankedSymbol, ...]:
        """The best symbols of these files, best first: all of the best `most` of the first `shown`
        files, and the best.

        Only those are read that can be among them: of the others nothing is known but what words,
        names, pairs and callers give.
        """
        if not most:
            return ()
        chosen = self._possible_best(list(self._bounded_symbols(files)), files[:shown], most)
        wanted: dict[str, list[int]] = {}
        for symbol in chosen:
            wanted.setdefault(symbol.file.path, []).append(symbol.position)
        rows = self._reader.symbols(wanted)
        ranked = [
            self._ranked_symbol(symbol.file, row, symbol.parts)
            for symbol in chosen
            if (row := rows.get((symbol.file.path, symbol.position))) and row.kind != "namespace"
        ]
        return tuple(sorted(ranked, key=lambda symbol: (-symbol.score, symbol.id, symbol.path)))

    def _bounded_symbols(self, files: Sequence[RankedFile]) -> Iterator[_Bounded]:
        """Every symbol of these files with its signals, as shares of the best of each."""
        weighted_signals = (
            ("words", _SYMBOL_WORDS, self.words),
            ("names", _SYMBOL_NAMES, self.names),
            ("pairs", _SYMBOL_PAIRS, self.pairs),
            ("callers", _SYMBOL_CALLER, self._caller_scores()),
        )
        signals = [
            (part, weight, scores, max(scores.values()))
            for part, weight, scores in weighted_signals
            if any(scores.values())
        ]
        best = max(self._file_scores.values(), default=0.0)
        places_of = self._reader.postings.places({file.path for file in files})
        for file in files:
            first, places = places_of.get(file.path, (0, ()))
            of_file = _SYMBOL_FILE * (1 + max(self._file_scores[file.path] - best, -6) / 6)
            for doc, index in enumerate(places, first):
                parts = {
                    part: weight * scores[doc] / top
                    for part, weight, scores, top in signals
                    if doc in scores
                }
                parts["file"] = of_file
                yield _Bounded(file, index, parts, sum(parts.values()))

    def _possible_best(
        self, symbols: Sequence[_Bounded], shown: Sequence[RankedFile], most: int
    ) -> list[_Bounded]:
        """Those whose highest possible score reaches the lowest possible one of the best `most` of
        the files that are shown.
        """
        paths = {file.path for file in shown}
        lowest = [
            symbol.total + _CLASS
            for symbol in symbols
            if symbol.position and symbol.file.path in paths
        ]
        # half a millionth: scores are rounded
        if len(lowest) >= most:
            enough = nlargest(most, lowest)[-1] - 1e-6
        else:
            enough = -10.0
        changed = {path for _, path in self._failure.changed}
        exact = dict.fromkeys(self._exact_names, _SYMBOL_EXACT)
        return [
            symbol
            for symbol in symbols
            if symbol.total
            + _TOP_LEVEL
            + exact.get(symbol.file.path, 0.0)
            + _SYMBOL_CHANGED * (symbol.file.path in changed)
            >= enough
        ]

    def _ranked_symbol(
        self, file: RankedFile, row: SymbolRow, parts: dict[str, float]
    ) -> RankedSymbol:
        kind = row.kind
        name = row.qualname
        if "." not in name:
            parts["top level"] = _TOP_LEVEL
        if kind in ("type", "interface"):
            parts["class"] = _CLASS
        if (row.id, file.path) in self._failure.changed:
            parts["changed"] = _SYMBOL_CHANGED
        if name.rpartition(".")[2] in self._exact_names.get(file.path, ()):
            parts["exact name"] = _SYMBOL_EXACT
        score = _millionths(sum(parts.values()))
        return RankedSymbol(
            row.id,
            file.path,
            row.line,
            name,
            kind,
            score,
            _whole(parts),
            file.is_source,
            row.signature,
            row.doc,
        )

    def _caller_scores(self) -> dict[int, float]:
        """Document → what the best symbols that it names give to it."""
        best = sorted(
            nlargest(_CALLED, self.words.items(), key=lambda pair: (round(pair[1], 9), -pair[0]))
        )
        if not best:
            return {}
        top = max(score for _, score in best)
        places = self._reader.postings.places({self._path_of[doc] for doc, _ in best})
        wanted: dict[str, list[int]] = {}
        where: dict[int, tuple[str, int]] = {}
        for doc, _ in best:
            path = self._path_of[doc]
            first, of_file = places[path]
            where[doc] = path, of_file[doc - first]
            wanted.setdefault(path, []).append(where[doc][1])
        rows = self._reader.symbols(wanted)
        strength: dict[str, float] = {}
        for doc, score in best:
            row = rows.get(where[doc])
            if row is not None and row.kind != "namespace":
                name = row.id.rpartition(".")[2]
            else:
                name = ""
            if name:
                strength[name] = strength.get(name, 0.0) + (score / top) ** 2
        defined = self._reader.definitions(strength)
        terms = {name: text_terms(name)[-1:] for name in strength}
        columns = self._reader.postings.find(term for some in terms.values() for term in some)
        alive = (
            self._path_of.keys()
            | self._reader.postings.paths_of(
                _all_docs(columns.values()).difference(self._path_of)
            ).keys()
        )
        scores: dict[int, float] = {}
        for name in sorted(strength):
            gain = strength[name] / max(len(defined.get(name, ())), 1)
            for term in terms[name]:
                if term not in columns:
                    continue
                for doc, packed in zip(columns[term].docs, columns[term].fields, strict=True):
                    if packed >> FIELD_SHIFT == Field.BODY and doc in alive:
                        scores[doc] = scores.get(doc, 0.0) + gain
        return scores


def _all_docs(columns: Iterable[Columns]) -> set[int]:
    """The documents that any of these terms is in."""
    return set().union(*(one.docs for one in columns))


def _positions(columns: Columns, wanted: Collection[int]) -> dict[int, set[int]]:
    """Document → where the term is in its source, of these documents."""
    counts = [one & FREQUENCY if one >> FIELD_SHIFT >= POSITIONED else 0 for one in columns.fields]
    positions: dict[int, set[int]] = {}
    for doc, count, end in zip(columns.docs, counts, accumulate(counts), strict=True):
        if count and doc in wanted:
            positions.setdefault(doc, set()).update(columns.positions[end - count : end])
    for places in positions.values():
        places.discard(0)
    return positions


def _idf(number: int, hits: int) -> float:
    return log(1 + (number - hits + 0.5) / (hits + 0.5))


def _geometric(values: Sequence[float]) -> float:
    """The sum of values, each next best one halved."""
    if len(values) == 1:  # most files have one symbol with a word
        return values[0]
    return sum(value * _DECAY**place for place, value in enumerate(nlargest(50, values)))


def _of_maximum(values: Mapping[str, float]) -> dict[str, float]:
    top = max(values.values(), default=0.0)
    if top > 0:
        return {key: value / top for key, value in values.items()}
    return {}


def _millionths(value: float) -> int:
    return round(value * 1_000_000)


def _whole(parts: Mapping[str, float]) -> dict[str, int]:
    return {name: round(value * 1_000_000) for name, value in parts.items()}
