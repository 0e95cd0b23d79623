"""From what tracers noted to executed symbols: names and hashes by the scanner's facts of each
file.

At the end of a run, in the process that records it: right afterwards the developer edits the files.
A file that was edited during the run is *unknown*, with the reason. Coverage data of another tool
is named the same way.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.decorators import full_names, is_executed_by_calls_alone
from kl_hooks.code.file_facts import facts_under, load, modules_of, outlines, scan_missing
from kl_hooks.code.languages import content_keys, scanners_of
from kl_hooks.code.modules import MARKERS, ModuleIndex, absolute
from kl_hooks.code.plugin import CODE
from kl_hooks.errors import KlError
from kl_hooks.evidence.distributions import Uses
from kl_hooks.evidence.executed import (
    Executed,
    SymbolHash,
    TestFile,
    TestSets,
    reachable,
    test_path,
    write_executed,
)
from kl_hooks.evidence.private import PrivateDigests, variable_key
from kl_hooks.evidence.reads import ELSEWHERE, SET_VARIABLES, STORED, Read, Reads
from kl_hooks.git.files import FileEntry, files_at, read_files, worktree_files
from kl_hooks.git.worktree import scan_worktree
from kl_hooks.proof.opened_bytes import bytes_id, names_id
from kl_hooks.proof.read_trace import ReadTrace
from kl_hooks.store.redaction import may_hold_secret, shows_secret

if TYPE_CHECKING:
    from kl_hooks.code.scanner.parser import Facts, Key, Outline
    from kl_hooks.git.repository import Repository
    from kl_hooks.workspace import Workspace


_MAGIC: Final = frozenset("*?[")
"""What makes a pattern of a listing more than one name."""
_OWN_STATE: Final = (".git/kl/", ".kl/")
"""Folders that kl itself reads and writes while tests run."""
_OPTIMIZED: Final = 0x1
"""Flag of the code of functions; the body of a class has none (inspect.CO_OPTIMIZED)."""
_AT_ONCE: Final = 150
"""Contents that are scanned at once: of more, the scanner would start processes, which pytest's
must not.
"""
_LOCK_WAIT: Final = 0.3
"""Seconds to wait for the graph database: the cache may go without these facts."""


_UsesOf = Callable[[Mapping[str, Iterable[str]]], Uses | None]
"""Path → modules that a file imports, and that the repository does not have; which distributions
these are of.
"""


class Trace:
    """What all processes of a run noted, with one numbering of code objects."""

    def __init__(self) -> None:
        self.codes: list[tuple[str, str, int, int]] = []
        """(path, qualified name, first line, flags)."""
        self.tests: dict[str, tuple[set[int], set[int], set[int]]] = {}
        self.modules: dict[str, set[int]] = {}
        self.imports: set[tuple[str, str]] = set()
        self.left: dict[str, set[tuple[str, str]]] = {}
        """Test → (file, name) of what it left changed."""
        self.submodules: set[tuple[str, str]] = set()
        """(file, module that its code has as an attribute of a package)."""
        self.submodules_outside: set[tuple[str, str]] = set()
        """The same of modules outside of the repository, by their full names."""
        self.stamps: dict[str, set[tuple[int, int]]] = {}
        self.before: set[str] = set()
        """Files that were imported before the recording began."""
        self.reads = ReadTrace()
        self.outside: set[tuple[str, str]] = set()
        """(file, first part of a module that it imported as it ran)."""
        self.incomplete: dict[str, str] = {}
        self.incomplete_imports: dict[str, str] = {}
        """File → why its import may have executed more than was noted."""
        self.unknown: dict[str, str] = {}
        self.values: dict[int, set[int]] = {}
        """Code that gets values which an earlier test may have computed → what computed them."""
        self.trouble = ""
        self.recorder = ""
        self._numbers: dict[tuple[str, str, int, int], int] = {}

    def add(self, plain: Mapping[str, Any], name: Callable[[str], str]) -> None:
        """One process's notes (`Tracer.plain`). `name` gives a test's ID in the record."""
        own = [self.number(tuple(code)) for code in plain["codes"]]

        def codes(packed: bytes) -> set[int]:
            return {own[number] for number in array("I", packed)}

        self.reads.begin(plain["reads"])
        fixtures = plain["fixtures"]
        set_ups = [codes(packed) for packed, _, _ in fixtures]
        for nodeid, setup, call, teardown, used, why in plain["tests"]:
            test = name(nodeid)
            phases = self.tests.setdefault(test, (set(), set(), set()))
            for executed, packed in zip(phases, (setup, call, teardown), strict=True):
                if packed:
                    executed |= codes(packed)
            if used:
                reached = sorted(_reached(used, fixtures))
            else:
                reached = []
            phases[0].update(*(set_ups[number] for number in reached))
            self.reads.add_test(nodeid, test, reached)
            why = why or next(
                (fixtures[number][2] for number in reached if fixtures[number][2]), ""
            )
            if why:
                self.incomplete[test] = why
        for path, (packed, why) in plain["modules"].items():
            self.modules.setdefault(path, set()).update(codes(packed))
            if why:
                self.unknown[path] = self.incomplete_imports[path] = why.replace(
                    "it ", "its import ", 1
                )
        self.reads.add_values(own.__getitem__)
        for readers, computed in plain["values"]:
            for number in readers:
                self.values.setdefault(own[number], set()).update(own[one] for one in computed)
        for path, executed_in_session in plain["session"].items():
            self.modules.setdefault(path, set()).update(
                own[number] for number in executed_in_session
            )
        for path, (mtime, size, before) in plain["stamps"].items():
            self.stamps.setdefault(path, set()).add((mtime, size))
            if before:
                self.before |= {path}
        self.imports |= {(a, b) for a, b in plain["imports"]}
        self.submodules |= {(user, module) for user, module in plain.get("submodules", ())}
        self.submodules_outside |= {
            (user, name) for user, name in plain.get("submodules_outside", ())
        }
        for nodeid, places in plain.get("left", {}).items():
            self.left.setdefault(name(nodeid), set()).update((file, of) for file, of in places)
        self.outside |= {(path, name) for path, name in plain.get("outside", ())}
        self.trouble = self.trouble or plain["trouble"]
        self.recorder = plain["recorder"]

    def number(self, code: tuple[str, str, int, int]) -> int:
        """The number of a code object: (path, qualified name, first line, flags)."""
        number = self._numbers.setdefault(code, len(self.codes))
        if number == len(self.codes):
            self.codes.append(code)
        return number

    def executed(
        self,
        ws: Workspace,
        run: str,
        names: Sequence[str],
        tree: str | None = None,
        uses: _UsesOf | None = None,
        started: int | None = None,
    ) -> Executed:
        """The symbols that these code objects are, by the files on disk or in a tree; `names`: the
        tests of the run; `uses`: which distributions the names are of that files import; `started`:
        when it began (nanoseconds since 1970), where it ran here.
        """
        assert ws.repo is not None
        resolver = _Resolver(ws, ws.repo, self, tree, started)
        executed = resolver.executed(run, names)
        if not uses:
            return executed
        return replace(executed, distributions=uses(resolver.outside))


def _reached(used: Iterable[int], fixtures: Sequence[Any]) -> set[int]:
    """These fixtures, and those that were set up in their set-up."""
    reached = set(used)
    todo = list(used)
    while todo:
        new = [fixture for fixture in fixtures[todo.pop()][1] if fixture not in reached]
        reached.update(new)
        todo += new
    return reached


def record_executed(
    ws: Workspace,
    folder: Path,
    run: str,
    traces: Iterable[Mapping[str, Any]],
    name: Callable[[str], str],
    names: Sequence[str],
    uses: _UsesOf | None = None,
    started: int | None = None,
) -> dict[str, Any]:
    """Write the executed symbols of a run into a spool folder; what the receipt states of them. May
    raise anything.

    `traces`: of each process (`Tracer.plain`); `name` gives the ID of a test in the record.
    `names`: the tests of the record; one that no process has noted is recorded as incomplete.
    `uses`, `started`: see `Trace.executed`.
    """
    trace = Trace()
    for process_trace in traces:
        trace.add(process_trace, name)
    if trace.trouble:
        return {"trouble": trace.trouble}
    with ws.store.reusing():
        executed = trace.executed(ws, run, names, uses=uses, started=started)
    # the sort before the first `:` is ours; with it, no ID would look harmless at first sight
    symbols = (symbol.partition(":")[2] for symbol in executed.places)
    if executed.reads:
        read = {path for path, _ in executed.reads.everything()}
    else:
        read = set()
    texts = (
        symbols,
        executed.places.values(),
        executed.files,
        executed.imports,
        executed.unknown,
        read,
        {name for places in executed.left.values() for _, name in places},
    )
    # a name that is redacted would be that of nothing: a run without sets is judged by its content
    # alone
    if any(may_hold_secret(one) and shows_secret(one) for some in texts for one in some):
        return {"trouble": "the name of a file or function looks like a secret"}
    digest = write_executed(folder, executed)
    return {
        "digest": digest,
        "symbols": len(executed.symbols),
        "tests": len(executed.tests),
        "recorder": trace.recorder,
        "files": len(executed.files),
    }


class _Resolver:
    """The facts of the files that a run executed, and symbols by what a code object is called."""

    def __init__(
        self,
        ws: Workspace,
        repo: Repository,
        trace: Trace,
        tree: str | None,
        started: int | None = None,
    ) -> None:
        self._ws = ws
        self._repo = repo
        self._trace = trace
        self._started, self._digests = started, PrivateDigests(ws)
        self._ignored: dict[str, str] = {}
        """Path of a file that git ignores → the digest of its bytes."""
        self._scanners = scanners_of(ws)
        self._source = "objects" if tree else "worktree"
        self._tracked, self._untracked = set[str](), set[str]()
        suffixes = (".py", *MARKERS)
        if tree:
            files = files_at(repo, tree, suffixes)
        else:
            scan = scan_worktree(repo)
            self._tracked = {path for _, _, path in scan.listing.staged_blobs()}
            self._untracked = {os.fsdecode(path) for path in scan.listing.untracked}
            files = worktree_files(repo, suffixes, scan)
        self.entries = {file.path: file for file in files}
        self._keys = content_keys(self.entries.values(), self._scanners)
        self._known: dict[Key, Facts] = {}
        self._fresh: dict[Key, Facts] = {}
        self._modules = self._names()
        self._index = ModuleIndex(self._modules)
        self.unknown = dict(trace.unknown)
        self._names_outside: dict[str, set[str]] = {}
        """Path → what it imports that is not of the repository, the standard library included."""
        self.outside: dict[str, set[str]] = {}
        """Path → modules that it imports, and that neither Python nor the repository has."""
        for path, name in trace.outside:
            if not self._index.inside(name) and not self._index.called(name):
                self.outside.setdefault(path, set()).add(name)
        self._facts: dict[str, Facts] = {}

    # facts

    def _names(self) -> dict[str, str]:
        """Path → module: as in the graph where that is current, else decided from what all files
        import.
        """
        with self._ws.store.reading("graph", (CODE,)) as db:
            if db is not None:
                rows = db.rows("SELECT path, blob, scanner, module FROM files")
            else:
                rows = []
            stored = {path: (blob, scanner) for path, blob, scanner, _ in rows}
            if stored == self._keys:
                return {path: module for path, _, _, module in rows}
        return modules_of(
            {path: self._content(path) for path in self._all(list(self._keys), symbols=False)}
        )

    def _all(self, paths: Sequence[str], symbols: bool) -> Sequence[str]:
        """The same paths, once the facts of their contents are loaded."""
        wanted = {self._keys[path] for path in paths}
        missing = {key for key in wanted if not self._has(key, symbols)}
        if missing:
            with self._ws.store.reading("graph", (CODE,)) as db:
                self._known.update(load(db, missing, symbols) if db is not None else {})
        todo = [path for path in paths if not self._has(self._keys[path], symbols)]
        for start in range(0, len(todo), _AT_ONCE):
            batch = [self.entries[path] for path in todo[start : start + _AT_ONCE]]
            keys = {file.path: self._keys[file.path] for file in batch}
            facts = scan_missing(batch, keys, {}, self._read, self._scanners)
            self._fresh.update(facts)
        return [
            path
            for path in paths
            if self._keys[path] in self._known or self._keys[path] in self._fresh
        ]

    def _read(self, entries: Sequence[FileEntry]) -> Iterator[tuple[FileEntry, bytes]]:
        return read_files(self._repo, entries, self._source)

    def _has(self, key: Key, symbols: bool) -> bool:
        # without symbols a row has an empty list: every file that can be read has its module among
        # them
        facts = self._known.get(key)
        return key in self._fresh or (
            facts is not None and bool(not symbols or facts["symbols"] or facts["error"])
        )

    def _content(self, path: str) -> Facts:
        key = self._keys[path]
        return self._fresh.get(key) or self._known[key]

    def remember(self) -> None:
        """Store what was scanned, so that no later run scans it again."""
        if not self._fresh:
            return
        from kl_hooks.code.file_facts import store_facts

        store = self._ws.store
        before, store.wait = store.wait, _LOCK_WAIT
        try:
            store_facts(store, self._fresh)
        except (KlError, OSError):
            pass  # the next one scans it again
        finally:
            store.wait = before

    # symbols

    def executed(self, run: str, names: Sequence[str]) -> Executed:
        """What the receipt vouches for."""
        trace = self._trace
        paths = sorted({code[0] for code in trace.codes} | trace.modules.keys() | trace.before)
        here = [path for path in paths if path in self._keys and not self._flaw(path)]
        for path in self._all(here, symbols=True):
            self._facts[path] = facts_under(
                self._content(path), self._modules.get(path, path), path
            )
        symbols = _Symbols(self._facts, self._outlines())
        by_code = [symbols.find(*code) for code in trace.codes]
        tests: dict[str, dict[str, dict[int, str]]] = {}
        for name, sets in trace.tests.items():
            symbols_of_test = tests.setdefault(test_path(name), {}).setdefault(name, {})
            # the first phase in which it ran wins: the last to be written
            for phase, codes in zip(("teardown", "call", "setup"), reversed(sets), strict=True):
                symbols_of_test.update(
                    {at: phase for code in codes if (at := by_code[code]) is not None}
                )
        modules = {
            path: {at for code in trace.modules.get(path, ()) if (at := by_code[code]) is not None}
            | symbols.at_import(path, everything=path in trace.before)
            for path in {*trace.modules, *trace.before}
            if path in self._facts
        }
        incomplete = dict(trace.incomplete)
        incomplete |= {
            name: "what it executed was not recorded" for name in names if name not in trace.tests
        }
        values: dict[int, set[int]] = {}
        for reader, computed in trace.values.items():
            if (reading := by_code[reader]) is not None:
                ran = {at for one in computed if (at := by_code[one]) is not None}
                values.setdefault(reading, set()).update(ran - {reading})
        found_executed = self._assemble(run, symbols, tests, modules, incomplete, values)
        names_of = [None if at is None else symbols.rows[at][0] for at in by_code]
        reads = trace.reads.reads(names_of.__getitem__, self._is_content)
        ignored = {Read(path) for path, seal in self._ignored.items() if seal}
        # such as what plugins store for their next run
        if reads and ignored:
            reads = reads.without_unowned(ignored)
        if reads:
            reads = self._with_ignored_modules(reads)
        found_executed = replace(
            found_executed,
            reads=reads,
            absent=self._absent(reads, tests),
            listed=self._listed(reads),
            private=self._private(reads),
            left={name: tuple(sorted(places)) for name, places in trace.left.items()},
            incomplete={**self._incomplete_by_imports(found_executed), **incomplete},
        )
        self.remember()
        return found_executed

    def _outlines(self) -> dict[str, Outline]:
        """Path → the outline of a file that has decorators."""
        decorated = [path for path, facts in self._facts.items() if facts["decorators"]]
        wanted = {self._keys[path] for path in decorated} - self._fresh.keys()
        with self._ws.store.reading("graph", (CODE,)) as db:
            stored = outlines(db, wanted) if db is not None else {}
        fresh = {key: facts["outline"] for key, facts in self._fresh.items()}
        by_key = stored | fresh
        return {path: by_key.get(self._keys[path], {}) for path in decorated}

    def _flaw(self, path: str) -> bool:
        """Whether the file is not what was imported any more, which is noted."""
        try:
            state = (self._repo.top / path).stat()
            now = {(state.st_mtime_ns, state.st_size)}
        except OSError:
            now = set()
        stamps = self._trace.stamps.get(path, now)
        if stamps != now:
            self.unknown[path] = "it was changed while the tests ran"
        return stamps != now

    def _assemble(
        self,
        run: str,
        symbols: _Symbols,
        tests: Mapping[str, Mapping[str, Mapping[int, str]]],
        modules: Mapping[str, set[int]],
        incomplete: Mapping[str, str],
        values: Mapping[int, set[int]],
    ) -> Executed:
        used = {at for file in tests.values() for one in file.values() for at in one}
        used |= {at for some in modules.values() for at in some}
        used |= {at for some in values.values() for at in some} | values.keys()
        order = sorted(used, key=lambda at: symbols.rows[at][0])
        index = {at: place for place, at in enumerate(order)}
        files = {
            path: TestFile.of(
                {
                    name: {index[at]: phase for at, phase in one.items()}
                    for name, one in file.items()
                }
            )
            for path, file in tests.items()
        }
        for path, facts in self._facts.items():
            if facts["error"]:
                self.unknown.setdefault(path, facts["error"])
        imports, runtime = self._imports({*files, *modules, *(symbols.rows[at][2] for at in used)})
        return Executed(
            run,
            self._trace.recorder,
            tuple(SymbolHash(*symbols.rows[at][:2]) for at in order),
            TestSets(files),
            modules={path: frozenset(index[at] for at in some) for path, some in modules.items()},
            imports=imports,
            places={symbols.rows[at][0]: symbols.rows[at][2] for at in order},
            unknown=self.unknown,
            files=self._data(),
            incomplete=incomplete,
            runtime=runtime,
            values={
                index[at]: frozenset(index[one] for one in some)
                for at, some in values.items()
                if some
            },
        )

    def _incomplete_by_imports(self, executed: Executed) -> dict[str, str]:
        """Test → why it is incomplete: the import of a file that it needs may have executed
        more.
        """
        importers: dict[str, set[str]] = {}
        for importer, imported_paths in executed.imports.items():
            for imported in imported_paths:
                importers.setdefault(imported, set()).add(importer)
        needed_by = {
            test_file: {test_file, *_conftests(test_file)}.union(
                executed.places[executed.symbols[index].symbol] for index in file.symbols
            )
            for test_file, file in executed.tests.files.items()
        }
        incomplete: dict[str, str] = {}
        for path, why in self._trace.incomplete_imports.items():
            reaching = reachable([path], importers)
            needing = [name for name, needed in needed_by.items() if needed & reaching]
            # a plugin that no test is seen to need, all need
            for name in needing or needed_by:
                tests = executed.tests.files[name].masks
                incomplete.update(dict.fromkeys(tests, f"{path}: {why}"))
        return incomplete

    # imports and data

    def _imports(
        self, starts: Iterable[str]
    ) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """(path → files that it imports, of all files that can be reached from these by imports; of
        these those that no import statement shows).
        """
        starts = [*starts]
        at_run_time: dict[str, set[str]] = {}
        for importer, imported in self._trace.imports:
            at_run_time.setdefault(importer, set()).add(imported)
        imports_of, hidden = self._imports_from(starts, at_run_time)
        if borrowed := self._borrowed(imports_of):
            for user, files in borrowed.items():
                at_run_time.setdefault(user, set()).update(files)
            imports_of, hidden = self._imports_from(starts, at_run_time)
        return imports_of, hidden

    def _borrowed(self, imports_of: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
        """File → modules that its code has as attributes of packages, and no import of its own or
        of what it imports, with those whose imports bound them there.
        """
        importers: dict[str, set[str]] = {}
        for importer, imported in self._trace.imports:
            importers.setdefault(imported, set()).add(importer)
        borrowed: dict[str, set[str]] = {}
        for user, module in self._trace.submodules:
            if module not in reachable([user], imports_of):
                borrowed.setdefault(user, set()).update(reachable([module], importers))
        for user, name in self._trace.submodules_outside:
            binding = {path for path, names in self._names_outside.items() if name in names}
            if binding.isdisjoint(reachable([user], imports_of)):
                borrowed.setdefault(user, set()).update(reachable(binding, importers))
        return borrowed

    def _imports_from(
        self, starts: Iterable[str], at_run_time: Mapping[str, set[str]]
    ) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        imports_of: dict[str, tuple[str, ...]] = {}
        hidden: dict[str, tuple[str, ...]] = {}
        todo = [path for path in starts if path in self._keys]
        for folder_path in list(todo):
            todo += [one for one in _conftests(folder_path) if one in self._keys]
        while todo:
            new = list(dict.fromkeys(path for path in todo if path not in imports_of))
            readable = set(self._all(new, symbols=False))
            for path in new:
                if path in readable:
                    targets = self._imported(path)
                else:
                    targets = set()
                seen_at_run_time = at_run_time.get(path, set()) & self._keys.keys()
                if path in readable and seen_at_run_time - targets:
                    hidden[path] = tuple(sorted(seen_at_run_time - targets))
                imports_of[path] = tuple(sorted((targets | seen_at_run_time) - {path}))
            todo = [one for path in new for one in imports_of[path]]
        return {
            path: imported_paths for path, imported_paths in imports_of.items() if imported_paths
        }, hidden

    def _imported(self, path: str) -> set[str]:
        """What a file's import statements mean, wherever they are, with the packages above; no
        imports for types.
        """
        module = self._modules.get(path)
        if module is None:
            return set()
        inits = path.rpartition("/")[2] == "__init__.py"
        names: set[str] = set()
        for wanted, name, level, _, manner, _ in self._content(path)["imports"]:
            if manner == "type-checking import":
                base = None
            else:
                base = absolute(wanted, level, module, inits)
            if base is not None:
                names |= {base, f"{base}.{name}"} if name and name != "*" else {base}
        for name in list(names):
            while name := name.rpartition(".")[0]:
                names.add(name)
        targets = {name: self._index.find(name, path) for name in names}
        for name, target in targets.items():
            top = name.partition(".")[0]
            own = target or targets.get(top) or self._index.inside(top)
            if not own:
                self._names_outside.setdefault(path, set()).add(name)
            if not own and top not in sys.stdlib_module_names:
                self.outside.setdefault(path, set()).add(name)
        return {
            imported_path
            for one in targets.values()
            if one and (imported_path := self._index.path_of(one))
        }

    def _data(self) -> dict[str, str]:
        """The opened files that git tracks, with their blob IDs."""
        opened = self._trace.reads.opened & self._tracked
        # what is in .kl/ we open ourselves, and no test is expected to
        wanted = (
            path
            for path in sorted(opened)
            if path not in self._keys and not path.startswith(".kl/")
        )
        return {path: bytes_id(self._repo, path) for path in wanted}

    def _absent(self, reads: Reads | None, tests: Iterable[str]) -> frozenset[str]:
        """Where the run looked, and pytest for a `conftest.py`, and nothing is now that it is
        over.
        """
        if reads is None or self._source != "worktree":
            return frozenset()
        paths = {path for test in tests for path in _conftests(test)}
        for path, pattern in reads.everything():
            if path not in ELSEWHERE and not _MAGIC.intersection(pattern):
                paths.add("/".join(filter(None, (path, pattern))))
        paths -= self._content_files
        return frozenset(path for path in paths if not os.path.lexists(self._repo.top / path))

    def _listed(self, reads: Reads | None) -> dict[str, str]:
        """The listings of folders, with the names that they show. Not of the top folder, where
        tools leave what is theirs, and not of all folders below another one.
        """
        if reads is None or self._source != "worktree":
            return {}
        listings = {
            f"{path}/{pattern}"
            for path, pattern in reads.everything()
            if path
            and path not in ELSEWHERE
            and "/" not in pattern
            and _MAGIC.intersection(pattern)
        }
        return {listing: names_id(self._repo, listing) for listing in sorted(listings)}

    def _with_ignored_modules(self, reads: Reads) -> Reads:
        """The modules that git ignores (`_version.py`) are read by who imports them: no content has
        their symbols.
        """
        modules = {path: set(own) for path, own in reads.modules.items()}
        for importer, imported in self._trace.imports:
            if imported not in self._content_files and self._seal_of_ignored(imported):
                modules.setdefault(importer, set()).add(Read(imported))
        return reads._replace(modules={path: frozenset(own) for path, own in modules.items()})

    def _is_content(self, read: Read, absent: bool) -> bool:
        """Whether another content may have something else in the place of what was read. Not so
        what git ignores, such as what tests write; what was not there may come.
        """
        path = read.path
        # what is in .kl/ we open ourselves
        if path == ".kl" or path.startswith(".kl/"):
            return False
        if path == STORED and read.pattern[1:-2] in self._content_files:
            return False  # a test that writes such a file changes the content
        if read.pattern and (path in ("", *ELSEWHERE) or path in self._content_folders):
            return True
        return absent or path in self._content_files or bool(self._seal_of_ignored(path))

    def _seal_of_ignored(self, path: str) -> str:
        """The digest of a file that git ignores or writes for itself, and that was there before the
        run; empty for what tests write, and for what kl writes.
        """
        if self._started is None or path.startswith(_OWN_STATE):
            return ""
        if path not in self._ignored:
            # with a name that looks like a secret nothing of the run would be recorded
            named = not (may_hold_secret(path) and shows_secret(path))
            self._ignored[path] = self._digests.of_file(path, self._started) if named else ""
        return self._ignored[path]

    def _private(self, reads: Reads | None) -> dict[str, str]:
        """What the run read of this machine alone, as digests."""
        if reads is None or self._started is None:
            return {}
        private: dict[str, str] = {}
        for path, pattern in sorted(reads.everything()):
            if path == SET_VARIABLES:
                seal = self._digests.of_variable(pattern, self._ws.environ)
                if seal:
                    private |= {variable_key(pattern): seal}
            elif not pattern and self._ignored.get(path):
                private[path] = self._ignored[path]
        return private

    @cached_property
    def _content_files(self) -> frozenset[str]:
        return frozenset(self._tracked | self._untracked)

    @cached_property
    def _content_folders(self) -> frozenset[str]:
        folders: set[str] = set()
        for path in self._content_files:
            folder = path.rpartition("/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(folders)


class _Symbols:
    """The symbols of files, by index."""

    def __init__(self, facts: Mapping[str, Facts], outlines: Mapping[str, Outline]) -> None:
        """`outlines`: of the files that have decorators."""
        self._outlines = outlines
        self.rows: list[tuple[str, str, str]] = []
        """(symbol, content hash, path)."""
        self._by_name: dict[str, dict[str, list[int]]] = {}
        self._own: dict[str, tuple[int, list[int]]] = {}
        """Path → its module's index, and those of what is decorated in it by what may do more than
        wrap it.
        """
        for path, file_facts in facts.items():
            self._add(path, file_facts)

    def _add(self, path: str, facts: Facts) -> None:
        names: dict[str, list[int]] = {}
        marked = {int(place) for place in facts["decorators"]}
        own = -1
        decorated = []
        if facts["symbols"]:
            module = facts["symbols"][0][0].partition(":")[2]
        else:
            module = ""
        for place, (identifier, *_, content_hash) in enumerate(facts["symbols"]):
            kind, _, name = identifier.partition(":")
            index = len(self.rows)
            self.rows.append((identifier, content_hash, path))
            if kind == "namespace":
                own = index
            elif kind != "field":
                names.setdefault(name[len(module) + 1 :], []).append(index)
            # a function that is decorated is wrapped when the module is imported; one inside
            # another when that runs
            if place in marked and ".<locals>." not in name:
                owner = name[len(module) + 1 :].rpartition(".")[0]
                marks = facts["decorators"][str(place)]
                decorators = full_names(marks, owner, self._outlines[path])
                if not all(map(is_executed_by_calls_alone, decorators)):
                    decorated.append(index)
        self._by_name[path] = names
        if own >= 0:
            self._own[path] = (own, decorated)

    def find(self, path: str, name: str, line: int, flags: int) -> int | None:
        """The symbol of a code object: its own, or of what it is written in. None where the file is
        not known.
        """
        if path not in self._own:
            return None
        is_function = bool(flags & _OPTIMIZED)
        short = _without_unnamed(name)
        if short:
            candidates = self._by_name[path].get(short, ())
        else:
            candidates = ()
        fitting = [
            at
            for at in candidates
            if self.rows[at][0].startswith(("type:", "interface:")) is not is_function
        ]
        # generated code has names that the file does not have: it is the module that makes it
        return next(iter(fitting or candidates), self._own[path][0])

    def at_import(self, path: str, everything: bool) -> set[int]:
        """What runs in any case when a file is imported; `everything`: what does is not known."""
        if path not in self._own:
            return set()
        own, decorated = self._own[path]
        if everything:
            more_indexes = [at for some in self._by_name[path].values() for at in some]
        else:
            more_indexes = decorated
        return {own, *more_indexes}


def _without_unnamed(name: str) -> str:
    """The qualified name of the definition that a code object is in: lambdas and comprehensions
    have none of their own.

    `f.<locals>.<lambda>` → `f`, `C.<genexpr>` → `C`, `<module>` → ``.
    """
    if "<" not in name:
        return name.removesuffix(".__annotate__")
    parts = name.split(".")
    for position, part in enumerate(parts):
        if part.startswith("<") and part != "<locals>":
            parts = parts[:position]
            break
    while parts and parts[-1] == "<locals>":
        parts.pop()
    return ".".join(parts).removesuffix(".__annotate__")


def _conftests(path: str) -> Iterator[str]:
    folders = path.split("/")[:-1]
    return ("/".join([*folders[:depth], "conftest.py"]) for depth in range(len(folders) + 1))
