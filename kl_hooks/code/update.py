"""Updates the graph: what changed is read and replaced, in one transaction. Imported only where something did change.

Of a repository of which the graph holds nothing yet, all rows are made at once, by several processes, and written.
The processes are done before the database is opened: none of them may hold its lock, or come near an open transaction.
"""

from __future__ import annotations

import marshal
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from kl_hooks.code import facts_cache, file_facts, file_index, name_index
from kl_hooks.code.facts_cache import TempBlobFile
from kl_hooks.code.file_facts import FilesFacts, scan_missing
from kl_hooks.code.file_index import UNAVAILABLE, File, PendingChanges, errors_of, pending_changes
from kl_hooks.code.invalidation import renames
from kl_hooks.code.linker import links_of, relink
from kl_hooks.code.modules import (
    Decision,
    ModuleIndex,
    StoredModuleIndex,
    absolute_imports,
    decide_names,
    decide_stored_names,
    names_of_added,
    still_valid,
    store_decision,
)
from kl_hooks.code.resolver import Resolver
from kl_hooks.code.scanner.parser import Facts, Key, Read, no_garbage_collection, unavailable_facts
from kl_hooks.code.scanner.python import Progress
from kl_hooks.graph import links
from kl_hooks.graph.links import Interned
from kl_hooks.index import index
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.code.scanner.parser import Outline
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.database import Database
    from kl_hooks.store.store import Store


_FILES_AT_ONCE: Final = 200
"""Files whose rows are made before they are written: those of all would not fit into a small memory."""


def write_files(db: Database, gone: Collection[str], files: Mapping[str, File], facts: Mapping[str, Facts]) -> None:
    """Takes out the files that are gone, and replaces all rows of those that changed. Inside one transaction.

    `files` and `facts`: of those that changed; their facts are asked for once, some after some.
    """
    delete_rows(db, (*gone, *files))
    names: dict[str, str] = {}
    paths = list(files)
    for start in range(0, len(paths), _FILES_AT_ONCE):
        some = {path: facts[path] for path in paths[start : start + _FILES_AT_ONCE]}
        names.update((path, one["names"]) for path, one in some.items())
        _insert(db, files, some)
    name_index.replace_files(db, gone, names)


def _insert(db: Database, files: Mapping[str, File], some: Mapping[str, Facts]) -> None:
    insert_files(db, [(path, *files[path], facts["error"]) for path, facts in some.items()])
    insert_renamed(db, (row for path, facts in some.items() for row in renames(path, facts["outline"])))
    insert_symbols(db, (row for path, facts in some.items() for row in symbol_table_rows(path, facts)))
    index.add_rows(db, {path: index.text_rows(documents_of(path, facts)) for path, facts in some.items()})


def delete_rows(db: Database, paths: Iterable[str]) -> None:
    """Takes out the rows of files, whether there are any or not."""
    old = [(path,) for path in paths]
    db.many("DELETE FROM files WHERE path = ?", old)
    db.many("DELETE FROM symbols WHERE path = ?", old)
    db.many("DELETE FROM renamed WHERE path = ?", old)
    index.replace_many(db, {path: () for (path,) in old})


def insert_files(db: Database, rows: Iterable[Sequence[str]]) -> None:
    """Writes rows of files that have none: path, blob, scanner, module, error."""
    db.many("INSERT INTO files (path, blob, scanner, module, error) VALUES (?, ?, ?, ?, ?)", rows)


def insert_renamed(db: Database, rows: Iterable[tuple[str, str, str]]) -> None:
    """Writes rows as `reach.renames` gives them."""
    db.many("INSERT INTO renamed (word, key, path) VALUES (?, ?, ?)", sorted(rows))


