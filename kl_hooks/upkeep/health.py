"""Health: which records are broken, stale, contradicted, unanchored, over-long or unused; counts
that can fail CI.

Contradictions are found by what records name, never by how similar two texts are. Two decisions
contradict each other where both supersede the same one. A memory contradicts the manifest only by a
whole import statement, and only for the files that it is about.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import DAY, is_older, micros
from kl_hooks.errors import KlError
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.manifest import Layer, Manifest
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted
from kl_hooks.records.events import Event, list_events
from kl_hooks.records.liveness import stale_reasons
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.repository import is_expired
from kl_hooks.records.retrieval import NAMED_CATEGORIES, record_text
from kl_hooks.records.sync import sync
from kl_hooks.upkeep.named_ids import existing_ids, named_ids

if TYPE_CHECKING:
    from kl_hooks.model.problem import Problem
    from kl_hooks.workspace import Workspace


SORTS: Final = ("broken", "stale", "contradicted", "unanchored", "over-long", "unused")
"""Worst first."""
_LONGEST: Final = 4_000
"""Characters of a record: two thirds of the default budget of a context package."""
_UNUSED_DAYS: Final = 90
_USES: Final = ("injected", "opened", "reinforced", "outcome")
"""Events that show that somebody used a record."""
# `import name` needs a dot in it: without one it may be prose, such as "import data"
_IMPORT: Final = lazy_pattern(
    r"(?:^|[`\s])(?:from\s+([A-Za-z_][\w.]*)\s+import\b|import\s+([A-Za-z_][\w.]*\.[\w.]+))"
)

Named = Mapping[str, Sequence[str]]
"""Record ID → the IDs of files, symbols and records in its fields."""


class Issue(NamedTuple):
    """One finding about one record."""

    id: str
    kind: str
    sort: str
    """One of `SORTS`."""
    reason: str


class Health(NamedTuple):
    """The result of a health check."""

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
        """Records without an issue."""
        return self.records - len({one.id for one in self.found})

    @property
    def score(self) -> int:
        """The percentage of healthy records, rounded down; 100 where there are none."""
        if not self.records:
            return 100
        return 100 * self.healthy // self.records

    @property
    def counts(self) -> dict[str, int]:
        """Sort → how many records, all sorts."""
        counts = Counter(sort for _, sort in {(one.id, one.sort) for one in self.found})
        return {sort: counts[sort] for sort in SORTS}


def check_health(
    ws: Workspace,
    select: Callable[[Sequence[Record]], Sequence[Record]] = list,
    is_counted: Callable[[str], bool] = lambda path: True,
) -> Health:
    """Check every record that is live, or would be if it were readable, current and not expired.

    `select`: returns those of some records that are counted. `is_counted`: whether an authored file
    is that was never readable, by its path.
    """
    synced = sync(ws)
    records = [
        one
        for one in select(list_records(ws, RecordFilter(expired=True)))
        # Not `is_live`, which excludes what is reported here: unreadable, expired and superseded
        # records.
        if not one.archived and (one.broken or one.status in ws.kinds[one.kind].live)
    ]
    named = {record.id: named_ids(ws, record) for record in records}
    existing, why_not = existing_ids(ws, {name for names in named.values() for name in names})
    no_symbols = f"unanchored: {why_not}" if why_not else ""
    manifest, no_manifest = _manifest(ws)
    seeds, no_seeds = _outdated_seeds(ws)
    events = list_events(ws)
    used = _last_uses(events)
    since = min((micros(one.at) for one in events), default=0)
    if used:
        no_events = ""
    else:
        no_events = "unused: no Event shows yet that a record was used"
    unreadable = [issue for issue in _unreadable_files(ws) if is_counted(issue.id)]
    issues = [
        *(_issue(one, "broken", f"{one.path}: {one.broken}") for one in records if one.broken),
        *unreadable,
        *stale_records(
            records,
            stale_reasons(ws, records) | seeds,
            [one.id for one in records if is_expired(ws, one)],
        ),
        *contradicting_decisions(one for one in records if one.kind == "decision"),
        *forbidden_imports([one for one in records if one.kind == "memory"], named, manifest),
        *long_records(
            records, {one.id: len(record_text(ws.kinds[one.kind], one)) for one in records}
        ),
    ]
    if not no_symbols:
        issues += unanchored_records(records, named, existing)
    if used:
        offered = [
            one for one in records if ws.kinds[one.kind].budget_category not in NAMED_CATEGORIES
        ]
        issues += unused_records(offered, used, ws.clock.now(), since)
    issues.sort(key=lambda one: (SORTS.index(one.sort), one.id))
    gaps = tuple(
        line for line in (no_symbols, no_manifest, synced.trouble, no_seeds, no_events) if line
    )
    return Health(len(records) + len(unreadable), tuple(issues), synced.problems, gaps)


def _last_uses(events: Iterable[Event]) -> dict[str, int]:
    """Record → when it was used last, microseconds since 1970."""
    # ISO 8601 in UTC sorts as text, so the last one of a record stays
    return {
        event.record: micros(event.at)
        for event in sorted(events, key=lambda event: event.at)
        if event.name in _USES
    }


def _issue(record: Record, sort: str, reason: str) -> Issue:
    return Issue(record.id, record.kind, sort, reason)


def stale_records(
    records: Iterable[Record], reasons: Mapping[str, str], expired: Iterable[str]
) -> Iterator[Issue]:
    """Yield records whose subject has changed since (`reasons`), and those that expired."""
    over = set(expired)
    for record in records:
        if record.id in reasons:
            yield _issue(record, "stale", reasons[record.id])
        elif record.id in over:
            yield _issue(record, "stale", f"expired on {record.text('expires')}")


def long_records(records: Iterable[Record], sizes: Mapping[str, int]) -> Iterator[Issue]:
    """Yield records so long that others do not fit into a context package. `sizes`: ID →
    characters.
    """
    for record in records:
        if sizes.get(record.id, 0) > _LONGEST:
            yield _issue(record, "over-long", f"{sizes[record.id]} characters (limit: {_LONGEST})")


def unanchored_records(
    records: Iterable[Record], named: Named, existing: Iterable[str]
) -> Iterator[Issue]:
    """Yield records that name files, symbols or records of which none exists."""
    existing_names = set(existing)
    for record in records:
        names = named.get(record.id, ())
        if names and existing_names.isdisjoint(names):
            yield _issue(
                record, "unanchored", f"nothing that it names exists: {', '.join(names[:3])}"
            )


def unused_records(
    records: Iterable[Record], used: Mapping[str, int], now: int, since: int = 0
) -> Iterator[Issue]:
    """Yield records not used for `_UNUSED_DAYS` days. `used`: ID → when it was used last,
    microseconds.

    `since`: the time of the first Event; nothing is known of the time before.
    """
    for record in records:
        changed = record.text("updated") or record.text("date")
        last = max(used.get(record.id, 0), micros(changed) if changed else 0, since)
        if last and is_older(now, last, _UNUSED_DAYS):
            yield _issue(record, "unused", f"not used for {counted((now - last) // DAY, 'day')}")


def contradicting_decisions(decisions: Iterable[Record]) -> Iterator[Issue]:
    """Yield live decisions that supersede the same one and do not name each other in any field, as
    after a merge of two branches.

    Decisions on one file contradict nothing: several may govern it.
    """
    successors: dict[str, list[Record]] = {}
    for decision in decisions:
        for superseded in dict.fromkeys(decision.many("supersedes")):
            successors.setdefault(superseded, []).append(decision)
    for superseded, rivals in sorted(successors.items()):
        for decision in rivals:
            others = [
                other.id
                for other in rivals
                if not (other is decision or _names(decision, other) or _names(other, decision))
            ]
            if others:
                if len(others) == 1:
                    verb = "supersedes"
                else:
                    verb = "supersede"
                reason = f"{', '.join(others)} {verb} {superseded} too"
                yield _issue(decision, "contradicted", reason)


def _names(decision: Record, other: Record) -> bool:
    return any(other.id in value for value in decision.values.values() if isinstance(value, tuple))


def forbidden_imports(
    memories: Iterable[Record], named: Named, manifest: Manifest | None
) -> Iterator[Issue]:
    """Yield memories that ask for an import which the manifest forbids in a file that they name."""
    if manifest is None:
        return
    for memory in memories:
        modules = imported_modules("\n".join((memory.title, memory.text("pattern"), memory.body)))
        for path in (
            split_id(name)[1] for name in named.get(memory.id, ()) if name.startswith("file:")
        ):
            # the longest match wins
            matches = [
                (len(p), layer)
                for layer in manifest.layers
                for p in layer.paths
                if path.startswith(p)
            ]
            if matches:
                source = max(matches, key=lambda length_and_layer: length_and_layer[0])[1]
            else:
                source = None
            for module in modules if source else ():
                target = _layer_of_module(manifest, module)
                if (
                    source
                    and target
                    and source != target
                    and target.name not in source.may_depend_on
                ):
                    where = f"{manifest.path}:{source.line}: {path} ({source.name})"
                    yield _issue(
                        memory, "contradicted", f"{where} may not import {module} ({target.name})"
                    )


def imported_modules(text: str) -> list[str]:
    """Return the modules that import statements in a text name."""
    return list(dict.fromkeys(one or other for one, other in _IMPORT.findall(text)))


def _layer_of_module(manifest: Manifest, module: str) -> Layer | None:
    """Return the layer whose folder is named like the module or a package that it is in."""
    # the longest part first: `shop.core.orders` is in the layer of `core/`, not in one of `shop/`
    parts = module.split(".")
    for size in range(len(parts), 0, -1):
        tail = "/".join(parts[:size])
        for layer in manifest.layers:
            if any(
                f"/{p.rstrip('/').removesuffix('.py')}".endswith(f"/{tail}") for p in layer.paths
            ):
                return layer
    return None


def _unreadable_files(ws: Workspace) -> Iterator[Issue]:
    """Yield authored files that were never readable, so that there is no record of them."""
    with ws.store.reading("graph") as db:
        if db is not None:
            rows = db.rows("SELECT path, kind, error FROM authored WHERE id = '' ORDER BY path")
        else:
            rows = []
    for path, kind, error in rows:
        problems = json.loads(error)
        if problems:
            reason = problems[0][3]
        else:
            reason = "it can't be read"
        yield Issue(path, kind, "broken", f"{path}: {reason}")


def _outdated_seeds(ws: Workspace) -> tuple[dict[str, str], str]:
    """Return the ID of a seeded record whose document has changed → why; and why that could not be
    assessed.
    """
    from kl_hooks.kinds.seeds import document_paths, project_seeds
    from kl_hooks.records.seeding import plan_seeding

    try:
        steps = plan_seeding(ws, project_seeds(ws.root)[0], paths=document_paths())
    except (KlError, OSError) as problem:
        return {}, f"stale (seeds): {problem}"
    return {
        step.record.id: f"{step.reason} ({step.seed.path}): kl seed"
        for step in steps
        if step.record
        and (
            step.what in ("updated", "outdated") or (step.what == "kept" and "since" in step.reason)
        )
    }, ""


def _manifest(ws: Workspace) -> tuple[Manifest | None, str]:
    from kl_hooks.arch.manifest import load_manifest
    from kl_hooks.model.manifest import MANIFEST
    from kl_hooks.store.files import read_small

    try:
        text = read_small(ws.root / MANIFEST, within=ws.root)
        if text is None:
            return (None, "")
        return (load_manifest(ws.state.cache, MANIFEST, text), "")
    except KlError as problem:
        return None, f"contradicted (memories against the layers): {problem}"
