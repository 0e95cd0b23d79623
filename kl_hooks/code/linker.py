"""Links of files: from what a file defines, imports and uses, by way of the resolver.

There are hundreds of thousands of them, so they are plain rows here: see `Row` in `graph.links`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code import facts_cache
from kl_hooks.code.facts_cache import Outlines
from kl_hooks.code.file_facts import facts_under
from kl_hooks.code.invalidation import Keys, Outlined, files_to_relink, replace_consulted
from kl_hooks.code.modules import ModuleIndex, file_links
from kl_hooks.code.resolver import CLASSES, Resolved, Resolver
from kl_hooks.code.scanner.expressions import DEFINED, IMPORTED, INSTANCE, RESULT, STARRED, SUPER, decode, imported
from kl_hooks.code.scanner.references import INHERITS, RELATIONS
from kl_hooks.graph import links
from kl_hooks.graph.links import Interned, Row
from kl_hooks.model.symbol import Link
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.code.scanner.parser import Facts, Outline
    from kl_hooks.store.database import Database


METHODS: Final = {
    DEFINED: ("same scope", 100), IMPORTED: ("import", 100), INSTANCE: ("self", 90), SUPER: ("super", 90),
    RESULT: ("instance", 80), STARRED: ("star import", 90),
}  # fmt: skip
"""Kind of an expression → how a link through it was found, and how sure that is (percent). An instance may be one of a
subclass that overrides the attribute; so may `self`."""
_RETURNED: Final = ("return annotation", 70)
"""The same of a part of what a function returns by its annotation."""
NAME_ONLY: Final = "name only"
"""How a link to `name:x` was found: something named x is used, and nobody knows which."""

CONSTRUCTOR: Final = "constructor"
"""How a link to `__init__` was found: the class is called."""

Target = tuple[str, bool, str, int]
"""(target, whether it is what an expression means, method, confidence)."""


def defined_links(path: str, rows: Sequence[Sequence[Any]]) -> Iterator[Row]:
    """file → namespace → class → method …; `rows`: the file's symbols, Ids with their module, the module first."""
    # reversed: of two symbols with one dotted name (a class and a function) the first one stays
    by_name = {row[0].partition(":")[2]: row[0] for row in reversed(rows)}
    module = rows[0][0].partition(":")[2] if rows else ""
    for identifier, line, *_ in rows:
        prefix, _, name = identifier.partition(":")
        if prefix == "namespace":
            yield f"file:{path}", "defines", identifier, line, "same scope", 100
        else:
            yield _owner(name, module, by_name), "defines", identifier, line, "same scope", 100


def depending_links(path: str, imported: Iterable[Link], known: ModuleIndex) -> Iterator[Row]:
    """file → each file of the repository that it imports, at the first line that does: records and pages name files,
    and the graph goes on from there.
    """
    first: dict[str, Link] = {}
    for link in imported:
        target = known.path_of(link.target.partition(":")[2])
        if target and target != path:
            first.setdefault(target, link)
    for target, link in first.items():
        yield f"file:{path}", "depends_on", f"file:{target}", link.line, link.method, link.confidence


def test_links(tests: Sequence[Sequence[Any]]) -> Iterator[Row]:
    """test → the function that pytest calls for it; `tests`: see `code.tests_found`."""
    for row in tests:
        yield row[0], "calls", row[-1], row[1], "pytest", 100


def from_import_links(module: str, rows: Iterable[Sequence[Any]], resolver: Resolver) -> Iterator[Row]:
    """module → what it imports by name (`from m import f`): who renames that must touch this line, used or not.

    `rows`: the file's imports (see `code.scanner.imports`). What is a module has its link already.
    """
    seen: set[tuple[str, int, str]] = set()
    for wanted, name, level, line, how, _ in rows:
        if not name or name == "*":
            continue
        found = resolver.resolve(imported("." * level + wanted, name), module)
        if found.symbols and not found.lost and not found.beyond and found.symbols[-1].module != module:
            target = found.symbols[-1].id
            if (target, line, how) not in seen:
                seen.add((target, line, how))
                yield f"namespace:{module}", "imports", target, line, how, 100


def _owner(name: str, module: str, by_name: Mapping[str, str]) -> str:
    outer = name.rpartition(".")[0].removesuffix(".<locals>")
    while outer not in by_name and len(outer) > len(module):
        outer = outer.rpartition(".")[0].removesuffix(".<locals>")
    return by_name.get(outer, f"namespace:{module}")


def used_links(
    module: str, ids: Sequence[str], uses: Mapping[str, Sequence[int]], resolver: Resolver,
    defined: Callable[[str], bool],
) -> list[Row]:  # fmt: skip
    """The links of what a file uses, each once. `ids`: of the file's symbols, as `uses` counts them.

    `defined`: whether any symbol in the repository has a name; a use of one that none has is no link.
    """
    seen: set[tuple[str, str, str, int]] = set()
    made: list[Row] = []
    for expression, flat in uses.items():
        # once for an expression, however many uses of it there are
        targets = list(_targets(expression, resolver.resolve(expression, module), resolver, defined))
        if not targets:
            continue
        by_relation: dict[int, list[tuple[str, str, str, int]]] = {}
        numbers = iter(flat)
        for place, relation, line in zip(numbers, numbers, numbers, strict=True):
            source = ids[place]
            if relation not in by_relation:
                by_relation[relation] = _by(RELATIONS[relation], targets)
            for how, target, method, confidence in by_relation[relation]:
                if relation == INHERITS and how == "inherits":
                    how = _inherits(source, target)
                key = (source, how, target, line)
                if key not in seen:
                    seen.add(key)
                    made.append((source, how, target, line, method, confidence))
    return made


