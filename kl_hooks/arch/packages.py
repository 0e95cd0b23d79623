"""The packages of a repository, the folders they are in, and the parts a person would name.

Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
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


def product_packages(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return top-level package → its files, for the product only; single modules where there is no
    package.

    `modules`: path → dotted name.
    """
    files_by_package: dict[str, list[str]] = defaultdict(list)
    for path, dotted in sorted(modules.items()):
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
    return real or dict(files_by_package)


def _folder(files: list[str]) -> str:
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
        parts = path.split("/")[:-1] if init else path[: -len(".py")].split("/")
        deeper = name.count(".") - package.count(".")
        if (not deeper and not init) or len(parts) <= deeper:
            continue  # a module of that name, or a name that does not match its path
        folder = "/".join(parts[: len(parts) - deeper])
        folders.add(folder)
        if init and not deeper:
            proper.add(folder)
    return sorted(proper or folders)
