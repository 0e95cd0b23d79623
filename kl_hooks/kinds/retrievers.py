"""Retrievers of records that concern a task whatever its words are.

Anchored records govern, or are about, files and symbols that the task names: as paths, as symbols, in a diff or
in a stack trace. Always offered are active objectives, the features a task names with the feedback on them, and
failures that match it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kl_hooks.code.asking.stored import by_ids, find, in_file
from kl_hooks.code.catch_up import catch_up
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.kinds.failure import failure_candidate
from kl_hooks.kinds.feature import feature_ids, specification_files
from kl_hooks.kinds.objective import objective_candidate
from kl_hooks.kinds.turn import continuation, is_rejected, last_turns
from kl_hooks.model.ids import split
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.liveness import is_live, stale_reasons
from kl_hooks.records.query import RecordFilter, list_records, search_records
from kl_hooks.records.repository import KNOWLEDGE_FOLDER
from kl_hooks.records.retrieval import NAMED_CATEGORIES, demote_uncommitted, record_candidate
from kl_hooks.records.validate import InvalidValue, node_id
from kl_hooks.store.rows import marks

if TYPE_CHECKING:
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.model.task import Task
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace


_MAX_PER_KIND: Final = 3
"""Records of one kind that are given; the others are counted."""
_SYMBOLS: Final = 3
"""Symbols that come with one record."""
_RELATIONS: Final = ("adr_governs", "governs", "about")
_NAMES: Final = 200
_PATHS: Final = 50
_AMBIGUOUS: Final = 5
"""A plain name that more symbols share points at none of them."""
_FOLDER: Final = 2
"""Distance of a record about the folder that a file lies in; one more for each level above."""
_DIFF: Final = re.compile(r"^(?:diff --git a/(\S+) b/(\S+)|(?:---|\+\+\+) [ab]/([^\t\n]+))", re.MULTILINE)
_FRAME: Final = re.compile(r"""File ["']([^"'\n]{1,500})["'], line|^\s*(\S{1,300}\.\w{1,5}):\d+""", re.MULTILINE)
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_QUALIFIED: Final = re.compile(r"@.+?\.py(?=\.|$)")
_Distances = Mapping[str, tuple[int, str]]
"""Node → (distance from what the task names, what it names)."""


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A record, how far what it is about is from what the task names, and which that is."""

    record: Record
    distance: int
    node: str
    named: str


