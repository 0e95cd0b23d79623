"""Health: which records are broken, stale, contradicted, unanchored, over-long or unused; counts that can fail CI.

Contradictions are found by subject alone, never by how similar two texts are. A memory contradicts the manifest
only by a whole import statement, and only for the files that it is about.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import micros
from kl_hooks.errors import KlError
from kl_hooks.model.lifecycle import Lifecycle
from kl_hooks.model.manifest import Layer, Manifest
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import RECORD_ID, split_id
from kl_hooks.records.events import Event, list_events
from kl_hooks.records.liveness import stale_reasons as no_longer
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.repository import is_expired
from kl_hooks.records.retrieval import NAMED_CATEGORIES, record_text
from kl_hooks.records.sync import sync
from kl_hooks.records.validate import InvalidValue, node_id

if TYPE_CHECKING:
    from kl_hooks.model.problem import Problem
    from kl_hooks.workspace import Workspace


SORTS: Final = ("broken", "stale", "contradicted", "unanchored", "over-long", "unused")
"""Worst first."""
_LONGEST: Final = 4_000
"""Characters of a record; a longer one takes most of a package's budget."""
_UNUSED_DAYS: Final = 90
_USES: Final = ("injected", "opened", "reinforced", "outcome")
"""Events that show that somebody had use of a record."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that speaks against one record."""

    id: str
    kind: str
    sort: str
    """One of `SORTS`."""
    reason: str


def _issue(record: Record, sort: str, reason: str) -> Issue:
    """It, of this record."""
    return Issue(record.id, record.kind, sort, reason)


def broken_records(records: Iterable[Record]) -> Iterator[Issue]:
    """Records whose files can't be read today."""
    return (_issue(one, "broken", f"{one.path}: {one.broken}") for one in records if one.broken)


def stale_records(records: Iterable[Record], reasons: Mapping[str, str], ended: Iterable[str]) -> Iterator[Issue]:
    """Records whose subject has changed since (`reasons`), and those that still stand there although they ended."""
    over = set(ended)
    for one in records:
        if one.id in reasons:
            yield _issue(one, "stale", reasons[one.id])
        elif one.id in over:
            yield _issue(one, "stale", f"it ended on {one.text('expires')}")


def long_records(records: Iterable[Record], sizes: Mapping[str, int]) -> Iterator[Issue]:
    """Records that say more than anybody is going to read."""
    for one in records:
        if sizes.get(one.id, 0) > _LONGEST:
            yield _issue(one, "over-long", f"{sizes[one.id]} characters; more than {_LONGEST} crowd others out")


def unanchored_records(
    records: Iterable[Record], named: Mapping[str, Sequence[str]], there: Iterable[str]
) -> Iterator[Issue]:
    """Records that name files, symbols or records of which none is there. `named`: id → Ids that it names."""
    known = set(there)
    for one in records:
        gone = [name for name in named.get(one.id, ()) if name not in known]
        if gone and len(gone) == len(named[one.id]):
            yield _issue(one, "unanchored", f"nothing that it names is there: {', '.join(gone[:3])}")


def unused_records(records: Iterable[Record], used: Mapping[str, int], now: int, since: int = 0) -> Iterator[Issue]:
    """Records that nobody had use of for so long. `used`: id → when it was last of use, microseconds.

    `since`: from when on anybody watched; of the time before, nobody can tell.
    """
    for one in records:
        said = one.text("updated") or one.text("date")
        last = max(used.get(one.id, 0), micros(said) if said else 0, since)
        if last and Lifecycle.old(now, last, _UNUSED_DAYS):
            yield _issue(one, "unused", f"nobody was given it for {(now - last) // 86_400_000_000} days")


def contradicting_decisions(decisions: Iterable[Record], subjects: Mapping[str, Sequence[str]]) -> Iterator[Issue]:
    """Accepted decisions that govern one and the same thing, and do not know of each other.

    `subjects`: id → Ids that it governs. Two that name each other, in whatever field, know.
    """
    ruling: dict[str, list[Record]] = {}
    for one in decisions:
        for subject in dict.fromkeys(subjects.get(one.id, ())):
            ruling.setdefault(subject, []).append(one)
    for subject, some in sorted(ruling.items()):
        for one in some:
            others = [other.id for other in some if other.id != one.id and not _know_each_other(one, other)]
            if others:
                yield _issue(one, "contradicted", f"{', '.join(others)} governs {subject} too")


def _know_each_other(one: Record, other: Record) -> bool:
    return _names(one, other.id) or _names(other, one.id)


