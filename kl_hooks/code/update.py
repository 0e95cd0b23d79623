"""Updates the graph: what changed is read and replaced, in one transaction. Imported only where
something did change.

Of a repository of which the graph holds nothing yet, all rows are made at once, by several
processes, and written. The processes are done before the database is opened: none of them may hold
its lock, or come near an open transaction.
"""

from __future__ import annotations

import marshal
from collections import ChainMap
from collections.abc import (
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from typing import TYPE_CHECKING, Any, Final, cast

from kl_hooks.code import file_facts, file_index, name_index
from kl_hooks.code.file_facts import FilesFacts, TempBlobFile, scan_missing
from kl_hooks.code.file_index import UNAVAILABLE, File, PendingChanges, errors_of, pending_changes
from kl_hooks.code.languages import Progress
from kl_hooks.code.linker import Linker, Outlined, relink, replace_consulted
from kl_hooks.code.module_systems import MACRO
from kl_hooks.code.modules import (
    ModuleIndex,
    QueriedNames,
    imported_names,
    module_name,
    module_names,
    plain_name,
)
from kl_hooks.code.plugin import HEADS
from kl_hooks.code.scanner.expressions import last_part
from kl_hooks.code.scanner.parser import (
    WORD,
    Facts,
    Key,
    Read,
    no_garbage_collection,
    unavailable_facts,
)
from kl_hooks.graph import links
from kl_hooks.graph.links import Interned
from kl_hooks.index import postings
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import FILE_SIGN, last_name
from kl_hooks.store.database import Rows, chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.database import Database
    from kl_hooks.store.store import Store


_FILES_AT_ONCE: Final = 200
"""Files whose rows are made before they are written: those of all would not fit into a small
memory.
"""


def _write_files(
    db: Database, removed: Collection[str], files: Mapping[str, File], facts: Mapping[str, Facts]
) -> None:
    """Delete the rows of removed files, and replace those of changed ones. Inside one transaction.

    `files` and `facts`: of those that changed; their facts are asked for once, some after some.
    """
    _delete_rows(db, (*removed, *files))
    names: dict[str, str] = {}
    paths = list(files)
    for start in range(0, len(paths), _FILES_AT_ONCE):
        batch = {path: facts[path] for path in paths[start : start + _FILES_AT_ONCE]}
        names.update((path, new_facts["names"]) for path, new_facts in batch.items())
        _insert(db, files, batch)
    name_index.replace_files(db, removed, names)
    postings.merge_segments(db)


def _insert(db: Database, files: Mapping[str, File], batch: Mapping[str, Facts]) -> None:
    _insert_files(db, [(path, *files[path], facts["error"]) for path, facts in batch.items()])
    _insert_symbols(
        db, {path: _symbol_table_rows(path, files[path][2], facts) for path, facts in batch.items()}
    )
    postings.add_files(db, {path: terms_of(path, facts) for path, facts in batch.items()})


def _delete_rows(db: Database, paths: Iterable[str]) -> None:
    """Takes out the rows of files, whether there are any or not."""
    old = [(path,) for path in paths]
    db.many("DELETE FROM symbol_rows WHERE file = (SELECT number FROM files WHERE path = ?)", old)
    db.many("DELETE FROM files WHERE path = ?", old)
    postings.remove_files(db, (path for (path,) in old))


def _insert_files(db: Database, rows: Iterable[Sequence[str]]) -> None:
    """Writes rows of files that have none: path, blob, scanner, module, error."""
    db.many("INSERT INTO files (path, blob, scanner, module, error) VALUES (?, ?, ?, ?, ?)", rows)


def _insert_symbols(db: Database, rows: Mapping[str, Iterable[Sequence[Any]]]) -> None:
    """Writes the symbols of files that are there, as `_symbol_table_rows` gives them."""
    numbers: dict[str, int] = {}
    for batch in chunks(list(rows)):
        numbers.update(
            db.rows(f"SELECT path, number FROM files WHERE path IN ({placeholders(batch)})", batch)
        )
    symbol_rows = (
        (numbers[path], *row)
        for path in sorted(rows, key=numbers.__getitem__)
        for row in rows[path]
    )
    db.many(f"INSERT INTO symbol_rows VALUES ({placeholders(range(11))})", symbol_rows)


def _symbol_table_rows(path: str, module: str, facts: Facts) -> Iterable[tuple[Any, ...]]:
    """The rows of a file's symbols and tests, from facts under its module: all columns but the
    file. Pure.
    """
    decorators = facts["decorators"]
    for place, (identifier, line, end_line, signature, doc, content_hash) in enumerate(
        facts["symbols"]
    ):
        marks = "\n".join(decorators.get(str(place), ()))
        sort, _, name = identifier.partition(":")
        suffix = name[len(module) :]  # every Id begins with the module: `facts_under`
        yield _symbol_table_row(
            place, sort, suffix, identifier, line, end_line, signature, marks, doc, content_hash
        )
    for place, row in enumerate(facts["tests"], len(facts["symbols"])):
        identifier, line, end_line, signature, doc, content_hash, _ = row
        suffix = identifier.removeprefix(f"test:{path}")
        yield _symbol_table_row(
            place, "test", suffix, identifier, line, end_line, signature, "", doc, content_hash
        )


def _symbol_table_row(
    place: int,
    sort: str,
    suffix: str,
    identifier: str,
    line: int,
    end_line: int,
    signature: str,
    marks: str,
    doc: str,
    content_hash: str,
) -> tuple[Any, ...]:
    """One row, in which the name is stored once: see `symbol_rows` in code/plugin.py."""
    name = last_name(identifier)
    if sort == "namespace":
        outer = suffix
    else:
        outer = suffix.removesuffix(name)
    before, separator, after = signature.partition(name)
    if separator and before in HEADS:
        signature = HEADS[before] + after
    return (
        place,
        sort,
        outer,
        name,
        line,
        end_line,
        signature,
        marks,
        doc,
        bytes.fromhex(content_hash),
    )


def terms_of(path: str, facts: Facts) -> postings.FileTerms:
    """The terms of a file: of its source, and of the symbols that have none of their own, such as
    fields. Pure.
    """
    there = {text[0] for text in facts["text"]}
    minor = [
        _symbol_text(place, facts["symbols"][place], words)
        for place, words in enumerate(facts["words"])
        if place not in there
    ]
    return postings.file_terms(path, facts["text"], minor)


def _symbol_text(place: int, row: Sequence[Any], words: str) -> postings.SymbolText:
    identifier, _, _, signature, doc, _ = row
    name = last_name(identifier)
    is_inner = "." in identifier.rpartition(FILE_SIGN)[2]
    if is_inner:
        owner = last_name(identifier.rpartition(".")[0])
    else:
        owner = ""
    texts = " ".join(postings.WORD.findall(signature)), " ".join(postings.WORD.findall(doc))
    return postings.SymbolText(place, name, owner, f"( {texts[0]} ' {texts[1]} . {words}")


_AT_ONCE: Final = 40


class _Rows(NamedTuple):
    """All rows of one file."""

    path: str
    error: str
    names: str
    symbols: list[tuple[Any, ...]]
    terms: tuple[Any, ...]
    links: links.Columns
    consulted: bytes


class BulkRows(NamedTuple):
    """What is to be written, as long as nobody else has written meanwhile."""

    wanted: Mapping[str, Key]
    marks: set[str]
    read: frozenset[Key]
    """The contents that could be had."""
    decision: _Decision
    shares: TempBlobFile
    """The rows of some files each, as this process marshalled them."""

    def fits(self, pending: PendingChanges, facts: Mapping[Key, Facts]) -> bool:
        """True where the graph still holds nothing, and nothing else is wanted or known of it."""
        if pending.before or pending.wanted != self.wanted or pending.marks != self.marks:
            return False
        return all((key in facts) == (key in self.read) for key in pending.wanted.values())


def _make_bulk_rows(pending: PendingChanges, facts: Mapping[Key, Facts]) -> BulkRows:
    """The rows of all that is wanted. `facts`: what could be read of it."""
    with no_garbage_collection():
        decision = _decide_names(
            pending.wanted, pending.marks, imported_names(facts[key] for key in facts)
        )
        maker = _Maker(
            facts,
            {path: (key, decision.modules.get(path, path)) for path, key in pending.wanted.items()},
        )
        read = frozenset(facts)
        return BulkRows(
            pending.wanted,
            pending.marks,
            read,
            decision,
            TempBlobFile(maker.shares(sorted(pending.wanted))),
        )


def write_bulk_rows(db: Database, bulk: BulkRows, files: Mapping[str, File]) -> None:
    """Writes the rows; `files`: of all of them. Inside one transaction."""
    _delete_rows(db, files)
    names = dict[str, str]()
    numbers = Interned(db)
    writer = postings.SegmentWriter(db)
    for share in bulk.shares:
        rows = [
            _Rows(*file_rows) for file_rows in marshal.loads(share)
        ]  # from a file without a name, which nobody else can write
        _insert_files(
            db, [(file_rows.path, *files[file_rows.path], file_rows.error) for file_rows in rows]
        )
        replace_consulted(db, {file_rows.path: file_rows.consulted for file_rows in rows})
        _insert_symbols(db, {file_rows.path: file_rows.symbols for file_rows in rows})
        for file_rows in rows:
            writer.add(file_rows.path, postings.FileTerms(*file_rows.terms))
        links.replace_columns(db, {file_rows.path: file_rows.links for file_rows in rows}, numbers)
        names.update((file_rows.path, file_rows.names) for file_rows in rows)
    writer.close()
    name_index.replace_files(db, (), names)


class _Maker:
    """Makes rows out of facts; what it worked out for one file serves the next."""

    def __init__(self, facts: Mapping[Key, Facts], files: Mapping[str, tuple[Key, str]]) -> None:
        self._named = FilesFacts(facts, files)
        self._modules = modules = {path: module for path, (_, module) in files.items()}
        outlines: dict[str, Any] = {}
        extending: dict[str, list[str]] = {}
        self._bear: set[str] = set()
        for path, module in modules.items():
            facts_of_file = self._named[path]
            outlines[module] = facts_of_file["outline"] or None
            self._bear |= _defined_last_names(facts_of_file, module)
            extended = facts_of_file["outline"].get("extended") or {}
            extended_names = {last_part(expression) for expression in extended.values()}
            macros = facts_of_file["outline"].get("macros") or {}
            extended_names |= {f"{name}{MACRO}" for name in macros}
            for name in sorted(extended_names):
                extending.setdefault(name, []).append(module)
        self._targets = ModuleIndex(modules)
        self._linker = Linker(
            self._targets,
            outlines.get,
            self._bear.__contains__,
            lambda name: sorted(extending.get(name, ())),
        )

    def shares(self, paths: Sequence[str]) -> Iterator[bytes]:
        """The rows of all of these, some files after some."""
        if file_facts.processes():
            return file_facts.scan_in_processes(
                paths, lambda batch: [self._share(batch)], lambda path: self._share([path])
            )
        return (
            self._share(paths[start : start + _AT_ONCE]) for start in range(0, len(paths), _AT_ONCE)
        )

    def _share(self, paths: Iterable[str]) -> bytes:
        # its format differs between Pythons, but the same one reads it back; unlike a pickle it can
        # hold no class
        return marshal.dumps([tuple(self._rows(path)) for path in paths])

    def _rows(self, path: str) -> _Rows:
        facts = self._named[path]
        columns = links.columns_of_rows(self._linker.links_of(path, facts))
        symbols = list(_symbol_table_rows(path, self._modules[path], facts))
        terms = tuple(terms_of(path, facts))
        consulted = self._linker.consulted(path)
        return _Rows(path, facts["error"], facts["names"], symbols, terms, columns, consulted)


def _defined_last_names(facts: Facts, module: str) -> set[str]:
    """The names of the symbols of a file."""
    if facts["outline"]:
        defined = facts["outline"].get("defs")
    else:
        defined = None
    if defined is None:
        return {last_name(row[0]) for row in facts["symbols"]}
    here = {name.rpartition(".")[2] for name in defined}
    if defined or not facts["error"]:
        return here | {last_name(f"namespace:{module}")}
    return here


_SPARE: Final = 1000
"""Contents that are remembered though no file has them, beside three for every file: other branches
come back.
"""
FEW: Final = 100
"""Changed files for which the modules that they ask about are looked up one by one."""


def update(
    store: Store,
    pending: PendingChanges,
    facts: file_facts.KnownFacts,
    entries: Sequence[FileEntry],
    read: Read,
    scanners: Sequence[Scanner],
    watch: Progress,
) -> tuple[int, int, dict[str, str]] | None:
    """Makes the graph hold `entries`, of all files: how many contents were read and files removed,
    and all errors.

    `pending`: what differs; `facts`: what is remembered of it. None where nothing had to be
    written.
    """
    fresh = scan_missing(pending.now, pending.changed, facts, read, scanners, watch)
    # only the first is written to
    all_facts: MutableMapping[Key, Facts] = ChainMap(facts, cast("dict[Key, Facts]", fresh))
    # a content that can't be read (too large, or missing) must not cause a write at every question
    if (
        pending.part.stamps
        and not all_facts.keys() & set(pending.changed.values())
        and pending.as_lost_as_before()
    ):
        return None
    ready = None
    if isinstance(fresh, file_facts.PackedFacts) and not pending.before:
        ready = _make_bulk_rows(pending, all_facts)
    with store.writing("graph") as db, db.transaction(), no_garbage_collection():
        file_facts.save_facts(db, fresh)
        if not pending.part.is_current(db):  # another process has written meanwhile
            pending = pending_changes(db, entries, scanners)
        removed = _write(db, pending, entries, scanners, all_facts, ready)
        return len(fresh), removed, errors_of(db)


def _write(
    db: Database,
    pending: PendingChanges,
    entries: Sequence[FileEntry],
    scanners: Sequence[Scanner],
    facts: MutableMapping[Key, Facts],
    ready: BulkRows | None,
) -> int:
    """Write what differs; returns how many files were removed. `facts`: those at hand. Inside one
    transaction.
    """
    facts.update(file_facts.load(db, set(pending.changed.values()) - facts.keys(), uses=True))
    added = _names_of_added(db, pending, facts)
    modules = {path: file[2] for path, file in pending.before.items()} | (added or {})
    if added is None:
        # other files may have other names now: all of them are compared, not only the part that
        # differs
        pending = pending_changes(db, entries, scanners, file_index.Part.whole(entries))
        ready = ready if ready and ready.fits(pending, facts) else None
        if ready:
            modules = _store_decision(db, ready.decision, pending.marks)
        else:
            modules = decide_stored_names(db, pending.wanted, pending.marks, facts)
    absent = {path for path, key in pending.changed.items() if key not in facts}
    now = {
        path: (UNAVAILABLE * (path in absent) + blob, scanner, modules.get(path, path))
        for path, (blob, scanner) in pending.wanted.items()
    }
    changed = sorted(path for path, file in now.items() if pending.before.get(path) != file)
    removed = sorted(pending.before.keys() - now.keys())
    # a file whose module has another name is written again, though its content is known and was not
    # loaded
    facts.update(
        file_facts.load(db, {pending.wanted[path] for path in changed} - facts.keys(), uses=True)
    )
    files = {path: now[path] for path in changed}
    if added is None and ready:
        write_bulk_rows(db, ready, files)
    else:
        _replace(db, pending, facts, files, removed)
    file_index.store_part(db, pending.part, scanners, now, absent)
    _delete_unused(db, spare=pending.files * 3 + _SPARE)
    return len(removed)


def _delete_unused(db: Rows, spare: int) -> int:
    """Delete contents that no file has any more once there are more than `spare` of them; returns
    how many.
    """
    stored_count, files = (
        int(db.rows(f"SELECT COUNT(*) FROM {table}")[0][0]) for table in ("facts", "files")
    )
    if stored_count <= files + spare:
        return 0
    # contents without a file stay until there are many: a checkout of an old branch then parses
    # nothing (ADR-0004)
    db.execute("DELETE FROM facts WHERE (blob, scanner) NOT IN (SELECT blob, scanner FROM files)")
    return stored_count - int(db.rows("SELECT COUNT(*) FROM facts")[0][0])


def _replace(
    db: Database,
    pending: PendingChanges,
    facts: Mapping[Key, Facts],
    files: Mapping[str, File],
    removed: Sequence[str],
) -> None:
    """Writes the rows of these files, and the links that are others because of them."""
    few = not pending.all and len(files) <= FEW
    named: Mapping[str, Facts] = FilesFacts(
        facts, {path: (pending.wanted[path], file[2]) for path, file in files.items()}
    )
    if few:
        named = dict(named)
    earlier = _outlines(
        db, {path: pending.before[path] for path in (*removed, *files) if path in pending.before}
    )
    _write_files(db, removed, files, named)
    targets = (
        StoredModuleIndex(db)
        if few
        else ModuleIndex(dict(db.rows("SELECT path, module FROM files")))
    )
    relink(db, removed, named, earlier, targets, len(files) == pending.files)


def _names_of_added(
    db: Database, pending: PendingChanges, facts: Mapping[Key, Facts]
) -> dict[str, str] | None:
    """Path → module of the added files; None where others may have other names now: paths decide
    that, and imports.
    """
    if pending.marks != pending.known_marks or not pending.part.stamps:
        return None
    changed = pending.changed
    removed = {path: file[2] for path, file in pending.before.items() if path not in pending.wanted}
    before = file_facts.load(
        db,
        {pending.before[p][:2] for p in (*changed, *removed) if p in pending.before},
        symbols=False,
    )
    old = imported_names(before.values())
    new = imported_names([facts.get(key) or unavailable_facts() for key in changed.values()])
    if not still_valid(db, old, new):
        return None
    added = changed.keys() - pending.before.keys()
    if added or removed:
        return names_of_added(db, added, removed, changed, new)
    return {}


def _outlines(db: Database, files: Mapping[str, File]) -> Outlined:
    """The modules and outlines of these files as they were."""
    outlines = file_facts.outlines(db, {file[:2] for file in files.values()})
    return {path: (file[2], outlines.get(file[:2]) or {}) for path, file in files.items()}


# -- names of modules


class StoredModuleIndex(ModuleIndex):
    """The same answers, each read when it is first asked for."""

    def __init__(self, db: Rows) -> None:
        super().__init__({})
        self._db = db
        self._found: dict[str, list[tuple[str, str]]] = {}
        self._above: dict[str, bool] = {}
        self._asked: dict[str, str] = {}
        self._present: dict[str, bool] = {}

    def module_of(self, path: str) -> str:
        rows = self._db.rows("SELECT module FROM files WHERE path = ?", (path,))
        if not rows:
            raise KeyError(path)
        return str(rows[0][0])

    def has_file(self, path: str) -> bool:
        if path not in self._present:
            self._present[path] = _is_there(self._db, path)
        return self._present[path]

    def files_called(self, names: Sequence[str]) -> Sequence[str]:
        paths = (row[0] for row in self._db.rows("SELECT path FROM files"))
        return sorted(path for path in paths if path.rpartition("/")[2] in names)

    def path_of(self, module: str) -> str:
        if module not in self._asked:
            rows = self._db.rows("SELECT path FROM files WHERE module = ?", (module,))
            self._asked[module] = str(rows[0][0]) if rows else ""
        return self._asked[module]

    def inside(self, name: str) -> bool:
        if "@" in name:
            return False
        if name not in self._above:
            sql = "SELECT 1 FROM files WHERE module >= ? AND module < ? LIMIT 1"
            # `/` comes right after `.`
            self._above[name] = bool(self._db.rows(sql, (f"{name}.", f"{name}/")))
        return self._above[name]

    def called(self, name: str) -> Sequence[tuple[str, str]]:
        if "@" in name:
            return ()
        if name not in self._found:
            sql = "SELECT path, module FROM files WHERE module = ? OR (module >= ? AND module < ?)"
            # `A` comes right after `@`
            self._found[name] = self._db.rows(sql, (name, f"{name}@", f"{name}A"))
        return self._found[name]


def still_valid(db: Rows, old: Collection[str], new: Collection[str]) -> bool:
    """True if names that were decided before stay, now that some files import `new` instead of
    `old`.

    A name that is no longer imported by these may still be by others: then it is worked out again,
    to be sure.
    """
    before = set(old)
    now = set(new)
    changed = [*((name, 0) for name in now - before), *((name, 1) for name in before - now)]
    if not changed:
        return True
    answers = dict(db.rows("SELECT name, asked_for FROM naming"))
    # a name that was never asked for decided nothing: it passes
    return all(answers.get(name, 1 - answer) != answer for name, answer in changed)


class _Decision(NamedTuple):
    """The names of all modules, and what decided them."""

    modules: dict[str, str]
    """Path → module."""
    answers: dict[str, bool]
    """Name that somebody might import → whether somebody does."""


def _decide_names(
    paths: Iterable[str], markers: Collection[str], imports: Collection[str]
) -> _Decision:
    """The names of the modules of these files. `imports`: what all of them import."""
    asked = QueriedNames(imports)
    modules = module_names([*paths, *markers], asked)
    return _Decision(modules, asked.answers)


def decide_stored_names(
    db: Rows,
    wanted: Mapping[str, Key],
    markers: Collection[str] = (),
    facts_at_hand: Mapping[Key, Facts] | None = None,
) -> dict[str, str]:
    """Path → module of all files, from what all of them import; what decided it is stored. Inside
    one transaction.

    `markers`: paths of the files that mark projects. `facts_at_hand`: facts that need not be read
    again.
    """
    facts_at_hand = facts_at_hand or {}
    loaded = file_facts.load(
        db, {key for key in wanted.values() if key not in facts_at_hand}, symbols=False
    )
    imports = imported_names(
        facts
        for key in set(wanted.values())
        if (facts := facts_at_hand.get(key) or loaded.get(key))
    )
    return _store_decision(db, _decide_names(wanted, markers, imports), markers)


def _store_decision(db: Rows, decision: _Decision, markers: Collection[str]) -> dict[str, str]:
    """Store what decided the names; returns them."""
    db.execute("DELETE FROM naming")
    db.many("INSERT INTO naming (name, asked_for) VALUES (?, ?)", sorted(decision.answers.items()))
    _store_markers(db, markers)
    return decision.modules


def _store_markers(db: Rows, markers: Collection[str]) -> None:
    """From now on these mark projects. Inside one transaction."""
    db.execute("DELETE FROM marks")
    db.many("INSERT INTO marks (path) VALUES (?)", [(path,) for path in sorted(markers)])


_ADDED_AT_MOST: Final = 50
"""Files added or removed, up to which it is tried."""
_MENTIONING: Final = 300
"""Files that are looked into for one name."""
_DECIDING: Final = ("__init__.py", "setup.py")
"""Files that decide the names of others."""


class Unsure(Exception):
    """It would take a look at all files."""


def names_of_added(
    db: Rows,
    added: Collection[str],
    removed: Mapping[str, str],
    changed: Collection[str],
    new: Collection[str],
) -> dict[str, str] | None:
    """Path → module of the added files; None where another file may have another name now.

    `removed`: path → module; `changed`: the paths of all files whose content is not as the database
    has it; `new`: the names that these import. The tables are as they were. Marks of projects are
    the same, and what is imported now or no longer decides nothing that was decided before
    (`still_valid`). In one transaction.
    """
    if len(added) + len(removed) > _ADDED_AT_MOST or any(
        path.rpartition("/")[2] in _DECIDING for path in (*added, *removed)
    ):
        return None
    modules = StoredModuleIndex(db)
    imported = _ImportedNames(db, {*changed, *removed}, new)
    packages = _Packages(db)
    projects = _Projects(db)
    # of several files with one name, another gets the plain name when this one is removed
    if any(
        len(modules.called(plain_name(module))) != 1 or "@" in module for module in removed.values()
    ):
        return None
    module_of: dict[str, str] = {}
    try:
        for path in sorted(added):
            if path.endswith(".py"):
                name = module_name(path, packages, projects, imported)
            else:
                name = path
            if path.endswith(".py") and (
                "@" in name or modules.called(name) or name in module_of.values()
            ):
                return None
            module_of[path] = name
    except Unsure:
        return None
    imported.keep()
    return module_of


class _Packages(Container[str]):
    """The folders that hold an `__init__.py`."""

    def __init__(self, db: Rows) -> None:
        self._db = db

    def __contains__(self, folder: object) -> bool:
        return _is_there(self._db, f"{folder}/__init__.py" if folder else "__init__.py")


class _Projects(Container[str]):
    """The folders that hold a mark of a project, or `setup.py`."""

    def __init__(self, db: Rows) -> None:
        self._db = db
        self._marked = {
            path.rpartition("/")[0] for path in file_index.stored_markers(db, "path >= ?", ("",))
        }

    def __contains__(self, folder: object) -> bool:
        return folder in self._marked or _is_there(
            self._db, f"{folder}/setup.py" if folder else "setup.py"
        )


def _is_there(db: Rows, path: str) -> bool:
    return bool(db.rows("SELECT 1 FROM files WHERE path = ?", (path,)))


class _ImportedNames(Container[str]):
    """The names that are imported: as decided the last time, else by the files that mention
    them.
    """

    def __init__(self, db: Rows, changed: Collection[str], new: Collection[str]) -> None:
        self._db = db
        self._changed = changed
        self._new = new
        self._answers: dict[str, bool] = {}
        self._known = dict(db.rows("SELECT name, asked_for FROM naming"))

    def __contains__(self, name: object) -> bool:
        text = str(name)
        if text not in self._answers:
            self._answers[text] = self._answer(text)
        return self._answers[text]

    def keep(self) -> None:
        """Store what was asked: a file that imports it one day, or no longer, decides again."""
        rows = sorted(self._answers.items())
        self._db.many("DELETE FROM naming WHERE name = ?", [row[:1] for row in rows])
        self._db.many("INSERT INTO naming (name, asked_for) VALUES (?, ?)", rows)

    def _answer(self, name: str) -> bool:
        if name in self._new:
            return True
        count = self._known.get(name)
        if count is not None:
            return bool(count)
        return self._by_others(name)

    def _by_others(self, name: str) -> bool:
        """True if an unchanged file imports it. Unsure where too many mention it."""
        # whoever imports `a.b`, even as `from . import b`, mentions `b`
        words = WORD.findall(name.rpartition(".")[2])
        if words:
            paths = sorted(
                name_index.files_mentioning(self._db, {words[-1]}).keys() - self._changed
            )
        else:
            paths = []
        if not words or len(paths) > _MENTIONING:
            raise Unsure
        sql = f"SELECT blob, scanner FROM files WHERE path IN ({placeholders(paths)})"
        facts = file_facts.load(
            self._db, {(blob, scanner) for blob, scanner in self._db.rows(sql, paths)}, False
        )
        return name in imported_names(facts.values())