def find_anchored(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """The records anchored to what the task names, nearest first, each with its symbols; those beyond are marked."""
    kinds = tuple(k.name for k in ws.kinds.values() if k.share not in NAMED_CATEGORIES and _anchor_fields(ws, k.name))
    bound = [
        one
        for one in list_records(ws, RecordFilter(kinds))
        if any(one.many(name) for name in _anchor_fields(ws, one.kind))
    ]
    if not bound:
        return []
    with suppress(EnvironmentProblem):  # what the graph knows from before is better than nothing
        catch_up(ws)
    with ws.store.reading("graph") as db:
        paths, symbols = _files_and_symbols_in(ws, db, task.text, task.signals.paths)
        found = _nearest(ws, bound, _distances(db, paths, symbols))
        outdated = stale_reasons(ws, [one.record for one in found])
        found = [one for one in found if one.record.id not in outdated]
        return demote_uncommitted(ws, list(_candidates(ws, db, found))[:limit])


def _files_and_symbols_in(
    ws: Workspace, db: Database | None, text: str, paths: Sequence[str] = ()
) -> tuple[list[str], list[Symbol]]:
    """Return the files and the symbols of this repository that a text names."""
    text = text[:50_000]
    said = [*paths, *(one for match in _DIFF.findall(text) for one in match if one)]
    said += [one for match in _FRAME.findall(text) for one in match if one]
    found = dict.fromkeys(
        path for one in list(dict.fromkeys(said))[:_PATHS] if (path := _path_in_repository(ws, db, one))
    )
    names = list(dict.fromkeys(name for name in _NAME.findall(text) if _looks_like_symbol(name)))[:_NAMES]
    return list(found), list(_symbols_named(db, names)) if db is not None else []


def _distances(db: Database | None, paths: Sequence[str], symbols: Sequence[Symbol]) -> dict[str, tuple[int, str]]:
    """Return every node that a record may be about, with its distance from these files and symbols."""
    found: dict[str, tuple[int, str]] = {}

    def add(node: str, distance: int, named: str) -> None:
        if node not in found or distance < found[node][0]:
            found[node] = (distance, named)

    for path in paths:
        add(f"file:{path}", 0, path)
        for number, folder in enumerate(_folders(path)):
            add(f"file:{folder}", _FOLDER + number, path)
        for inside in in_file(db, path) if db is not None else ():
            add(inside.id, 0 if inside.id.startswith("namespace:") else 1, path)
    for symbol in symbols:
        plain = _QUALIFIED.sub("", split(symbol.id)[1])
        for node in (symbol.id, f"file:{plain}"):  # a plain dotted name is stored as a path
            add(node, 0, plain)
        for part in in_file(db, symbol.path) if db is not None else ():
            name = split(part.id)[1]
            if name.startswith(f"{split(symbol.id)[1]}.") or split(symbol.id)[1].startswith(f"{name}."):
                add(part.id, 1, plain)
        add(f"file:{symbol.path}", 1, plain)
        for number, folder in enumerate(_folders(symbol.path)):
            add(f"file:{folder}", _FOLDER + number, plain)
    return found


def _nearest(ws: Workspace, records: Sequence[Record], nodes: _Distances) -> list[_Anchored]:
    files = [node.removeprefix("file:") for node in nodes if node.startswith("file:")]
    found = [one for record in records if (one := _anchored(ws, record, nodes, files)) and is_live(ws, record)]
    return sorted(found, key=lambda one: (one.distance, one.record.kind, one.record.id))


def _anchored(ws: Workspace, record: Record, nodes: _Distances, files: Sequence[str]) -> _Anchored | None:
    best: _Anchored | None = None
    for said in (one for name in _anchor_fields(ws, record.kind) for one in record.many(name)):
        try:
            node = node_id(said)
        except InvalidValue:
            continue
        place = nodes.get(node)
        if place is None and any(sign in node for sign in "*?["):
            pattern = node.removeprefix("file:")
            place = next(((_FOLDER, path) for path in files if fnmatchcase(path, pattern)), None)
        if place is not None and (best is None or place[0] < best.distance):
            best = _Anchored(record, place[0], node, place[1])
    return best


def _candidates(ws: Workspace, db: Database | None, found: Sequence[_Anchored]) -> Iterator[Candidate]:
    given: dict[str, int] = {}
    for one in found:
        kind = one.record.kind
        given[kind] = given.get(kind, 0) + 1
        plain = _candidate(ws, one.record)
        if given[kind] > _MAX_PER_KIND:
            yield replace(plain, beyond=f"anchored further away: the nearest {_MAX_PER_KIND} of {kind} are given")
            continue
        does = "governs" if one.record.many("governs") else "is about"
        reason = f"it {does} {split(one.node)[1] or one.node}, and the task names {one.named}"
        yield replace(plain, standing=True, reasons=(*plain.reasons, reason))
        if db is not None:
            yield from _governed(db, one)


def _candidate(ws: Workspace, record: Record) -> Candidate:
    if record.kind == "failure":
        return failure_candidate(ws, record)
    return objective_candidate(ws, record) if record.kind == "objective" else record_candidate(ws, record)


def _governed(db: Database, one: _Anchored) -> Iterator[Candidate]:
    """The symbols that a record says it holds for: those it names, or of a file it names what stands at its top."""
    nodes = [node for said in one.record.many("governs") if (node := _node(said))]
    known = by_ids(db, [node for node in nodes if not node.startswith("file:")])
    symbols = [known[node] for node in nodes if node in known]
    if one.node.startswith("file:"):
        inside = in_file(db, one.node.removeprefix("file:"))
        symbols += [s for s in inside if s.id.split(":")[0] in ("type", "interface", "function") and _is_top(s, inside)]
    for symbol in symbols[:_SYMBOLS]:
        line = f"{symbol.path}:{symbol.line} {symbol.signature}"
        yield Candidate(
            id=symbol.id, kind="symbol", title=symbol.signature, text=f"{line}\n{symbol.doc}".rstrip(), summary=line,
            path=symbol.path, line=symbol.line, standing=True, reasons=(f"governed by {one.record.id}",),
        )  # fmt: skip


def _is_top(symbol: Symbol, inside: Sequence[Symbol]) -> bool:
    owner = split(symbol.id)[1].rpartition(".")[0]
    return not any(split(one.id)[1] == owner for one in inside if not one.id.startswith("namespace:"))


def _node(said: str) -> str:
    try:
        return node_id(said)
    except InvalidValue:
        return ""


def _anchor_fields(ws: Workspace, kind: str) -> list[str]:
    """The fields of a kind that say which files and symbols its records are about."""
    return [one.name for one in ws.kinds[kind].all_fields if one.type == "ids" and one.relation in _RELATIONS]


def _folders(path: str) -> list[str]:
    """The folders of a path, the innermost first."""
    return [str(one) for one in PurePosixPath(path).parents if str(one) != "."]


def _path_in_repository(ws: Workspace, db: Database | None, said: str) -> str:
    """The file or folder of this repository that is meant: its path, or the longest end of a foreign one."""
    name = said.replace("\\", "/").strip().removeprefix("./").rstrip("/")
    root = f"{ws.root.as_posix()}/"
    parts = PurePosixPath(name.removeprefix(root)).parts
    parts = tuple(part for part in parts if part != "/")
    if not parts or ".." in parts:
        return ""
    for start in range(min(len(parts), 12)):
        path = "/".join(parts[start:])
        if (start == 0 or "/" in path or "." in path) and (ws.root / path).exists():
            return path
    if db is None:
        return ""
    ends = [row[0] for row in db.rows("SELECT path FROM files WHERE path LIKE ?", (f"%/{parts[-1]}",))]
    fitting = [path for path in ends if path.endswith(f"/{name}")]
    return fitting[0] if len(fitting) == 1 else ""


def _looks_like_symbol(name: str) -> bool:
    """True for a dotted name, and for a word that is spelled as code, or as a class: `Basket`, `add_line`."""
    return "." in name or "_" in name.strip("_") or name[:1].isupper() or any(c.isupper() for c in name)


def _symbols_named(db: Database, names: Sequence[str]) -> Iterator[Symbol]:
    by_last: dict[str, list[str]] = {}
    for name in names:
        by_last.setdefault(name.rpartition(".")[2], []).append(name)
    lasts = list(by_last)
    found = find(db, f"name IN ({marks(lasts)}) AND id NOT LIKE 'test:%'", lasts) if lasts else []
    for last, asked in by_last.items():
        fitting = [one for one in found if split(_QUALIFIED.sub("", one.id))[1].rpartition(".")[2] == last]
        for name in asked:
            some = [one for one in fitting if _has_name(one, name)]
            if len(some) <= _AMBIGUOUS:
                yield from some


def _has_name(symbol: Symbol, name: str) -> bool:
    plain = _QUALIFIED.sub("", split(symbol.id)[1])
    return plain == name or plain.endswith(f".{name}")


_MAX_OBJECTIVES: Final = 5
"""Active objectives that every package tells of, those changed last first."""
_MAX_FAILURES: Final = 5
_MAX_FEATURES: Final = 3


def find_always_offered(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """At most `limit` of them: feedback and features first, then objectives, then failures."""
    found = [*_features(ws, task), *_objectives(ws), *_failures(ws, task)]
    return demote_uncommitted(ws, list({one.id: one for one in found}.values())[:limit])


def _objectives(ws: Workspace) -> Iterator[Candidate]:
    active = [one for one in list_records(ws, RecordFilter(("objective",), ("active",))) if is_live(ws, one)]
    active.sort(key=lambda one: (one.text("updated") or one.text("date"), one.id), reverse=True)
    more = len(active) - _MAX_OBJECTIVES
    for number, record in enumerate(active[:_MAX_OBJECTIVES]):
        made = replace(objective_candidate(ws, record), standing=True, reasons=("an active objective",))
        if number == 0:
            others = f"(+{len(active) - 1} more active) " if len(active) > 1 else ""
            said = f"\n{len(active)} objectives are active; the newest {_MAX_OBJECTIVES} are shown" if more > 0 else ""
            line = made.summary.removeprefix(f"{record.id} ")  # the line above it names the ID
            made = replace(made, pinned=True, text=made.text + said, summary=others + line)
        if more > 0 and number == _MAX_OBJECTIVES - 1:
            made = replace(made, text=f"{made.text}\nand {more} more active objectives: kl objective status")
        yield made


def _features(ws: Workspace, task: Task) -> Iterator[Candidate]:
    named = feature_ids(task.text)[:_MAX_FEATURES]
    if not named:
        return
    records = {one.id.upper(): one for one in list_records(ws, RecordFilter(("feature",))) if is_live(ws, one)}
    turns = [one for one in list_records(ws, RecordFilter(("turn",))) if is_live(ws, one)]
    files = specification_files(ws.root)
    for name in named:
        yield from _turns(ws, turns, name)
        if name in records:
            yield replace(record_candidate(ws, records[name]), standing=True, reasons=("the task names it",))
        elif name in files and not files[name].startswith(KNOWLEDGE_FOLDER):
            text = f"{name} is specified in {files[name]}"
            yield Candidate(f"file:{files[name]}", "feature", name, text, text, path=files[name], line=1, standing=True,
                            authority="human", reasons=("the task names it",))  # fmt: skip


def _turns(ws: Workspace, turns: list[Record], feature: str) -> Iterator[Candidate]:
    """For every task of the feature: where its turns stand, if the last one was rejected."""
    tasks = sorted({one.text("task_id") for one in turns if one.text("feature_id").upper() == feature})
    for name in tasks:
        last = last_turns(turns, feature, name)
        if last and is_rejected(last[-1]):
            must = one_line(last[-1].text("coach_feedback"), 160)
            yield replace(record_candidate(ws, last[-1]), text=continuation(last[-1:]), standing=True,
                          summary=f"{last[-1].title} was rejected. MUST ADDRESS: {must}",
                          reasons=("feedback on it must be addressed",))  # fmt: skip


def _failures(ws: Workspace, task: Task) -> Iterator[Candidate]:
    """Failures that fit, with the warning and the count. They are held to the floor like everything else."""
    signals = task.signals
    words = [*signals.symbols, *signals.paths, *signals.keywords, *signals.failures]
    if not words or not list_records(ws, RecordFilter(("failure",)), 1):
        return
    for record in search_records(ws, words, RecordFilter(("failure",)), _MAX_FAILURES):
        if not is_live(ws, record):
            continue
        yield failure_candidate(ws, record)
