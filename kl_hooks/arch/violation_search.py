"""Violations that the last check found, as candidates for the context of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kl_hooks.arch.violation_index import FOUND_BY, KIND, OWNER, THROUGH
from kl_hooks.graph import links
from kl_hooks.index.index import Hit, hits_of_owner
from kl_hooks.model.claim import Tier
from kl_hooks.model.package import Candidate
from kl_hooks.model.symbol import Link, make_id, split_id
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.package import Signals, Task


def find_violations(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """The violations that the last check found in the files of a task, also where they only lead
    through these: those that it names, by path, module or symbol, then those with its words. One
    whose import was removed from the graph since is omitted.
    """
    from kl_hooks.code.query.search import path_matches
    from kl_hooks.code.query.session import open_graph
    from kl_hooks.index.index import search

    with ws.store.reading("graph") as db:
        if db is None or not hits_of_owner(db, OWNER):
            return []
    signals = task.signals
    with open_graph(ws) as graph:
        mine = dict(zip(task.paths, task.paths, strict=True)) | _files_of(graph, signals)
        every = hits_of_owner(graph.db, OWNER)
        ends = links.of_many(graph.db, [hit.id for hit in every], incoming=False)
        between = {
            hit: [split_id(link.target)[1] for link in ends.get(hit.id, ()) if _is_step(link)]
            for hit in every
        }
        near = {
            hit: name
            for hit in every
            for path, name in mine.items()
            if any(path_matches(file, path) for file in (hit.path, *between[hit]))
        }
        words = [*signals.symbols, *signals.keywords]
        hits = dict.fromkeys(
            [*near, *(hit._replace(rank=0) for hit in search(graph.db, words, limit, (KIND,)))]
        )
        return [
            _candidate(hit, near.get(hit, ""), between.get(hit, ()))
            for hit in hits
            if _is_there(graph, ends.get(hit.id, ()))
        ][:limit]


def _is_step(link: Link) -> bool:
    return link.relation == THROUGH


def _files_of(graph: Graph, signals: Signals) -> dict[str, str]:
    """The files and folders that a task names, and those of the modules and symbols that it names →
    that name.
    """
    from kl_hooks.code.query.lookup import SYMBOLS

    name_of_path = {path: path for path in signals.paths}
    for name in signals.symbols:
        last = name.rpartition(".")[2]
        rows = graph.db.rows(f"SELECT DISTINCT path, id FROM {SYMBOLS} WHERE name = ?", (last,))
        for path, identifier in rows:
            if f".{identifier.partition(':')[2]}".endswith(f".{name}"):
                name_of_path.setdefault(path, name)
    return name_of_path


def _is_there(graph: Graph, ends: Sequence[Link]) -> bool:
    """Whether the module still reaches what the check found that it imports, at whatever line: by
    an import of its own, or by imports of the files in between.

    `ends`: the links of the violation.
    """
    modules = {link.relation: split_id(link.target)[1] for link in ends}
    imported = modules.get("imported", "")
    todo = [modules.get("importer", "")]
    between = [split_id(link.target)[1] for link in ends if _is_step(link)]
    marks = ", ".join("?" * len(between))
    rows = graph.db.rows(f"SELECT module FROM files WHERE path IN ({marks})", tuple(between))
    waiting = {module for (module,) in rows}
    while todo:
        imports = links.outgoing(graph.db, make_id("namespace", todo.pop()), "imports")
        names = [f"{split_id(link.target)[1]}." for link in imports]
        if any(name.startswith(f"{imported}.") for name in names):
            return True
        reached = {
            module for module in waiting if any(name.startswith(f"{module}.") for name in names)
        }
        waiting -= reached
        todo += reached
    return False


def _candidate(hit: Hit, named: str, between: Sequence[str]) -> Candidate:
    """`named`: what the task calls the file by; empty where only words fit. `between`: the files
    that the import leads through.
    """
    title, _, receipt = hit.title.partition(FOUND_BY)
    place = f"{hit.path}:{hit.line}"
    files = (hit.path, *between)
    if named and all(named not in file for file in files):
        whose = f"in the file of {named}"
    else:
        whose = ""
    if receipt:
        receipt_text = f"receipt {receipt[:12]}"
    else:
        receipt_text = ""
    lines = [f"{place} {title}", whose, f"hint: kl arch explain {hit.path}", receipt_text]
    return Candidate(
        id=hit.id,
        kind=KIND,
        title=title,
        text="\n".join(filter(None, lines)),
        summary=f"{place} {title}",
        path=hit.path,
        line=hit.line,
        tier=Tier.INFERRED,
        freshness="current",
        reasons=(
            (
                "an import in a file of the task that the manifest forbids"
                if named
                else "has words of the task"
            ),
        ),
    )
