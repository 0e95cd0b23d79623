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
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kl_hooks.code.marks import is_marker

_INIT: Final = "__init__.py"


class Mapped(NamedTuple):
    """How a file got its name."""

    module: str
    root: str
    """The source root: the folder that the name starts from; empty for the top of the repository."""
    rule: str
    """A key of `RULES`."""
    same: tuple[str, ...] = ()
    """Other files that would have the same name, and why this one's is qualified by its path, if it is."""


RULES: Final = {
    "package": "it is in a package: the name starts with the outermost folder that has an __init__.py",
    "src": "it stands under src: every folder below that is part of the name, __init__.py or not",
    "imported": "an import asks for it by this longer name (a namespace package, PEP 420)",
    "python's own": "the shorter name is one of Python's own, so the folders above are part of it",
    "script": "it is in no package: named by its path from its project, as a script or test",
    "script imported": "it is in no package, and an import asks for it by this name",
}
"""Rule → what it says to a person."""


def module_names(paths: Sequence[str], imported: Collection[str] = ()) -> dict[str, str]:
    """Path → dotted name for each `.py` file among `paths` (from the repository's root, with `/`).

    `imported` are the absolute names that the repository's imports ask for (`imported_names`), with their parents;
    they decide where the folders alone do not. The answer does not depend on the order of either.
    """
    return _qualified({path: _dotted(path, start) for path, (start, _) in _starts(paths, imported).items()})


def module_name(path: str, packages: Container[str], projects: Container[str], imported: Container[str]) -> str:
    """How `module_names` would name one `.py` file if no other got that name.

    `packages`: the folders that hold an `__init__.py`; `projects`: those that hold a mark of a project, or `setup.py`.
    """
    folder = _folder(path)
    if folder in packages:
        return _dotted(path, _package_start(folder, packages, projects, imported)[0])
    return _dotted(path, _file_start(path, projects, imported)[0])


def explain(paths: Sequence[str], imported: Collection[str], path: str) -> Mapped | None:
    """How `module_names` names one file; None where it is none of its files."""
    starts = _starts(paths, imported)
    if path not in starts:
        return None
    names = {one: _dotted(one, start) for one, (start, _) in starts.items()}
    start, rule = starts[path]
    same = tuple(sorted(one for one, name in names.items() if name == names[path] and one != path))
    return Mapped(_qualified(names)[path], "/".join(path.split("/")[:start]), rule, same)


def _starts(paths: Sequence[str], imported: Collection[str]) -> dict[str, tuple[int, str]]:
    """Path → how many leading folders its name leaves out, and the rule that said so."""
    python = [path for path in paths if path.endswith(".py")]
    packages = {_folder(path) for path in python if path.rpartition("/")[2] == _INIT}
    projects = {_folder(path) for path in paths if is_marker(path) or path.rpartition("/")[2] == "setup.py"}
    of_packages: dict[str, tuple[int, str]] = {}
    starts: dict[str, tuple[int, str]] = {}
    for path in python:
        folder = _folder(path)
        if folder not in of_packages and folder in packages:
            of_packages[folder] = _package_start(folder, packages, projects, imported)
        starts[path] = of_packages[folder] if folder in packages else _file_start(path, projects, imported)
    return starts


def imported_names(facts: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Every absolute module name that some file imports, with its parents: `a.b` gives `a.b` and `a`.

    Of `from a import b` both `a` and `a.b`: `b` may be a module.
    """
    return names_in(one["imports"] for one in facts.values())


def names_in(imports: Iterable[Iterable[Sequence[Any]]]) -> set[str]:
    """The same of the import rows of some files."""
    found: set[str] = set()
    for rows in imports:
        for module, name, level, *_ in rows:
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


def _project(folder: str, projects: Container[str]) -> int:
    """How many leading parts of `folder` are its project's."""
    parts = _parts(folder)
    return next((n for n in range(len(parts), 0, -1) if "/".join(parts[:n]) in projects), 0)


def _source(parts: Sequence[str], most: int) -> int | None:
    """Where the name starts under the last `src` folder among the first `most` parts; None without one."""
    return next((n for n in range(most, 0, -1) if parts[n - 1] == "src"), None)


def _package_start(
    folder: str, packages: Container[str], projects: Container[str], imported: Container[str]
) -> tuple[int, str]:
    """Where the names of a package's modules start: counted in leading folders that are left out."""
    parts = _parts(folder)
    top = len(parts)
    while top > 1 and "/".join(parts[: top - 1]) in packages:
        top -= 1
    shortest = max(top - 1, 0)
    source = _source(parts, shortest)
    if source is not None:
        return source, "src" if source < shortest else "package"
    longest = min(_project("/".join(parts[:shortest]), projects), shortest)
    asked = [n for n in range(longest, shortest) if ".".join(parts[n:top]) in imported]
    if asked:
        return asked[0], "imported"
    own = parts[shortest] in sys.stdlib_module_names if parts else False
    return (longest, "python's own") if own and longest < shortest else (shortest, "package")


def _file_start(path: str, projects: Container[str], imported: Container[str]) -> tuple[int, str]:
    folders = _parts(_folder(path))
    source = _source(folders, len(folders))
    if source is not None:
        return source, "src"
    longest = _project(_folder(path), projects)
    asked = (n for n in range(longest, len(folders) + 1) if _dotted(path, n) in imported)
    found = next(asked, None)
    start = longest if found is None else found
    if start == len(folders) and _dotted(path, start) in sys.stdlib_module_names:
        return longest, "python's own" if longest < start else "script"
    return start, "script" if found is None else "script imported"


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
