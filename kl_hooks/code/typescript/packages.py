"""The source that a path or a package of the repository means: the rules of Node, with the endings
and the `index` of the TypeScript compiler.

What a package builds (`dist/`) is in no repository: the source that it is built from is meant,
where there is one under `src/`.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kl_hooks.code.module_systems import FileView
from kl_hooks.code.typescript.patterns import Patterns

_ENDINGS: Final = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
"""In the order in which the compiler tries them."""
_WRITTEN: Final = {
    ".js": (".ts", ".tsx", ".d.ts", ".js", ".jsx"),
    ".jsx": (".tsx", ".d.ts", ".jsx"),
    ".mjs": (".mts", ".d.mts", ".mjs"),
    ".cjs": (".cts", ".d.cts", ".cjs"),
}
"""The ending in an import → those of the sources that it may be compiled from."""
_CONDITIONS: Final = (
    "source",
    "types",
    "import",
    "module",
    "node",
    "browser",
    "development",
    "default",
    "require",
)
_BUILT: Final = ("dist", "lib", "build", "out", "esm", "cjs", "es", "types", "module", "main")
_DEEP: Final = 10
"""Structures in structures that are followed."""


def source_at(path: str, view: FileView, *, is_folder_read: bool = True) -> str:
    """The source at a path that may lack its ending, or be a folder; empty for none."""
    path = posixpath.normpath(path)
    if path.startswith("../") or path == "..":
        return ""
    root, ending = posixpath.splitext(path)
    for written in _WRITTEN.get(ending, ()):
        if view.is_file(root + written):
            return root + written
    if path != "." and path.endswith(_ENDINGS) and view.is_file(path):
        return path
    for possible in _ENDINGS if path != "." else ():
        if view.is_file(path + possible):
            return path + possible
    if not is_folder_read:
        return ""
    package = join(path, "package.json")
    settings = view.settings(package)
    for key in ("types", "typings", "main"):
        if settings.get(key):
            source = _built_source(path, settings[key], view)
            if source:
                return source
    return source_at(join(path, "index"), view, is_folder_read=False)


def join(folder: str, name: str) -> str:
    """The path that a name means in a folder."""
    return posixpath.normpath(posixpath.join(folder, name))


def nearest(names: Sequence[str], folder: str, view: FileView) -> str:
    """The first file with one of these names in a folder or one above it; empty for none."""
    while True:
        for name in names:
            path = join(folder, name)
            if view.is_file(path):
                return path
        if not folder:
            return ""
        folder = posixpath.dirname(folder)


class _Table(NamedTuple):
    """`exports` or `imports` of a package."""

    patterns: Patterns
    targets: Mapping[str, Any]
    """Pattern → a path, or a structure of conditions and paths."""


def private_import(specifier: str, folder: str, view: FileView) -> str:
    """The file that `#name` means in a folder; empty for none."""
    package = nearest(("package.json",), folder, view)
    return _exported(specifier, "imports", package, view) if package else ""


def package_of(specifier: str, folder: str, view: FileView) -> tuple[str, str]:
    """The `package.json` of the package that a specifier names, the nearest to a folder, and what
    of the package is named; empty for none of this repository.
    """
    parts = specifier.split("/")
    count = 2 if specifier.startswith("@") else 1
    packages = view.packages("/".join(parts[:count]))
    if not packages:
        return "", ""
    nearest_package = max(packages, key=lambda path: (_number_of_shared(path, folder), path))
    return nearest_package, "/".join(parts[count:])


def package_file(specifier: str, folder: str, view: FileView) -> str:
    """The file of a package of this repository."""
    package, inner = package_of(specifier, folder, view)
    if not package:
        return ""
    source = _exported(f"./{inner}" if inner else ".", "exports", package, view)
    if source:
        return source
    folder, settings = posixpath.dirname(package), view.settings(package)
    names = (inner, f"src/{inner}") if inner else ("index", "src/index")
    if not inner:
        for key in ("source", "types", "typings", "module", "main"):
            source = _built_source(folder, settings[key], view) if settings.get(key) else ""
            if source:
                return source
    return source_at(join(folder, names[0]), view) or source_at(join(folder, names[1]), view)


def _exported(name: str, key: str, package: str, view: FileView) -> str:
    """The source that `exports` or `imports` of a package gives for a name; empty for none."""
    table = view.once((key, package), lambda: _table(key, package, view))
    match = table.patterns.best(name)
    if match is None:
        return ""
    folder = posixpath.dirname(package)
    for target in _targets(table.targets[match.pattern]):
        source = _built_source(folder, target.replace("*", match.rest), view)
        if source:
            return source
    return ""


def _table(key: str, package: str, view: FileView) -> _Table:
    stated = _structure(view.settings(package).get(key))
    has_names = isinstance(stated, dict) and any(name[:1] in (".", "#") for name in stated)
    if not has_names:  # what the package exports as a whole
        stated = {".": stated} if stated and key == "exports" else {}
    return _Table(Patterns(stated), stated)


def _targets(stated: Any) -> list[str]:
    """The targets in a structure of conditions, the likeliest to be source first."""
    targets: list[str] = []
    waiting = [(stated, 0)]
    while waiting:
        part, depth = waiting.pop()
        inner_parts: list[Any] = []
        if isinstance(part, str):
            targets.append(part)
        elif isinstance(part, list) and depth < _DEEP:
            inner_parts = part
        elif isinstance(part, dict) and depth < _DEEP:
            inner_parts = [part[key] for key in _CONDITIONS if key in part]
            inner_parts += [part[key] for key in part if key not in _CONDITIONS]
        waiting += [(inner, depth + 1) for inner in reversed(inner_parts)]
    # a condition of the project's own names the source, whatever it is called
    return sorted(targets, key=lambda target: not target.endswith(_ENDINGS[:2]) or ".d." in target)


def _built_source(folder: str, target: str, view: FileView) -> str:
    """The source at a target of a package, or that it is built from."""
    path = join(folder, target)
    source = source_at(path, view, is_folder_read=False)
    if source:
        return source
    inner = posixpath.normpath(target).split("/")
    start = 0
    while start < len(inner) - 1 and inner[start] in _BUILT:
        start += 1
    if not start:
        return ""
    rest = "/".join(inner[start:]).removesuffix(".d.ts")
    for ending in (".d.mts", ".d.cts"):
        rest = rest.removesuffix(ending)
    return source_at(join(folder, f"src/{rest}"), view, is_folder_read=False)


def _number_of_shared(path: str, folder: str) -> int:
    """How many leading folders a file and a folder share."""
    number = 0
    for first, second in zip(path.split("/")[:-1], folder.split("/"), strict=False):
        if first != second:
            break
        number += 1
    return number


def stated_list(text: str | None) -> list[str]:
    """The list that a setting is; empty for anything else."""
    stated = _structure(text)
    return stated if isinstance(stated, list) else []


def stated_object(text: str | None) -> dict[str, Any]:
    """The object that a setting is; empty for anything else."""
    stated = _structure(text)
    return stated if isinstance(stated, dict) else {}


def _structure(text: str | None) -> Any:
    return json.loads(text) if text else None
