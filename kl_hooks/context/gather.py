"""Gather: asks every retriever for candidates, and orders the code among their answers.

A retriever that fails lowers the coverage, never the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.context.fuse import Code, Ranked
from kl_hooks.evidence.provenance import agent
from kl_hooks.hookspecs import Retriever
from kl_hooks.index.postings import SOURCE, corpus_of
from kl_hooks.model.actors import INSTRUCTION_PAGES
from kl_hooks.model.package import CODE, Candidate, Omission, Task
from kl_hooks.model.symbol import language_of
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    import pluggy


_MOST_ROWS: Final = 1_000
"""Most candidates of one retriever, whatever it asks for."""
_THREADS: Final = 8
"""Retrievers of plugins that are asked at the same time."""
_DOMINANT: Final = 50
"""Percent of the best file's score: where the second has less, and the best defines a name of the
task, it is meant.
"""
_RELEVANT_BESIDES: Final = (30, 20)
"""Percent that files, and symbols, need then. Without the others packages find as much on 120
commits (ADR-0028).
"""
_PADDING: Final = "below the relevance threshold: another file defines what the task names"
_PATHS_FROM: Final = 16_000
"""Characters of a budget (4,000 tokens) from which on the paths of weak files are shown too, after
all others: who asks for so much wants every file that may be meant, and a path is ten tokens
(ADR-0028)."""
NEIGHBORS: Final = "neighbors"
"""The list of symbols that are one link away from the first ones; they come after these."""
PAUSED: Final = "failed: three times in a row; not asked for 60 seconds"
SEEDS: Final = 5
"""How many symbols the neighbors are those of."""
_FIRST: Final = ("pins", "changed code", "anchors")
"""Lists of what the request or the task names, in this order before other lists without scores."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the retrievers answered."""

    lists: Mapping[str, tuple[Candidate, ...]]
    """Retriever → its candidates, best first."""
    weights: Mapping[str, int]
    coverage: Mapping[str, str]
    """Retriever → `ok`, `empty` or `failed: reason`."""
    times: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Retriever → milliseconds, of those that were asked."""


def all_retrievers(plugins: pluggy.PluginManager) -> tuple[list[Retriever], dict[str, str]]:
    """Return (all retrievers by name, coverage of the plugins that failed to list theirs)."""
    retrievers: list[Retriever] = []
    failed: dict[str, str] = {}
    try:
        answers: Iterable[Any] = plugins.hook.kl_retrievers()
    except Exception:  # one broken plugin: ask each by itself, to know which
        answers = list(_one_by_one(plugins, failed))
    for answer in answers:
        retrievers.extend([answer] if isinstance(answer, Retriever) else answer)
    return sorted(retrievers, key=lambda retriever: retriever.name), failed


def _one_by_one(plugins: pluggy.PluginManager, failed: dict[str, str]) -> Iterable[Any]:
    for implementation in plugins.hook.kl_retrievers.get_hookimpls():
        try:
            yield implementation.function()
        except Exception as problem:
            failed[f"plugin {implementation.plugin_name}"] = _failure(problem)


def gather(
    retrievers: Sequence[Retriever],
    workspace: Any,
    task: Task,
    clean: Callable[..., str] = lambda text, language="": text,
) -> Gathered:
    """Return what each retriever finds for the task. `clean` redacts every text once more, whoever
    wrote the plugin.

    Those of installed plugins, which may wait for something, are asked side by side, each in a
    thread; ours one after the other meanwhile, since they compute (ADR-0038). The answer does not
    depend on who was faster. One that failed three times in a row in this process is not asked for
    60 seconds.
    """
    reader = agent(workspace.environ) or ""
    failing = workspace.failing_sources
    now = workspace.clock.now()
    asked, coverage = _asked(retrievers, lambda name: failing.is_paused(name, now))
    answers = _answers(asked, lambda retriever: _ask(retriever, workspace, task, clean, reader))
    for name, (_, status, _) in answers.items():
        failing.record(name, now, failed=status.startswith("failed"))
        coverage[name] = status
    weights = {
        retriever.name: retriever.weight
        for retriever in asked
        if not answers[retriever.name][1].startswith("failed")
    }
    return Gathered(
        {name: answers[name][0] for name in weights},
        weights,
        coverage,
        times={retriever.name: answers[retriever.name][2] for retriever in asked},
    )


def _asked(
    retrievers: Sequence[Retriever], is_paused: Callable[[str], bool]
) -> tuple[list[Retriever], dict[str, str]]:
    """Return the retrievers that are asked, and the coverage of the others, by name."""
    coverage: dict[str, str] = {}
    asked: list[Retriever] = []
    for retriever in retrievers:
        if retriever.name in coverage or any(retriever.name == other.name for other in asked):
            coverage[f"{retriever.name} (again)"] = (
                "failed: the name is taken; only the first was asked"
            )
        elif is_paused(retriever.name):
            coverage[retriever.name] = PAUSED
        else:
            asked.append(retriever)
    return asked, coverage


_Answer = tuple[tuple[Candidate, ...], str, int]
"""The candidates of a retriever, its coverage, and milliseconds."""


def _answers(asked: Sequence[Retriever], ask: Callable[[Retriever], _Answer]) -> dict[str, _Answer]:
    """Return the answer of each by its name: those of installed plugins from threads."""
    foreign = [
        retriever
        for retriever in asked
        if not str(getattr(retriever.find, "__module__", "")).startswith("kl_hooks.")
    ]
    if not foreign:
        return {retriever.name: ask(retriever) for retriever in asked}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(foreign), _THREADS), "kl-retriever") as pool:
        # a context for each thread: what belongs to this moment is known there too (`one_moment`)
        waiting = {
            retriever.name: pool.submit(copy_context().run, ask, retriever) for retriever in foreign
        }
        answers = {
            retriever.name: ask(retriever) for retriever in asked if retriever.name not in waiting
        }
        return answers | {name: future.result() for name, future in waiting.items()}


def _ask(
    retriever: Retriever, workspace: Any, task: Task, clean: Callable[..., str], reader: str
) -> _Answer:
    """Return the answer of one retriever."""
    began = perf_counter()
    rows: tuple[Candidate, ...] = ()
    try:
        # islice() again: a plugin may pay no attention to the limit, or yield without end
        most = min(retriever.rows, _MOST_ROWS)
        candidates = islice(retriever.find(workspace, task, most), most)
        rows = tuple(_checked(row, clean, reader) for row in candidates)
        status = "ok" if rows else "empty"
    except Exception as problem:  # a plugin may raise anything, and the package is still wanted
        status = _failure(problem)
    return rows, status, round((perf_counter() - began) * 1000)


def _checked(row: Any, clean: Callable[..., str], reader: str = "") -> Candidate:
    if not isinstance(row, Candidate):
        raise TypeError(f"gave a {type(row).__name__} where a Candidate belongs")
    candidate: Candidate = row
    if candidate.read_from and candidate.read_from in INSTRUCTION_PAGES.get(reader, ()):
        candidate = candidate._replace(omit=f"{reader} reads {candidate.read_from} itself")
    # a signature and a body are code, where a name is no secret; a docstring is a text
    if candidate.kind in CODE:
        code = language_of(candidate.path)
    else:
        code = ""
    title = clean(candidate.title, code)
    text = clean(candidate.text, code)
    summary = clean(candidate.summary)
    if (title, text, summary) == (candidate.title, candidate.text, candidate.summary):
        return candidate
    return candidate._replace(title=title, text=text, summary=summary)


def _failure(problem: Exception) -> str:
    return f"failed: {one_line(str(problem), 160) or type(problem).__name__}"


def code_of(lists: Mapping[str, Sequence[Candidate]]) -> Code:
    """Return the files and symbols of all lists, each once, best first.

    A list whose candidates have scores is a ranking (`code`); what other lists hold is what the
    task names, and comes before it. What is too far from the task is among them, and states so
    (`near_code`).
    """
    # a pin or a frame names code; words only suggest it
    named = {
        name: rows
        for name, rows in lists.items()
        if name != NEIGHBORS and not any(row.score for row in rows)
    }
    symbols: dict[tuple[str, str], Ranked] = {}
    files: dict[str, Ranked] = {}
    first = sorted(
        named, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)
    )
    for name in [*first, *sorted(lists.keys() - named.keys() - {NEIGHBORS})]:
        rows = [row for row in lists[name] if row.kind in CODE and row.path]
        if name not in named:
            rows = list(_without_padding(rows))
        for rank, row in enumerate(rows, 1):
            item = Ranked(row, row.score, dict(row.parts) or {name: 0}, rank)
            if row.kind == "file":
                files.setdefault(row.path, item)
                continue
            if name in named:
                files.setdefault(row.path, Ranked(_file(row.path), 0, {name: 0}, rank))
            symbols.setdefault((row.id, row.path), item)
    if not any(item.candidate.kind == "file" and item.score for item in files.values()):
        for item in symbols.values():
            files.setdefault(
                item.candidate.path, Ranked(_file(item.candidate.path), 0, {}, item.best)
            )
    near = [item for item in symbols.values() if not item.candidate.beyond][:SEEDS]
    for rank, row in enumerate(lists.get(NEIGHBORS, ()), 1):
        if (
            row.path not in files or files[row.path].candidate.beyond
        ):  # far by its words, near by a link
            files[row.path] = Ranked(_file(row.path), 0, {NEIGHBORS: 0}, rank)
        symbol = symbols.pop((row.id, row.path), None)
        near.append(
            symbol
            if symbol and not symbol.candidate.beyond
            else Ranked(row, 0, {NEIGHBORS: 0}, rank)
        )
    ordered = {
        (item.candidate.id, item.candidate.path): item for item in (*near, *symbols.values())
    }
    shown = tuple(item for item in ordered.values() if item.candidate.path in files)
    return Code(tuple(files.values()), shown)


def near_code(code: Code, characters: int = 0) -> tuple[Code, list[Omission]]:
    """Return the code that may be shown in a budget of so many characters, and what is too far from
    the task.
    """
    keeps_far = characters >= _PATHS_FROM
    shown = list[Ranked]()
    far = list[Ranked]()
    for item in code.files:
        is_far = item.candidate.beyond and not (
            keeps_far
            and item.candidate.beyond != _PADDING
            and corpus_of(item.candidate.path) == SOURCE
        )
        (far if is_far else shown).append(item)
    symbols = tuple(item for item in code.symbols if not item.candidate.beyond)
    far += [item for item in code.symbols if item.candidate.beyond]
    return Code(tuple(shown), symbols), [
        Omission(item.candidate.id, item.candidate.beyond) for item in far
    ]


def _without_padding(rows: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return a ranking in which, where one file is clearly meant, weak files and symbols state that
    they are far.
    """
    files = [row for row in rows if row.kind == "file" and row.score]
    if (
        len(files) < 2
        or files[1].score * 100 >= files[0].score * _DOMINANT
        or dict(files[0].parts).get("names", 0) <= 0
    ):
        return rows
    symbol = max((row.score for row in rows if row.kind != "file"), default=0)
    least = {True: files[0].score * _RELEVANT_BESIDES[0], False: symbol * _RELEVANT_BESIDES[1]}
    return [
        row._replace(beyond=row.beyond or _PADDING)
        if row.score * 100 < least[row.kind == "file"]
        else row
        for row in rows
    ]


def _file(path: str) -> Candidate:
    return Candidate(id=f"file:{path}", kind="file", title=path, text="", summary="", path=path)
