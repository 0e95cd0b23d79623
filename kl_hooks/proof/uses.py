"""Which tests of a recorded run use something of a file, and by what: its name, a list of all names,
a class, a docstring, a line number, a file that was read as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from kl_hooks.code.assignments import ALL, bodies
from kl_hooks.code.decorators import QUIET_DECORATORS, decorates_only
from kl_hooks.code.introspection import (
    EXAMPLES,
    WORDS,
    Introspection,
    SymbolUses,
    examples_of_text,
)
from kl_hooks.evidence.reads import DOCS, EVERYTHING, Read
from kl_hooks.proof.collected_names import reported_names
from kl_hooks.proof.run_files import RunFiles, last_name
from kl_hooks.proof.run_imports import RunImports
from kl_hooks.proof.touch import Touch

_MOST_NAMES: Final = 200
"""Names by which a class is followed; what has more counts as used everywhere."""


class Uses:
    """The tests that use something, as conditions on a test."""

    def __init__(self, files: RunFiles, imports: RunImports) -> None:
        self._files = files
        self._imports = imports

    def users_of(self, fact: str) -> Touch:
        """The tests that execute code of which this field of `SymbolUses` is true: `reads_docs`."""
        if fact not in self._users_of:
            self._users_of[fact] = self.touch(WORDS[fact], lambda _, uses: getattr(uses, fact))
        return self._users_of[fact]

    @cached_property
    def tests_of_lines(self) -> Touch:
        """The tests that themselves ask for the number of a line, such as of a record of a log."""

        def asks(path: str, uses: SymbolUses) -> bool:
            return uses.reads_lines and self._files.is_collected(path)

        return self.touch(WORDS["reads_lines"], asks)

    @cached_property
    def _users_of(self) -> dict[str, Touch]:
        return {}

    def touch(self, words: Sequence[str], wanted: Callable[[str, SymbolUses], bool]) -> Touch:
        """The tests that execute code of which `wanted` is true. `words`: such code has one of
        them; `wanted`: asked with a path and the uses of a symbol there.
        """
        everything = Touch()
        for path in self._files.imported_files_with(*words):
            uses_of_file = self._files.introspection(path)
            for symbol, uses in uses_of_file.symbols.items():
                if wanted(path, uses):
                    everything |= self._touch_of(path, symbol, uses_of_file)
        return everything

    def _touch_of(self, path: str, symbol: str, uses_of_file: Introspection) -> Touch:
        if symbol == EXAMPLES:
            # who reads the file as data may execute them, too
            reads = frozenset((Read(DOCS, path), Read(DOCS, EVERYTHING), Read(path)))
            importing = self._imports.needing(filter(None, self.readers(reads)))
            users = Touch(importing, reads=reads, own_files=frozenset([path]))
            return self.users_of("reads_docs") | users
        if uses_of_file.runs_at_import(symbol):
            return Touch(files=self._imports.needing([path]))
        symbols = self._files.indexes(path, symbol)
        return Touch(self._imports.needing(self._importing(path, symbol, symbols)), symbols)

    def naming(self, path: str, name: str) -> Touch:
        """The tests that execute code which names a definition of a file: code of the file itself,
        or of one that imports it.
        """
        last = name.rpartition(".")[2]
        everything = Touch()
        for user in sorted(self._imports.needing([path])):
            if (
                user not in self._files.executed.modules
                and user not in self._files.executed.tests.files
            ):
                continue
            uses_of_file = self._files.introspection(user)
            for symbol, uses in uses_of_file.symbols.items():
                if last in uses.names:
                    everything |= self._touch_of(user, symbol, uses_of_file)
        return everything

    def users_of_name(self, name: str, path: str) -> Touch:
        """The tests that execute code which names something that a file binds, and does not use
        when it is imported.
        """
        everything = Touch()
        for user in self._files.imported_files_with(name):
            uses_of_file = self._files.introspection(user)
            for symbol, uses in uses_of_file.symbols.items():
                is_own_import = user == path and uses_of_file.runs_at_import(symbol)
                if name in uses.shared_names and not is_own_import:
                    everything |= self._touch_of(user, symbol, uses_of_file)
            if uses_of_file.error or name in uses_of_file.names_of_bases:
                everything |= Touch(files=self._imports.needing([user]))
        return everything

    def class_users(self, path: str, name: str) -> Touch | None:
        """The tests in which an instance or a subclass of a class takes part: they execute code of
        it, or code that names it. None: that is not known, so all tests that need its file.
        """
        # a class inside of another one is found there
        waiting = name.split(".")
        names = set(waiting)
        everything = Touch(symbols=self._files.indexes(path, name))
        while waiting:
            wanted = waiting.pop()
            for user in self._files.imported_files_with(wanted):
                uses_of_file = self._files.introspection(user)
                if uses_of_file.error:
                    return None
                followed = {alias for alias, of in uses_of_file.aliases.items() if of == wanted}
                for subclass, bases in uses_of_file.bases.items():
                    if wanted in bases:
                        followed.add(subclass.rpartition(".")[2])
                        everything |= Touch(symbols=self._files.indexes(user, subclass))
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
            for user in self._files.imported_files_with(last)
            if any(last in bases for bases in self._files.introspection(user).bases.values())
        ]
        return Touch(files=self._imports.needing(makers))

    def given_to_libraries(self, name: str) -> frozenset[str]:
        """The files whose import may hand a function of this name to code that is not known, in an
        annotation: of a field of a class, or of a function with a decorator that may do more.
        """
        files = set[str]()
        for user in self._files.imported_files_with(name):
            reading = self._files.introspection(user)
            names = {name, *(alias for alias, of in reading.aliases.items() if of == name)}
            headers = self._files.import_times(user)[0].headers.values()
            annotated = any(
                f"'{written}'" in header.text
                for header in headers
                if not all(decorator in QUIET_DECORATORS for decorator in header.decorators)
                for written in names
            )
            if annotated or not names.isdisjoint(reading.names_of_bases):
                files.add(user)
        return self._imports.needing(files)

    def module_listed(self, path: str) -> list[tuple[Touch, ...]]:
        """The conditions under each of which a test may have listed the names of a module."""
        modules = self._imports.modules_with_names_of(path)
        listed = Touch()
        for listing, symbol, listed_modules in self._listers:
            if not modules.isdisjoint(listed_modules):
                listed |= self._touch_of(listing, symbol, self._files.introspection(listing))
        anything = self.users_of("lists_anything")
        conditions: list[tuple[Touch, ...]] = [(listed,)] if listed else []
        if anything:
            passed = self._passed(modules | self._imports.packages_of(path))
            if passed:
                conditions += [(anything, passed)]
        return conditions

    def module_asked(self, path: str) -> list[tuple[Touch, ...]]:
        """The conditions under each of which a test may have got something of a module without
        naming it: by a list of all, or a name made at run time.
        """
        asked = self.users_of("asks_by_computed_names")
        if asked:
            passed = self._passed(
                self._imports.modules_with_names_of(path) | self._imports.packages_of(path)
            )
        else:
            passed = Touch()
        return [*self.module_listed(path), *([(asked, passed)] if passed else [])]

    def _passed(self, modules: set[str]) -> Touch:
        """The tests that execute code which uses one of the modules as a value, or any module."""
        passed = self.users_of("passes_anything")
        for path in self._files.imported_files_with(*(last_name(module) for module in modules)):
            symbols_by_module = self._uses_as_values(path)
            for module in modules & symbols_by_module.keys():
                for symbol in symbols_by_module[module]:
                    passed |= self._touch_of(path, symbol, self._files.introspection(path))
        return passed

    @cached_property
    def _modules_used(self) -> dict[str, dict[str, list[str]]]:
        return {}

    def _uses_as_values(self, path: str) -> Mapping[str, Sequence[str]]:
        """Module → the symbols of a file that use it as a value, such as an argument."""
        if path not in self._modules_used:
            symbols: dict[str, list[str]] = {}
            for symbol, uses in self._files.introspection(path).symbols.items():
                for name in uses.values:
                    symbols.setdefault(self._imports.absolute(path, name), []).append(symbol)
            self._modules_used[path] = symbols
        return self._modules_used[path]

    @cached_property
    def _listers(self) -> list[tuple[str, str, frozenset[str]]]:
        """(file, symbol, the modules whose names it lists), of code that lists some."""
        listers = []
        for path in self._files.imported_files_with(*WORDS["lists_anything"]):
            own = self._files.symbols.modules.get(path, "")
            for symbol, uses in self._files.introspection(path).symbols.items():
                modules = {self._imports.absolute(path, name) for name in uses.listed}
                if uses.lists_own:
                    modules.add(own)
                if modules:
                    listers.append((path, symbol, frozenset(modules)))
        return listers

    def list_readers(self, path: str) -> Touch:
        """The tests that may read the list of public names of a module (`__all__`): they need a
        file that imports by it or computes its own one, or execute code that names it, or code
        that is made at run time.
        """
        files = self._imports.star_importers(path)
        for user in self._files.imported_files_with(ALL):
            body = bodies(self._files.difference.text(user, 0) or b"(").get("")
            if body is None or any(ALL in statement for statement in body.other_statements):
                files.append(user)
        words = (ALL, "exec", "eval", "__import__")
        named = self.touch(words, lambda _, uses: not uses.names.isdisjoint(words))
        return named | Touch(files=self._imports.needing(set(files) - {path}))

    def text_tests(self, word: str = "") -> Touch:
        """The tests in files that are no Python, such as a README with examples: what they use is
        not recorded. `word`: only those that have it, or may get what they do not name.
        """
        return Touch(
            own_files=frozenset(
                path
                for path, words in self._words_of_texts.items()
                if not word or words is None or word in words
            )
        )

    @cached_property
    def _words_of_texts(self) -> Mapping[str, frozenset[str] | None]:
        """File of tests that is no Python → its words; None where these are not all that counts."""
        return {
            path: self._words_of_text(path, file.masks)
            for path, file in self._files.executed.tests.files.items()
            if not path.endswith(".py")
        }

    def _words_of_text(self, path: str, nodeids: Iterable[str]) -> frozenset[str] | None:
        content = self._files.difference.text(path, 0)
        # other plugins name the tests of a text otherwise, and execute other parts of it
        is_doctest = set(nodeids) == {f"{path}::{path.rpartition('/')[2]}"}
        if content is None or not is_doctest:
            return None
        examples = examples_of_text(content)
        # whatever gets a module may list its names
        if examples is None or not examples.values.isdisjoint(self._imports.files_by_module):
            return None
        return examples.words

    def code_readers(self, path: str) -> Touch:
        """The tests that execute code which reads code objects, or numbers of lines, that may be of
        a file.
        """
        readers = self.users_of("reads_code") | self.tests_of_lines
        for owner, symbol in self._readers_of_arguments:
            uses_of_file = self._files.introspection(owner)
            if uses_of_file.runs_at_import(symbol):
                readers |= self._touch_of(owner, symbol, uses_of_file)
                continue
            indexes = self._files.indexes(owner, symbol)
            # a decorator gets the functions of the file that it is in
            importing = [
                importer
                for importer in self._importing(owner, symbol, indexes)
                if importer == path
                or not decorates_only(
                    self._files.difference.text(importer, 0) or b"(", last_name(symbol)
                )
            ]
            readers |= Touch(self._imports.needing(importing), indexes)
        return readers

    @cached_property
    def _readers_of_arguments(self) -> list[tuple[str, str]]:
        """(file, symbol) of functions that read code objects of what they are called with."""
        return [
            (path, symbol)
            for path in self._files.imported_files_with(*WORDS["reads_code_of_arguments"])
            for symbol, uses in self._files.introspection(path).symbols.items()
            if uses.reads_code_of_arguments
        ]

    def _importing(self, path: str, symbol: str, indexes: Iterable[int]) -> set[str]:
        """The files whose import executed a function. `indexes`: what it is among the symbols."""
        importing = {
            importer for index in indexes for importer in self._import_calls.get(index, ())
        }
        if path in importing and self._only_pytest_calls(path, symbol):
            importing.remove(path)
        return importing

    @cached_property
    def _import_calls(self) -> dict[int, set[str]]:
        """Index of a symbol → the files whose import executed it: what it made then, tests use
        without executing it.
        """
        calls: dict[int, set[str]] = {}
        for path, indexes in self._files.executed.modules.items():
            for index in indexes:
                calls.setdefault(index, set()).add(path)
        return calls

    def _only_pytest_calls(self, path: str, name: str) -> bool:
        """Whether a function was a test, or is a fixture, which nothing else can call: it counts as
        executed by the import of its file for its decorator's sake.
        """
        file = self._files.executed.tests.files.get(path)
        if file is not None and name.replace(".", "::") in reported_names(file.masks):
            return True
        header = self._files.import_times(path)[0].headers.get(name)
        return header is not None and "pytest.fixture" in header.decorators

    @cached_property
    def reads(self) -> frozenset[Read]:
        """All that the run read."""
        if not self._files.executed.reads:
            return frozenset()
        return self._files.executed.reads.everything()

    def readers(self, reads: Iterable[Read]) -> list[str]:
        """The files whose import read one of these; an empty path: code outside of the repository
        did, for all tests.
        """
        wanted = set(reads)
        modules = self._files.executed.reads.modules if self._files.executed.reads else {}
        return [path for path, read in modules.items() if not wanted.isdisjoint(read)]

    @cached_property
    def _value_reads(self) -> dict[int, frozenset[Read]]:
        """Index of a symbol → what the values were computed from that it gets."""
        if self._files.executed.reads:
            values = self._files.executed.reads.values
        else:
            values = {}
        symbols = self._files.executed.symbols if values else ()
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
