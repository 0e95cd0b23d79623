"""Health: how many records something speaks against, and what; counts that can fail CI."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kl_hooks.clock import micros
from kl_hooks.errors import KlError
from kl_hooks.model.ids import RECORD_ID, split
from kl_hooks.records.events import Event, list_events
from kl_hooks.records.liveness import stale_reasons as no_longer
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.repository import is_expired
from kl_hooks.records.retrieval import NAMED_CATEGORIES, record_text
from kl_hooks.records.sync import sync
from kl_hooks.records.validate import InvalidValue, node_id
from kl_hooks.upkeep import judge
from kl_hooks.upkeep.against import forbidden
from kl_hooks.upkeep.judge import SORTS, USES, Against

if TYPE_CHECKING:
    from kl_hooks.model.manifest import Manifest
    from kl_hooks.model.problem import Problem
    from kl_hooks.model.record import Record
    from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Health:
    """What was looked at and found."""

    records: int
    """Live records."""
    found: tuple[Against, ...]
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


def look(ws: Workspace) -> Health:
    """The health of everything that is live, or would be if it could be read."""
    caught, blind = sync(ws), []
    all_ = list_records(ws, RecordFilter(expired=True))
    records = [one for one in all_ if not one.archived and (one.broken or one.status in ws.kinds[one.kind].live)]
    named = {one.id: _named(ws, one) for one in records}
    there, why = _there(ws, {name for names in named.values() for name in names})
    manifest, trouble = _manifest(ws)
    blind += [line for line in (why, trouble, caught.trouble) if line]
    happened = list_events(ws)
    seeds, blind_seeds = _seeds(ws)
    blind += blind_seeds
    used, since = _used(happened), min((micros(one.at) for one in happened), default=0)
    if not used:
        blind.append("unused: no Event tells yet what was given to anybody")
    never = list(_never_valid(ws))
    offered = [one for one in records if ws.kinds[one.kind].share not in NAMED_CATEGORIES]
    decisions = [one for one in records if one.kind == "decision"]
    memories = [one for one in records if one.kind == "memory"]
    governed = {one.id: [i for i in map(_node, one.many("governs")) if i] for one in decisions}
    over = [one.id for one in records if is_expired(ws, one)]
    found = [
        *judge.broken(records), *never, *judge.stale(records, no_longer(ws, records) | seeds, over),
        *judge.ruled_twice(decisions, governed), *forbidden(memories, named, manifest),
        *(judge.unanchored(records, named, there) if not why else ()),
        *judge.long(records, {one.id: len(record_text(ws.kinds[one.kind], one)) for one in records}),
        *(judge.unused(offered, used, ws.clock.now(), since) if used else ()),
    ]  # fmt: skip
    order = sorted(found, key=lambda one: (SORTS.index(one.sort), one.id))
    return Health(len(records) + len(never), tuple(order), caught.problems, tuple(blind))


def _never_valid(ws: Workspace) -> Iterator[Against]:
    """Authored files that no reading has ever understood: no record stands for them."""
    with ws.store.reading("graph") as db:
        rows = db.rows("SELECT path, kind, error FROM authored WHERE id = '' ORDER BY path") if db is not None else []
    for path, kind, error in rows:
        problems = json.loads(error)
        yield Against(path, kind, "broken", f"{path}: {problems[0][3] if problems else 'it can not be read'}")


def _seeds(ws: Workspace) -> tuple[dict[str, str], list[str]]:
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


def _named(ws: Workspace, record: Record) -> list[str]:
    """Every Id that a record names in its fields of Ids, of the sorts of things that can be looked for."""
    fields = [field.name for field in ws.kinds[record.kind].all_fields if field.type == "ids"]
    nodes = (node for name in fields for one in record.many(name) if (node := _node(one)))
    return list(dict.fromkeys(node for node in nodes if _is_looked_for(node)))


def _is_looked_for(node: str) -> bool:
    from kl_hooks.code.ask import KINDS

    return split(node)[0] in ("file", "adr", *KINDS) or bool(RECORD_ID.fullmatch(node))


def _node(text: str) -> str:
    try:
        return node_id(text)
    except InvalidValue:
        return ""


def _there(ws: Workspace, names: set[str]) -> tuple[set[str], str]:
    """Those of these Ids that are there, and why symbols could not be looked for."""
    bare = {name: name.removeprefix("adr:") for name in names}
    found = {name for name in names if name.startswith("file:") and (ws.root / split(name)[1]).exists()}
    records = {one.id for one in get_records(ws, sorted({i for i in bare.values() if RECORD_ID.fullmatch(i)}))}
    found |= {name for name in names if bare[name] in records}
    symbols = {name for name in names - found if split(name)[0] not in ("", "file", "adr")}
    if not symbols:
        return found, ""
    from kl_hooks.code.asking.opened import opened
    from kl_hooks.code.asking.stored import by_ids as symbols_by_ids

    try:
        with opened(ws) as graph:
            return found | set(symbols_by_ids(graph.db, symbols)), ""
    except KlError as problem:
        return found, f"unanchored: {problem}"


def _manifest(ws: Workspace) -> tuple[Manifest | None, str]:
    from kl_hooks.arch.kept import load_manifest
    from kl_hooks.config.files import read_small
    from kl_hooks.model.manifest import MANIFEST

    try:
        text = read_small(ws.root / MANIFEST, within=ws.root)
        return (load_manifest(ws.state.cache, MANIFEST, text), "") if text is not None else (None, "")
    except KlError as problem:
        return None, f"contradicted (memories against the layers): {problem}"


def _used(happened: Iterable[Event]) -> dict[str, int]:
    used: dict[str, int] = {}
    for one in happened:
        if one.name in USES:
            used[one.record] = max(used.get(one.record, 0), micros(one.at))
    return used


def plain(health: Health) -> dict[str, Any]:
    """`kl.knowledge.health/1`."""
    return {
        "schema": "kl.knowledge.health/1", "records": health.records, "healthy": health.healthy,
        "score": health.score, "counts": health.counts, "not_assessed": list(health.not_assessed),
        "found": [{"id": one.id, "kind": one.kind, "sort": one.sort, "reason": one.reason} for one in health.found],
        "problems": [str(problem) for problem in health.problems],
    }  # fmt: skip
