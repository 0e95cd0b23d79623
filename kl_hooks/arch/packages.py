"""The packages of a repository, the folders they are in, and the parts a person would name. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kl_hooks.code.modules import plain_name
from kl_hooks.model.symbol import Link
from kl_hooks.model.text import safe_text

NON_PRODUCT_NAMES: Final = frozenset(
    ("tests", "test", "testing", "doc", "docs", "example", "examples", "bench", "benchmark", "benchmarks", "script",
     "scripts", "tools", "tasks", "noxfile", "setup", "conftest", "build", "dist", "venv", "env", "site", "stubs",
     "node_modules", "typings")
)  # fmt: skip
"""Top-level names that are not the product."""
_MANY_PACKAGES: Final = 4
_FEW_TESTS: Final = 3
"""Test files in a folder that is not named after them, before they can make it a test tree."""
_TEST_FILE: Final = re.compile(r"test_.*\.py|.*_test\.py|tests?\.py|conftest\.py")


@dataclass(frozen=True, slots=True)
class Group:
    """A part of a package."""

    name: str
    """Of its folder or module; unique among the groups."""
    paths: tuple[str, ...]
    """The folder (ending in `/`) or the files."""
    package: str
    """Top-level package it belongs to."""
    root: bool = False
    """The `__init__.py` of a package that has other parts."""

    @property
    def folder(self) -> bool:
        """True if it is a folder rather than loose files."""
        return self.paths[0].endswith("/")


def product_packages(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return top-level package → its files, for the product only; single modules where there is no package.

    `modules`: path → dotted name.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for path, dotted in sorted(modules.items()):
        top = plain_name(dotted).partition(".")[0]
        aside = top in NON_PRODUCT_NAMES or path.split("/")[0] in NON_PRODUCT_NAMES or top.startswith(("test_", "."))
        if dotted and not aside and safe_text(path) == path:
            found[top].append(path)
    real = {top: files for top, files in found.items() if len(files) > 1 or files[0].endswith("/__init__.py")}
    return real or dict(found)


def product_modules(modules: Mapping[str, str], links: Iterable[Link]) -> dict[str, str]:
    """The modules without test trees, scripts, and what lies in another package's folder without being part of it.

    A script lies in a folder without any `__init__.py` whose files nobody imports, beside packages.
    """
    tests = test_trees(modules)
    remaining = (
        {path: dotted for path, dotted in modules.items() if not path.startswith(tests)} if tests else dict(modules)
    )
    tops = product_packages(remaining)
    proper = {top: _folder(files) for top, files in tops.items() if any(f.endswith("/__init__.py") for f in files)}
    inner = (link for link in links if link.path in remaining)
    imported = {plain_name(link.target.partition(":")[2]).partition(".")[0] for link in inner}
    for top, files in tops.items():
        folder = _folder(files)
        inside = any(other != top and folder != home and folder.startswith(home) for other, home in proper.items())
        if inside or (proper and top not in proper and top not in imported):
            remaining = {path: dotted for path, dotted in remaining.items() if path not in files}
    return remaining


def test_trees(modules: Mapping[str, str]) -> tuple[str, ...]:
    """The topmost folders that hold tests: named `tests` (or `test`, with tests in it), or full of test files."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in modules:
        folders, name = path.split("/")[:-1], path.rpartition("/")[2]
        first = folders.index("tests") if "tests" in folders else 0  # the folders above it need not hold tests
        for depth in range(first, len(folders)):
            some = counts["/".join(folders[: depth + 1]) + "/"]
            some[0] += name != "__init__.py"
            some[1] += bool(_TEST_FILE.fullmatch(name))
    found: list[str] = []
    for folder, (files, tests) in sorted(counts.items()):
        name = folder.rstrip("/").rpartition("/")[2]
        by_name = name == "tests" or (name == "test" and tests > 0)
        full = tests >= _FEW_TESTS and tests * 3 >= files * 2
        if (by_name or full) and not folder.startswith(tuple(found)):
            found.append(folder)
    return tuple(found)


def nested_tests(modules: Mapping[str, str], paths: Iterable[str]) -> tuple[str, ...]:
    """The test trees that lie in one of these folders."""
    folders = tuple(path for path in paths if path.endswith("/"))
    return tuple(tree for tree in test_trees(modules) if tree.startswith(folders) and tree not in folders)


