"""Violations as nodes that can be searched: `violation:` and the ID, with the receipt that found
them.

They are those of the last check of the working tree: a fixed one is removed by the next. A failure
to write them is a remark; the verdict never needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.arch.layer_check import Verdict
from kl_hooks.errors import KlError
from kl_hooks.graph import links
from kl_hooks.index.index import Document, Hit, hits_of_owner, replace
from kl_hooks.model.claim import Tier
from kl_hooks.model.manifest import Violation
from kl_hooks.model.package import Candidate
from kl_hooks.model.symbol import Link, make_id, split_id
from kl_hooks.model.text import one_line
from kl_hooks.store.redaction import redact
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.package import Signals, Task


_KIND: Final = "violation"
OWNER: Final = "arch:violations"
"""Owner of all these documents; no file of a graph has this name."""
_THROUGH: Final = "through"
_FOUND_BY: Final = "   receipt "

_Key = tuple[str, str, int, str]
"""Id, path, line, and the title without its receipt."""


def index_violations(ws: Workspace, verdict: Verdict, receipt: Callable[[], str]) -> str:
    """Replace the indexed violations by those of `verdict`, accepted ones too; return a failure in
    one line.

    `receipt` gives the id of this check's receipt, empty for none; it is asked only where there is
    a new violation. One that was known keeps the receipt that found it first, and where nothing
    changed nothing is written.
    """
    if not ws.initialized:
        return ""
    try:
        with ws.store.reading("graph") as db:
            if db:
                indexed = {
                    _key(hit.id, hit.path, hit.line, hit.title): hit.title
                    for hit in hits_of_owner(db, OWNER)
                }
            else:
                indexed = {}
            linked = (
                db is not None
                and len(links.of_many(db, [key[0] for key in indexed], incoming=False)) > 0
            )
        wanted = [
            *_titled(verdict.violations, ""),
            *_titled(verdict.accepted, " (accepted in baseline)"),
        ]
        now_known = {
            _key(make_id(_KIND, one.id), one.path, one.line, title) for one, title in wanted
        }
        if indexed.keys() == now_known and (linked or not indexed):
            return ""
        now = receipt() if wanted else ""
        documents = [_document(one, title, indexed, now) for one, title in wanted]
        with ws.store.writing("graph", "kl arch check") as db, db.transaction():
            replace(db, OWNER, documents)
            links.replace_many(db, {OWNER: [link for one, _ in wanted for link in _links(one)]})
    except (KlError, OSError) as problem:
        return f"violations can't be searched: {problem}"
    return ""


def _links(violation: Violation) -> Iterable[Link]:
    """From a violation to the file that it is in, the modules at both ends, the files that it
    leads through, and the decision that it breaks.
    """
    identifier = make_id(_KIND, violation.id)
    ends = [
        ("found_in", make_id("file", violation.path)),
        ("importer", make_id("namespace", violation.importer)),
        ("imported", make_id("namespace", violation.imported)),
    ]
    if violation.decision:
        ends.append(("violates", make_id("adr", violation.decision)))
    ends += [(_THROUGH, make_id("file", place.rpartition(":")[0])) for place in violation.via]
    return [
        Link(identifier, relation, target, OWNER, violation.line, "check")
        for relation, target in ends
    ]


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
            [*near, *(hit._replace(rank=0) for hit in search(graph.db, words, limit, (_KIND,)))]
        )
        return [
            _candidate(hit, near.get(hit, ""), between.get(hit, ()))
            for hit in hits
            if _is_there(graph, ends.get(hit.id, ()))
        ][:limit]


def _is_step(link: Link) -> bool:
    return link.relation == _THROUGH


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
    imported, todo = modules.get("imported", ""), [modules.get("importer", "")]
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
    title, _, receipt = hit.title.partition(_FOUND_BY)
    place = f"{hit.path}:{hit.line}"
    files = (hit.path, *between)
    whose = f"in the file of {named}" if named and all(named not in file for file in files) else ""
    receipt_text = f"receipt {receipt[:12]}" if receipt else ""
    lines = [f"{place} {title}", whose, f"hint: kl arch explain {hit.path}", receipt_text]
    return Candidate(
        id=hit.id,
        kind=_KIND,
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


def _titled(violations: Iterable[Violation], suffix: str) -> list[tuple[Violation, str]]:
    """Each with its title; of several on one line, and those whose path no database can hold, one
    or none.
    """
    rows = {}
    for violation in violations:
        chain = f" through {' -> '.join(violation.via)}" if violation.via else ""
        title = (
            f"{violation.source_layer} must not import {violation.target_layer}: {violation.importer} imports"
            f" {violation.imported}{chain}{suffix}"
        )
        # SQLite stores text as UTF-8, which has no lone surrogates (PEP 383 makes them of
        # undecodable bytes)
        if not any(
            "\ud800" <= sign <= "\udfff"
            for sign in f"{violation.path}{violation.importer}{violation.imported}{violation.via}"
        ):
            rows[violation.fingerprint, violation.path, violation.line] = (
                violation,
                one_line(title, 400),
            )
    return list(rows.values())


def _key(identifier: str, path: str, line: int, title: str) -> _Key:
    return identifier, path, line, title.partition(_FOUND_BY)[0]


def _document(violation: Violation, title: str, indexed: dict[_Key, str], receipt: str) -> Document:
    identifier = make_id(_KIND, violation.id)
    found_by = f"{title}{_FOUND_BY}{receipt}" if receipt else title
    whole = indexed.get(_key(identifier, violation.path, violation.line, title), found_by)
    body = redact(
        f"{violation.statement} {violation.rule} {violation.decision} {violation.method} drift violation"
    )
    return Document(identifier, _KIND, violation.path, violation.line, whole, body)
