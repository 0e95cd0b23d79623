"""A recorded run compared with another content: what every rule asks, computed once.

Which executed symbols differ, which files need a file by imports, which files have a word, and for
one test of the run what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from kl_hooks.code.assignments import ALL, Body, bodies, changed_assignments
from kl_hooks.code.decorators import QUIET_DECORATORS, decorates_only
from kl_hooks.code.import_time import ImportTime
from kl_hooks.code.introspection import (
    EXAMPLES,
    WORDS,
    Introspection,
    SymbolUses,
)
from kl_hooks.evidence.executed import NOTHING_BEHIND, Behind, Executed, reachable, test_path
from kl_hooks.evidence.reads import DOCS, EVERYTHING, Read
from kl_hooks.proof.collected_names import collected_names, reported_names
from kl_hooks.proof.facts import Definition, Difference, FileChange, RunSymbols

_INIT: Final = "__init__.py"
HERE: Final = "=."
"""At the start of a full name: what the file itself defines."""
CONFTEST: Final = "conftest.py"
_MOST_NAMES: Final = 200
"""Names by which a class is followed; what has more counts as used everywhere."""


@dataclass(frozen=True)
class Touch:
    """A condition on a test: it executed one of these symbols, needs one of these files, read one
    of these, or is a test of one of these files.
    """

    files: frozenset[str] = frozenset()
    symbols: frozenset[int] = frozenset()
    """Indexes of executed symbols."""
    reads: frozenset[Read] = frozenset()
    """Files that were opened as data, and listings."""
    own_files: frozenset[str] = frozenset()
    """Files of which it is a test."""

    def __or__(self, other: Touch) -> Touch:
        return Touch(
            self.files | other.files,
            self.symbols | other.symbols,
            self.reads | other.reads,
            self.own_files | other.own_files,
        )

    def __bool__(self) -> bool:
        return bool(self.files or self.symbols or self.reads or self.own_files)

    def fits(self, test: TestFacts) -> bool:
        """Whether a test meets the condition."""
        return (
            test.needs_any(self.files)
            or test.executed_any(self.symbols)
            or not test.reads.isdisjoint(self.reads)
            or test.path in self.own_files
        )


class Names(NamedTuple):
    """The names in code that a test executed."""

    everywhere: frozenset[str]
    outside_of_stores: frozenset[str]
    """Without functions that store what they compute."""


class Near(NamedTuple):
    """What joins other code to some functions: it calls one of them, or one of them calls it."""

    symbols: frozenset[int]
    called: frozenset[str]
    """The names by which other code calls them."""
    names: frozenset[str]
    """The names in their code."""

    def joins(self, name: str, executed: Set[int], names: Set[str]) -> bool:
        """Whether it joins a function. `executed`: the symbols that it is; `names`: in its code."""
        is_one = not executed.isdisjoint(self.symbols)
        return is_one or name in self.names or not names.isdisjoint(self.called)


class Comparison:
    """The Python files that differ between the content of a run and another one, and the run."""

    def __init__(self, executed: Executed, difference: Difference) -> None:
        self.executed, self.symbols = executed, RunSymbols(executed)
        self.changes = {
            change.path: change for change in difference.changes.values() if change.is_python
        }
        self.data_changes = {
            path: change for path, change in difference.changes.items() if not change.is_python
        }
        """Of files that are no source."""
        self.difference = difference
        self.changed: Mapping[int, str] = dict(self._changed_symbols())
        """Index of an executed symbol that differs → in words what became of it."""

    def _changed_symbols(self) -> Iterator[tuple[int, str]]:
        for path, change in self.changes.items():
            indexes = self.symbols.at.get(path, ())
            if not change.state_before or not change.state_now:
                yield from ((index, "was removed") for index in indexes)
            elif self.is_comparable(change) and change.symbols_now is not None:
                hashes = change.symbols_now.hashes
                for index in indexes:
                    local = self.symbols.local(index)
                    # with what was recorded, not with the earlier file: that is what ran
                    if hashes.get(local) != self.executed.symbols[index].content_hash:
                        yield index, "changed" if local in hashes else "was removed"

    def is_comparable(self, change: FileChange) -> bool:
        """Whether the symbols of a file that both contents have can be compared."""
        return (
            change.path not in self.executed.unknown
            and change.symbols_now is not None
            and not change.symbols_now.error
            and (change.path in self.symbols.modules or not self.symbols.at.get(change.path))
        )

    # which files need a file

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        importers: dict[str, set[str]] = {}
        for path, imported_paths in self.executed.imports.items():
            for imported in imported_paths:
                importers.setdefault(imported, set()).add(path)
        return importers

    @cached_property
    def _needing(self) -> dict[frozenset[str], frozenset[str]]:
        return {}

    def needing(self, paths: Iterable[str]) -> frozenset[str]:
        """These files and all that reach one of them by imports."""
        wanted = frozenset(paths)
        if wanted not in self._needing:
            self._needing[wanted] = frozenset(reachable(wanted, self._importers))
        return self._needing[wanted]

    @cached_property
    def starts(self) -> frozenset[str]:
        """The files that some test of the run needs by itself."""
        files = self.executed.tests.files
        indexes = {index for file in files.values() for index in file.symbols}
        indexes |= {index for computed in self.executed.values.values() for index in computed}
        own = {self.symbols.paths[index] for index in indexes}
        conftests = {conftest for path in files for conftest in conftests_above(path)}
        return frozenset(own | files.keys() | conftests)

    def users(self, path: str) -> frozenset[str] | None:
        """The files that need a file, or one in which importing it leaves something. None, for all
        tests, where it was imported, and no test is seen to need it: it is a plugin, whose hooks
        run around all of them.
        """
        needing = self.needing([path])
        imported = (
            path in self.executed.modules
            or path in self.symbols.at
            or path in self.executed.unknown
        )
        if imported and not needing & self.starts:
            return None
        return needing | self.needing(self.affected(path))

    def is_needed(self, users: frozenset[str] | None) -> bool:
        """Whether a test of the run needs one of the files; None: all tests do."""
        return users is None or bool(users & self.starts)

    # what the import of a changed file executes

    @cached_property
    def _import_times(self) -> dict[str, tuple[ImportTime, ImportTime]]:
        return {}

    def import_times(self, path: str) -> tuple[ImportTime, ImportTime]:
        """What importing a file executes before and now, of a file that both contents have."""
        if path not in self._import_times:
            contents = (self.difference.text(path, at) for at in (0, 1))
            old, new = (
                ImportTime(refused="0:0: it can't be read")
                if content is None
                else self.difference.source.import_time(content)
                for content in contents
            )
            self._import_times[path] = old, new
        return self._import_times[path]

    def changed_assignments(self, path: str) -> dict[int, tuple[str, frozenset[str]]]:
        """Index of the body of a module or class that differs in plain assignments alone → the
        class (empty: the module), and their names. `path`: a file that both contents have.
        """
        old, new = (bodies(self.difference.text(path, side) or b"") for side in (0, 1))
        before = self.changes[path].symbols_before
        changed: dict[int, tuple[str, frozenset[str]]] = {}
        if before is None:
            return changed
        for index in self.symbols.at.get(path, ()):
            local = self.symbols.local(index)
            kind, _, name = local.partition(":")
            scope = name.removeprefix("_").removeprefix(".")
            is_body = kind in ("namespace", "type", "interface")
            # what ran is what the earlier file has
            recorded = self.executed.symbols[index].content_hash
            if not is_body or index not in self.changed or before.hashes.get(local) != recorded:
                continue
            if scope in old and scope in new:
                names = changed_assignments(old[scope], new[scope])
                if names:
                    changed[index] = scope, names
        return changed

    def body(self, path: str, side: int, scope: str) -> Body:
        """The body of a class, or of the module, before (0) or now (1)."""
        return bodies(self.difference.text(path, side) or b"").get(scope, Body())

    def has_other_functions(self, path: str) -> bool:
        """Whether a function of a file was removed, changed or moved to another line, so that its
        code object is another one. Of an added one nobody has the code object who does not get it.
        """
        before, now = (self.difference.text(path, side) for side in (0, 1))
        if before is None or now is None:
            return True
        source = self.difference.source
        old, new = source.placed_functions(before), source.placed_functions(now)
        return old.is_unreadable or new.is_unreadable or not old.digests <= new.digests

    # which definitions are tests

    @cached_property
    def _test_names(self) -> dict[tuple[str, int], frozenset[str]]:
        return {}

    def test_names(self, path: str, side: int) -> frozenset[str]:
        """The definitions of a test file before (0) or now (1) that are tests: `TestA.test_b`."""
        if (path, side) not in self._test_names:
            self._test_names[path, side] = self._read_test_names(path, side)
        return self._test_names[path, side]

    def _read_test_names(self, path: str, side: int) -> frozenset[str]:
        file = self.executed.tests.files.get(path)
        if file is not None:
            content = self.difference.text(path, side)
        else:
            content = None
        if file is None or content is None:
            return frozenset()
        config = self.difference.pytest_config(path)
        return collected_names(content, config, reported_names(file.masks))

    def naming(self, path: str, name: str) -> Touch:
        """The tests that execute code which names a definition of a file: code of the file itself,
        or of one that imports it.
        """
        last = name.rpartition(".")[2]
        everything = Touch()
        for user in sorted(self.needing([path])):
            if user not in self.executed.modules and user not in self.executed.tests.files:
                continue
            uses_of_file = self.introspection(user)
            for symbol, uses in uses_of_file.symbols.items():
                if last in uses.names:
                    everything |= self._touch_of(user, symbol, uses_of_file)
        return everything

    # which files have a word

    @cached_property
    def _mentions(self) -> dict[str, frozenset[str]]:
        # git is asked once for nearly all words
        return self._ask(set(self._words()))

    def _words(self) -> Iterator[str]:
        for path, change in self.changes.items():
            if not change.state_before or not change.state_now:
                yield self.module_word(path)
            if change.symbols_before is not None and change.symbols_now is not None:
                for local in change.symbols_before.hashes.keys() ^ change.symbols_now.hashes.keys():
                    yield local.rpartition(".")[2]
        for words in WORDS.values():
            yield from words

    def _ask(self, words: set[str]) -> dict[str, frozenset[str]]:
        if words:
            answer = self.difference.mentions(words)
        else:
            answer = {}
        return {word: answer.get(word, frozenset()) for word in words}

    @staticmethod
    def module_word(path: str) -> str:
        """The last name that an import of a file has: of a package that of its folder."""
        folder, _, name = path.rpartition("/")
        if name == _INIT:
            return folder.rpartition("/")[2]
        return name.removesuffix(".py")

    def files_with(self, *words: str) -> frozenset[str]:
        """The Python files of the other content that have one of these words."""
        if unasked := set(words) - self._mentions.keys():
            self._mentions.update(self._ask(unasked))
        return frozenset().union(*(self._mentions[word] for word in words))

    # what is imported for the first time

    def is_collected(self, path: str) -> bool:
        """Whether pytest imports a file before the first test."""
        is_test = self.difference.pytest_config(path).collects(path)
        return is_test or path.rpartition("/")[2] == CONFTEST

    @cached_property
    def first_imported(self) -> frozenset[str]:
        """The changed files that pytest collects, and those that these name, directly or through one
        another, and that the run did not import.
        """
        files = {
            path: change.symbols_now
            for path, change in self.changes.items()
            if change.state_now and change.symbols_now is not None and not change.symbols_now.error
        }
        imported = {path for path in files if self.is_collected(path)}
        waiting = [*imported]
        while waiting:
            names = files[waiting.pop()].names
            new = {
                path
                for path in files.keys() - imported - self.executed.modules.keys()
                if self.module_word(path) in names
            }
            imported |= new
            waiting += new
        return frozenset(imported)

    def imported_with(self, path: str) -> list[str]:
        """The unchanged files that a changed one imports, directly or through one another, and that
        the run did not import.
        """
        unchanged = self.difference.python_files() - self.changes.keys()
        not_imported = unchanged - self.executed.modules.keys()
        imported: dict[str, None] = {}
        waiting = [path]
        while waiting:
            new = self._places_imported(waiting.pop()) & not_imported - imported.keys()
            imported |= dict.fromkeys(sorted(new))
            waiting += new
        return list(imported)

    def run_files_imported(self, path: str) -> frozenset[str]:
        """The files of the run that a file imports."""
        return self._places_imported(path) & self.executed.modules.keys()

    def _places_imported(self, path: str) -> frozenset[str]:
        """Where the modules that importing a file imports may be, and their packages."""
        return self._places_of(path, self.import_times(path)[1].imports)

    def _places_of(self, path: str, names: Iterable[str]) -> frozenset[str]:
        """`names`: as of `ImportTime.imports`, of imports in a file."""
        folder = path.rpartition("/")[0]
        places = set[str]()
        for name in names:
            dots = len(name) - len(name.lstrip("."))
            starts = {*self._roots, folder}
            if dots:
                starts = {"/".join(folder.split("/")[: len(folder.split("/")) - (dots - 1)])}
            parts = name[dots:].split(".")
            for start in starts:
                for depth in range(1, len(parts) + 1):
                    module = "/".join(filter(None, [start, *parts[:depth]]))
                    places |= {f"{module}.py", f"{module}/{_INIT}"}
        return frozenset(places)

    @cached_property
    def files_by_module(self) -> Mapping[str, Sequence[str]]:
        """Module → its file in the run; several where modules of several folders have one name."""
        files: dict[str, list[str]] = {}
        for path, module in self.symbols.modules.items():
            files.setdefault(module, []).append(path)
        return files

    @cached_property
    def _roots(self) -> frozenset[str]:
        """The folders from which modules of the run were imported."""
        roots = {""}
        for path, module in self.symbols.modules.items():
            place = path.removesuffix(".py").removesuffix(f"/{_INIT.removesuffix('.py')}")
            end = module.replace(".", "/")
            if f"/{place}".endswith(f"/{end}"):
                roots.add(place.removesuffix(end).rstrip("/"))
        return frozenset(roots)

    def names_in_file(self, path: str) -> frozenset[str]:
        """The identifiers of a file as it is now."""
        change = self.changes.get(path)
        if change is not None:
            return change.symbols_now.names if change.symbols_now is not None else frozenset()
        uses = self.introspection(path).symbols.values()
        return frozenset[str]().union(*(of_symbol.names for of_symbol in uses))

    # what an import leaves in other files

    @cached_property
    def _affected(self) -> dict[str, frozenset[str]]:
        return {}

    def affected(self, path: str) -> frozenset[str]:
        """The other files of the run in which importing a file leaves something: a table of another
        module gets an entry, by a statement, a decorator, a function that the import calls.
        """
        if path not in self.executed.modules:
            return frozenset()
        if path not in self._affected:
            self._affected[path] = frozenset(self._files_affected_by(path)) - {path}
        return self._affected[path]

    def _files_affected_by(self, path: str) -> Iterator[str]:
        for index in self.executed.modules[path]:
            owner = self.executed.places[self.executed.symbols[index].symbol]
            if owner != path:
                name = self.symbols.local(index).partition(":")[2].removeprefix("_.")
                if name in self.import_times(owner)[0].storing:
                    yield owner
        for content in self.import_times(path):
            for name in (name for names in content.reaches for name in names.split()):
                yield from self.owners(name)
                if name.startswith(HERE) and name.removeprefix(HERE) in content.storing:
                    yield from self.run_files_imported(path)
            for header in content.headers.values():
                for decorator in header.decorators if header.registers else ():
                    yield from self._noting(decorator)

    def _noting(self, decorator: str) -> Iterator[str]:
        """The files in which a decorator may note what it gets: those of an object, or of a function
        that stores.
        """
        for owner in self.owners(decorator):
            name = self._name_in(owner, decorator)
            content = self.import_times(owner)[0]
            # also `show.register` of a function that `singledispatch` decorates
            is_object = name not in content.headers
            stores = any(_is_or_is_in(storing, name) for storing in content.storing)
            if is_object or stores:
                yield owner

    def _name_in(self, path: str, full_name: str) -> str:
        """What a full name means in the file that has it."""
        module = self.symbols.modules.get(path, "")
        name = full_name.lstrip(".")
        parts = module.split(".")
        for start in range(len(parts)):
            prefix = ".".join(parts[start:])
            if _is_or_is_in(name, prefix):
                return name[len(prefix) + 1 :]
        return name

    def owners(self, name: str) -> Iterator[str]:
        """The file of the run that has what a full name means, if one has."""
        files = self.files_by_module
        parts = name.lstrip(".").split(".")
        for depth in range(len(parts), 0, -1):
            wanted = ".".join(parts[:depth])
            modules = [wanted]
            if name[:1] == ".":  # of which package is not known
                modules = [module for module in files if f".{module}".endswith(f".{wanted}")]
            paths = [path for module in modules for path in files.get(module, ())]
            if paths:
                yield from paths
                return

    @cached_property
    def not_imported_now(self) -> set[str]:
        """The modules of the run that no file imports any more from which an import could start."""
        edges = dict(self.executed.imports)
        for path, change in self.changes.items():
            places = frozenset[str]()
            if change.state_now:
                before, now = self.import_times(path)
                # what a function imports is there for all tests only if it was before
                later = {*now.later_imports} & {*before.later_imports}
                places = self._places_of(path, (*now.imports, *later))
                places |= frozenset(self.executed.runtime.get(path, ()))
            edges[path] = tuple(places & self.executed.modules.keys())
        if all(
            {*edges[path]}.issuperset(self.executed.imports.get(path, ())) for path in self.changes
        ):
            return set()
        removed = {path for path, change in self.changes.items() if not change.state_now}
        starts = {path for path in self.executed.modules if self.is_collected(path)}
        starts |= self.executed.modules.keys() - self._importers.keys()
        starts |= self.first_imported
        reached = reachable(starts - removed, edges)
        return self.executed.modules.keys() - reached - removed

    def imported_by(self, path: str) -> set[str]:
        """The files that a file imported in the run, directly or through one another."""
        return reachable([path], self.executed.imports)

    # what uses namespaces, docstrings and classes

    @cached_property
    def _introspections(self) -> dict[str, Introspection]:
        return {}

    def introspection(self, path: str) -> Introspection:
        """The uses of a file as it was when the run executed it."""
        if path not in self._introspections:
            content = self.difference.text(path, 0)
            self._introspections[path] = self.difference.source.introspection(content or b"")
        return self._introspections[path]

    def draws_at_import(self, path: str) -> bool:
        """Whether importing a file draws random numbers of the process, before or now."""
        return any(uses.draws_itself for uses in self._uses_of_import(path))

    def _uses_of_import(self, path: str) -> Iterator[SymbolUses]:
        """Of what importing a file executes, before and now: its body, and those of its classes."""
        for reading in self._readings(path):
            for symbol, uses in reading.symbols.items():
                if reading.runs_at_import(symbol):
                    yield uses

    def _readings(self, path: str) -> Iterator[Introspection]:
        """The uses of a file before and now."""
        for side in (0, 1):
            content = self.difference.text(path, side)
            yield self.difference.source.introspection(content or b"")

    def given_to_libraries(self, name: str) -> frozenset[str]:
        """The files whose import may hand a function of this name to code that is not known, in an
        annotation: of a field of a class, or of a function with a decorator that may do more.
        """
        files = set[str]()
        for user in self._imported_files_with(name):
            reading = self.introspection(user)
            names = {name, *(alias for alias, of in reading.aliases.items() if of == name)}
            headers = self.import_times(user)[0].headers.values()
            annotated = any(
                f"'{written}'" in header.text
                for header in headers
                if not all(decorator in QUIET_DECORATORS for decorator in header.decorators)
                for written in names
            )
            if annotated or not names.isdisjoint(reading.names_of_bases):
                files.add(user)
        return self.needing(files)

    def _imported_files_with(self, *words: str) -> list[str]:
        """Those of the files with a word that the run imported; changed ones in any case, which had
        another text then.
        """
        executed = self.executed
        paths = self.files_with(*words) | self.changes.keys()
        return sorted(
            path for path in paths if path in executed.modules or path in executed.tests.files
        )

    def users_of(self, fact: str) -> Touch:
        """The tests that execute code of which this field of `SymbolUses` is true: `reads_docs`."""
        if fact not in self._users_of:
            self._users_of[fact] = self.touch(WORDS[fact], lambda _, uses: getattr(uses, fact))
        return self._users_of[fact]

    @cached_property
    def tests_of_lines(self) -> Touch:
        """The tests that themselves ask for the number of a line, such as of a record of a log."""

        def asks(path: str, uses: SymbolUses) -> bool:
            return uses.reads_lines and self.is_collected(path)

        return self.touch(WORDS["reads_lines"], asks)

    @cached_property
    def _users_of(self) -> dict[str, Touch]:
        return {}

    def touch(self, words: Sequence[str], wanted: Callable[[str, SymbolUses], bool]) -> Touch:
        """The tests that execute code of which `wanted` is true. `words`: such code has one of
        them; `wanted`: asked with a path and the uses of a symbol there.
        """
        everything = Touch()
        for path in self._imported_files_with(*words):
            uses_of_file = self.introspection(path)
            for symbol, uses in uses_of_file.symbols.items():
                if wanted(path, uses):
                    everything |= self._touch_of(path, symbol, uses_of_file)
        return everything

    def _touch_of(self, path: str, symbol: str, uses_of_file: Introspection) -> Touch:
        if symbol == EXAMPLES:
            # who reads the file as data may execute them, too
            reads = frozenset((Read(DOCS, path), Read(DOCS, EVERYTHING), Read(path)))
            importing = self.needing(filter(None, self.readers(reads)))
            users = Touch(importing, reads=reads, own_files=frozenset([path]))
            return self.users_of("reads_docs") | users
        if uses_of_file.runs_at_import(symbol):
            return Touch(files=self.needing([path]))
        symbols = self.indexes(path, symbol)
        return Touch(self.needing(self._importing(path, symbol, symbols)), symbols)

    def _importing(self, path: str, symbol: str, indexes: Iterable[int]) -> set[str]:
        """The files whose import executed a function. `indexes`: what it is among the symbols."""
        importing = {
            importer for index in indexes for importer in self._import_calls.get(index, ())
        }
        if path in importing and self._only_pytest_calls(path, symbol):
            importing.remove(path)
        return importing

    def code_readers(self, path: str) -> Touch:
        """The tests that execute code which reads code objects, or numbers of lines, that may be of
        a file.
        """
        readers = self.users_of("reads_code") | self.tests_of_lines
        for owner, symbol in self._readers_of_arguments:
            uses_of_file = self.introspection(owner)
            if uses_of_file.runs_at_import(symbol):
                readers |= self._touch_of(owner, symbol, uses_of_file)
                continue
            indexes = self.indexes(owner, symbol)
            # a decorator gets the functions of the file that it is in
            importing = [
                importer
                for importer in self._importing(owner, symbol, indexes)
                if importer == path
                or not decorates_only(self.difference.text(importer, 0) or b"(", _last(symbol))
            ]
            readers |= Touch(self.needing(importing), indexes)
        return readers

    @cached_property
    def _readers_of_arguments(self) -> list[tuple[str, str]]:
        """(file, symbol) of functions that read code objects of what they are called with."""
        return [
            (path, symbol)
            for path in self._imported_files_with(*WORDS["reads_code_of_arguments"])
            for symbol, uses in self.introspection(path).symbols.items()
            if uses.reads_code_of_arguments
        ]

    @cached_property
    def _import_calls(self) -> dict[int, set[str]]:
        """Index of a symbol → the files whose import executed it: what it made then, tests use
        without executing it.
        """
        calls: dict[int, set[str]] = {}
        for path, indexes in self.executed.modules.items():
            for index in indexes:
                calls.setdefault(index, set()).add(path)
        return calls

    def _only_pytest_calls(self, path: str, name: str) -> bool:
        """Whether a function was a test, or is a fixture, which nothing else can call: it counts as
        executed by the import of its file for its decorator's sake.
        """
        file = self.executed.tests.files.get(path)
        if file is not None and name.replace(".", "::") in reported_names(file.masks):
            return True
        header = self.import_times(path)[0].headers.get(name)
        return header is not None and "pytest.fixture" in header.decorators

    @cached_property
    def _indexes_by_name(self) -> dict[str, Mapping[str, frozenset[int]]]:
        return {}

    def indexes(self, path: str, name: str) -> frozenset[int]:
        """The executed symbols of a file that are `C.m`, or defined in it."""
        if path not in self._indexes_by_name:
            by_name: dict[str, set[int]] = {}
            for index in self.symbols.at.get(path, ()):
                parts = self._name_in_file(index).split(".")
                for depth in range(1, len(parts) + 1):
                    by_name.setdefault(".".join(parts[:depth]), set()).add(index)
            frozen = {name: frozenset(indexes) for name, indexes in by_name.items()}
            self._indexes_by_name[path] = frozen
        return self._indexes_by_name[path].get(name, frozenset())

    def module_asked(self, path: str) -> list[tuple[Touch, ...]]:
        """The conditions under each of which a test may have got something of a module without
        naming it: by a list of all, or a name made at run time.
        """
        asked = self.users_of("asks_by_computed_names")
        if asked:
            passed = self._passed(self._star_importers(path) | self._packages_of(path))
        else:
            passed = Touch()
        return [*self.module_listed(path), *([(asked, passed)] if passed else [])]

    def _passed(self, modules: set[str]) -> Touch:
        """The tests that execute code which uses one of the modules as a value, or any module."""
        passed = self.users_of("passes_anything")
        for path in self._imported_files_with(*(_last(module) for module in modules)):
            symbols_by_module = self._uses_as_values(path)
            for module in modules & symbols_by_module.keys():
                for symbol in symbols_by_module[module]:
                    passed |= self._touch_of(path, symbol, self.introspection(path))
        return passed

    @cached_property
    def _modules_used(self) -> dict[str, dict[str, list[str]]]:
        return {}

    def _uses_as_values(self, path: str) -> Mapping[str, Sequence[str]]:
        """Module → the symbols of a file that use it as a value, such as an argument."""
        if path not in self._modules_used:
            symbols: dict[str, list[str]] = {}
            for symbol, uses in self.introspection(path).symbols.items():
                for name in uses.values:
                    symbols.setdefault(self._absolute(path, name), []).append(symbol)
            self._modules_used[path] = symbols
        return self._modules_used[path]

    @cached_property
    def _listers(self) -> list[tuple[str, str, frozenset[str]]]:
        """(file, symbol, the modules whose names it lists), of code that lists some."""
        listers = []
        for path in self._imported_files_with(*WORDS["lists_anything"]):
            own = self.symbols.modules.get(path, "")
            for symbol, uses in self.introspection(path).symbols.items():
                modules = {self._absolute(path, name) for name in uses.listed}
                if uses.lists_own:
                    modules.add(own)
                if modules:
                    listers.append((path, symbol, frozenset(modules)))
        return listers

    def module_listed(self, path: str) -> list[tuple[Touch, ...]]:
        """The conditions under each of which a test may have listed the names of a module."""
        modules = self._star_importers(path)
        listed = Touch()
        for listing, symbol, listed_modules in self._listers:
            if not modules.isdisjoint(listed_modules):
                listed |= self._touch_of(listing, symbol, self.introspection(listing))
        anything = self.users_of("lists_anything")
        conditions: list[tuple[Touch, ...]] = [(listed,)] if listed else []
        if anything:
            passed = self._passed(modules | self._packages_of(path))
            if passed:
                conditions += [(anything, passed)]
        return conditions

    def _star_importers(self, path: str) -> set[str]:
        """The module of a file, and those that have all its names by `import *`."""
        paths = (path, *self.star_importers(path))
        return {self.symbols.modules.get(importer, "") for importer in paths} - {""}

    def _packages_of(self, path: str) -> set[str]:
        """Those that a module is in: who has one of them gets the module as an attribute."""
        parts = self.symbols.modules.get(path, "").split(".")
        return {".".join(parts[:depth]) for depth in range(1, len(parts))}

    @cached_property
    def text_tests(self) -> Touch:
        """The tests in files that are no Python, such as a README with examples: what they name is
        not known.
        """
        files = self.executed.tests.files
        return Touch(own_files=frozenset(path for path in files if not path.endswith(".py")))

    def star_importers(self, path: str) -> list[str]:
        """The files that have all names of a file by `import *`, of it or of one of the others."""
        modules = {self.symbols.modules.get(path, "")}
        importers = list[str]()
        waiting = [path]
        while waiting:
            for importer in sorted(self._importers.get(waiting.pop(), ())):
                stars = self.introspection(importer).stars
                if importer not in importers and any(
                    self._absolute(importer, star) in modules for star in stars
                ):
                    modules.add(self.symbols.modules.get(importer, ""))
                    importers.append(importer)
                    waiting.append(importer)
        return importers

    def list_readers(self, path: str) -> Touch:
        """The tests that may read the list of public names of a module (`__all__`): they need a
        file that imports by it or computes its own one, or execute code that names it, or code
        that is made at run time.
        """
        files = self.star_importers(path)
        for user in self._imported_files_with(ALL):
            body = bodies(self.difference.text(user, 0) or b"(").get("")
            if body is None or any(ALL in statement for statement in body.other_statements):
                files.append(user)
        words = (ALL, "exec", "eval", "__import__")
        named = self.touch(words, lambda _, uses: not uses.names.isdisjoint(words))
        return named | Touch(files=self.needing(set(files) - {path}))

    def users_of_name(self, name: str, path: str) -> Touch:
        """The tests that execute code which names something that a file binds, and does not use
        when it is imported.
        """
        everything = Touch()
        for user in self._imported_files_with(name):
            uses_of_file = self.introspection(user)
            for symbol, uses in uses_of_file.symbols.items():
                is_own_import = user == path and uses_of_file.runs_at_import(symbol)
                if name in uses.shared_names and not is_own_import:
                    everything |= self._touch_of(user, symbol, uses_of_file)
            if uses_of_file.error or name in uses_of_file.names_of_bases:
                everything |= Touch(files=self.needing([user]))
        return everything

    def names_in(self, test: TestFacts, files: Set[str], near: Near | None = None) -> Names:
        """The names in the code of some files that a test executed. `near`: only where that is
        joined to these symbols.
        """
        everything = set[str]()
        computing = set[str]()
        for path in files & {self.symbols.paths[index] for index in test.own}:
            for symbol, indexes in self._indexes_in(path).items():
                executed = indexes & test.own
                if not executed:
                    continue
                names = self._names_of(path, symbol)
                if near and not near.joins(_last(symbol), executed, names):
                    if not any(map(self._is_called_without_name, executed)):
                        continue
                    names = names - self._texts_of_body(path, symbol)
                everything |= names
                if not executed <= self._storing:
                    computing |= names
        return Names(frozenset(everything), frozenset(computing))

    def _texts_of_body(self, path: str, symbol: str) -> Set[str]:
        """The names that the body of a class has in texts alone, unless code of the class may get
        something by them: `kind = "html"`.
        """
        reading = self.introspection(path)
        if symbol not in reading.bases or any(
            uses.asks_by_computed_names
            for name, uses in reading.symbols.items()
            if _is_or_is_in(name, symbol)
        ):
            return frozenset()
        return reading.symbols[symbol].texts

    def _name_in_file(self, index: int) -> str:
        """`C.m`, as `introspection` names it."""
        return self.symbols.local(index).partition(":")[2].removeprefix("_.")

    def _names_of(self, path: str, symbol: str) -> Set[str]:
        """The names in the code of a symbol but its variables, those that imports rename by both of
        their names.
        """
        uses_of_file = self.introspection(path)
        names = uses_of_file.symbols[symbol].shared_names
        return names | {uses_of_file.aliases.get(name, name) for name in names}

    def near(self, functions: Set[int], definitions: Iterable[Definition] = ()) -> Near | None:
        """What joins other code to these functions and to what has these names; None where any code
        may call them.
        """
        called = {_last(definition.name) for definition in definitions}
        if any(map(is_special, called)) or any(map(self._is_called_without_name, functions)):
            return None
        called |= {_last(self.symbols.local(index)) for index in functions}
        names = set[str]()
        for path in {self.symbols.paths[index] for index in functions}:
            for symbol, indexes in self._indexes_in(path).items():
                if not indexes.isdisjoint(functions):
                    names |= self._names_of(path, symbol)
        return Near(frozenset(functions), frozenset(called), frozenset(names))

    def _is_called_without_name(self, index: int) -> bool:
        """Whether code calls a function that does not name it: as `with` calls `__enter__`, or by
        the name of what a decorator returned.
        """
        name = self.symbols.local(index)
        last = _last(name)
        return is_special(last) or ".<locals>." in name

    @cached_property
    def _storing(self) -> frozenset[int]:
        """The functions that store what they compute: they get it without computing it."""
        values = self.executed.values.items()
        return frozenset(index for index, computed in values if index in computed)

    @cached_property
    def _symbol_indexes(self) -> dict[str, dict[str, frozenset[int]]]:
        return {}

    def _indexes_in(self, path: str) -> Mapping[str, frozenset[int]]:
        """Symbol of a file, as its introspection names it → the executed symbols that are it."""
        if path not in self._symbol_indexes:
            symbols = self.introspection(path).symbols
            self._symbol_indexes[path] = {name: self.indexes(path, name) for name in symbols}
        return self._symbol_indexes[path]

    def base_header(self, path: str, base: str) -> tuple[str, str] | None:
        """The file and name of the class that a base of a class is, where both are of the
        repository: `=.A` of the file, or `pkg.a.A` as the file imports it. None else.
        """
        if base.startswith("=."):
            return path, base[2:]
        dots = len(base) - len(base.lstrip("."))
        module, _, name = base[dots:].rpartition(".")
        # `from . import a` and `from ..a import A` give the same dots
        levels = {dots, dots - 1} if dots > 1 else {dots}
        modules = {self._absolute(path, "." * level + module) for level in levels} if module else ()
        owners = [own for own, is_of in self.symbols.modules.items() if is_of in modules]
        if len(owners) != 1:
            return None
        return (owners[0], name)

    def _absolute(self, path: str, name: str) -> str:
        """A module that a file imports, without leading dots."""
        dots = len(name) - len(name.lstrip("."))
        if not dots:
            return name
        parts = self.symbols.modules.get(path, "").split(".")
        if not path.endswith(_INIT):
            parts = parts[:-1]
        package = parts[: len(parts) - (dots - 1)]
        return ".".join([*package, *filter(None, [name[dots:]])])

    def class_users(self, path: str, name: str) -> Touch | None:
        """The tests in which an instance or a subclass of a class takes part: they execute code of
        it, or code that names it. None: that is not known, so all tests that need its file.
        """
        # a class inside of another one is found there
        waiting = name.split(".")
        names = set(waiting)
        everything = Touch(symbols=self.indexes(path, name))
        while waiting:
            wanted = waiting.pop()
            for user in self._imported_files_with(wanted):
                uses_of_file = self.introspection(user)
                if uses_of_file.error:
                    return None
                followed = {alias for alias, of in uses_of_file.aliases.items() if of == wanted}
                for subclass, bases in uses_of_file.bases.items():
                    if wanted in bases:
                        followed.add(subclass.rpartition(".")[2])
                        everything |= Touch(symbols=self.indexes(user, subclass))
                for symbol, uses in uses_of_file.symbols.items():
                    if wanted in uses.names:
                        everything |= self._touch_of(user, symbol, uses_of_file)
                waiting += followed - names
                names |= followed
            if len(names) > _MOST_NAMES:
                return None
        return everything

    def subclass_makers(self, path: str, name: str) -> Touch:
        """The tests that need a file which defines a subclass of a class."""
        last = name.rpartition(".")[2]
        makers = [
            user
            for user in self._imported_files_with(last)
            if any(last in bases for bases in self.introspection(user).bases.values())
        ]
        return Touch(files=self.needing(makers))

    # what was read as data

    @cached_property
    def reads(self) -> frozenset[Read]:
        """All that the run read."""
        if not self.executed.reads:
            return frozenset()
        return self.executed.reads.everything()

    def readers(self, reads: Iterable[Read]) -> list[str]:
        """The files whose import read one of these; an empty path: code outside of the repository
        did, for all tests.
        """
        wanted = set(reads)
        modules = self.executed.reads.modules if self.executed.reads else {}
        return [path for path, read in modules.items() if not wanted.isdisjoint(read)]

    @cached_property
    def _value_reads(self) -> dict[int, frozenset[Read]]:
        """Index of a symbol → what the values were computed from that it gets."""
        if self.executed.reads:
            values = self.executed.reads.values
        else:
            values = {}
        symbols = self.executed.symbols if values else ()
        return {
            index: values[symbol.symbol]
            for index, symbol in enumerate(symbols)
            if symbol.symbol in values
        }

    def read_by(self, reads: Iterable[Read]) -> Touch:
        """Who read one of these, or got a value that was computed from one."""
        wanted = frozenset(reads)
        values = self._value_reads.items()
        readers = frozenset(index for index, read in values if not wanted.isdisjoint(read))
        return Touch(symbols=readers, reads=wanted)

    # one test

    def test(self, nodeid: str) -> TestFacts:
        """What a test of the run needs."""
        path = test_path(nodeid)
        tests = self.executed.tests
        recorded = path in tests.files and nodeid in tests.files[path].masks
        own = frozenset(tests.indexes(nodeid) if recorded else ())
        if recorded:
            behind = self.executed.behind(own)
        else:
            behind = NOTHING_BEHIND
        starts = {*map(self.symbols.paths.__getitem__, own), path, *conftests_above(path)}
        all_reads = self.executed.reads
        if all_reads:
            reads = all_reads.tests.get(nodeid, frozenset())
        else:
            reads = frozenset[Read]()
        return TestFacts(nodeid, path, recorded, own, behind, frozenset(starts), reads)


@dataclass(frozen=True)
class TestFacts:
    """A test of a run. What computed the values that it got is apart: thousands of tests share
    it.
    """

    __test__ = False  # no test class, whatever its name

    nodeid: str
    path: str
    recorded: bool
    """Whether the run recorded what it executed."""
    own: frozenset[int]
    """Indexes of the symbols that it executed."""
    behind: Behind
    """What computed the values it got."""
    own_starts: frozenset[str]
    """The files of what it executed, its own file, and the `conftest.py` files above: what it needs
    by imports starts there, and at the files behind.
    """
    reads: frozenset[Read]
    """The files that it opened as data and the folders that it listed."""

    def executed_any(self, symbols: Set[int]) -> bool:
        """Whether it, or what computed a value it got, executed one of these (indexes)."""
        return not (symbols.isdisjoint(self.own) and symbols.isdisjoint(self.behind.symbols))

    def needs_any(self, files: Set[str]) -> bool:
        """Whether what it needs by imports starts at one of these files."""
        return not (files.isdisjoint(self.own_starts) and files.isdisjoint(self.behind.files))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def is_special(name: str) -> bool:
    """Whether the interpreter asks for it: `__enter__`."""
    return name.startswith("__") and name.endswith("__")


def _is_or_is_in(name: str, outer: str) -> bool:
    return name == outer or name.startswith(f"{outer}.")


def conftests_above(path: str) -> Iterator[str]:
    """The `conftest.py` files that pytest loads for a test file, whether they exist or not."""
    folders = path.split("/")[:-1]
    return ("/".join([*folders[:depth], CONFTEST]) for depth in range(len(folders) + 1))
