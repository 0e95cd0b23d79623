"""Records which installed distributions a run loaded, and what the interpreter executed at its
start.

A module belongs to a distribution by the list of files in the metadata (`RECORD`), not by its name.
The lists of 300 distributions are megabytes, so what was found in them is stored beside the other
derived data: a distribution of the same name and version has the same files. Everything else is one
listing of each site-packages folder. Modules of the repository, installed or not, are content, and
our own distribution is no part of what is tested.
"""

# A Path would look functions up in `os`, which a suite may have replaced.
# ruff: noqa: PTH110, PTH116, PTH118, PTH119, PTH120

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from os import stat as _stat
from os.path import basename, commonpath, dirname, exists, join, realpath
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import kl_hooks
from kl_hooks.evidence.distributions import (
    OWN,
    Distributions,
    Folder,
    Uses,
    digest_of,
    machine,
    normalized,
    read_folder,
    start_up,
)
from kl_hooks.store.files import write_atomic

if TYPE_CHECKING:
    from packaging.markers import Marker

_STANDARD: Final = realpath(dirname(os.__file__))
_OURS: Final = (f"{dirname(str(kl_hooks.__file__))}/", f"{dirname(__file__)}/")
_INSTALLED: Final = ("/site-packages", "/dist-packages")
_START_UP: Final = ("sitecustomize", "usercustomize")
_LISTS: Final = ("RECORD", "installed-files.txt")
"""Files of metadata that list the files of a distribution."""
_ENCODED: Final = frozenset("%?#")
"""What makes the path of a URL another text than the path of the file."""
_CACHE_SCHEMA: Final = 2
"""1 had requirements by another rule."""
_LARGEST: Final = 64 * 1024 * 1024

_Row = tuple[str, str]
"""Module that was loaded from outside of the repository, and its file."""


def _is_inside_loaded(name: str, files: Mapping[str, str]) -> bool:
    parent = name.rpartition(".")[0]
    while "." in parent:
        if parent in files:
            return True
        parent = parent.rpartition(".")[0]
    return False


class Environment:
    """What is installed where a run has its modules from; listed when the run starts."""

    def __init__(self, top: str, search_path: Iterable[object], started: float) -> None:
        """`top`: the repository. `started`: seconds since the epoch."""
        self._top, self._started = top, started
        self._folders: dict[str, Folder | None] = {}
        """Entry of `sys.path` → its listing; None where it is no folder of distributions."""
        self._modules = sys.modules
        self._digests: dict[str, str] = {}
        """Path of what belongs to no distribution → digest of its source."""
        self._loaded: _Loaded | None = None
        self._list(search_path)

    @staticmethod
    def outside_modules(modules: Iterable[tuple[str, str]], top: str) -> list[_Row]:
        """Of modules (name, file) that are none of the repository in `top` those that show which
        distributions were loaded: the first two levels of packages, and what is below a namespace.
        """
        files = {
            name: file
            for name, file in modules
            if not file.startswith(_OURS)
            and (not file.startswith(f"{top}/") or any(f"{part}/" in file for part in _INSTALLED))
        }
        return [row for row in files.items() if not _is_inside_loaded(row[0], files)]

    def _list(self, search_path: Iterable[object]) -> None:
        for entry in search_path:
            if isinstance(entry, str) and entry.startswith("/") and entry not in self._folders:
                self._folders[entry] = self._folder(entry)

    def _folder(self, entry: str) -> Folder | None:
        path = realpath(entry)
        is_installed = any(f"{part}/" in f"{path}/" for part in _INSTALLED)
        if path == _STANDARD or path.startswith(f"{_STANDARD}/lib-dynload"):
            return None
        if not is_installed and f"{path}/".startswith(f"{self._top}/"):
            return None  # content
        try:
            folder = read_folder(path)
        except OSError:
            return None
        if folder.metadata or path.endswith(_INSTALLED):
            return folder
        return None

    def record(
        self, rows: Iterable[_Row], search_path: Iterable[object], cache: Path
    ) -> Distributions:
        """What the run loaded. `cache`: where owners of files are stored."""
        self._list(search_path)
        folders = {folder.path: folder for folder in self._folders.values() if folder is not None}
        owners = _Owners(folders, cache, self._top)
        versions: dict[str, str] = {}
        by_module: dict[str, str] = {}
        for module, file in sorted(set(rows)):
            name, version = self._distribution(module, file, owners)
            if name:
                by_module[module] = name
            if version:
                versions[name] = version
        requires = {
            name: owners.requires(name) for name in (*versions, OWN) if not name.startswith("/")
        }
        start = self._start(folders, owners)
        owners.store()
        installed: dict[str, str] = {}
        for folder in folders.values():
            installed = {**folder.versions, **installed}
        own = owners.own_distributions()
        distributions = Distributions(
            {name: version for name, version in versions.items() if name not in own},
            tuple(folders),
            machine(),
            start,
            own=frozenset({*own, OWN}),
        )
        installed = {name: version for name, version in installed.items() if name not in own}
        self._loaded = _Loaded(tuple(folders.values()), by_module, requires, installed)
        return distributions

    def uses(self, outside: Mapping[str, Iterable[str]]) -> Uses | None:
        """What files import from distributions; None where nothing was recorded. `outside`: path →
        names of modules.
        """
        if self._loaded:
            return self._loaded.uses(outside)
        return None

    def _distribution(self, module: str, file: str, owners: _Owners) -> tuple[str, str]:
        """Name and version of what a module belongs to; empty for what the run itself made."""
        for entry, folder in self._folders.items():
            if folder is not None and file.startswith(f"{entry}/"):
                name = owners.owner(folder, file[len(entry) + 1 :])
                if name:
                    return name, folder.versions[name]
                break
        if realpath(file).startswith(f"{_STANDARD}/") and "-packages/" not in file:
            return "", ""
        path = _root(module, file)
        try:
            # a module that a test wrote, or copied, into a temporary folder
            if exists(path) and _stat(path).st_ctime >= self._started:
                return "", ""
            if path not in self._digests:  # a folder has many modules
                self._digests[path] = digest_of(path)
        except OSError:
            return path, "unknown"
        return path, f"files:{self._digests[path]}"

    def _start(self, folders: Mapping[str, Folder], owners: _Owners) -> dict[str, str]:
        """Path → digest of what the interpreter executed when it started."""
        digests: dict[str, str] = {}
        for folder in folders.values():
            for path, digest in start_up(folder).items():
                own = owners.owner(folder, basename(path)) in owners.own_distributions()
                digests[path] = "" if own else digest  # what is the repository's is content
        for name in _START_UP:
            module = self._modules.get(name)
            if isinstance(module, ModuleType):
                file = module.__file__
            else:
                file = None
            if file and not realpath(file).startswith((f"{_STANDARD}/", f"{self._top}/", *_OURS)):
                with suppress(OSError):
                    digests[realpath(file)] = digest_of(file)
        return digests


