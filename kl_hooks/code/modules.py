"""Which module a file is: from paths to dotted names, without importing anything.

The rules, in their order:
1. A folder with `__init__.py` is a package; what is in it is named from the outermost such folder on.
2. The folder that a name starts from is the *source root*. Under a folder called `src` every folder is part of the
   name, with or without `__init__.py` (PEP 420). Elsewhere folders without `__init__.py` between a package and its
   project (the nearest folder with `setup.py`, `setup.cfg` or `pyproject.toml` among the paths, else the repository)
   are part of the name if something imports it by that longer name, or if the shorter name is one of Python's own.
3. A file in no package (a script, a test) is named by its path from its project; by a shorter end of that path if
   something imports it so.
4. Files that get one name are qualified by path, `conftest@tests/a/conftest.py`, save a package beside a module of
   the same name, which Python prefers and so keeps the name.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

_MARKERS: Final = frozenset({"setup.py", "setup.cfg", "pyproject.toml"})
_INIT: Final = "__init__.py"


def module_names(paths: Sequence[str], imported: Collection[str] = ()) -> dict[str, str]:
    """Path → dotted name for each `.py` file among `paths` (from the repository's root, with `/`).

    `imported` are the absolute names that the repository's imports ask for (`imported_names`), with their parents;
    they decide where the folders alone do not. The answer does not depend on the order of either.
    """
    python = [path for path in paths if path.endswith(".py")]
    packages = {_folder(path) for path in python if path.rpartition("/")[2] == _INIT}
    projects = {_folder(path) for path in paths if path.rpartition("/")[2] in _MARKERS}
    starts: dict[str, int] = {}
    names: dict[str, str] = {}
    for path in python:
        folder = _folder(path)
        if folder not in starts and folder in packages:
            starts[folder] = _package_start(folder, packages, projects, imported)
        start = starts[folder] if folder in packages else _file_start(path, projects, imported)
        names[path] = _dotted(path, start)
    return _qualified(names)


def imported_names(facts: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Every absolute module name that some file imports, with its parents: `a.b` gives `a.b` and `a`.

    Of `from a import b` both `a` and `a.b`: `b` may be a module.
    """
    found: set[str] = set()
    for one in facts.values():
        for module, name, level, *_ in one["imports"]:
            if level == 0:
                found.add(module)
                if name and name != "*":
                    found.add(f"{module}.{name}")
    for module in list(found):
        while (module := module.rpartition(".")[0]) and module not in found:
            found.add(module)
    return found


def plain_name(module: str) -> str:
    """The name as an import would say it: without what qualifies it by path."""
    return module.partition("@")[0]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _parts(folder: str) -> list[str]:
    return folder.split("/") if folder else []


def _dotted(path: str, start: int) -> str:
    parts = path.removesuffix(".py").split("/")[start:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def _project(folder: str, projects: Collection[str]) -> int:
    """How many leading parts of `folder` are its project's."""
    parts = _parts(folder)
    return next((n for n in range(len(parts), 0, -1) if "/".join(parts[:n]) in projects), 0)


def _source(parts: Sequence[str], most: int) -> int | None:
    """Where the name starts under the last `src` folder among the first `most` parts; None without one."""
    return next((n for n in range(most, 0, -1) if parts[n - 1] == "src"), None)


def _package_start(folder: str, packages: Collection[str], projects: Collection[str], imported: Collection[str]) -> int:
    """Where the names of a package's modules start: counted in leading folders that are left out."""
    parts = _parts(folder)
    top = len(parts)
    while top > 1 and "/".join(parts[: top - 1]) in packages:
        top -= 1
    shortest = max(top - 1, 0)
    source = _source(parts, shortest)
    if source is not None:
        return source
    longest = min(_project("/".join(parts[:shortest]), projects), shortest)
    asked = [n for n in range(longest, shortest) if ".".join(parts[n:top]) in imported]
    if asked:
        return asked[0]
    own = parts[shortest] in sys.stdlib_module_names if parts else False
    return longest if own else shortest


def _file_start(path: str, projects: Collection[str], imported: Collection[str]) -> int:
    folders = _parts(_folder(path))
    source = _source(folders, len(folders))
    if source is not None:
        return source
    longest = _project(_folder(path), projects)
    asked = (n for n in range(longest, len(folders) + 1) if _dotted(path, n) in imported)
    start = next(asked, longest)
    own = start == len(folders) and _dotted(path, start) in sys.stdlib_module_names
    return longest if own else start


def _qualified(names: Mapping[str, str]) -> dict[str, str]:
    same: dict[str, list[str]] = {}
    for path, name in names.items():
        same.setdefault(name, []).append(path)
    made = dict(names)
    for name, paths in same.items():
        inits = [path for path in paths if path.endswith("/" + _INIT)]
        kept = inits[0] if len(inits) == 1 else None
        if len(paths) > 1:
            made.update({path: f"{name}@{path}" for path in paths if path != kept})
    return made
