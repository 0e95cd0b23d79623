"""The packages of a repository, the folders they are in, and the parts a person would name.

Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from kl_hooks.code.modules import plain_name
from kl_hooks.model.text import safe_text

_NON_PRODUCT_NAMES: Final = frozenset(
    (
        "tests",
        "test",
        "testing",
        "doc",
        "docs",
        "example",
        "examples",
        "bench",
        "benchmark",
        "benchmarks",
        "script",
        "scripts",
        "tools",
        "tasks",
        "noxfile",
        "setup",
        "conftest",
        "build",
        "dist",
        "venv",
        "env",
        "site",
        "stubs",
        "node_modules",
        "typings",
    )
)
"""Top-level names that are not the product."""


def is_product(path: str) -> bool:
    """False for tests and whatever else is not the product."""
    is_test = path.rpartition("/")[2].startswith(("test_", "conftest"))
    return not is_test and path.split("/")[0] not in _NON_PRODUCT_NAMES


def product_packages(
    modules: Mapping[str, str], projects: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """Return package → its files, for the product only; of Python the top-level packages, or single
    modules where there is no package.

    `modules`: path → module, a dotted name in Python, else the path. `projects`: folder → name, of
    the folders that are a package in a language whose modules are named by their paths.
    """
    files_by_package: dict[str, list[str]] = defaultdict(list)
    for path, dotted in sorted(modules.items()):
        if path == dotted:
            continue
        top = plain_name(dotted).partition(".")[0]
        aside = (
            top in _NON_PRODUCT_NAMES
            or path.split("/")[0] in _NON_PRODUCT_NAMES
            or top.startswith(("test_", "."))
        )
        # a path that can't be printed can't be the path of a layer, see `_clean_path` of the parser
        if dotted and not aside and safe_text(path) == path:
            files_by_package[top].append(path)
    real = {
        top: files
        for top, files in files_by_package.items()
        if len(files) > 1 or files[0].endswith("/__init__.py")
    }
    if not projects and not real:
        projects = {"": ""}
    packages = real or dict(files_by_package)
    return packages | _file_packages(modules, real, projects or {})


def _file_packages(
    modules: Mapping[str, str], python: Mapping[str, list[str]], projects: Mapping[str, str]
) -> dict[str, list[str]]:
    """Package → its files, of the modules that are named by their paths. What lies in a Python
    package, or in no project, is in none.
    """
    taken = tuple(filter(None, map(shared_folder, python.values())))
    files_by_folder: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for path, module in modules.items() if path == module):
        project = project_of(path, projects)
        if project is None or path.startswith(taken) or safe_text(path) != path:
            continue
        if "node_modules" in path.split("/"):  # committed, as some source packages do
            continue
        folders = [path.split("/")[0], *path.removeprefix(f"{project}/").split("/")][:2]
        if not any(folder in _NON_PRODUCT_NAMES or folder[:1] == "." for folder in folders):
            files_by_folder[project].append(path)
    packages: dict[str, list[str]] = {}
    for folder, files in files_by_folder.items():
        last = projects[folder] or folder
        name = last.rpartition("/")[2] or "app"
        packages[name if name not in packages.keys() | python else folder or "app"] = files
    return packages


def project_of(path: str, projects: Iterable[str]) -> str | None:
    """The innermost of these folders that a file is in; None for none."""
    folder = path.rpartition("/")[0]
    while folder not in projects:
        if not folder:
            return None
        folder = folder.rpartition("/")[0]
    return folder


def shared_folder(files: list[str]) -> str:
    """The deepest folder (with its `/`) that holds all files; empty for the top of the
    repository.
    """
    shared = files[0].split("/")[:-1]
    for path in files[1:]:
        folders = path.split("/")[:-1]
        same = [a == b for a, b in zip(shared, folders, strict=False)]
        shared = shared[: same.index(False) if False in same else len(same)]
    return "".join(part + "/" for part in shared)


def package_folders(package: str, modules: Mapping[str, str]) -> list[str]:
    """The folders (from the repository's top, without `/` at the end) that hold a package's
    modules, sorted.

    `modules`: path → dotted name. One folder for a package with `__init__.py`, several for a
    namespace package whose parts lie apart, none where there is no such package, and all of them
    where several have one `__init__.py` each.
    """
    folders = set()
    proper = set()
    for path, dotted in modules.items():
        name = plain_name(dotted)
        if name != package and not name.startswith(package + "."):
            continue
        init = path.endswith("/__init__.py")
        if init:
            parts = path.split("/")[:-1]
        else:
            parts = path[: -len(".py")].split("/")
        deeper = name.count(".") - package.count(".")
        if (not deeper and not init) or len(parts) <= deeper:
            continue  # a module of that name, or a name that does not match its path
        folder = "/".join(parts[: len(parts) - deeper])
        folders.add(folder)
        if init and not deeper:
            proper.add(folder)
    return sorted(proper or folders)
