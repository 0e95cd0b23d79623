"""Retrievers of records that concern a task whatever its words are.

Anchored records govern, or are about, files and symbols that the task names: as paths, as symbols,
in a diff or in a stack trace. Always offered are active objectives, the features a task names with
the feedback on them, and failures that match it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kl_hooks.code.query.lookup import select_symbols, symbols_by_id, symbols_in_file
from kl_hooks.code.query.session import refresh_graph
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.hookspecs import Retriever
from kl_hooks.kinds.failure import failure_candidate
from kl_hooks.kinds.feature import feature_ids, specification_files
from kl_hooks.kinds.objective import continuation, is_rejected, last_turns, reported_progress
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import path_of, split_id
from kl_hooks.model.text import counted, one_line
from kl_hooks.records.liveness import live_records, stale_reasons
from kl_hooks.records.query import RecordFilter, list_records, search_records
from kl_hooks.records.repository import KNOWLEDGE_FOLDER
from kl_hooks.records.retrieval import NAMED_CATEGORIES, demote_uncommitted, record_candidate
from kl_hooks.records.validate import InvalidValue, node_id
from kl_hooks.store.database import placeholders

if TYPE_CHECKING:
    from kl_hooks.model.package import Task
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_MAX_PER_KIND: Final = 3
"""Anchored records of one kind that are offered; the others are counted."""
_MAX_SYMBOLS: Final = 3
"""Symbols that come with one record."""
_MAX_NAMES: Final = 200
_MAX_PATHS: Final = 50
_MAX_LENGTH: Final = 50_000
_MAX_OBJECTIVES: Final = 5
"""Active objectives in every package, those changed last first."""
_MAX_FAILURES: Final = 5
_MAX_FEATURES: Final = 3
_AMBIGUOUS: Final = 5
"""A plain name that more symbols share points at none of them."""
_FOLDER: Final = 2
"""Distance of a record about the folder of a file; one more for each level above."""
_RELATIONS: Final = ("adr_governs", "governs", "about")
_DIFF: Final = lazy_pattern(
    r"^(?:diff --git a/(\S+) b/(\S+)|(?:---|\+\+\+) [ab]/([^\t\n]+))", re.MULTILINE
)
# CPython's traceback (`File "a.py", line 3`), and `a.py:3` as pytest, ruff and mypy print it
_FRAME: Final = lazy_pattern(
    r"""File ["']([^"'\n]{1,500})["'], line|^\s*(\S{1,300}\.\w{1,5}):\d+""", re.MULTILINE
)
_NAME: Final = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_QUALIFIER: Final = lazy_pattern(r"@.+?\.py(?=\.|$)")


class _Match(NamedTuple):
    """How far a node is from what the task names, and what that is."""

    distance: int
    named: str


class _Anchored(NamedTuple):
    """A record with its nearest node."""

    record: Record
    node: str
    match: _Match


def _find_anchored(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Return the records anchored to what the task names, nearest first, each with its symbols."""
    kinds = tuple(
        kind.name
        for kind in ws.kinds.values()
        if kind.budget_category not in NAMED_CATEGORIES and _anchor_fields(ws, kind.name)
    )
    records = [
        one
        for one in list_records(ws, RecordFilter(kinds))
        if any(map(one.many, _anchor_fields(ws, one.kind)))
    ]
    if not records:
        return []
    with suppress(EnvironmentProblem):  # an older graph is better than none
        refresh_graph(ws)
    with ws.store.reading("graph") as db:
        text = "\n".join([*task.names, task.text])
        paths = (*task.paths, *task.signals.paths)
        matches = _matches(db, *_files_and_symbols_in(ws, db, text, paths))
        nearest = _nearest(ws, records, matches)
        stale = stale_reasons(ws, [one.record for one in nearest])
        current = [one for one in nearest if one.record.id not in stale]
        return demote_uncommitted(ws, list(_candidates(ws, db, current))[:limit])


def _anchor_fields(ws: Workspace, kind: str) -> list[str]:
    """The fields with the files and symbols that a record of this kind is about."""
    return [
        one.name
        for one in ws.kinds[kind].all_fields
        if one.type == "ids" and one.relation in _RELATIONS
    ]


