"""Retrieval: passages as candidates for a context package, and what a reader should know of where
one comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.documents.indexing import (
    Chunk,
    load_chunks,
    search_chunks,
    sync_documents,
    visible_documents,
)
from kl_hooks.documents.mentions import symbols_named
from kl_hooks.index.postings import search_terms
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.package import Candidate
from kl_hooks.model.text import one_line
from kl_hooks.records.pages import PAGE_KIND
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.query import get_records
from kl_hooks.records.repository import select_rows
from kl_hooks.records.retrieval import demote_uncommitted
from kl_hooks.records.sync import sync

if TYPE_CHECKING:
    from kl_hooks.model.package import Task
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_MAX_PASSAGES: Final = 5
"""Passages that a context package is offered: prose has words of every task, and must not crowd out
code.
"""
_MAX_LINKED: Final = 3
_HOPS: Final = 2
_LOOKED_AT: Final = 40
_EXCERPT: Final = 480
_HEADING: Final = 50
CHANGELOG: Final = lazy_pattern(r"(?i)(^|/)(change|history|news|release|whats?_?-?new)[^/]*(/|$)")
"""Names everything once, and explains nothing."""


def find_documents(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Return at most `limit` passages that match the task's words, best first; the retriever of
    context packages.

    A passage of an added document that reads like an instruction states that it is omitted: nobody
    reviewed it.
    """
    signals = task.signals
    words = [*signals.symbols, *signals.paths, *signals.keywords, *signals.failures]
    sync(ws)  # the sections of pages, whose IDs are those of their passages
    chunk_hits = search_chunks(ws, " ".join(words), limit=_LOOKED_AT)
    chunks = [
        one
        for one in load_chunks(ws, [number for number, _ in chunk_hits])
        if not CHANGELOG.search(one.document)
    ]
    return _candidates(
        ws,
        chunks[: min(limit, _MAX_PASSAGES)],
        words,
        "a passage of the docs with words of the task",
    )


def find_linked(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Return at most `limit` passages that are linked with the symbols that a task names, that with
    most weight first.

    They need not have words of the task: they name code that it names, or what that uses. Nothing
    for a task that names no symbol, since what is near a few words is near everything.
    """
    from kl_hooks.code.query.session import refresh_graph
    from kl_hooks.documents.neighborhood import Scope, neighborhood

    sync(ws)
    sync_documents(ws)
    refresh_graph(ws)
    scope = Scope(ws, visible_documents(ws))
    with ws.store.reading("graph") as db:
        if db is not None:
            named = symbols_named(db, set(task.signals.symbols))
        else:
            named = {}
        seeds = {symbol.id: 1 / len(some) for some in named.values() for symbol in some}
        if db is None or not seeds:
            return []
        around = neighborhood(db, seeds, _HOPS, scope)
        weights = around.weights(seeds)
        nodes = sorted(around.levels, key=lambda node: (-weights[node], node))
        passages = [
            passage for passage in scope.look_up(db, nodes).values() if isinstance(passage, Chunk)
        ]
    order = {node: place for place, node in enumerate(nodes)}
    passages.sort(key=lambda passage: order[passage_id(passage)])
    chunks = [passage for passage in passages if not CHANGELOG.search(passage.document)][
        : min(limit, _MAX_LINKED)
    ]
    return _candidates(
        ws,
        chunks,
        task.signals.symbols,
        "a passage of the docs that names this code, or what it uses",
    )


def _candidates(
    ws: Workspace, chunks: Sequence[Chunk], words: Sequence[str], reason: str
) -> list[Candidate]:
    records = {
        record.id: record
        for record in get_records(
            ws, [passage.document for passage in chunks if not passage.is_file]
        )
    }
    candidates = list[Candidate]()
    sections = set[str]()
    for passage in chunks:
        # a section of a page is a node of the graph; of one that was cut in several, only the best
        # passage has its ID
        node, line = _section_of(ws, passage)
        if node and node not in sections:
            identifier, line = (node, line)
        else:
            identifier = passage_id(passage)
            line = passage.first_line
        sections.add(node)
        title = " › ".join(dict.fromkeys((passage.title, *passage.heading)))
        lines = f"{passage.first_line}-{passage.last_line}"
        base = Candidate(
            id=identifier,
            kind=PAGE_KIND,
            title=title,
            text=f"{title} (lines {lines})\n{_excerpt(passage.text, words)}",
            summary=(
                f"{one_line((passage.heading or (passage.title,))[-1], _HEADING)}:"
                f" {_best_line(passage.text, words)}"
            ),
            path=passage.document,
            line=line,
            freshness="current",
            authority="human",
            reasons=(reason,),
        )
        if passage.is_file:
            candidates.append(base)
        elif record := records.get(passage.document):
            candidates.append(_added_candidate(base, record, injection_reasons(passage.text)))
    return demote_uncommitted(ws, candidates)


def _section_of(ws: Workspace, passage: Chunk) -> tuple[str, int]:
    """Return the graph ID of the section of a page that a passage is in, and its first line; ("",
    0) if it is none.
    """
    sql = "SELECT node, line FROM chunk WHERE path = ? AND line <= ? ORDER BY line DESC LIMIT 1"
    if passage.is_file:
        rows = select_rows(ws, sql, (passage.document, passage.first_line), "graph")
    else:
        rows = []
    if not rows:
        return ("", 0)
    return (rows[0][0], rows[0][1])


def _best(parts: Sequence[str], words: Sequence[str]) -> int:
    """Return the place of the first part with the most of these words; 0 if there is none."""
    wanted = set(search_terms(words))
    scores = [len(wanted.intersection(search_terms([part]))) for part in parts]
    if not scores:
        return 0
    return scores.index(max(scores))


def _best_line(text: str, words: Sequence[str]) -> str:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return ""
    return lines[_best(lines, words)]


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Return the text from the paragraph with the most of these words on, in whole lines."""
    paragraphs = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
    excerpt = ""
    for line in "\n".join(paragraphs[_best(paragraphs, words) :]).split("\n"):
        if len(excerpt) + len(line) > _EXCERPT:
            return f"{excerpt or line[:_EXCERPT]}…"
        excerpt += f"{line.rstrip()}\n"
    return excerpt.strip()


def _added_candidate(base: Candidate, record: Record, suspicions: Sequence[str]) -> Candidate:
    """The same for an added document: it is as trusted as whoever added it, and governed as its
    record.
    """
    return base._replace(
        kind="document",
        path="",
        line=0,
        authority=record.authority,
        tags=record.many("tags"),
        classification=record.text("classification"),
        read_from=record.text("source"),
        marks=() if record.authority == "human" else (record.authority,),
        omit=f"quarantined: {suspicions[0]}" if suspicions else "",
        reasons=(f"a passage of {record.id} with words of the task",),
        touches=tuple(one.removeprefix("file:") for one in record.many("about")),
    )


def passage_id(passage: Chunk) -> str:
    """`file:docs/a.md#L7-L9`, `DOC-0001#L1-L3`."""
    lines = f"L{passage.first_line}-L{passage.last_line}"
    if passage.is_file:
        return f"file:{passage.document}#{lines}"
    return f"{passage.document}#{lines}"
