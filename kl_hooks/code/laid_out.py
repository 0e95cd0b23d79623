"""A repository of which the graph holds nothing yet: all its rows are made at once, by several processes, and written.

The processes are done before the database is opened: none of them may hold its lock, or come near an open transaction.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kl_hooks.code import pool, said
from kl_hooks.code.folded import Pile
from kl_hooks.code.imports import Known
from kl_hooks.code.linking import links_of
from kl_hooks.code.named import Named
from kl_hooks.code.naming import Decision, decided, imports_of
from kl_hooks.code.parse import no_garbage_collection
from kl_hooks.code.reach import renames
from kl_hooks.code.resolve import Resolver
from kl_hooks.code.writing import (
    File,
    documents_of,
    insert_files,
    insert_renamed,
    insert_symbols,
    last_name,
    symbols_of,
    take_out,
)
from kl_hooks.graph import links
from kl_hooks.graph.names import Interned
from kl_hooks.index import index

if TYPE_CHECKING:
    from kl_hooks.code.held import Held
    from kl_hooks.code.parse import Facts
    from kl_hooks.code.remembered import Key
    from kl_hooks.store.database import Database

_AT_ONCE: Final = 40


class _Rows(NamedTuple):
    """All rows of one file."""

    path: str
    error: str
    names: str
    renamed: list[tuple[str, str, str]]
    symbols: list[tuple[Any, ...]]
    documents: list[index.Row]
    links: links.Columns


class LaidOut(NamedTuple):
    """What is to be written, as long as nobody else has written meanwhile."""

    wanted: Mapping[str, Key]
    marks: set[str]
    read: frozenset[Key]
    """The contents that could be had."""
    decision: Decision
    shares: Pile
    """The rows of some files each, as this process marshalled them."""

    def fits(self, known: Held, facts: Mapping[Key, Facts]) -> bool:
        """True where the graph still holds nothing, and nothing else is wanted or known of it."""
        if known.before or known.wanted != self.wanted or known.marks != self.marks:
            return False
        return all((key in facts) == (key in self.read) for key in known.wanted.values())


def laid_out(known: Held, facts: Mapping[Key, Facts]) -> LaidOut:
    """The rows of all that is wanted. `facts`: what could be read of it."""
    with no_garbage_collection():
        decision = decided(known.wanted, known.marks, imports_of(facts[key] for key in facts))
        maker = _Maker(facts, {path: (key, decision.modules.get(path, path)) for path, key in known.wanted.items()})
        read = frozenset(facts)
        return LaidOut(known.wanted, known.marks, read, decision, Pile(maker.shares(sorted(known.wanted))))


def write_rows(db: Database, made: LaidOut, files: Mapping[str, File]) -> None:
    """Writes the rows; `files`: of all of them. Inside one transaction."""
    take_out(db, files)
    names, numbers = dict[str, str](), Interned(db)
    for share in made.shares:
        rows = [_Rows(*one) for one in marshal.loads(share)]  # from a file without a name, which nobody else can write
        insert_files(db, [(one.path, *files[one.path], one.error) for one in rows])
        insert_renamed(db, (row for one in rows for row in one.renamed))
        insert_symbols(db, (row for one in rows for row in one.symbols))
        index.add_rows(db, {one.path: one.documents for one in rows})
        links.replace_columns(db, {one.path: one.links for one in rows}, numbers)
        names.update((one.path, one.names) for one in rows)
    said.replace(db, (), names)


class _Maker:
    """Makes rows out of facts; what it worked out for one file serves the next."""

    def __init__(self, facts: Mapping[Key, Facts], files: Mapping[str, tuple[Key, str]]) -> None:
        self._named = Named(facts, files)
        modules = {path: module for path, (_, module) in files.items()}
        outlines: dict[str, Any] = {}
        self._bear: set[str] = set()
        for path, module in modules.items():
            one = self._named[path]
            outlines[module] = one["outline"] or None
            self._bear |= _borne(one, module)
        self._targets = Known(modules)
        self._resolver = Resolver(self._targets, outlines.get)

    def shares(self, paths: Sequence[str]) -> Iterator[bytes]:
        """The rows of all of these, some files after some."""
        if pool.processes():
            return pool.scan_in_processes(paths, lambda some: [self._share(some)], lambda path: self._share([path]))
        return (self._share(paths[start : start + _AT_ONCE]) for start in range(0, len(paths), _AT_ONCE))

    def _share(self, paths: Iterable[str]) -> bytes:
        return marshal.dumps([tuple(self._rows(path)) for path in paths])

    def _rows(self, path: str) -> _Rows:
        facts = self._named[path]
        module = self._targets.module_of(path)
        found = links_of(path, module, facts, self._resolver, self._targets, self._bear.__contains__)
        documents = index.text_rows(documents_of(path, facts))
        symbols = list(symbols_of(path, facts))
        renamed = list(renames(path, facts["outline"]))
        return _Rows(path, facts["error"], facts["names"], renamed, symbols, documents, links.columns_of_rows(found))


def _borne(facts: Facts, module: str) -> set[str]:
    """The names that the symbols of a file bear."""
    defined = facts["outline"].get("defs") if facts["outline"] else None
    if defined is None:
        return {last_name(row[0]) for row in facts["symbols"]}
    here = {name.rpartition(".")[2] for name in defined}
    return here | {last_name(f"namespace:{module}")} if defined or not facts["error"] else here