def _files_and_symbols_in(
    ws: Workspace, db: Database | None, text: str, paths: Sequence[str]
) -> tuple[list[str], list[Symbol]]:
    """The files and the symbols of this repository that a text names."""
    # a pasted log may be of any length, and each name in it is looked up
    text = text[:_MAX_LENGTH]
    named = [
        *paths,
        *(
            path
            for pattern in (_DIFF, _FRAME)
            for match in pattern.findall(text)
            for path in match
            if path
        ),
    ]
    files = [_path_in_repository(ws, db, path) for path in list(dict.fromkeys(named))[:_MAX_PATHS]]
    # dotted, or spelled as code or as a class: `add_line`, `Basket`
    odd = (
        name
        for name in _NAME.findall(text)
        if "." in name or "_" in name.strip("_") or name.lower() != name
    )
    names = list(dict.fromkeys(odd))[:_MAX_NAMES]
    return list(dict.fromkeys(filter(None, files))), (
        list(_symbols_named(db, names)) if db is not None else []
    )


def _path_in_repository(ws: Workspace, db: Database | None, text: str) -> str:
    """The file or folder that is meant: its path, or the longest end of a foreign path that exists
    here.
    """
    name = text.replace("\\", "/").strip().removeprefix("./").rstrip("/")
    parts = tuple(
        part
        for part in PurePosixPath(name.removeprefix(f"{ws.root.as_posix()}/")).parts
        if part != "/"
    )
    if not parts or ".." in parts:
        return ""
    # a trace from CI has another root: its longest end that exists here is meant
    for start in range(min(len(parts), 12)):
        path = "/".join(parts[start:])
        if (start == 0 or "/" in path or "." in path) and ws.exists(path):
            return path
    if db is None:
        return ""
    rows = db.rows("SELECT path FROM files WHERE path LIKE ?", (f"%/{parts[-1]}",))
    # LIKE ignores case in ASCII, and `_` in a name is a wildcard (SQLite), so the end is compared
    # again
    paths = [path for (path,) in rows if path.endswith(f"/{name}")]
    return "" if len(paths) != 1 else paths[0]


def _symbols_named(db: Database, names: Sequence[str]) -> Iterator[Symbol]:
    by_last: dict[str, list[str]] = {}
    for name in names:
        by_last.setdefault(name.rpartition(".")[2], []).append(name)
    if by_last:
        candidates = select_symbols(
            db, f"name IN ({placeholders(by_last)}) AND id NOT LIKE 'test:%'", list(by_last)
        )
    else:
        candidates = []
    for last, whole in by_last.items():
        symbols = [
            (one, plain)
            for one in candidates
            if (plain := _plain_name(one)).rpartition(".")[2] == last
        ]
        for name in whole:
            meant = [one for one, plain in symbols if plain == name or plain.endswith(f".{name}")]
            if len(meant) <= _AMBIGUOUS:
                yield from meant


def _plain_name(symbol: Symbol) -> str:
    """Its dotted name, without the file that distinguishes it from one of the same name."""
    return _QUALIFIER.sub("", split_id(symbol.id)[1])


def _matches(
    db: Database | None, paths: Sequence[str], symbols: Sequence[Symbol]
) -> dict[str, _Match]:
    """Every node that a record may be about, with its distance from these files and symbols."""
    match_of_node: dict[str, _Match] = {}

    def add(node: str, distance: int, named: str) -> None:
        if node not in match_of_node or distance < match_of_node[node].distance:
            match_of_node[node] = _Match(distance, named)

    def add_folders(path: str, named: str) -> None:
        for level, folder in enumerate(PurePosixPath(path).parents):
            if str(folder) != ".":
                add(f"file:{folder}", _FOLDER + level, named)

    for path in paths:
        add(f"file:{path}", 0, path)
        add_folders(path, path)
        for inside in symbols_in_file(db, path) if db is not None else ():
            add(inside.id, 0 if inside.id.startswith("namespace:") else 1, path)
    for symbol in symbols:
        plain = _plain_name(symbol)
        own = split_id(symbol.id)[1]
        for node in (symbol.id, f"file:{plain}"):  # a record may hold a plain dotted name as a path
            add(node, 0, plain)
        for part in symbols_in_file(db, symbol.path) if db is not None else ():
            name = split_id(part.id)[1]
            if name.startswith(f"{own}.") or own.startswith(f"{name}."):
                add(part.id, 1, plain)
        add(f"file:{symbol.path}", 1, plain)
        add_folders(symbol.path, plain)
    return match_of_node