class _Loaded:
    """Modules and distributions of a run, to be combined with what its files import."""

    def __init__(
        self,
        folders: Sequence[Folder],
        owners: Mapping[str, str],
        requires: Mapping[str, tuple[str, ...]],
        installed: Mapping[str, str],
    ) -> None:
        self._folders = folders
        self._owners = owners
        self._requires = requires
        self._installed = installed

    def uses(self, outside: Mapping[str, Iterable[str]]) -> Uses:
        """What files import from distributions. `outside`: path → names of modules."""
        owners = {**self._owners, "kl_hooks": OWN, "pytest_kl": OWN}
        return Uses.of(outside, owners, self._folders, self._requires, self._installed)


def _root(module: str, file: str) -> str:
    """The folder or file that has the top of a module: `/srv/lib/shop` of `shop.cart`."""
    path = f"/{module.replace('.', '/')}"
    for ending in (f"{path}/__init__.py", f"{path}.py"):
        if file.endswith(ending):
            top = f"{file.removesuffix(ending)}/{module.partition('.')[0]}"
            if ending == f"/{module}.py":
                return file
            return top
    if basename(file) == "__init__.py":
        return dirname(file)
    return file


class _Owners:
    """The distributions of files, by the lists of files in their metadata."""

    def __init__(self, folders: Mapping[str, Folder], cache: Path, top: str) -> None:
        self._folders = folders
        self._cache = cache
        self._top = top
        self._stored = self._read()
        self._changed = False
        self._lists: dict[str, bytes] = {}
        self._latest: dict[tuple[str, str], str] = {}
        self._own: frozenset[str] | None = None
        self._names = {
            folder.path: {metadata: name for name, metadata in folder.metadata.items()}
            for folder in folders.values()
        }

    def _read(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            plain = json.loads(self._cache.read_bytes())
            if isinstance(plain, dict) and plain.get("schema") == _CACHE_SCHEMA:
                return plain
        return {"schema": _CACHE_SCHEMA, "files": {}, "requires": {}, "unowned": {}}

    def store(self) -> None:
        """Store what was found, so that the next run reads no list again."""
        if self._changed:
            for key in ("files", "requires", "unowned"):
                rows = self._stored[key]
                self._stored[key] = {path: rows[path] for path in rows if path in self._folders}
            with suppress(OSError):
                write_atomic(self._cache, json.dumps(self._stored).encode(), 0o600, sync=False)

    def owner(self, folder: Folder, file: str) -> str:
        """The name of the distribution that lists a file of a folder; empty for none."""
        names = self._names[folder.path]
        files = self._stored["files"].setdefault(folder.path, {})
        if (metadata := files.get(file)) in names:
            return names[metadata]
        unowned = self._stored["unowned"].get(folder.path, {})
        if unowned.get("of") == sorted(names) and file in unowned["files"]:
            return ""
        self._changed = True
        top = file.partition("/")[0].partition(".")[0]
        name = normalized(top)
        latest = self._latest.get((folder.path, top))
        # first the one that has its siblings, then that of the same name: mostly it is one of
        # these, and no other list is read
        for metadata in sorted(
            names, key=lambda folder_name: (folder_name != latest, names[folder_name] != name)
        ):
            if self._has(folder, metadata, file):
                self._latest[folder.path, top] = files[file] = metadata
                return names[metadata]
        if unowned.get("of") == sorted(names):
            listed = unowned["files"]
        else:
            listed = []
        self._stored["unowned"][folder.path] = {"of": sorted(names), "files": [*listed, file]}
        return ""

    def _has(self, folder: Folder, metadata: str, file: str) -> bool:
        place = join(folder.path, metadata)
        if place not in self._lists:
            self._lists[place] = b"\n" + self._list(place).replace(b"\r\n", b"\n")
        return self._listed(self._lists[place], place, file)

    def _list(self, place: str) -> bytes:
        for name in _LISTS:
            with suppress(OSError):
                return _content(join(place, name))
        return b""

    @staticmethod
    def _listed(listed: bytes, place: str, file: str) -> bool:
        name = os.fsencode(file)
        if place.endswith(".egg-info"):
            # relative to the metadata (setuptools, `--record`); Debian has the names of tops alone
            if b"\n../" + name + b"\n" in listed:
                return True
            with suppress(OSError):
                tops = _content(join(place, "top_level.txt")).split()
                return name.partition(b"/")[0].partition(b".")[0] in tops
            return False
        return b"\n" + name + b"," in listed

    def requires(self, name: str) -> tuple[str, ...]:
        """What a distribution requires by its metadata."""
        for folder in self._folders.values():
            if name in folder.metadata:
                metadata = folder.metadata[name]
                stored = self._stored["requires"].setdefault(folder.path, {})
                if metadata not in stored:
                    self._changed = True
                    place = join(folder.path, metadata)
                    stored[metadata] = sorted(set(_requirements(place)))
                return tuple(stored[metadata])
        return ()

    def own_distributions(self) -> frozenset[str]:
        """Those that were installed from this repository: their files are content."""
        if self._own is None:
            self._own = frozenset(
                {
                    OWN,
                    *(
                        name
                        for folder in self._folders.values()
                        for name, metadata in folder.metadata.items()
                        if self._is_own(join(folder.path, metadata))
                    ),
                }
            )
        return self._own

    def _is_own(self, place: str) -> bool:
        """Whether a distribution was installed from a folder of this repository (PEP 610)."""
        path = f"{place}/direct_url.json"
        if not exists(path):  # most have none, and an exception for each costs more than the rest
            return False
        try:
            plain = json.loads(_content(path))
        except (OSError, ValueError):
            return False
        if not isinstance(plain, dict) or not isinstance(plain.get("dir_info"), dict):
            return False
        folder = realpath(_path_of_url(str(plain.get("url"))))
        return commonpath([folder, self._top]) == self._top


def _path_of_url(url: str) -> str:
    """The path of a file URL, which nearly all of these are (PEP 610)."""
    path = url.removeprefix("file://")
    if path != url and path[:1] == "/" and _ENCODED.isdisjoint(path):
        return path
    from urllib.parse import unquote, urlsplit  # 2 ms, which each run would pay

    return unquote(urlsplit(url).path)


def _requirements(place: str) -> Iterator[str]:
    """The names of what a distribution requires here, by its metadata. Not with an extra: nobody
    wrote down which extras were asked for, and many name what a project is developed with.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    for line in _requirement_lines(place):
        with suppress(InvalidRequirement):
            requirement = Requirement(line)
            if requirement.marker is None or _applies(requirement.marker):
                yield normalized(requirement.name)


def _applies(marker: Marker) -> bool:
    """Whether a marker is true in this environment without an extra. What can't be evaluated, such
    as a version of a kernel that is none, is.
    """
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
    from packaging.version import InvalidVersion

    try:
        return marker.evaluate({"extra": ""})
    except (UndefinedComparison, UndefinedEnvironmentName, InvalidVersion):
        return True


def _requirement_lines(place: str) -> Iterator[str]:
    for name in ("METADATA", "PKG-INFO"):
        with suppress(OSError):
            head = _content(join(place, name)).partition(b"\n\n")[0].decode("utf-8", "replace")
            for line in head.splitlines():
                key, _, value = line.partition(":")
                if key == "Requires-Dist":
                    yield value.strip()
    if place.endswith(".egg-info"):
        with suppress(OSError):
            text = _content(join(place, "requires.txt")).decode("utf-8", "replace")
            condition = ""
            for line in filter(None, map(str.strip, text.splitlines())):
                if line.startswith("["):
                    # `[extra:marker]`, each of which may be empty (setuptools, egg formats)
                    extra, _, marker = line.strip("[]").partition(":")
                    parts = (f"extra == {extra!r}" if extra else "", marker and f"({marker})")
                    condition = " and ".join(filter(None, parts))
                else:
                    yield f"{line} ; {condition}" if condition else line


def _content(path: str) -> bytes:
    with FileIO(path) as file:
        return file.read(_LARGEST) or b""
