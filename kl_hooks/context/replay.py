"""Replay of history: how well code is found for tasks whose answer is known, beside plain full-text
baselines.

A task is the message of a past commit without paths, file names and IDs; the answer is what the
commit changed. Only the content and the history of its parent are seen. Nothing is written but what
git itself caches.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.arch.import_survey import build_index, paths_by_module
from kl_hooks.code.languages import (
    READ_NAMES,
    is_file_module,
    is_source,
    own_scanners,
    scan_file,
    scanner_of,
    source_suffixes,
)
from kl_hooks.context.gather import Gathered
from kl_hooks.context.page import assemble
from kl_hooks.context.ranking import (
    OUTERMOST,
    ROWS,
    CodeRanking,
    RankedFile,
    RankedSymbol,
    SymbolRow,
    code_candidates,
    rank,
)
from kl_hooks.context.signals import read_signals
from kl_hooks.git.commits import TouchedFiles, ancestors, touched_files
from kl_hooks.git.files import FileEntry, files_at, read_files
from kl_hooks.git.repository import git_in
from kl_hooks.index.history import Change, MemoryHistory, PastCommit, message_terms
from kl_hooks.index.index import split_all
from kl_hooks.index.postings import (
    SOURCE,
    FileTerms,
    MemoryPostings,
    corpus_of,
    file_terms,
    read_query,
    text_terms,
)
from kl_hooks.model.definitions import EMPTY, NamedTuple, lazy_pattern
from kl_hooks.model.package import CODE
from kl_hooks.model.package import Task as PackageTask
from kl_hooks.model.request import Request
from kl_hooks.model.symbol import is_test_path, last_name
from kl_hooks.model.text import counted, one_line, safe_text

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.index.history import History

KL: Final = "kl context"
METHODS: Final = ("grep", "BM25 file", "BM25 symbol", "history", "RRF", KL)
"""In the order in which they are printed; RRF is of file, symbol and history."""
BUDGETS: Final = (1000, 2000, 4000)
"""Tokens of four characters."""
PLACES: Final = (1, 5, 10)
_MOST_FILES: Final = 8
_FEWEST_WORDS: Final = 3
_K1: Final = 1.2
_B: Final = 0.75
_RRF: Final = 60
_SIGNATURES: Final = 8
_UNRANKED: Final = ("namespace", "field")
_RESAMPLES: Final = 2000


class Task(NamedTuple):
    """A past commit as a task."""

    sha: str
    parent: str
    text: str
    """Its message, scrubbed."""
    files: frozenset[str]
    """The source files it changed, by their names before."""
    tests: frozenset[str] = frozenset()
    """The test files it changed that were there before."""


class Result(NamedTuple):
    """What one method found for one task."""

    recall: Mapping[int, float]
    """Place → share of the files among so many first ones."""
    reciprocal: float
    """1 / place of the first right file; 0 for none."""
    symbols: float
    """Share of the changed symbols among the first ten; 0 where the task has none."""
    delivered: Mapping[int, tuple[float, float]]
    """Budget → share of files and of symbols in the delivered text."""


class Replayed(NamedTuple):
    """A task and what every method found."""

    repository: str
    task: Task
    symbols: frozenset[str]
    """IDs of the changed functions, methods and classes."""
    named: bool
    """True where the text has the name of one of them."""
    results: Mapping[str, Result]
    missing: frozenset[str] = frozenset()
    """Files that kl context has not among its first ten."""


_SCRUBBED: Final = lazy_pattern(
    r"""(?x) https?://\S+ | \S+@\S+\.\w+ | \(?(?:\#|GH-?|gh-?)\d+\)? | \b[0-9a-f]{7,40}\b
    | (?<![\w`])[\w.-]*/[\w./-]+
    | \b[\w-]+\.(?:pyi?|[cm]?[jt]sx?|rs|rst|md|txt|toml|cfg|ya?ml|json|html?)\b"""
)
_TRAILER: Final = lazy_pattern(
    r"(?m)^(?:[A-Z][A-Za-z-]+-by|Change-Id|Fixes|Closes|Refs?|See): .*$|^\(cherry picked .*$"
)


def scrub(message: str) -> str:
    """A commit's message without what only its author could know: paths, file names, numbers of
    issues, hashes.
    """
    text = _SCRUBBED.sub(" ", _TRAILER.sub("", message))
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines()).strip()


def find_tasks(repo: Repository, last: int, most: int, seed: int) -> list[Task]:
    """At most `most` of the `last` commits, chosen by `seed`: with few source files and some
    words.
    """
    suffixes = source_suffixes(own_scanners())
    commits = touched_files(repo, ancestors(repo, last), suffixes)
    order = random.Random(seed).sample(commits, len(commits))
    tasks: list[Task] = []
    for commit in order:
        task = _task(repo, commit, suffixes)
        if task is not None:
            tasks.append(task)
        if len(tasks) == most:
            break
    return tasks


def _task(repo: Repository, commit: TouchedFiles, suffixes: Sequence[str]) -> Task | None:
    text = scrub(commit.message)
    words = read_query(text).weights
    source = {old or path for path, old in commit.changes if corpus_of(old or path) == SOURCE}
    if not source or len(source) > _MOST_FILES or len(words) < _FEWEST_WORDS:
        return None
    parents = (
        git_in(repo, "rev-list", "--parents", "-n", "1", commit.sha).decode("ascii").split()[1:]
    )
    if len(parents) != 1:
        return None
    there = {entry.path for entry in files_at(repo, parents[0], suffixes)}
    files = frozenset(source & there)
    if not files:
        return None
    tests = {old or path for path, old in commit.changes if is_test_path(old or path)}
    return Task(commit.sha, parents[0], text, files, frozenset(tests & there))


class Source(NamedTuple):
    """A file of the parent."""

    symbols: list[SymbolRow]
    ends: list[int]
    terms: FileTerms
    words: Counter[str]
    """Of the whole file, identifiers whole and in parts."""
    docs: list[tuple[int, Counter[str]]]
    """The same of each symbol, by its place."""
    imports: list[list[Any]]


class MemoryCode:
    """The source of a revision, as ranking reads it."""

    def __init__(
        self,
        files: Mapping[str, Source],
        history: History,
        settings_by_path: Mapping[str, Mapping[str, str]] = EMPTY,
    ) -> None:
        """`settings_by_path`: what configuration files state about imports."""
        self.files = files
        self._settings_by_path = settings_by_path
        self.postings = MemoryPostings({path: one.terms for path, one in files.items()})
        self.history: History | None = history
        self._importers: dict[str, set[str]] | None = None

    def symbols(self, places: Mapping[str, Collection[int]]) -> dict[tuple[str, int], SymbolRow]:
        """As `CodeReader.symbols`."""
        row_of: dict[tuple[str, int], SymbolRow] = {}
        for path, wanted in places.items():
            rows = self.files[path].symbols
            if rows:
                start = len(rows[0].id.partition(":")[2]) + 1
            else:
                start = 0
            for index in (wanted_index for wanted_index in wanted if wanted_index < len(rows)):
                row_of[path, index] = rows[index]._replace(
                    qualname=rows[index].id.partition(":")[2][start:]
                )
        return row_of

    def definitions(self, names: Collection[str]) -> dict[str, list[str]]:
        """As `CodeReader.definitions`."""
        paths_of_name: dict[str, list[str]] = {}
        for path, source in self.files.items():
            for row in source.symbols:
                name = last_name(row.id)
                if name in names and row.kind not in _UNRANKED:
                    paths_of_name.setdefault(name, []).append(path)
        return paths_of_name

    def outermost(self, names: Collection[str]) -> dict[str, list[str]]:
        """As `CodeReader.outermost`."""
        paths_of_name: dict[str, list[str]] = {}
        for path, source in self.files.items():
            if source.symbols:
                start = len(source.symbols[0].id.partition(":")[2]) + 1
            else:
                start = 0
            for row in source.symbols:
                name = row.id.partition(":")[2][start:]
                if name in names and row.kind in OUTERMOST:
                    paths_of_name.setdefault(name, []).append(path)
        return paths_of_name

    def importers(self, paths: Collection[str]) -> dict[str, set[str]]:
        """As `CodeReader.importers`."""
        if self._importers is None:
            self._importers = {}
            facts = {
                path: {"error": "", "imports": source.imports}
                for path, source in self.files.items()
            } | {
                path: {"error": "", "imports": [], "settings": settings}
                for path, settings in self._settings_by_path.items()
            }
            index = build_index([FileEntry(path, "", "") for path in facts], facts)
            path_of_module = paths_by_module(index.modules)
            for path, flat in index.links.items():
                for target in flat[0::4]:
                    self._importers.setdefault(path_of_module.get(target, ""), set()).add(path)
        return {path: self._importers.get(path, set()) for path in paths}


class Replay:
    """One repository; what was read for one task serves the next."""

    def __init__(self, repo: Repository, name: str) -> None:
        self._repo, self._name = repo, name
        self._scanners = own_scanners()
        self._suffixes = source_suffixes(self._scanners)
        self._sources: dict[tuple[str, str], Source] = {}
        self._settings: dict[tuple[str, str], Mapping[str, str]] = {}
        self._commits: dict[str, PastCommit] = {}

    def replay(self, task: Task) -> Replayed:
        """What every method finds for a task."""
        code = self.code(task.parent)
        gold = self.changed_symbols(task)
        words = set(re.findall(r"\w+", task.text))
        named = any(last_name(one) in words for one in gold)
        rankings: dict[str, CodeRanking] = {
            "grep": _grep(code, task.text),
            "BM25 file": _bm25_files(code, task.text),
            "BM25 symbol": _bm25_symbols(code, task.text),
            "history": _bm25_history(code, task.text),
        }
        rankings["RRF"] = _fused(
            [rankings["BM25 file"], rankings["BM25 symbol"], rankings["history"]]
        )
        rankings[KL] = rank(code, task.text)
        results = {
            method: _result(rankings[method], task, gold, code, method) for method in METHODS
        }
        missing = task.files.difference(one.path for one in rankings[KL].files[:10])
        return Replayed(self._name, task, gold, named, results, missing)

    def code(self, rev: str) -> MemoryCode:
        """The source and the history of a revision."""
        return MemoryCode(self._files(rev), self._history(rev), self._settings_by_path(rev))

    def _files(self, rev: str) -> dict[str, Source]:
        entries = [
            entry
            for entry in files_at(self._repo, rev, self._suffixes)
            if corpus_of(entry.path) == SOURCE
        ]
        missing = [entry for entry in entries if (entry.path, entry.blob) not in self._sources]
        for entry, content in read_files(self._repo, missing, "objects"):
            source = read_source(content, entry.path, self._scanners)
            if source is not None:
                self._sources[entry.path, entry.blob] = source
        keys = ((entry.path, entry.blob) for entry in entries)
        return {key[0]: self._sources[key] for key in keys if key in self._sources}

    def _settings_by_path(self, rev: str) -> dict[str, Mapping[str, str]]:
        """What the configuration files of a revision state about imports."""
        entries = [
            entry
            for entry in files_at(self._repo, rev, READ_NAMES)
            if not is_source(entry.path) and scanner_of(entry.path, self._scanners)
        ]
        missing = [entry for entry in entries if (entry.path, entry.blob) not in self._settings]
        for entry, content in read_files(self._repo, missing, "objects"):
            facts = scan_file(entry.path, content, entry.path, self._scanners) or {}
            stated = facts.get("outline", {}).get("settings", {})
            self._settings[entry.path, entry.blob] = stated
        keys = ((entry.path, entry.blob) for entry in entries)
        return {key[0]: self._settings[key] for key in keys if key in self._settings}

    def _history(self, rev: str) -> MemoryHistory:
        shas = ancestors(self._repo, 6000, rev)
        missing = [sha for sha in shas if sha not in self._commits]
        for commit in touched_files(self._repo, missing, self._suffixes):
            changes = tuple(Change(*change) for change in commit.changes)
            self._commits[commit.sha] = PastCommit(
                commit.sha, commit.time, message_terms(commit.message), changes
            )
        return MemoryHistory([self._commits[sha] for sha in shas if sha in self._commits])

    def changed_symbols(self, task: Task) -> frozenset[str]:
        """The innermost functions, methods and classes of the parent that hold a changed line."""
        files = self._files(task.parent)
        sources = {path: files[path] for path in task.files & files.keys()}
        return frozenset(
            name for _, name in changed_symbols(self._repo, task.parent, task.sha, sources)
        )


def changed_symbols(
    repo: Repository, parent: str, sha: str, sources: Mapping[str, Source]
) -> frozenset[tuple[str, str]]:
    """(path, ID) of the innermost functions, methods and classes of the parent's files that hold a
    changed line.
    """
    changed: set[tuple[str, str]] = set()
    for path, source in sorted(sources.items()):
        out = git_in(
            repo,
            "diff",
            "-U0",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            parent,
            sha,
            "--",
            f":(literal){path}",
        )
        for start, count in re.findall(rb"(?m)^@@ -(\d+)(?:,(\d+))? ", out):
            first = int(start)
            for line in range(first, first + max(int(count or 1), 1)):
                around = [
                    (row.line, row.id)
                    for row, end in zip(source.symbols, source.ends, strict=True)
                    if row.line <= line <= end and row.kind not in _UNRANKED
                ]
                if around:
                    changed |= {(path, max(around)[1])}
    return frozenset(changed)


def dotted_module(path: str) -> str:
    """The name of a file's module in the IDs of `read_source`: the graph may know a shorter one of a
    module of Python's.
    """
    if is_file_module(path):
        return path
    return path.removesuffix(".py").replace("/", ".")


def read_source(content: bytes, path: str, scanners: Sequence[Scanner]) -> Source | None:
    """A file's content as the replay needs it; None where no scanner reads it. Never raises for bad
    source.
    """
    facts = scan_file(path, content, dotted_module(path), scanners)
    if facts is None:
        return None
    rows = facts["symbols"]
    words = [split_all(text[3]).lower().split() for text in facts["text"]]
    docs = [(text[0], Counter(some)) for text, some in zip(facts["text"], words, strict=True)]
    for (place, counts), text in zip(docs, facts["text"], strict=True):
        counts.update(split_all(f"{text[1]} {text[2]}" if place else "").lower().split())
    whole: Counter[str] = Counter()
    for _, counts in docs:
        whole.update(counts)
    whole.update(split_all(path).lower().split())
    return Source(
        [SymbolRow(row[0], row[1], row[3], row[4]) for row in rows],
        [row[2] for row in rows],
        file_terms(path, facts["text"]),
        whole,
        docs,
        facts["imports"],
    )


def _asked(text: str) -> list[str]:
    """The distinct words of a task for the baselines: split, without stop words, not stemmed."""
    weights = read_query(text).weights
    words = dict.fromkeys(split_all(text).lower().split())
    return [
        word for word in words if len(word) > 1 and not weights.keys().isdisjoint(text_terms(word))
    ]


def _bm25(docs: Sequence[Counter[str]], words: Sequence[str]) -> list[float]:
    """BM25 of each document, with the usual constants."""
    sizes = [sum(one.values()) for one in docs]
    mean = sum(sizes) / len(sizes) if sizes else 0.0
    scores = [0.0] * len(docs)
    for word in words:
        hits = [(place, one[word]) for place, one in enumerate(docs) if word in one]
        idf = log(1 + (len(docs) - len(hits) + 0.5) / (len(hits) + 0.5))
        for place, count in hits:
            scores[place] += (
                idf * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * sizes[place] / mean))
            )
    return scores


def _files_ranking(scores: Mapping[str, float]) -> tuple[RankedFile, ...]:
    order = sorted(
        (path for path in scores if scores[path] > 0),
        key=lambda path: (-round(scores[path], 9), path),
    )
    return tuple(RankedFile(path, round(scores[path] * 1_000_000)) for path in order)


def _grep(code: MemoryCode, text: str) -> CodeRanking:
    scores: dict[str, float] = {}
    for word in _asked(text):
        hits = [path for path, one in code.files.items() if word in one.words]
        for path in hits:
            scores[path] = scores.get(path, 0.0) + log(1 + len(code.files) / len(hits))
    return CodeRanking(_files_ranking(scores))


def _bm25_files(code: MemoryCode, text: str) -> CodeRanking:
    scores = _bm25([one.words for one in code.files.values()], _asked(text))
    return CodeRanking(_files_ranking(dict(zip(code.files, scores, strict=True))))


def _bm25_symbols(code: MemoryCode, text: str) -> CodeRanking:
    keys = [(path, place) for path, source in code.files.items() for place, _ in source.docs]
    scores = _bm25(
        [counts for source in code.files.values() for _, counts in source.docs], _asked(text)
    )
    of_file: dict[str, list[float]] = {}
    symbols: list[RankedSymbol] = []
    for (path, place), score in zip(keys, scores, strict=True):
        if score > 0:
            of_file.setdefault(path, []).append(score)
            row = code.files[path].symbols[place]
            if row.kind != "namespace":
                symbols.append(
                    RankedSymbol(row.id, path, row.line, row.id, row.kind, round(score * 1_000_000))
                )
    best = {path: sum(sorted(some, reverse=True)[:3]) for path, some in of_file.items()}
    return CodeRanking(
        _files_ranking(best),
        tuple(sorted(symbols, key=lambda element: (-element.score, element.id, element.path))),
    )


def _bm25_history(code: MemoryCode, text: str) -> CodeRanking:
    history = code.history
    assert history is not None
    hits_of_term = history.find(tuple(read_query(text).weights))
    sizes = [whole for whole, _ in history.lengths]
    mean = sum(sizes) / len(sizes) if sizes else 1.0
    scores: dict[int, float] = {}
    for hits in hits_of_term.values():
        idf = log(1 + (len(sizes) - len(hits) + 0.5) / (len(hits) + 0.5))
        for commit, count in hits:
            gain = idf * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * sizes[commit] / mean))
            scores[commit] = scores.get(commit, 0.0) + gain
    of_file: dict[str, float] = {}
    for commit in sorted(scores, key=lambda commit_id: (-round(scores[commit_id], 9), commit_id))[
        :50
    ]:
        known_paths = [path for path in history.files[commit] if path in code.files]
        for path in known_paths:
            of_file[path] = of_file.get(path, 0.0) + scores[commit] / len(known_paths)
    return CodeRanking(_files_ranking(of_file))


def _fused(rankings: Iterable[CodeRanking]) -> CodeRanking:
    """Reciprocal rank fusion of the files; symbols as the one ranking that has them."""
    scores: dict[str, float] = {}
    symbols: tuple[RankedSymbol, ...] = ()
    for ranking in rankings:
        symbols = symbols or ranking.symbols
        for place, file in enumerate(ranking.files, 1):
            scores[file.path] = scores.get(file.path, 0.0) + 1 / (_RRF + place)
    return CodeRanking(_files_ranking(scores), symbols)


def _result(
    ranking: CodeRanking, task: Task, gold: frozenset[str], code: MemoryCode, method: str
) -> Result:
    paths = [file.path for file in ranking.files]
    recall = {most: len(task.files.intersection(paths[:most])) / len(task.files) for most in PLACES}
    first = next((place for place, path in enumerate(paths, 1) if path in task.files), 0)
    if gold:
        symbols = len(gold.intersection(symbol.id for symbol in ranking.symbols[:10])) / len(gold)
    else:
        symbols = 0.0
    delivered = {}
    for budget in BUDGETS:
        if method == KL:
            shown = _package(ranking, task.text, budget)
        else:
            shown = _signatures(ranking, code, budget * 4)
        files, ids = map(set, shown)
        delivered[budget] = (
            len(task.files & files) / len(task.files),
            len(gold & ids) / len(gold) if gold else 0.0,
        )
    return Result(recall, 1 / first if first else 0.0, symbols, delivered)


def _package(ranking: CodeRanking, text: str, budget: int) -> tuple[list[str], list[str]]:
    """The files and the IDs of the symbols that a package of so many tokens shows."""
    candidates = {"code": tuple(code_candidates(ranking, ROWS))}
    package = assemble(
        PackageTask(text, read_signals(text)),
        Gathered(candidates, {}, {"code": "ok"}),
        Request(text, f"{budget}tok"),
    )
    code = [item.candidate for item in package.items if item.candidate.kind in CODE]
    return [one.path for one in code], [one.id for one in code]


def _signatures(
    ranking: CodeRanking, code: MemoryCode, characters: int
) -> tuple[list[str], list[str]]:
    """What a plain search would show: each file with its best signatures, or its first ones."""
    by_file: dict[str, list[str]] = {}
    for symbol in ranking.symbols:
        by_file.setdefault(symbol.path, []).append(symbol.id)
    paths: list[str] = []
    ids: list[str] = []
    left = characters
    for file in ranking.files:
        rows = {row.id: row for row in code.files[file.path].symbols}
        chosen = (
            by_file.get(file.path) or [row.id for row in rows.values() if row.kind not in _UNRANKED]
        )[:_SIGNATURES]
        for line, identifier in [
            (file.path, ""),
            *((f"  {rows[each].signature}", each) for each in chosen),
        ]:
            if len(line) + 1 > left:
                return paths, ids
            left -= len(line) + 1
            (ids if identifier else paths).append(identifier or file.path)
    return paths, ids


class Mean(NamedTuple):
    """What one method reached over all tasks."""

    recall: dict[int, float]
    reciprocal: float
    symbols: float
    delivered: dict[int, tuple[float, float]]

    def to_dict(self) -> dict[str, Any]:
        """As plain values: `R@1` …, `MRR`, `symbols@10`, `file@1000`, `symbol@1000` …, to four
        digits.
        """
        values = {f"R@{place}": value for place, value in self.recall.items()}
        values |= {"MRR": self.reciprocal, "symbols@10": self.symbols}
        for budget, (files, symbols) in self.delivered.items():
            values |= {f"file@{budget}": files, f"symbol@{budget}": symbols}
        return {name: round(value, 4) for name, value in values.items()}


def mean(done: Sequence[Replayed], method: str) -> Mean:
    """The mean over tasks, of symbols over those that change any; zeros where there are none."""
    files = [one.results[method] for one in done]
    symbols = [one.results[method] for one in done if one.symbols]
    return Mean(
        {place: _mean(one.recall[place] for one in files) for place in PLACES},
        _mean(one.reciprocal for one in files),
        _mean(one.symbols for one in symbols),
        {
            budget: (
                _mean(one.delivered[budget][0] for one in files),
                _mean(one.delivered[budget][1] for one in symbols),
            )
            for budget in BUDGETS
        },
    )


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    if not numbers:
        return 0.0
    return sum(numbers) / len(numbers)


def difference(
    done: Sequence[Replayed], other: str, place: int, seed: int
) -> tuple[float, float, float]:
    """How much more kl context recalls at a place than another method, and the paired bootstrap's
    95 % interval.
    """
    return bootstrap(
        [one.results[KL].recall[place] - one.results[other].recall[place] for one in done], seed
    )


def bootstrap(values: Sequence[float], seed: int) -> tuple[float, float, float]:
    """The mean of some values and its 95 % interval, by resampling; zeros where there are none."""
    if not values:
        return 0.0, 0.0, 0.0
    chance = random.Random(seed)
    means = sorted(
        sum(chance.choices(values, k=len(values))) / len(values) for _ in range(_RESAMPLES)
    )
    return sum(values) / len(values), means[_RESAMPLES // 40], means[-_RESAMPLES // 40 - 1]


def losses(done: Sequence[Replayed]) -> list[Replayed]:
    """The tasks of which kl context misses a file among its first ten, those that a baseline finds
    first.
    """
    missed = [replayed for replayed in done if replayed.missing]

    def order(replayed: Replayed) -> tuple[float, str]:
        best = max(replayed.results[method].recall[10] for method in METHODS if method != KL)
        return replayed.results[KL].recall[10] - best, replayed.task.sha

    return sorted(missed, key=order)


_AGAINST = ("BM25 symbol", "RRF")
_LOSSES = 20
_ENOUGH = 30
"""Tasks from which on an interval means something."""
_TITLES = {
    "all": "All tasks",
    "a changed symbol is named": "The message names a symbol that was changed",
    "none is named": "The message names none",
}
_ROWS = {
    "grep": "grep",
    "BM25 file": "BM25 of files",
    "BM25 symbol": "BM25 of symbols",
    "history": "past commits",
    "RRF": "three fused",
    KL: "kl context",
}
"""Method → what its row is called."""
_LEGEND = (
    "  grep             files that hold most of the message's words, rare ones counting more",
    (
        "  BM25 of files    a plain full-text search over files; of symbols: over functions,"
        " methods and classes"
    ),
    "  past commits     files of older commits with such messages",
    "  three fused      the three rows before it by reciprocal rank",
    (
        "  kl context       kl's ranking and its packages; packages of the other rows have eight"
        " signatures a file"
    ),
)


def _groups(done: list[Replayed]) -> list[tuple[str, list[Replayed]]]:
    """The tasks whose text names a changed symbol leak the answer: they are shown apart."""
    named = [one for one in done if one.named]
    return [
        ("all", done),
        ("a changed symbol is named", named),
        ("none is named", [o for o in done if not o.named]),
    ]


def report_lines(done: list[Replayed], seed: int) -> Iterator[str]:
    """The report for people; nothing where no task was replayed."""
    if not done:
        return
    yield (
        "Each task is the message of a past commit, without paths, file names and IDs. To be found"
        " is what the commit"
    )
    yield (
        "changed: files of source, and functions, methods and classes. Only the content of its"
        " parent is searched."
    )
    yield ""
    for title, group in _groups(done):
        if group:
            yield from _table(title, group)
    yield from _LEGEND
    yield ""
    if len(done) < _ENOUGH:
        yield (
            f"Fewer than {_ENOUGH} tasks: differences between the rows may be chance. More:"
            " --tasks, --repo."
        )
    else:
        yield from _difference_lines(done, seed)
    lost = losses(done)
    yield ""
    yield (
        f"A changed file is not among the first ten of kl context in {len(lost)} of"
        f" {counted(len(done), 'task')}"
    )
    for replayed in lost[:_LOSSES]:
        missing = ", ".join(sorted(replayed.missing))
        yield (
            f"  {replayed.repository} {replayed.task.sha[:10]} {one_line(replayed.task.text, 60)}:"
            f" {safe_text(missing)}"
        )
    if len(lost) > _LOSSES:
        yield f"  … and {len(lost) - _LOSSES} more: --format json"


def _table(title: str, tasks: list[Replayed]) -> Iterator[str]:
    yield f"{_TITLES[title]}: {counted(len(tasks), 'task')}"
    budgets = "".join(f"{f'{budget:,} tokens':>16}" for budget in BUDGETS)
    yield (
        f"  {'percent found':16}{'files among the first':^24}{'symbols':>9}  files and symbols in a"
        " package of"
    )
    yield f"  {'':16}" + "".join(f"{place:8}" for place in PLACES) + f"{'first 10':>9}{budgets}"
    for method in METHODS:
        figures = mean(tasks, method)
        numbers = "".join(f"{value:8.1%}" for value in figures.recall.values())
        texts = "".join(
            f"{files:9.1%}{symbols:7.1%}" for files, symbols in figures.delivered.values()
        )
        yield f"  {_ROWS[method]:16}{numbers}{figures.symbols:9.1%}{texts}"
    yield ""


def _difference_lines(done: list[Replayed], seed: int) -> Iterator[str]:
    yield (
        "How much more kl context finds, in percentage points, with the interval that holds 95 % of"
        " resampled tasks:"
    )
    for other in _AGAINST:
        for place in PLACES:
            gain, low, high = (100 * value for value in difference(done, other, place, seed))
            yield (
                f"  than {_ROWS[other]:16} among the first {place:2}: {gain:+5.1f}  [{low:+.1f} to"
                f" {high:+.1f}]"
            )


def report_to_dict(
    done: list[Replayed], seed: int, briefs: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """The same for programs, with every loss. `briefs`: budget → figures; empty: not asked for."""
    groups = [
        {
            "group": title,
            "tasks": len(some),
            "methods": {name: mean(some, name).to_dict() for name in METHODS},
        }
        for title, some in _groups(done)
    ]
    return {
        "schema": "kl.replay/3",
        "groups": groups,
        "briefs": [{"tokens": budget, **figures} for budget, figures in briefs.items()],
        "differences": [
            dict(zip(("gain", "low", "high"), difference(done, other, place, seed), strict=True))
            | {"against": other, "place": place}
            for other in _AGAINST
            for place in PLACES
        ],
        "losses": [
            {
                "repository": one.repository,
                "commit": one.task.sha,
                "task": one.task.text,
                "missing": sorted(one.missing),
            }
            for one in losses(done)
        ],
    }