def _nearest(
    ws: Workspace, records: Sequence[Record], matches: Mapping[str, _Match]
) -> list[_Anchored]:
    files = [node.removeprefix("file:") for node in matches if node.startswith("file:")]
    anchored = [one for record in records if (one := _anchored(ws, record, matches, files))]
    live = {record.id for record in live_records(ws, [one.record for one in anchored])}
    anchored = [one for one in anchored if one.record.id in live]
    return sorted(anchored, key=lambda one: (one.match.distance, one.record.kind, one.record.id))


def _anchored(
    ws: Workspace, record: Record, matches: Mapping[str, _Match], files: Sequence[str]
) -> _Anchored | None:
    best: _Anchored | None = None
    for text in (one for name in _anchor_fields(ws, record.kind) for one in record.many(name)):
        node = _node_of(text)
        match = matches.get(node) if node else None
        if match is None and node.startswith("test:"):
            match = matches.get(f"file:{path_of(node)}")
        if match is None and any(sign in node for sign in "*?["):
            pattern = node.removeprefix("file:")
            # not fnmatch(), which folds case where the machine's paths do (os.path.normcase); git's
            # paths keep theirs
            match = next(
                (_Match(_FOLDER, path) for path in files if fnmatchcase(path, pattern)), None
            )
        if match is not None and (best is None or match.distance < best.match.distance):
            best = _Anchored(record, node, match)
    return best


def _node_of(text: str) -> str:
    """The node that a record names; empty where it is none."""
    try:
        return node_id(text)
    except InvalidValue:
        return ""


def _candidates(
    ws: Workspace, db: Database | None, anchored: Sequence[_Anchored]
) -> Iterator[Candidate]:
    shown_of_kind: dict[str, int] = {}
    for record, node, match in anchored:
        shown_of_kind[record.kind] = shown_of_kind.get(record.kind, 0) + 1
        candidate = _candidate(ws, record)
        if shown_of_kind[record.kind] > _MAX_PER_KIND:
            beyond = (
                f"anchored further away: the nearest {_MAX_PER_KIND} of {record.kind} are given"
            )
            yield candidate._replace(beyond=beyond)
            continue
        if record.many("governs"):
            verb = "governs"
        else:
            verb = "is about"
        reason = f"it {verb} {split_id(node)[1] or node}, and the task names {match.named}"
        yield candidate._replace(is_lasting=True, reasons=(*candidate.reasons, reason))
        if db is not None:
            yield from _governed_symbols(db, record, node)


def _candidate(ws: Workspace, record: Record) -> Candidate:
    if record.kind == "failure":
        return failure_candidate(ws, record)
    if record.kind == "objective":
        return _objective_candidate(ws, record)
    return record_candidate(ws, record)


def _governed_symbols(db: Database, record: Record, anchor: str) -> Iterator[Candidate]:
    """The symbols that a record governs: those it names, and the top-level ones of the file it is
    anchored to. A finding or a memory governs nothing; it is about them.
    """
    if record.many("governs"):
        reason = f"governed by {record.id}"
    else:
        reason = f"{record.id} is about its file"
    nodes = [node for text in record.many("governs") if (node := _node_of(text))]
    symbol_by_id = symbols_by_id(db, [node for node in nodes if not node.startswith("file:")])
    symbols = [symbol_by_id[node] for node in nodes if node in symbol_by_id]
    if anchor.startswith("file:"):
        inside = symbols_in_file(db, anchor.removeprefix("file:"))
        owners = {split_id(one.id)[1] for one in inside if not one.id.startswith("namespace:")}
        symbols += [
            one
            for one in inside
            if one.id.startswith(("type:", "interface:", "function:"))
            and split_id(one.id)[1].rpartition(".")[0] not in owners
        ]
    for symbol in symbols[:_MAX_SYMBOLS]:
        yield Candidate(
            id=symbol.id,
            kind="symbol",
            title=symbol.signature,
            text="",
            summary=symbol.doc,
            path=symbol.path,
            line=symbol.line,
            is_lasting=True,
            reasons=(reason,),
        )