def _names(one: Record, identifier: str) -> bool:
    return any(identifier in value for value in one.values.values() if isinstance(value, tuple))


_IMPORT: Final = re.compile(r"(?:^|[`\s])(?:from\s+([A-Za-z_][\w.]*)\s+import\b|import\s+([A-Za-z_][\w.]*\.[\w.]+))")


def imported_modules(text: str) -> list[str]:
    """The modules that import statements in a text name."""
    return list(dict.fromkeys(one or other for one, other in _IMPORT.findall(text)))


def _layer_of(manifest: Manifest, path: str) -> Layer | None:
    """The layer that owns a path; the longest match wins."""
    owned = [(len(p), layer) for layer in manifest.layers for p in layer.paths if path == p or path.startswith(p)]
    return max(owned, key=lambda one: one[0])[1] if owned else None


def _layer_of_module(manifest: Manifest, module: str) -> Layer | None:
    """The layer whose folder bears the module's name, or that of a package it is in."""
    parts = module.split(".")
    for size in range(len(parts), 0, -1):
        tail = "/".join(parts[:size])
        for layer in manifest.layers:
            if any(f"/{p.rstrip('/').removesuffix('.py')}".endswith(f"/{tail}") for p in layer.paths):
                return layer
    return None


def forbidden_imports(
    memories: Iterable[Record], named: Mapping[str, Sequence[str]], manifest: Manifest | None
) -> Iterator[Issue]:
    """The memories that ask for an import which the manifest forbids. `named`: id → Ids that it is about."""
    for one in memories if manifest else ():
        for path in (split_id(name)[1] for name in named.get(one.id, ()) if name.startswith("file:")):
            for module in imported_modules("\n".join((one.title, one.text("pattern"), one.body))):
                yield from _forbidden_import(one, path, module, manifest)


def _forbidden_import(one: Record, path: str, module: str, manifest: Manifest | None) -> Iterator[Issue]:
    if manifest is None:
        return
    source, target = _layer_of(manifest, path), _layer_of_module(manifest, module)
    if source and target and source != target and target.name not in source.may_depend_on:
        rule = f"{manifest.path}:{source.line}"
        yield _issue(one, "contradicted", f"{rule}: {path} ({source.name}) may not import {module} ({target.name})")


@dataclass(frozen=True, slots=True)
class Health:
    """What was looked at and found."""

    records: int
    """Live records."""
    found: tuple[Issue, ...]
    """Worst first."""
    problems: tuple[Problem, ...]
    """What is wrong in authored files."""
    not_assessed: tuple[str, ...]
    """Questions that could not be answered, with the reason."""

    @property
    def healthy(self) -> int:
        """Records that nothing speaks against."""
        return self.records - len({one.id for one in self.found})

    @property
    def score(self) -> int:
        """Of a hundred records so many are healthy, rounded down; 100 where there are none."""
        return 100 * self.healthy // self.records if self.records else 100

    @property
    def counts(self) -> dict[str, int]:
        """Sort → how many records, all sorts."""
        seen = Counter(sort for _, sort in {(one.id, one.sort) for one in self.found})
        return {sort: seen[sort] for sort in SORTS}


def check_health(ws: Workspace) -> Health:
    """The health of everything that is live, or would be if it could be read."""
    caught, blind = sync(ws), []
    all_ = list_records(ws, RecordFilter(expired=True))
    records = [one for one in all_ if not one.archived and (one.broken or one.status in ws.kinds[one.kind].live)]
    named = {one.id: _named_ids(ws, one) for one in records}
    there, why = _existing(ws, {name for names in named.values() for name in names})
    manifest, trouble = _manifest(ws)
    blind += [line for line in (why, trouble, caught.trouble) if line]
    happened = list_events(ws)
    seeds, blind_seeds = _outdated_seeds(ws)
    blind += blind_seeds
    used, since = _last_used(happened), min((micros(one.at) for one in happened), default=0)
    if not used:
        blind.append("unused: no Event tells yet what was given to anybody")
    never = list(_unreadable_files(ws))
    offered = [one for one in records if ws.kinds[one.kind].budget_category not in NAMED_CATEGORIES]
    decisions = [one for one in records if one.kind == "decision"]
    memories = [one for one in records if one.kind == "memory"]
    governed = {one.id: [i for i in map(_node, one.many("governs")) if i] for one in decisions}
    over = [one.id for one in records if is_expired(ws, one)]
    found = [
        *broken_records(records), *never, *stale_records(records, no_longer(ws, records) | seeds, over),
        *contradicting_decisions(decisions, governed), *forbidden_imports(memories, named, manifest),
        *(unanchored_records(records, named, there) if not why else ()),
        *long_records(records, {one.id: len(record_text(ws.kinds[one.kind], one)) for one in records}),
        *(unused_records(offered, used, ws.clock.now(), since) if used else ()),
    ]  # fmt: skip
    order = sorted(found, key=lambda one: (SORTS.index(one.sort), one.id))
    return Health(len(records) + len(never), tuple(order), caught.problems, tuple(blind))


