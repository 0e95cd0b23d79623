"""Modules: which one a file is, which one an import means, and the links between them; nothing is
imported for it.

The rules, in their order:
1. A folder with `__init__.py` is a package; what is in it is named from the outermost such folder
   on.
2. The folder that a name starts from is the *source root*. Under a folder called `src` every folder
   is part of the name, with or without `__init__.py` (PEP 420). Elsewhere folders without
   `__init__.py` between a package and its project (the nearest folder with `setup.py`, `setup.cfg`
   or `pyproject.toml` among the paths, else the repository) are part of the name if something
   imports it by that longer name, or if the shorter name is one of Python's own.
3. A file in no package (a script, a test) is named by its path from its project; by a shorter end
   of that path if something imports it so.
4. Files that get one name are qualified by path, `conftest@tests/a/conftest.py`, save a package
   beside a module of the same name, which Python prefers and so keeps the name.

An import of a name means the module of that name whose path is nearest to the importing file. The
links between modules are resolved within the repository; what it does not have keeps the name it is
imported by.

The database holds what the names were decided by, so that an edit decides them anew only where it
must: of a few files that were added or removed, only the files that mention their names are looked
into.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import Link

MARKERS: Final = ("pyproject.toml", "setup.cfg")
"""Their names; `setup.py` marks a project too, and is source."""


def is_marker(path: str) -> bool:
    """True for a file of `MARKERS`."""
    # endswith first: one call that rules out nearly every path of a repository
    return path.endswith(MARKERS) and path.rpartition("/")[2] in MARKERS


_INIT: Final = "__init__.py"


class Mapped(NamedTuple):
    """How a file got its name."""

    module: str
    root: str
    """The source root: the folder that the name starts from; empty for the top of the repository.
    """
    rule: str
    """A key of `RULES`."""
    same: tuple[str, ...] = ()
    """Other files that would have the same name, and why this one's is qualified by its path, if it
    is.
    """


PATH_RULE: Final = "path"
"""The rule by which languages other than Python name modules."""
RULES: Final = {
    "package": (
        "it is in a package: the name starts with the outermost folder that has an __init__.py"
    ),
    "src": "it is under src: every folder below that is part of the name, __init__.py or not",
    "imported": "an import asks for it by this longer name (a namespace package, PEP 420)",
    "python's own": "the shorter name is one of Python's own, so the folders above are part of it",
    "script": "it is in no package: named by its path from its project, as a script or test",
    PATH_RULE: "modules of its language are named by their paths",
    "script imported": "it is in no package, and an import asks for it by this name",
}
"""Rule → its description for people."""


def module_names(paths: Sequence[str], imported: Collection[str] = ()) -> dict[str, str]:
    """Path → dotted name for each `.py` file among `paths` (from the repository's root, with `/`).

    `imported` are the absolute names that the repository's imports ask for (`imported_names`), with
    their parents; they decide where the folders alone do not. The answer does not depend on the
    order of either.
    """
    return _qualified(
        {path: _dotted(path, start) for path, (start, _) in _starts(paths, imported).items()}
    )


def module_name(
    path: str, packages: Container[str], projects: Container[str], imported: Container[str]
) -> str:
    """How `module_names` would name one `.py` file if no other got that name.

    `packages`: the folders that hold an `__init__.py`; `projects`: those that hold a mark of a
    project, or `setup.py`.
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
    """Path → how many leading folders its name omits, and the rule that decided so."""
    python = [path for path in paths if path.endswith(".py")]
    packages = {_folder(path) for path in python if path.rpartition("/")[2] == _INIT}
    projects = {
        _folder(path) for path in paths if is_marker(path) or path.rpartition("/")[2] == "setup.py"
    }
    of_packages: dict[str, tuple[int, str]] = {}
    starts: dict[str, tuple[int, str]] = {}
    for path in python:
        folder = _folder(path)
        if folder not in of_packages and folder in packages:
            of_packages[folder] = _package_start(folder, packages, projects, imported)
        if folder in packages:
            starts[path] = of_packages[folder]
        else:
            starts[path] = _file_start(path, projects, imported)
    return starts


def imported_names(facts: Iterable[Mapping[str, Any]]) -> set[str]:
    """Every absolute module name that these files import, with its parents: `a.b` gives `a.b` and
    `a`.

    Of `from a import b` both `a` and `a.b`: `b` may be a module.
    """
    modules: set[str] = set()
    for file_facts in facts:
        for module, name, level, *_ in file_facts["imports"]:
            # a relative import starts from the package around it, wherever the names begin: it
            # decides nothing
            if level == 0:
                modules.add(module)
                if name and name != "*":
                    modules.add(f"{module}.{name}")
    for module in list(modules):
        # up to a name that is in the set: its own parents are added with it
        while (module := module.rpartition(".")[0]) and module not in modules:
            modules.add(module)
    return modules


def plain_name(module: str) -> str:
    """The name as an import spells it: without what qualifies it by path. A module that is named by
    its path keeps it, whatever signs are in it.
    """
    name, sign, path = module.partition("@")
    is_path = "/" in name or (not name and "/" in path and not path.endswith(".py"))
    if sign and is_path:
        return module
    return name


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _parts(folder: str) -> list[str]:
    if not folder:
        return []
    return folder.split("/")


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
    """Where the name starts under the last `src` folder among the first `most` parts; None without
    one.
    """
    return next((n for n in range(most, 0, -1) if parts[n - 1] == "src"), None)


def _package_start(
    folder: str, packages: Container[str], projects: Container[str], imported: Container[str]
) -> tuple[int, str]:
    """Where the names of a package's modules start: counted in leading folders that are omitted."""
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
    if parts:
        own = parts[shortest] in sys.stdlib_module_names
    else:
        own = False
    if own and longest < shortest:
        return (longest, "python's own")
    return (shortest, "package")


def _file_start(path: str, projects: Container[str], imported: Container[str]) -> tuple[int, str]:
    folders = _parts(_folder(path))
    source = _source(folders, len(folders))
    if source is not None:
        return source, "src"
    longest = _project(_folder(path), projects)
    asked = (n for n in range(longest, len(folders) + 1) if _dotted(path, n) in imported)
    match = next(asked, None)
    start = longest if match is None else match
    if start == len(folders) and _dotted(path, start) in sys.stdlib_module_names:
        return longest, "python's own" if longest < start else "script"
    return start, "script" if match is None else "script imported"


def _qualified(names: Mapping[str, str]) -> dict[str, str]:
    same: dict[str, list[str]] = {}
    for path, name in names.items():
        same.setdefault(name, []).append(path)
    qualified = dict(names)
    for name, paths in same.items():
        inits = [path for path in paths if path.endswith("/" + _INIT)]
        plain = inits[0] if len(inits) == 1 else None
        if len(paths) > 1:
            qualified.update({path: f"{name}@{path}" for path in paths if path != plain})
    return qualified


def import_links(facts: Mapping[str, Mapping[str, Any]], modules: Mapping[str, str]) -> list[Link]:
    """The import Links of the files in `facts`, sorted by path and line; `modules` maps every path
    to its name.

    `from pkg import mod` leads to `namespace:pkg.mod` where that is a module, else to
    `namespace:pkg`. What the repository does not have keeps the name it is imported by. `method` is
    how it is imported: see `scanner.imports`. An import of a module's own name (`from . import x`
    in a package) is none; a relative import that leads out of its package has no target and is
    omitted. A name that we do not know below a module that we do (generated, or compiled) leads to
    the nearest one above it with confidence 50.
    """
    module_index = ModuleIndex(modules)
    return [
        link
        for path in sorted(facts)
        for link in file_links(path, facts[path]["imports"], module_index)
    ]


class ModuleIndex:
    """The modules of the repository, asked by the names that imports use."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._paths = {module: path for path, module in modules.items()}
        self._parents: set[str] | None = None
        self._by_name: dict[str, list[tuple[str, str]]] = {}
        for path, module in modules.items():
            self._by_name.setdefault(plain_name(module), []).append((path, module))

    def module_of(self, path: str) -> str:
        """The module that a file is. KeyError for none of the files."""
        return self._modules[path]

    def path_of(self, module: str) -> str:
        """The file of a module; empty for none of the modules."""
        return self._paths.get(module, "")

    def has_file(self, path: str) -> bool:
        """Whether one of the files has this path."""
        return path in self._modules

    def files_called(self, names: Sequence[str]) -> Sequence[str]:
        """The paths of the files with one of these names, in whatever folders."""
        return sorted(path for path in self._modules if path.rpartition("/")[2] in names)

    def inside(self, name: str) -> bool:
        """True if there are modules under this name, whether it is a module itself or not (PEP
        420).
        """
        if self._parents is None:
            self._parents = set()
            for parent in self._by_name:
                while (parent := parent.rpartition(".")[0]) and parent not in self._parents:
                    self._parents.add(parent)
        return name in self._parents

    def find(self, name: str, importer: str) -> str | None:
        """The module called `name`; of several the one whose path is nearest to the file
        `importer`'s.

        Of a package and its sibling module, which are equally near, the package: so does Python.
        """
        candidates = self.called(name)
        if not candidates:
            return None
        if len(candidates) == 1:
            return candidates[0][1]
        return min(
            candidates,
            key=lambda candidate: (
                -_shared(candidate[0], importer),
                candidate[1] != name,
                candidate[0],
            ),
        )[1]

    def called(self, name: str) -> Sequence[tuple[str, str]]:
        """(path, module) of all that an import of this name may mean."""
        return self._by_name.get(name, ())


class Finder(Protocol):
    """Who knows the modules of files, and what an import means: see `ModuleIndex`."""

    def module_of(self, path: str) -> str: ...

    def find(self, name: str, importer: str) -> str | None: ...


def file_links(path: str, rows: Iterable[Sequence[Any]], module_index: Finder) -> list[Link]:
    """The import Links of one file, of its import rows; each (target, line, manner) once, in the
    order of lines.
    """
    module = module_index.module_of(path)
    links: dict[tuple[str, int, str], Link] = {}
    for wanted, name, level, line, manner, _ in rows:
        base = absolute(
            wanted, level, module, path.endswith("/__init__.py") or path == "__init__.py"
        )
        if base is None:
            continue
        target, confidence = _target(base, name, path, module_index)
        if target != module:
            link = Link(
                f"namespace:{module}",
                "imports",
                f"namespace:{target}",
                path,
                line,
                manner,
                confidence,
            )
            links.setdefault((target, line, manner), link)
    return sorted(links.values(), key=lambda link: (link.line, link.target, link.method))


def absolute(wanted: str, level: int, module: str, is_package: bool) -> str | None:
    """The absolute name of a relative import; None where it leads out of the outermost package."""
    if not level:
        return wanted
    package = plain_name(module).split(".")
    # one dot is the package itself in `__init__.py`, and in a module the package around it (PEP
    # 328)
    up = level - 1 if is_package else level
    if up >= len(package):
        return None
    return ".".join([*package[: len(package) - up], *filter(None, [wanted])])


def _target(base: str, name: str, path: str, module_index: Finder) -> tuple[str, int]:
    if name and name != "*":
        deeper = module_index.find(f"{base}.{name}", path)
        if deeper is not None:
            return deeper, 100
    module = module_index.find(base, path)
    if module is not None:
        return module, 100
    above = base
    while above := above.rpartition(".")[0]:
        module = module_index.find(above, path)
        if module is not None:
            return module, 50
    return base, 100


def _shared(a: str, b: str) -> int:
    """How many leading folders two paths share."""
    count = 0
    for first_folder, second_folder in zip(a.split("/")[:-1], b.split("/")[:-1], strict=False):
        if first_folder != second_folder:
            break
        count += 1
    return count


class QueriedNames(Collection[str]):
    """Names that are imported, which remembers what it was asked for."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self.answers: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        is_name = name in self._names
        self.answers[str(name)] = is_name
        return is_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
