"""What bare names mean by the folders that pytest puts on `sys.path`, before and now, and who uses
such a name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from kl_hooks.code.import_time import ImportTime
from kl_hooks.evidence.distributions import normalized
from kl_hooks.evidence.reads import ELSEWHERE, NAMED, Read
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.configured_selection import import_mode
from kl_hooks.proof.import_folders import (
    END,
    PREPEND,
    Visit,
    import_paths,
    is_imported_by_pytest,
    meanings,
    top_modules,
    visits,
)
from kl_hooks.proof.pytest_config import PytestConfig
from kl_hooks.proof.run_files import CONFTEST, INIT, RunFiles
from kl_hooks.proof.run_imports import RunImports
from kl_hooks.proof.touch import Touch

_CONFTEST_MODULE: Final = CONFTEST.removesuffix(".py")
_BY_TEXT: Final = (
    *("import_module", "__import__", "find_spec", "importorskip", "pytest_plugins"),
    *("run_module", "run_path", "resolve_name", "exec", "eval"),
)
"""Code with one of these words may import what it has as a text alone."""


class ChangedName(NamedTuple):
    """A bare name that may mean another file now."""

    name: str
    cause: str
    """The changed file by which it does."""
    files: frozenset[str] = frozenset()
    """What it means before or now, as of `top_modules`."""
    at: frozenset[str] | None = None
    """The collected files by whose import it means something else; None: anywhere."""


class _Side(NamedTuple):
    """What decides what bare names mean in one content."""

    visited: list[Visit]
    holders: dict[str, dict[str, str]]
    """As of `top_modules`."""


class BareNames:
    """The bare names of a run, and of another content."""

    def __init__(self, files: RunFiles, imports: RunImports) -> None:
        self._files = files
        self._imports = imports

    @cached_property
    def changed(self) -> list[ChangedName]:
        """Those that may mean another file, since the folders on the path are others or in another
        order, or since a file imports such a name of several folders before others do, or no more.
        """
        return [*self._changed_by_folders(), *self._changed_by_imports()]

    def users(self, changed: ChangedName) -> Touch:
        """The tests that need a file which imports a name by itself, may do so by a text, or got one
        of its files.
        """
        importing = {*self._importing(changed.name), *self._importing_by_text(changed.name)}
        for path in self._files_of(changed):
            importing.update(
                importer
                for importer in self._imports.importers(path)
                if not self._imports_by_other_name(importer, path)
            )
        return Touch(files=self._imports.needing(importing))

    def asked_for(self, changed: ChangedName, reads: frozenset[Read]) -> list[Read]:
        """Those of the reads that looked for a module of a name in vain, wherever that was, or got
        one of its files by a name that data may have.
        """
        lookups = (changed.name, f"{changed.name}.py")
        got = {Read(NAMED, path) for path in self._files_of(changed)}
        return sorted(
            read
            for read in reads
            if read in got or (read.pattern in lookups and read.path not in ELSEWHERE)
        )

    def _files_of(self, changed: ChangedName) -> Iterator[str]:
        """The files of the run that are what a name means, or in it as a package."""
        folders = tuple(f"{file.removesuffix(INIT)}" for file in changed.files if _is_package(file))
        for path in self._files.executed.modules:
            if path in changed.files or path.startswith(folders):
                yield path

    def is_of_others(self, name: str) -> bool:
        """Whether the standard library or an installed distribution has a module of this name, which
        installed code imports, too.
        """
        uses = self._files.executed.distributions
        is_installed = uses is not None and normalized(name) in uses.installed
        return name in sys.stdlib_module_names or is_installed

    def _importing(self, name: str) -> Iterator[str]:
        """The files of the run that import a name by a statement, wherever they have it."""
        for path in self._files.imported_files_with(name):
            before = self._files.import_times(path)[0]
            if before.refused or name in _top_names(before):
                yield path

    def _imports_by_other_name(self, importer: str, path: str) -> bool:
        """Whether statements of a file import another one by the name of a folder that it is in."""
        folders = {*path.split("/")[:-1]}
        return not folders.isdisjoint(_top_names(self._files.import_times(importer)[0]))

    def _importing_by_text(self, name: str) -> Iterator[str]:
        """Those that name it, and may import what they have as a text."""
        by_text = self._files.files_with(*_BY_TEXT)
        for path in self._files.imported_files_with(name):
            change = self._files.changes.get(path)
            if change is None:
                if path in by_text:
                    yield path
            elif change.symbols_before is None or (
                name in change.symbols_before.names
                and not change.symbols_before.names.isdisjoint(_BY_TEXT)
            ):
                yield path

    # what names mean

    @cached_property
    def _config(self) -> PytestConfig:
        """The configuration that decides how files are imported."""
        visited = self._sides[1].visited or self._sides[0].visited
        return self._files.difference.pytest_config(visited[0].path if visited else "")

    @cached_property
    def _mode(self) -> str:
        return import_mode(self._config.addopts)

    @cached_property
    def _sides(self) -> tuple[_Side, _Side]:
        """Before and now."""
        now = self._files.difference.python_files()
        changes = {
            path: change
            for path, change in self._files.difference.changes.items()
            if path.endswith(".py")
        }
        before = now - {path for path, change in changes.items() if not change.state_before}
        before |= {path for path, change in changes.items() if not change.state_now}
        return self._side(before), self._side(now)

    def _side(self, paths: frozenset[str]) -> _Side:
        config_of = self._files.difference.pytest_config
        visited = visits(paths, config_of)
        folders = {folder for _, folder in visited}
        folders.update(*(import_paths(config_of(path)) for path, _ in visited))
        return _Side(visited, top_modules(paths, folders))

    def _meanings(self, name: str) -> tuple[dict[str, str], dict[str, str]]:
        """Before and now, as of `meanings`."""
        before, now = (
            meanings(
                name, side.holders.get(name, {}), side.visited, self._base(name, side), self._mode
            )
            for side in self._sides
        )
        return before, now

    def _base(self, name: str, side: _Side) -> str:
        """What a name means by the rest of the path, which stays as it is."""
        holders = side.holders.get(name, {})
        for folder in import_paths(self._config):
            if folder in holders:
                return holders[folder]
        visited_before = {folder for _, folder in self._sides[0].visited}
        if not visited_before.isdisjoint(self._sides[0].holders.get(name, {})):
            return ""
        # the run got it from nowhere else
        places = self._places_in_run(name)
        return next(iter(places)) if len(places) == 1 else ""

    def _places_in_run(self, name: str) -> set[str]:
        """What a name was in the run for files that import it by a statement, as of `top_modules`."""
        places = (
            self._place(imported, name)
            for path in self._importing(name)
            for imported in self._files.executed.imports.get(path, ())
            # it may be among them by the statement alone, which did not find it
            if imported in self._files.executed.modules
        )
        return {place for place in places if place}

    def _place(self, path: str, name: str) -> str:
        """What a name means by which a file was imported, if the file has it in its path."""
        parts = path.split("/")
        if parts[-1] == f"{name}.py":
            return path
        if name not in parts[:-1]:
            return ""
        folder = "/".join(parts[: parts.index(name) + 1])
        init = f"{folder}/{INIT}"
        return init if init in self._files.executed.modules else f"{folder}/"

    # what changed

    def _changed_by_folders(self) -> Iterator[ChangedName]:
        cause = next(
            (
                path
                for path, change in sorted(self._files.changes.items())
                if not (change.state_before and change.state_now)
                and self._decides_about_folders(path)
            ),
            None,
        )
        if cause is None:
            return
        for name in sorted(self._candidates()):
            before, now = self._meanings(name)
            at = self._changed_at(name, before, now)
            if at is None or at:
                files = frozenset((*before.values(), *now.values())) - {""}
                yield ChangedName(name, cause, files, at)

    def _decides_about_folders(self, path: str) -> bool:
        if path.rpartition("/")[2] == INIT:
            return True
        return is_imported_by_pytest(path, self._files.difference.pytest_config(path))

    def _candidates(self) -> Iterator[str]:
        """The names of which a folder was added or removed, or is on the path from another moment on."""
        before, now = self._sides
        common = {path for path, _ in before.visited} & {path for path, _ in now.visited}
        starts = [_first_visits(side.visited, common) for side in self._sides]
        moved = {
            folder
            for folder in starts[0].keys() | starts[1].keys()
            if starts[0].get(folder) != starts[1].get(folder)
        }
        for name in before.holders.keys() | now.holders.keys():
            folders = before.holders.get(name, {}).keys() | now.holders.get(name, {}).keys()
            if len(folders) > 1 or folders & moved:
                yield name

    def _changed_at(
        self, name: str, before: Mapping[str, str], now: Mapping[str, str]
    ) -> frozenset[str] | None:
        """Where a name means something else, as of `ChangedName`."""
        at = frozenset(path for path in before.keys() & now.keys() if before[path] != now[path])
        meant_before, meant_now = {*before.values()} - {""}, {*now.values()} - {""}
        has_modules = any(not file.endswith("/") for file in meant_before | meant_now)
        # those come first that are after all, or that are no folders (PEP 420)
        if self.is_of_others(name) and (self._mode != PREPEND or not has_modules):
            return frozenset()
        if len(meant_before | meant_now) > 1:
            # the first import in a process decides for all
            return None if at or meant_before != meant_now else frozenset()
        file = next(iter(meant_before | meant_now), "")
        change = self._files.changes.get(file)
        is_in_both = change is None or (change.state_before and change.state_now)
        if not at or not (is_in_both or name == _CONFTEST_MODULE):
            return frozenset()
        # one that was imported from elsewhere, too, may have been that for all
        is_only_one = self._places_in_run(name) == {file}
        return at if is_only_one and END not in at else None

    def _changed_by_imports(self) -> Iterator[ChangedName]:
        for path in sorted(self._files.changes):
            before, now = (_top_names(content) for content in self._files.import_times(path))
            names = (before ^ now) - sys.stdlib_module_names
            for name in sorted(names & self._names_of_several if names else ()):
                meant = {file for side in self._meanings(name) for file in side.values()}
                if len(meant - {""}) > 1:
                    yield ChangedName(name, path, frozenset(meant - {""}))

    @cached_property
    def _names_of_several(self) -> frozenset[str]:
        """The names that several files or packages have, wherever they are."""
        places: dict[str, set[str]] = {}
        for path in self._files.difference.python_files() | self._files.changes.keys():
            folders = path.split("/")
            places.setdefault(folders[-1].removesuffix(".py"), set()).add(path)
            for depth, name in enumerate(folders[:-1]):
                places.setdefault(name, set()).add("/".join(folders[:depth]))
        return frozenset(name for name, of_name in places.items() if len(of_name) > 1)


def _top_names(content: ImportTime) -> frozenset[str]:
    """The first parts of what a file imports, without imports that start from its package."""
    names = (*content.imports, *content.later_imports)
    return frozenset(name.partition(".")[0] for name in names) - {""}


def _is_package(file: str) -> bool:
    """Whether it is a folder, as of `top_modules`."""
    return file.endswith(("/", f"/{INIT}"))


def _first_visits(visited: list[Visit], common: set[str]) -> dict[str, int]:
    """Folder → how many of the common files pytest imports before the folder is on the path."""
    first: dict[str, int] = {}
    number = 0
    for path, folder in visited:
        first.setdefault(folder, number)
        number += path in common
    return first