def _unreadable_files(ws: Workspace) -> Iterator[Issue]:
    """Authored files that no reading has ever understood: no record stands for them."""
    with ws.store.reading("graph") as db:
        rows = db.rows("SELECT path, kind, error FROM authored WHERE id = '' ORDER BY path") if db is not None else []
    for path, kind, error in rows:
        problems = json.loads(error)
        yield Issue(path, kind, "broken", f"{path}: {problems[0][3] if problems else 'it can not be read'}")


def _outdated_seeds(ws: Workspace) -> tuple[dict[str, str], list[str]]:
    """ID of a seeded record whose document says something else today → why; and why that could not be told."""
    from kl_hooks.kinds.seeds import document_paths, project_seeds
    from kl_hooks.records.seeding import plan_seeding

    try:
        done = plan_seeding(ws, project_seeds(ws.root)[0], paths=document_paths())
    except (KlError, OSError) as problem:
        return {}, [f"stale (seeds): {problem}"]
    return {
        step.record.id: f"{step.reason} ({step.seed.path}): kl seed"
        for step in done
        if step.record and (step.what in ("updated", "outdated") or (step.what == "kept" and "since" in step.reason))
    }, []


def _named_ids(ws: Workspace, record: Record) -> list[str]:
    """Every Id that a record names in its fields of Ids, of the sorts of things that can be looked for."""
    fields = [field.name for field in ws.kinds[record.kind].all_fields if field.type == "ids"]
    nodes = (node for name in fields for one in record.many(name) if (node := _node(one)))
    return list(dict.fromkeys(node for node in nodes if _is_looked_for(node)))


def _is_looked_for(node: str) -> bool:
    from kl_hooks.code.query.session import SYMBOL_KINDS

    return split_id(node)[0] in ("file", "adr", *SYMBOL_KINDS) or bool(RECORD_ID.fullmatch(node))


def _node(text: str) -> str:
    try:
        return node_id(text)
    except InvalidValue:
        return ""


def _existing(ws: Workspace, names: set[str]) -> tuple[set[str], str]:
    """Those of these Ids that are there, and why symbols could not be looked for."""
    bare = {name: name.removeprefix("adr:") for name in names}
    found = {name for name in names if name.startswith("file:") and (ws.root / split_id(name)[1]).exists()}
    records = {one.id for one in get_records(ws, sorted({i for i in bare.values() if RECORD_ID.fullmatch(i)}))}
    found |= {name for name in names if bare[name] in records}
    symbols = {name for name in names - found if split_id(name)[0] not in ("", "file", "adr")}
    if not symbols:
        return found, ""
    from kl_hooks.code.query.lookup import symbols_by_id as symbols_by_ids
    from kl_hooks.code.query.session import open_graph

    try:
        with open_graph(ws) as graph:
            return found | set(symbols_by_ids(graph.db, symbols)), ""
    except KlError as problem:
        return found, f"unanchored: {problem}"


def _manifest(ws: Workspace) -> tuple[Manifest | None, str]:
    from kl_hooks.arch.manifest import load_manifest
    from kl_hooks.model.manifest import MANIFEST
    from kl_hooks.store.files import read_small

    try:
        text = read_small(ws.root / MANIFEST, within=ws.root)
        return (load_manifest(ws.state.cache, MANIFEST, text), "") if text is not None else (None, "")
    except KlError as problem:
        return None, f"contradicted (memories against the layers): {problem}"


def _last_used(happened: Iterable[Event]) -> dict[str, int]:
    used: dict[str, int] = {}
    for one in happened:
        if one.name in _USES:
            used[one.record] = max(used.get(one.record, 0), micros(one.at))
    return used


def to_dict(health: Health) -> dict[str, Any]:
    """`kl.knowledge.health/1`."""
    return {
        "schema": "kl.knowledge.health/1", "records": health.records, "healthy": health.healthy,
        "score": health.score, "counts": health.counts, "not_assessed": list(health.not_assessed),
        "found": [{"id": one.id, "kind": one.kind, "sort": one.sort, "reason": one.reason} for one in health.found],
        "problems": [str(problem) for problem in health.problems],
    }  # fmt: skip