def _find_always_offered(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Return feedback and features first, then objectives, then failures."""
    candidates = [*_features(ws, task), *_objectives(ws), *_failures(ws, task)]
    return demote_uncommitted(ws, list({one.id: one for one in candidates}.values())[:limit])


def _live_records(ws: Workspace, kind: str, *statuses: str) -> list[Record]:
    return live_records(ws, list_records(ws, RecordFilter((kind,), statuses)))


def _objectives(ws: Workspace) -> Iterator[Candidate]:
    active = _live_records(ws, "objective", "active")
    active.sort(key=lambda one: (one.text("updated") or one.text("date"), one.id), reverse=True)
    omitted = len(active) - _MAX_OBJECTIVES
    for number, record in enumerate(active[:_MAX_OBJECTIVES]):
        candidate = _objective_candidate(ws, record)._replace(
            is_lasting=True, reasons=("an active objective",)
        )
        if number == 0:
            if len(active) > 1:
                others = f"(+{len(active) - 1} more active) "
            else:
                others = ""
            if omitted > 0:
                count = (
                    f"\n{len(active)} objectives are active; the newest {_MAX_OBJECTIVES} are shown"
                )
            else:
                count = ""
            line = candidate.summary.removeprefix(f"{record.id} ")  # the line above it names the ID
            candidate = candidate._replace(
                pinned=True, text=candidate.text + count, summary=others + line
            )
        if omitted > 0 and number == _MAX_OBJECTIVES - 1:
            candidate = candidate._replace(
                text=(
                    f"{candidate.text}\nand {counted(omitted, 'more active objective')}: kl "
                    "objective status"
                ),
            )
        yield candidate


def _features(ws: Workspace, task: Task) -> Iterator[Candidate]:
    named = feature_ids(task.text)[:_MAX_FEATURES]
    if not named:
        return
    records = {one.id.upper(): one for one in _live_records(ws, "feature")}
    turns = _live_records(ws, "turn")
    files = specification_files(ws.root)
    for name in named:
        yield from _rejected_turns(ws, turns, name)
        if name in records:
            yield record_candidate(ws, records[name])._replace(
                is_lasting=True, reasons=("the task names it",)
            )
        elif name in files and not files[name].startswith(KNOWLEDGE_FOLDER):
            text = f"{name} is specified in {files[name]}"
            yield Candidate(
                f"file:{files[name]}",
                "feature",
                name,
                text,
                text,
                path=files[name],
                line=1,
                is_lasting=True,
                authority="human",
                reasons=("the task names it",),
            )


def _rejected_turns(ws: Workspace, turns: Sequence[Record], feature: str) -> Iterator[Candidate]:
    """For every task of the feature its last turn, if that was rejected."""
    for task in sorted(
        {one.text("task_id") for one in turns if one.text("feature_id").upper() == feature}
    ):
        last = last_turns(turns, feature, task)[-1:]
        if last and is_rejected(last[0]):
            feedback = one_line(last[0].text("coach_feedback"), 160)
            yield record_candidate(ws, last[0])._replace(
                text=continuation(last),
                is_lasting=True,
                summary=f"{last[0].title} was rejected. MUST ADDRESS: {feedback}",
                reasons=("feedback on it must be addressed",),
            )


def _failures(ws: Workspace, task: Task) -> Iterator[Candidate]:
    """Failures that match, with the warning and the count. The relevance threshold applies to them
    too.
    """
    signals = task.signals
    words = [*signals.symbols, *signals.paths, *signals.keywords, *signals.failures]
    if words and list_records(ws, RecordFilter(("failure",)), 1):
        for record in live_records(
            ws, search_records(ws, words, RecordFilter(("failure",)), _MAX_FAILURES)
        ):
            yield failure_candidate(ws, record)


RETRIEVERS: Final = (
    Retriever("anchors", 200, _find_anchored),
    Retriever("standing", 100, _find_always_offered),
)


def _objective_candidate(ws: Workspace, record: Record) -> Candidate:
    """Return an objective as a candidate for a context package: progress and the tasks that
    remain.
    """
    from kl_hooks.records.retrieval import record_candidate

    lines = reported_progress(ws, [record])[record.id].summary(record)
    return record_candidate(ws, record)._replace(text="\n".join(lines), summary=lines[0])