def module_groups(modules: Mapping[str, str]) -> list[Group]:
    """The parts, in the order of their paths; no two have a path in common."""
    tops = product_packages(modules)
    made: list[Group] = []
    taken: set[str] = {""}
    for top, files in tops.items():
        whole = len(files) == 1 or len(tops) >= _MANY_PACKAGES
        parts = {_folder(files) or files[0]: files} if whole else _split(files)
        for path, members in parts.items():
            # a namespace package may share its folder with another: then the files themselves are the paths of the part
            paths = tuple(members) if path in taken or not path.endswith("/") else (path,)
            taken.update(paths)
            root = path.endswith("/__init__.py") and len(parts) > 1
            made.append(Group(_name(path, top), paths, top, root))
    return _unique(sorted(made, key=lambda group: group.paths))


def _split(files: list[str]) -> dict[str, list[str]]:
    """Path of a part → its files: one part per folder or module right under the folder that all files share."""
    base = _folder(files)
    parts: dict[str, list[str]] = defaultdict(list)
    for path in files:
        first, slash, _ = path.removeprefix(base).partition("/")
        parts[base + first + slash].append(path)
    return dict(parts)


def _folder(files: list[str]) -> str:
    """The deepest folder (with its `/`) that holds all files; empty for the top of the repository."""
    shared = files[0].split("/")[:-1]
    for path in files[1:]:
        folders = path.split("/")[:-1]
        same = [a == b for a, b in zip(shared, folders, strict=False)]
        shared = shared[: same.index(False) if False in same else len(same)]
    return "".join(part + "/" for part in shared)


def _name(path: str, top: str) -> str:
    last = path.rstrip("/").rpartition("/")[2]
    return top if last == "__init__.py" or not last else last.rpartition(".")[0] or last


def _unique(made: list[Group]) -> list[Group]:
    """Names that two parts share get their package in front, and a number where that is not enough."""
    counts: dict[str, int] = defaultdict(int)
    for group in made:
        counts[group.name] += 1
    taken: set[str] = set()
    unique = []
    for group in made:
        name = group.name if counts[group.name] == 1 else f"{group.package}-{group.name}"
        name = "".join(sign if sign.isalnum() or sign in "_-." else "-" for sign in name)
        candidate, number = name, 2
        while candidate in taken or candidate == "below":
            candidate, number = f"{name}-{number}", number + 1
        taken.add(candidate)
        unique.append(replace(group, name=candidate))
    return unique


def package_folders(package: str, modules: Mapping[str, str]) -> list[str]:
    """The folders (from the repository's top, without `/` at the end) that hold a package's modules, sorted.

    `modules`: path → dotted name. One folder for a package with `__init__.py`, several for a namespace package whose
    parts lie apart, none where there is no such package, and all of them where several have one `__init__.py` each.
    """
    found = set()
    proper = set()
    for path, dotted in modules.items():
        name = plain_name(dotted)
        if name != package and not name.startswith(package + "."):
            continue
        init = path.endswith("/__init__.py")
        parts = path.split("/")[:-1] if init else path[: -len(".py")].split("/")
        deeper = name.count(".") - package.count(".")
        if (not deeper and not init) or len(parts) <= deeper:
            continue  # a module of that name, or a name that does not match its path
        folder = "/".join(parts[: len(parts) - deeper])
        found.add(folder)
        if init and not deeper:
            proper.add(folder)
    return sorted(proper or found)


def checked_packages(modules: Mapping[str, str], named: Iterable[str] = ()) -> list[str]:
    """The top-level packages of the product, and those others that contracts name by one of their modules."""
    tops = {plain_name(dotted).partition(".")[0] for dotted in modules.values()}
    wanted = {*product_packages(modules), *({name.partition(".")[0] for name in named} & tops)}
    return [top for top in sorted(wanted) if top and len(_proper(top, modules)) == 1]


def _proper(package: str, modules: Mapping[str, str]) -> list[str]:
    """Its folders, or one of them for a namespace package; none for a single module."""
    folders = package_folders(package, modules)
    init = [folder for folder in folders if f"{folder}/__init__.py" in modules]
    return init if len(init) > 1 else folders[:1]
