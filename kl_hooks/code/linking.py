"""Links of the files that changed, and of those whose names now lead elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from kl_hooks.code import remembered, said
from kl_hooks.code.affected import EVERY, borne, came_or_went, changed_names, resolve_again, saying_any
from kl_hooks.code.imports import Known, file_links
from kl_hooks.code.joins import defined_links, depending_links, taken_links, test_links, used_links
from kl_hooks.code.modules import plain_name
from kl_hooks.code.named import under
from kl_hooks.code.reach import Unsure, reach, tops
from kl_hooks.code.resolve import Outline, Resolver
from kl_hooks.code.stars import bringing_others, let_through
from kl_hooks.graph import links
from kl_hooks.graph.names import Interned
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.code.parse import Facts
    from kl_hooks.store.database import Database

_AT_ONCE = 400
_FEW = 20
"""Changed files for which it is worth while to ask who can come to them."""


def relink(
    db: Database, gone: Collection[str], changed: Mapping[str, Facts], was: Mapping[str, Outline], targets: Known,
    alone: bool,
) -> int:  # fmt: skip
    """Writes the links of `changed` files, and again those of others that they concern; returns how many others.

    `changed`: path → facts under its module; `was`: module → outline as it was of what changed or is gone;
    `targets`: the modules of all files; `alone`: there are no other files. The tables `files`, `symbols` and `said`
    are as they are to be. In one transaction.
    """
    outlines = Outlines(db, {targets.module_of(path): facts["outline"] for path, facts in changed.items()})
    resolver = Resolver(targets, outlines.of)
    defined = _Defined(db, whole=len(changed) > _AT_ONCE)
    others = [] if alone else _others(db, gone, changed, was, outlines, targets)
    batch: dict[str, list[links.Row]] = {path: [] for path in gone}
    names = Interned(db)
    for path, facts in chain(changed.items(), _facts(db, others, targets)):
        batch[path] = list(links_of(path, targets.module_of(path), facts, resolver, targets, defined))
        if len(batch) >= _AT_ONCE:
            links.replace_rows(db, batch, names)
            batch = {}
    links.replace_rows(db, batch, names)
    return len(others)


def links_of(
    path: str, module: str, facts: Facts, resolver: Resolver, targets: Known, defined: Callable[[str], bool]
) -> Iterator[links.Row]:
    """All links that one file says."""
    yield from defined_links(path, facts["symbols"])
    imported = file_links(path, facts["imports"], targets)
    for link in imported:
        yield link.source, link.relation, link.target, link.line, link.method, link.confidence
    yield from depending_links(path, imported, targets)
    yield from taken_links(module, facts["imports"], resolver)
    yield from test_links(facts["tests"])
    ids = [row[0] for row in facts["symbols"]]
    yield from used_links(module, ids, facts["uses"], resolver, defined)


def _others(
    db: Database, gone: Collection[str], changed: Mapping[str, Facts], was: Mapping[str, Outline],
    outlines: Outlines, targets: Known,
) -> list[str]:  # fmt: skip
    """The unchanged files that say a name whose meaning may have changed, and could mean it."""
    now = {targets.module_of(path): facts["outline"] for path, facts in changed.items()}
    below = let_through(db, was, now)
    names = changed_names(was, now) | {name for _, name in below}
    if not names:
        return []
    paths = [*gone, *changed]
    starred = _starred(db, paths, was, now, outlines)
    if starred is None:
        names |= {EVERY}

    def outline(path: str) -> Outline | None:
        return outlines.of(targets.module_of(path))

    try:
        if EVERY in names or len(paths) > _FEW:
            raise Unsure
        reached = reach(db, tops(was, now) | below, outlines.of)
        found, _ = resolve_again(names, lambda _: reached, outline)
        found |= saying_any(said.saying(db, names), _borne_here_alone(db, names & borne(was, now), paths))
    except Unsure:
        found, _ = resolve_again(names, lambda some: _mentions(db, some), outline)
    moved = [one for one in was.keys() | now.keys() if came_or_went(was.get(one, {}), now.get(one, {}))]
    return sorted((found | (starred or set()) | _below(db, moved)) - changed.keys())


def _starred(
    db: Database, paths: Collection[str], was: Mapping[str, Outline], now: Mapping[str, Outline], outlines: Outlines
) -> set[str] | None:  # fmt: skip
    """The files that come to a star import which may bring any other name now; None where it may be all."""
    try:
        return set(reach(db, bringing_others(db, paths, was, now, outlines.of), outlines.of))
    except Unsure:
        return None


def _below(db: Database, modules: Iterable[str]) -> set[str]:
    """The files under modules that came or went, packages or not: their relative imports need not say the name."""
    sql = "SELECT path FROM files WHERE module >= ? AND module < ?"
    return {row[0] for one in modules for row in db.rows(sql, (f"{plain_name(one)}.", f"{plain_name(one)}/"))}


def _borne_here_alone(db: Database, names: Collection[str], paths: Sequence[str]) -> set[str]:
    """Those of the names that nothing in another file bears: now they may lead to something, or no longer."""
    sql = f"SELECT 1 FROM symbols WHERE name = ? AND path NOT IN ({placeholders(paths)}) LIMIT 1"
    return {name for name in names if not db.rows(sql, (name, *paths))}


def _mentions(db: Database, names: Collection[str]) -> dict[str, str]:
    return said.everything(db) if EVERY in names else said.saying(db, names)


def _facts(db: Database, paths: list[str], targets: Known) -> Iterator[tuple[str, Facts]]:
    for some in chunks(paths):
        keys = {
            path: (blob, scanner)
            for path, blob, scanner in db.rows(
                f"SELECT path, blob, scanner FROM files WHERE path IN ({placeholders(some)})", some
            )
        }
        facts = remembered.load(db, keys.values(), uses=True)
        for path in some:
            if keys[path] in facts:
                yield path, under(facts[keys[path]], targets.module_of(path), path)


class Outlines:
    """Outlines by module: those of changed files as given, others read when somebody asks."""

    def __init__(self, db: Database, given: dict[str, Any]) -> None:
        self._db, self._known = db, dict(given)

    def of(self, module: str) -> Outline | None:
        """The outline of a module; None for one that has none."""
        if module not in self._known:
            sql = "SELECT blob, scanner FROM files WHERE module = ?"
            keys = [(blob, scanner) for blob, scanner in self._db.rows(sql, (module,))]
            self._known[module] = next(iter(remembered.outlines(self._db, keys).values()), None)
        return self._known[module] or None


class _Defined:
    """Whether a symbol bears a name."""

    def __init__(self, db: Database, whole: bool) -> None:
        self._db = db
        self._known = {row[0]: True for row in db.rows("SELECT DISTINCT name FROM symbols")} if whole else {}
        self._whole = whole

    def __call__(self, name: str) -> bool:
        if name not in self._known and not self._whole:
            self._known[name] = bool(self._db.rows("SELECT 1 FROM symbols WHERE name = ? LIMIT 1", (name,)))
        return self._known.get(name, False)