def insert_symbols(db: Database, rows: Iterable[Sequence[Any]]) -> None:
    """Writes rows as `symbol_table_rows` gives them."""
    columns = "id, name, path, line, end_line, signature, decorators, doc, content_hash"
    db.many(f"INSERT INTO symbols ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def last_name(identifier: str) -> str:
    """The last part of an Id, by which people look for it."""
    if identifier.startswith("namespace:"):
        identifier = identifier.partition("@")[0]
    return identifier.rpartition("::" if identifier.startswith("test:") else ".")[2].rpartition(":")[2]


def symbol_table_rows(path: str, facts: Facts) -> Iterable[tuple[Any, ...]]:
    """The rows of a file's symbols and tests, from facts under its module. Pure."""
    decorators = facts["decorators"]
    for place, (identifier, line, end_line, signature, doc, content_hash) in enumerate(facts["symbols"]):
        marks = "\n".join(decorators.get(str(place), ()))
        yield (identifier, last_name(identifier), path, line, end_line, signature, marks, doc, content_hash)
    for identifier, line, end_line, signature, doc, content_hash, _ in facts["tests"]:
        yield (identifier, last_name(identifier), path, line, end_line, signature, "", doc, content_hash)


def documents_of(path: str, facts: Facts) -> list[index.Document]:
    """What can be found by words in a file. Pure."""
    return [
        index.Document(identifier, split_id(identifier)[0], path, line, signature, doc, words)
        for (identifier, line, _, signature, doc, _), words in zip(facts["symbols"], facts["words"], strict=True)
    ]


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


class BulkRows(NamedTuple):
    """What is to be written, as long as nobody else has written meanwhile."""

    wanted: Mapping[str, Key]
    marks: set[str]
    read: frozenset[Key]
    """The contents that could be had."""
    decision: Decision
    shares: TempBlobFile
    """The rows of some files each, as this process marshalled them."""

    def fits(self, known: PendingChanges, facts: Mapping[Key, Facts]) -> bool:
        """True where the graph still holds nothing, and nothing else is wanted or known of it."""
        if known.before or known.wanted != self.wanted or known.marks != self.marks:
            return False
        return all((key in facts) == (key in self.read) for key in known.wanted.values())


def make_bulk_rows(known: PendingChanges, facts: Mapping[Key, Facts]) -> BulkRows:
    """The rows of all that is wanted. `facts`: what could be read of it."""
    with no_garbage_collection():
        decision = decide_names(known.wanted, known.marks, absolute_imports(facts[key] for key in facts))
        maker = _Maker(facts, {path: (key, decision.modules.get(path, path)) for path, key in known.wanted.items()})
        read = frozenset(facts)
        return BulkRows(known.wanted, known.marks, read, decision, TempBlobFile(maker.shares(sorted(known.wanted))))


def write_bulk_rows(db: Database, made: BulkRows, files: Mapping[str, File]) -> None:
    """Writes the rows; `files`: of all of them. Inside one transaction."""
    delete_rows(db, files)
    names, numbers = dict[str, str](), Interned(db)
    for share in made.shares:
        rows = [_Rows(*one) for one in marshal.loads(share)]  # from a file without a name, which nobody else can write
        insert_files(db, [(one.path, *files[one.path], one.error) for one in rows])
        insert_renamed(db, (row for one in rows for row in one.renamed))
        insert_symbols(db, (row for one in rows for row in one.symbols))
        index.add_rows(db, {one.path: one.documents for one in rows})
        links.replace_columns(db, {one.path: one.links for one in rows}, numbers)
        names.update((one.path, one.names) for one in rows)
    name_index.replace_files(db, (), names)


class _Maker:
    """Makes rows out of facts; what it worked out for one file serves the next."""

    def __init__(self, facts: Mapping[Key, Facts], files: Mapping[str, tuple[Key, str]]) -> None:
        self._named = FilesFacts(facts, files)
        modules = {path: module for path, (_, module) in files.items()}
        outlines: dict[str, Any] = {}
        self._bear: set[str] = set()
        for path, module in modules.items():
            one = self._named[path]
            outlines[module] = one["outline"] or None
            self._bear |= _defined_last_names(one, module)
        self._targets = ModuleIndex(modules)
        self._resolver = Resolver(self._targets, outlines.get)

    def shares(self, paths: Sequence[str]) -> Iterator[bytes]:
        """The rows of all of these, some files after some."""
        if file_facts.processes():
            return file_facts.scan_in_processes(
                paths, lambda some: [self._share(some)], lambda path: self._share([path])
            )
        return (self._share(paths[start : start + _AT_ONCE]) for start in range(0, len(paths), _AT_ONCE))

    def _share(self, paths: Iterable[str]) -> bytes:
        return marshal.dumps([tuple(self._rows(path)) for path in paths])

    def _rows(self, path: str) -> _Rows:
        facts = self._named[path]
        module = self._targets.module_of(path)
        found = links_of(path, module, facts, self._resolver, self._targets, self._bear.__contains__)
        documents = index.text_rows(documents_of(path, facts))
        symbols = list(symbol_table_rows(path, facts))
        renamed = list(renames(path, facts["outline"]))
        return _Rows(path, facts["error"], facts["names"], renamed, symbols, documents, links.columns_of_rows(found))


def _defined_last_names(facts: Facts, module: str) -> set[str]:
    """The names that the symbols of a file bear."""
    defined = facts["outline"].get("defs") if facts["outline"] else None
    if defined is None:
        return {last_name(row[0]) for row in facts["symbols"]}
    here = {name.rpartition(".")[2] for name in defined}
    return here | {last_name(f"namespace:{module}")} if defined or not facts["error"] else here


SPARE: Final = 1000
"""Contents that are remembered though no file has them, beside three for every file: other branches come back."""
FEW: Final = 100
"""Changed files for which the modules that they ask about are looked up one by one."""


def update(
    store: Store,
    known: PendingChanges,
    facts: facts_cache.KnownFacts,
    entries: Sequence[FileEntry],
    read: Read,
    scanners: Sequence[Scanner],
    watch: Progress,
) -> tuple[int, int, dict[str, str]] | None:
    """Makes the graph hold `entries`, of all files: how many contents were read, how many files are gone, all errors.

    `known`: what differs; `facts`: what is remembered of it. None where nothing had to be written.
    """
    fresh = scan_missing(known.now, known.stale, facts, read, scanners, watch)
    both: MutableMapping[Key, Facts] = ChainMap(facts, cast("dict[Key, Facts]", fresh))  # only the first is written to
    if known.part.stamps and not both.keys() & set(known.stale.values()) and known.as_lost_as_before():
        return None
    ready = None
    if isinstance(fresh, facts_cache.PackedFacts) and not known.before:
        ready = make_bulk_rows(known, both)
    with store.writing("graph") as db, db.transaction(), no_garbage_collection():
        facts_cache.save_facts(db, fresh)
        if not file_index.is_current(db, known.part):  # somebody else has written meanwhile
            known = pending_changes(db, entries, scanners)
        removed = _write(db, known, entries, scanners, both, ready)
        return len(fresh), removed, errors_of(db)


def _write(
    db: Database, known: PendingChanges, entries: Sequence[FileEntry], scanners: Sequence[Scanner],
    facts: MutableMapping[Key, Facts], ready: BulkRows | None,
) -> int:  # fmt: skip
    """Writes what differs; returns how many files are gone. `facts`: what is known of them. Inside one transaction."""
    facts.update(facts_cache.load(db, set(known.stale.values()) - facts.keys(), uses=True))
    came = _came(db, known, facts)
    modules = {path: file[2] for path, file in known.before.items()} | (came or {})
    if came is None:
        known = pending_changes(db, entries, scanners, file_index.whole_part(entries))
        ready = ready if ready and ready.fits(known, facts) else None
        modules = (
            store_decision(db, ready.decision, known.marks)
            if ready
            else decide_stored_names(db, known.wanted, known.marks, facts)
        )
    absent = {path for path, key in known.stale.items() if key not in facts}
    now = {
        path: (UNAVAILABLE * (path in absent) + blob, scanner, modules.get(path, path))
        for path, (blob, scanner) in known.wanted.items()
    }
    changed = sorted(path for path, file in now.items() if known.before.get(path) != file)
    gone = sorted(known.before.keys() - now.keys())
    facts.update(facts_cache.load(db, {known.wanted[path] for path in changed} - facts.keys(), uses=True))
    files = {path: now[path] for path in changed}
    if came is None and ready:
        write_bulk_rows(db, ready, files)
    else:
        _replace(db, known, facts, files, gone)
    file_index.store_part(db, known.part, scanners, now, absent)
    facts_cache.delete_unused(db, spare=known.files * 3 + SPARE)
    return len(gone)


def _replace(
    db: Database, known: PendingChanges, facts: Mapping[Key, Facts], files: Mapping[str, File], gone: Sequence[str]
) -> None:
    """Writes the rows of these files, and the links that are others because of them."""
    few = not known.all and len(files) <= FEW
    named: Mapping[str, Facts] = FilesFacts(
        facts, {path: (known.wanted[path], file[2]) for path, file in files.items()}
    )
    if few:
        named = dict(named)
    was = _outlines(db, {path: known.before[path] for path in (*gone, *files) if path in known.before})
    write_files(db, gone, files, named)
    targets = StoredModuleIndex(db) if few else ModuleIndex(dict(db.rows("SELECT path, module FROM files")))
    relink(db, gone, named, was, targets, len(files) == known.files)


def _came(db: Database, known: PendingChanges, facts: Mapping[Key, Facts]) -> dict[str, str] | None:
    """Path → module of the files that came; None where others may be called otherwise: paths decide that, and what is
    imported.
    """
    if known.marks != known.known_marks or not known.part.stamps:
        return None
    stale = known.stale
    went = {path: file[2] for path, file in known.before.items() if path not in known.wanted}
    before = facts_cache.load(db, {known.before[p][:2] for p in (*stale, *went) if p in known.before}, symbols=False)
    old, new = (
        absolute_imports(before.values()),
        absolute_imports([facts.get(key) or unavailable_facts() for key in stale.values()]),
    )
    if not still_valid(db, old, new):
        return None
    came = stale.keys() - known.before.keys()
    return names_of_added(db, came, went, stale, new) if came or went else {}


def _outlines(db: Database, files: Mapping[str, File]) -> dict[str, Outline]:
    """Module → outline, of these files as they were."""
    found = facts_cache.outlines(db, {file[:2] for file in files.values()})
    return {file[2]: found[file[:2]] for file in files.values() if file[:2] in found}
