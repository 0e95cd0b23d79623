"""The folders that pytest puts on `sys.path` while it collects the files of a content, and which file
a bare name means there.

With the import modes `prepend` and `append` the folder of each test file and `conftest.py` that it
imports is on the path from then on (its documentation, "Import modes"). Of a file in a package it is
the folder of the outermost package. So a test file that comes or goes changes what a bare name
means for others.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from kl_hooks.git.files import path_matches
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.configured_selection import (
    ConfiguredSelection,
    collects_doctests,
    import_mode,
)
from kl_hooks.proof.pytest_config import PytestConfig

_CONFTEST: Final = "conftest.py"
_INIT: Final = "__init__.py"
_MAGIC: Final = frozenset("*?[")
PREPEND: Final = "prepend"
IMPORTLIB: Final = "importlib"
END: Final = ""
"""In the place of a collected file: after the collection, while tests run."""

Configs = Callable[[str], PytestConfig]
"""File → the configuration of pytest that decides about it."""


class Visit(NamedTuple):
    """A file that pytest imports while it collects."""

    path: str
    folder: str
    """What pytest puts on the path for it; empty: the repository's root."""


def visits(paths: Collection[str], config_of: Configs) -> list[Visit]:
    """The test files and `conftest.py` among the Python files of a content, in the order in which
    pytest imports them; none for the import mode that leaves the path as it is.
    """
    ordered = sorted(
        (order, path)
        for path in paths
        for order in [_order(path, config_of(path))]
        if order is not None
    )
    packages = {path.removesuffix(f"/{_INIT}") for path in paths if path.endswith(f"/{_INIT}")}
    collected: list[Visit] = []
    on_path: set[str] = set()
    for _, path in ordered:
        config = config_of(path)
        folder = root_folder(path, packages)
        if config.has_namespaces:
            above = (*on_path, *import_paths(config))
            folder = next((other for other in _upwards(folder) if other in above), folder)
        on_path.add(folder)
        collected.append(Visit(path, folder))
    return collected


def is_imported_by_pytest(path: str, config: PytestConfig) -> bool:
    """Whether pytest puts a folder on the path for a Python file."""
    return _order(path, config) is not None


def root_folder(path: str, packages: Collection[str]) -> str:
    """The folder from which a file has its full name: the first one upwards that is no package."""
    folder = path.rpartition("/")[0]
    while folder in packages and folder.rpartition("/")[2].isidentifier():
        folder = folder.rpartition("/")[0]
    return folder


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


_Order = tuple[int, int, tuple[str, ...]]


@lru_cache(maxsize=32_768)
def _order(path: str, config: PytestConfig) -> _Order | None:
    """What pytest's order of import follows; None for a file that it does not import by itself.

    The files of a folder and its folders are in one order by name, after its `conftest.py`. First of
    all come those of the folders where it starts, and of those in them that are named `test*`.
    """
    selection = ConfiguredSelection.of(config)
    if import_mode(config.addopts) == IMPORTLIB or selection.ignores(path):
        return None
    parts = tuple(path.split("/"))
    is_conftest = parts[-1] == _CONFTEST
    starts = _starts(config)
    start = next((at for at, place in enumerate(starts) if _is_in(path, place)), None)
    if is_conftest:
        folders = parts[:-1]
        for at, place in enumerate(starts):
            if _loads_first(folders, place):
                return 0, at, folders
        if start is not None and config.collects_by(path, (_CONFTEST,)):
            return 1, start, (*folders, "")
        return None
    patterns = ("*.py",) if collects_doctests(config.addopts) else config.python_files
    if start is None or not config.collects_by(path, patterns):
        return None
    return 1, start, parts


def _starts(config: PytestConfig) -> Sequence[str]:
    """Where pytest starts to collect, as globs of paths from the repository's root."""
    places = config.testpaths or (".",)
    starts = (posixpath.normpath(posixpath.join(config.folder, place)) for place in places)
    return ["" if start == "." else start for start in starts]


def _is_in(path: str, place: str) -> bool:
    return not place or path_matches(path, place)


def _loads_first(folders: tuple[str, ...], place: str) -> bool:
    """Whether pytest loads the `conftest.py` of a folder before it collects: it is one where it
    starts, one above, or one named `test*` inside.
    """
    wanted = place.split("/") if place else []
    depth = len(wanted)
    if len(folders) == depth + 1 and folders[-1].startswith("test"):
        return not wanted or path_matches("/".join(folders[:-1]), place)
    if len(folders) > depth:
        return False
    return not folders or path_matches("/".join(folders), "/".join(wanted[: len(folders)]))


@lru_cache(maxsize=64)
def import_paths(config: PytestConfig) -> tuple[str, ...]:
    """The folders of the repository that the configuration puts on the path (`pythonpath`)."""
    folders = (
        posixpath.normpath(posixpath.join(config.folder, folder)) for folder in config.pythonpath
    )
    return tuple(
        "" if folder == "." else folder for folder in folders if not folder.startswith(("..", "/"))
    )


def top_modules(paths: Iterable[str], folders: Collection[str]) -> dict[str, dict[str, str]]:
    """Name → folder that has a module of this name → its file; the folder with a slash for a
    package without `__init__.py`.
    """
    modules: dict[str, dict[str, str]] = {}
    for path in paths:
        for folder in _upwards(path.rpartition("/")[0]):
            if folder not in folders:
                continue
            inside = path[len(folder) + 1 :] if folder else path
            name, slash, in_package = inside.partition("/")
            name = name.removesuffix(".py") if not slash else name
            if not name.isidentifier():
                continue
            holders = modules.setdefault(name, {})
            package = path[: len(path) - len(in_package)]
            if in_package == _INIT:
                holders[folder] = path
            elif not slash:
                # a package comes before a module of its name
                if not holders.get(folder, "").endswith(f"/{_INIT}"):
                    holders[folder] = path
            else:
                holders.setdefault(folder, package)
    return modules


def meanings(
    name: str, holders: Mapping[str, str], visited: Sequence[Visit], base: str, mode: str
) -> dict[str, str]:
    """Collected file → the file that a bare name means when that file is imported; `END`: when the
    tests run; empty where it means none that is known.

    `holders`: as of `top_modules`; `base`: what the name means by the rest of the path.
    """
    order: list[str] = []
    meaning: dict[str, str] = {}
    for path, folder in visited:
        if name == _CONFTEST.removesuffix(".py"):
            # pytest itself takes the last one out of `sys.modules`, and loads the next
            if path == posixpath.join(folder, _CONFTEST):
                order = [folder]
        elif folder in holders and mode == PREPEND:
            order = [folder, *(other for other in order if other != folder)]
        elif folder in holders and folder not in order:
            order.append(folder)
        meaning[path] = _first(order, holders, base, mode)
    meaning[END] = _first(order, holders, base, mode)
    return meaning


def _first(order: Sequence[str], holders: Mapping[str, str], base: str, mode: str) -> str:
    files = [holders[folder] for folder in order if folder in holders]
    if base:
        files = [*files, base] if mode == PREPEND else [base, *files]
    modules = [file for file in files if not file.endswith("/")]
    # packages without `__init__.py` are found only if nothing else is, and all together (PEP 420)
    return modules[0] if modules else " ".join(dict.fromkeys(files))