def _by(relation: str, targets: Iterable[Target]) -> list[tuple[str, str, str, int]]:
    """(relation, target, method, confidence) of each link that a use makes: what is only passed is referred to."""
    return [
        (relation if meant else "references", target, method, confidence)
        for target, meant, method, confidence in targets
        if relation == "calls" or method != CONSTRUCTOR
    ]


def _targets(expression: str, found: Resolved, resolver: Resolver, defined: Callable[[str], bool]) -> Iterator[Target]:
    method, confidence = METHODS.get(decode(expression).kind, (NAME_ONLY, 0))
    end = len(found.symbols) - 1
    for place, value in enumerate(found.symbols):
        meant = place == end and not found.lost and not found.beyond
        if value.returned:
            method, confidence = _RETURNED
        yield value.id, meant, method, confidence
        if meant and value.prefix in CLASSES:
            made = resolver.member(value.module, value.name, "__init__")
            if made is not None and made.sort == "symbol":
                # at most 90, as for self and super: a subclass may know better (docs/code-graph.md)
                yield made.id, True, CONSTRUCTOR, min(confidence, 90)
    for place, name in enumerate(found.lost):
        if defined(name):
            yield f"name:{name}", place == len(found.lost) - 1, NAME_ONLY, 0


def _inherits(source: str, target: str) -> str:
    return "implements" if target.startswith("interface:") and not source.startswith("interface:") else "inherits"


_AT_ONCE = 400


def relink(
    db: Database, removed: Collection[str], changed: Mapping[str, Facts], was: Outlined, targets: ModuleIndex,
    alone: bool,
) -> int:  # fmt: skip
    """Writes the links of `changed` files, and again those of others that they concern; returns how many others.

    `changed`: path → facts under its module; `was`: path → module and outline as they were, of what changed or was
    removed; `targets`: the modules of all files; `alone`: there are no other files. The tables `files`, `symbols` and
    `said` are as they are to be. In one transaction.
    """
    now = {path: (targets.module_of(path), facts["outline"]) for path, facts in changed.items()}
    linker = Linker(targets, Outlines(db, dict(now.values())).of, _Defined(db, whole=len(changed) > _AT_ONCE))
    others = [] if alone else files_to_relink(db, was, now)
    # no rows of its own for a removed file: links of others to it stay in the rows of those others
    batch: dict[str, links.Columns] = dict.fromkeys(removed, ())
    consulted: dict[str, bytes] = dict.fromkeys(removed, b"")
    names = Interned(db)
    for path, facts in chain(changed.items(), _facts(db, others, targets)):
        batch[path] = links.columns_of_rows(linker.links_of(path, facts))
        consulted[path] = linker.consulted(path)
        if len(batch) >= _AT_ONCE:
            links.replace_columns(db, batch, names)
            batch = {}
    links.replace_columns(db, batch, names)
    replace_consulted(db, consulted)
    return len(others)


class Linker:
    """Makes the links of files, in one state of the repository, and records what they depend on."""

    def __init__(
        self, targets: ModuleIndex, outline: Callable[[str], Outline | None], defined: Callable[[str], bool]
    ) -> None:
        self._targets, self._defined = targets, defined
        self._resolver = Resolver(targets, outline)
        self._keys = Keys()

    def links_of(self, path: str, facts: Facts) -> Iterator[links.Row]:
        """All links of one file."""
        module = self._targets.module_of(path)
        yield from defined_links(path, facts["symbols"])
        imported = file_links(path, facts["imports"], self._resolver)
        for link in imported:
            yield link.source, link.relation, link.target, link.line, link.method, link.confidence
        yield from depending_links(path, imported, self._targets)
        yield from from_import_links(module, facts["imports"], self._resolver)
        yield from test_links(facts["tests"])
        ids = [row[0] for row in facts["symbols"]]
        yield from used_links(module, ids, facts["uses"], self._resolver, self._defined)

    def consulted(self, path: str) -> bytes:
        """The keys that the links of this file depend on, all of which were asked for since the last call."""
        return self._keys.pack(self._resolver.consulted(self._targets.module_of(path)))


def _facts(db: Database, paths: list[str], targets: ModuleIndex) -> Iterator[tuple[str, Facts]]:
    for some in chunks(paths):
        keys = {
            path: (blob, scanner)
            for path, blob, scanner in db.rows(
                f"SELECT path, blob, scanner FROM files WHERE path IN ({placeholders(some)})", some
            )
        }
        facts = facts_cache.load(db, keys.values(), uses=True)
        for path in some:
            if keys[path] in facts:
                yield path, facts_under(facts[keys[path]], targets.module_of(path), path)


class _Defined:
    """Whether any symbol has a name."""

    def __init__(self, db: Database, whole: bool) -> None:
        self._db = db
        self._known = {row[0]: True for row in db.rows("SELECT DISTINCT name FROM symbol_rows")} if whole else {}
        self._whole = whole

    def __call__(self, name: str) -> bool:
        if name not in self._known and not self._whole:
            self._known[name] = bool(self._db.rows("SELECT 1 FROM symbol_rows WHERE name = ? LIMIT 1", (name,)))
        return self._known.get(name, False)
