"""Imports in a recorded run: which files need a file, what is imported now and was not then, and what
an import leaves in other files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from kl_hooks.evidence.distributions import normalized
from kl_hooks.evidence.executed import reachable
from kl_hooks.proof.run_files import CONFTEST, HERE, INIT, RunFiles, is_or_is_in


class RunImports:
    """The imports between the files of a run, and those of the changed files now."""

    def __init__(self, files: RunFiles) -> None:
        self._files = files

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        importers: dict[str, set[str]] = {}
        for path, imported_paths in self._files.executed.imports.items():
            for imported in imported_paths:
                importers.setdefault(imported, set()).add(path)
        return importers

    def importers(self, path: str) -> frozenset[str]:
        """The files that imported a file themselves."""
        return frozenset(self._importers.get(path, ()))

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
        files = self._files.executed.tests.files
        indexes = {index for file in files.values() for index in file.symbols}
        indexes |= {
            index for computed in self._files.executed.values.values() for index in computed
        }
        own = {self._files.symbols.paths[index] for index in indexes}
        conftests = {conftest for path in files for conftest in conftests_above(path)}
        return frozenset(own | files.keys() | conftests)

    def users(self, path: str) -> frozenset[str] | None:
        """The files that need a file, or one in which importing it leaves something. None, for all
        tests, where it was imported, and no test is seen to need it: it is a plugin, whose hooks
        run around all of them.
        """
        needing = self.needing([path])
        imported = (
            path in self._files.executed.modules
            or path in self._files.symbols.at
            or path in self._files.executed.unknown
        )
        if imported and not needing & self.starts:
            return None
        return needing | self.needing(self.affected(path))

    def is_needed(self, users: frozenset[str] | None) -> bool:
        """Whether a test of the run needs one of the files; None: all tests do."""
        return users is None or bool(users & self.starts)

    @cached_property
    def first_imported(self) -> frozenset[str]:
        """The changed files that pytest collects, and those that these name, directly or through one
        another, and that the run did not import.
        """
        files = {
            path: change.symbols_now
            for path, change in self._files.changes.items()
            if change.state_now and change.symbols_now is not None and not change.symbols_now.error
        }
        imported = {path for path in files if self._files.is_collected(path)}
        waiting = [*imported]
        while waiting:
            names = files[waiting.pop()].names
            new = {
                path
                for path in files.keys() - imported - self._files.executed.modules.keys()
                if self._files.module_word(path) in names
            }
            imported |= new
            waiting += new
        return frozenset(imported)

    def imported_with(self, path: str) -> list[str]:
        """The unchanged files that a changed one imports, directly or through one another, and that
        the run did not import.
        """
        unchanged = self._files.difference.python_files() - self._files.changes.keys()
        not_imported = unchanged - self._files.executed.modules.keys()
        imported: dict[str, None] = {}
        waiting = [path]
        while waiting:
            new = self._places_imported(waiting.pop()) & not_imported - imported.keys()
            imported |= dict.fromkeys(sorted(new))
            waiting += new
        return list(imported)

    def run_files_imported(self, path: str) -> frozenset[str]:
        """The files of the run that a file imports."""
        return self._places_imported(path) & self._files.executed.modules.keys()

    def _places_imported(self, path: str) -> frozenset[str]:
        """Where the modules that importing a file imports may be, and their packages."""
        return self._places_of(path, self._files.import_times(path)[1].imports)

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
                    places |= {f"{module}.py", f"{module}/{INIT}"}
        return frozenset(places)

    @cached_property
    def files_by_module(self) -> Mapping[str, Sequence[str]]:
        """Module → its file in the run; several where modules of several folders have one name."""
        files: dict[str, list[str]] = {}
        for path, module in self._files.symbols.modules.items():
            files.setdefault(module, []).append(path)
        return files

    @cached_property
    def _roots(self) -> frozenset[str]:
        """The folders from which modules of the run were imported."""
        roots = {""}
        for path, module in self._files.symbols.modules.items():
            place = path.removesuffix(".py").removesuffix(f"/{INIT.removesuffix('.py')}")
            end = module.replace(".", "/")
            if f"/{place}".endswith(f"/{end}"):
                roots.add(place.removesuffix(end).rstrip("/"))
        return frozenset(roots)

    @cached_property
    def _affected(self) -> dict[str, frozenset[str]]:
        return {}

    def affected(self, path: str) -> frozenset[str]:
        """The other files of the run in which importing a file leaves something: a table of another
        module gets an entry, by a statement, a decorator, a function that the import calls.
        """
        if path not in self._files.executed.modules:
            return frozenset()
        if path not in self._affected:
            self._affected[path] = frozenset(self._files_affected_by(path)) - {path}
        return self._affected[path]

    def _files_affected_by(self, path: str) -> Iterator[str]:
        for index in self._files.executed.modules[path]:
            owner = self._files.executed.places[self._files.executed.symbols[index].symbol]
            if owner != path:
                name = self._files.name_in_file(index)
                if name in self._files.import_times(owner)[0].storing:
                    yield owner
        for content in self._files.import_times(path):
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
            content = self._files.import_times(owner)[0]
            # also `show.register` of a function that `singledispatch` decorates
            is_object = name not in content.headers
            stores = any(is_or_is_in(storing, name) for storing in content.storing)
            if is_object or stores:
                yield owner

    def _name_in(self, path: str, full_name: str) -> str:
        """What a full name means in the file that has it."""
        module = self._files.symbols.modules.get(path, "")
        name = full_name.lstrip(".")
        parts = module.split(".")
        for start in range(len(parts)):
            prefix = ".".join(parts[start:])
            if is_or_is_in(name, prefix):
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

    def files_reaching(self, module: str) -> frozenset[str] | None:
        """The files of the run that import from the installed distribution of a module, or from one
        that requires it; None where that may be each of them, as of the standard library.
        """
        top = module.partition(".")[0]
        if top not in self._reaching:
            self._reaching[top] = self._files_reaching(top)
        return self._reaching[top]

    @cached_property
    def _reaching(self) -> dict[str, frozenset[str] | None]:
        return {}

    def _files_reaching(self, top: str) -> frozenset[str] | None:
        uses = self._files.executed.distributions
        if uses is None or top in sys.stdlib_module_names:
            return None
        owners = {normalized(top)} & uses.installed.keys()
        if not owners:  # the module has another name: what all files import from that import it
            importing = [
                frozenset(names)
                for path, names in uses.files.items()
                if any(
                    name.partition(".")[0] == top
                    for name in self._files.import_times(path)[0].imports
                )
            ]
            if not importing:
                places = self._places_of("", [top])
                is_new_file = not places.isdisjoint(self._files.difference.python_files())
                return frozenset() if is_new_file else None
            # of a namespace that several distributions share, any of them
            owners = set(frozenset.intersection(*importing)) or set(frozenset().union(*importing))
        return frozenset(
            path for path, names in uses.files.items() if owners & uses.required(names)
        )

    @cached_property
    def not_imported_now(self) -> set[str]:
        """The modules of the run that no file imports any more from which an import could start."""
        edges = dict(self._files.executed.imports)
        for path, change in self._files.changes.items():
            places = frozenset[str]()
            if change.state_now:
                before, now = self._files.import_times(path)
                # what a function imports is there for all tests only if it was before
                later = {*now.later_imports} & {*before.later_imports}
                places = self._places_of(path, (*now.imports, *later))
                places |= frozenset(self._files.executed.runtime.get(path, ()))
            edges[path] = tuple(places & self._files.executed.modules.keys())
        if all(
            {*edges[path]}.issuperset(self._files.executed.imports.get(path, ()))
            for path in self._files.changes
        ):
            return set()
        removed = {path for path, change in self._files.changes.items() if not change.state_now}
        starts = {path for path in self._files.executed.modules if self._files.is_collected(path)}
        starts |= self._files.executed.modules.keys() - self._importers.keys()
        starts |= self.first_imported
        reached = reachable(starts - removed, edges)
        return self._files.executed.modules.keys() - reached - removed

    def imported_by(self, path: str) -> set[str]:
        """The files that a file imported in the run, directly or through one another."""
        return reachable([path], self._files.executed.imports)

    def star_importers(self, path: str) -> list[str]:
        """The files that have all names of a file by `import *`, of it or of one of the others."""
        modules = {self._files.symbols.modules.get(path, "")}
        importers = list[str]()
        waiting = [path]
        while waiting:
            for importer in sorted(self._importers.get(waiting.pop(), ())):
                stars = self._files.introspection(importer).stars
                if importer not in importers and any(
                    self.absolute(importer, star) in modules for star in stars
                ):
                    modules.add(self._files.symbols.modules.get(importer, ""))
                    importers.append(importer)
                    waiting.append(importer)
        return importers

    def modules_with_names_of(self, path: str) -> set[str]:
        """The module of a file, and those that have all its names by `import *`."""
        paths = (path, *self.star_importers(path))
        return {self._files.symbols.modules.get(importer, "") for importer in paths} - {""}

    def packages_of(self, path: str) -> set[str]:
        """Those that a module is in: who has one of them gets the module as an attribute."""
        parts = self._files.symbols.modules.get(path, "").split(".")
        return {".".join(parts[:depth]) for depth in range(1, len(parts))}

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
        modules = {self.absolute(path, "." * level + module) for level in levels} if module else ()
        owners = [own for own, is_of in self._files.symbols.modules.items() if is_of in modules]
        if len(owners) != 1:
            return None
        return (owners[0], name)

    def absolute(self, path: str, name: str) -> str:
        """A module that a file imports, without leading dots."""
        dots = len(name) - len(name.lstrip("."))
        if not dots:
            return name
        parts = self._files.symbols.modules.get(path, "").split(".")
        if not path.endswith(INIT):
            parts = parts[:-1]
        package = parts[: len(parts) - (dots - 1)]
        return ".".join([*package, *filter(None, [name[dots:]])])


def conftests_above(path: str) -> Iterator[str]:
    """The `conftest.py` files that pytest loads for a test file, whether they exist or not."""
    folders = path.split("/")[:-1]
    return ("/".join([*folders[:depth], CONFTEST]) for depth in range(len(folders) + 1))
