"""What bare names mean by the folders that pytest puts on `sys.path`, before and now, and who uses
such a name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from kl_hooks.evidence.distributions import normalized
from kl_hooks.evidence.reads import ELSEWHERE, Read
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
from kl_hooks.proof.run_files import CONFTEST, INIT, RunFiles, is_or_is_in
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

    def users(self, name: str) -> Touch:
        """The tests that need a file which imports a name by itself, or may do so by a text."""
        importing = {path for path in self._naming(name) if self._imports_bare(path, name)}
        for path, module in self._files.symbols.modules.items():
            if is_or_is_in(module.partition("@")[0], name):
                importing |= self._imports.importers(path)
        return Touch(files=self._imports.needing(importing))

    def looked_for(self, name: str, reads: frozenset[Read]) -> list[Read]:
        """Those of the reads that looked for a module of a name in vain, wherever that was."""
        wanted = (name, f"{name}.py")
        return sorted(
            read for read in reads if read.pattern in wanted and read.path not in ELSEWHERE
        )

    def is_of_others(self, name: str) -> bool:
        """Whether the standard library or an installed distribution has a module of this name, which
        installed code imports, too.
        """
        uses = self._files.executed.distributions
        is_installed = uses is not None and normalized(name) in uses.installed
        return name in sys.stdlib_module_names or is_installed

    def _naming(self, name: str) -> Iterator[str]:
        for path in self._files.imported_files_with(name):
            change = self._files.changes.get(path)
            symbols = change.symbols_before if change is not None else None
            if change is None or symbols is None or name in symbols.names:
                yield path

    def _imports_bare(self, path: str, name: str) -> bool:
        before = self._files.import_times(path)[0]
        if before.refused or name in _top_names((*before.imports, *before.later_imports)):
            return True
        change = self._files.changes.get(path)
        if change is not None and change.symbols_before is not None:
            return not change.symbols_before.names.isdisjoint(_BY_TEXT)
        return path in self._files.files_with(*_BY_TEXT)

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
        places = self._places_in_run.get(name, set())
        return next(iter(places)) if len(places) == 1 else ""

    @cached_property
    def _places_in_run(self) -> Mapping[str, set[str]]:
        """Top-level name → the files that it was in the run, as of `top_modules`."""
        places: dict[str, set[str]] = {}
        for path, recorded_module in self._files.symbols.modules.items():
            module = recorded_module.partition("@")[0].split(".")
            parts = path.removesuffix(".py").removesuffix(f"/{INIT.removesuffix('.py')}").split("/")
            if parts[-len(module) :] != module:
                continue
            folder = "/".join(parts[: len(parts) - len(module) + 1])
            init = f"{folder}/{INIT}"
            if len(module) == 1:
                place = path
            else:
                place = init if init in self._files.symbols.modules else f"{folder}/"
            places.setdefault(module[0], set()).add(place)
        return places

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
                yield ChangedName(name, cause, at)

    def _decides_about_folders(self, path: str) -> bool:
        if path.rpartition("/")[2] == INIT:
            return True
        return is_imported_by_pytest(path, self._files.difference.pytest_config(path))

    def _candidates(self) -> Iterator[str]:
        """The names of which a folder came, went, or is on the path from another moment on."""
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
            if len(folders) > 1 or folders & moved or name == _CONFTEST_MODULE:
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
        is_only_one = self._places_in_run.get(name) == {file}
        return at if is_only_one and END not in at else None

    def _changed_by_imports(self) -> Iterator[ChangedName]:
        for path in sorted(self._files.changes):
            before, now = (
                _top_names((*content.imports, *content.later_imports))
                for content in self._files.import_times(path)
            )
            names = (before ^ now) - sys.stdlib_module_names
            for name in sorted(names & self._names_of_several if names else ()):
                meant = {file for side in self._meanings(name) for file in side.values()}
                if len(meant - {""}) > 1:
                    yield ChangedName(name, path)

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


def _top_names(names: tuple[str, ...]) -> frozenset[str]:
    """The first parts of what a file imports, without imports that start from its package."""
    return frozenset(name.partition(".")[0] for name in names) - {""}


def _first_visits(visited: list[Visit], common: set[str]) -> dict[str, int]:
    """Folder → how many of the common files pytest imports before the folder is on the path."""
    first: dict[str, int] = {}
    number = 0
    for path, folder in visited:
        first.setdefault(folder, number)
        number += path in common
    return first
