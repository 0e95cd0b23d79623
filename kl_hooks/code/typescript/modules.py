"""Which file an import means: the rules of Node and of the TypeScript compiler, within the
repository.

In this order: a path from the importing file, with the endings and the `index` of the compiler;
`paths` and `baseUrl` of the nearest `tsconfig.json`, through `extends` and `references`; `imports`
of the nearest `package.json` (`#name`); a package of the repository by its name, with `exports`,
`types` and `main`. What a package builds (`dist/`) is in no repository: the source that it is built
from is meant, where there is one under `src/`.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kl_hooks.code.module_systems import FileView, ImportTarget

_ENDINGS: Final = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
"""In the order in which the compiler tries them."""
_WRITTEN: Final = {
    ".js": (".ts", ".tsx", ".d.ts", ".js", ".jsx"),
    ".jsx": (".tsx", ".d.ts", ".jsx"),
    ".mjs": (".mts", ".d.mts", ".mjs"),
    ".cjs": (".cts", ".d.cts", ".cjs"),
}
"""The ending in an import → those of the sources that it may be compiled from."""
_CONFIGURATIONS: Final = ("tsconfig.json", "jsconfig.json")
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
"""Configurations that extend each other, and structures in structures, that are followed."""


class NodeModules:
    """The module system of TypeScript and JavaScript."""

    constructor: str = "constructor"

    def find(self, specifier: str, importer: str, view: FileView) -> ImportTarget | None:
        """The file that a specifier means."""
        path = _find(specifier.partition("?")[0], importer, view)
        return ImportTarget(path) if path else None

    def outside(self, specifier: str, importer: str) -> str:
        """`node_modules/react`; `web/missing` for a path that no source has."""
        if specifier.startswith("."):
            return posixpath.normpath(posixpath.join(posixpath.dirname(importer), specifier))
        if ":" in specifier:
            return specifier
        return f"node_modules/{specifier}"


NODE: Final = NodeModules()


def _find(specifier: str, importer: str, view: FileView) -> str:
    folder = posixpath.dirname(importer)
    if specifier.startswith(("./", "../")) or specifier in (".", ".."):
        return _source(posixpath.join(folder, specifier), view)
    if not specifier or specifier.startswith("/"):
        return ""
    for path in _mapped(specifier, folder, view):
        source = _source(path, view)
        if source:
            return source
    if specifier.startswith("#"):
        return _private_import(specifier, folder, view)
    return _package_file(specifier, importer, view)


def _source(path: str, view: FileView, *, is_folder_read: bool = True) -> str:
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
    package = _join(path, "package.json")
    settings = view.settings(package)
    for key in ("types", "typings", "main"):
        if settings.get(key):
            source = _built_source(path, settings[key], view)
            if source:
                return source
    return _source(_join(path, "index"), view, is_folder_read=False)


def _join(folder: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(folder, name))


# -- tsconfig.json


def _mapped(specifier: str, folder: str, view: FileView) -> Iterator[str]:
    """The paths that `paths` and `baseUrl` of the nearest configuration give."""
    configuration = _nearest(_CONFIGURATIONS, folder, view)
    if configuration:
        yield from _from_configuration(specifier, configuration, view, 0)


def _nearest(names: Sequence[str], folder: str, view: FileView) -> str:
    while True:
        for name in names:
            path = _join(folder, name)
            if view.is_file(path):
                return path
        if not folder:
            return ""
        folder = posixpath.dirname(folder)


def _from_configuration(
    specifier: str, configuration: str, view: FileView, depth: int
) -> Iterator[str]:
    paths, base = _compiler_paths(configuration, view, depth)
    best = _best_pattern(specifier, paths)
    if best is not None:
        pattern, rest = best
        targets = paths[pattern]
        for target, folder in targets:
            yield _join(folder, target.replace("*", rest, 1))
    if base is not None:
        yield _join(base, specifier)
    if depth < _DEEP:
        for reference in _list(view.settings(configuration).get("references")):
            path = _join(posixpath.dirname(configuration), reference)
            if not path.endswith(".json"):
                path = _join(path, "tsconfig.json")
            if view.is_file(path):
                yield from _from_configuration(specifier, path, view, depth + 1)


def _compiler_paths(
    configuration: str, view: FileView, depth: int
) -> tuple[Mapping[str, list[tuple[str, str]]], str | None]:
    """Pattern → (target, folder it is relative to), and the folder of `baseUrl`; own settings
    before those that are extended.
    """
    settings = view.settings(configuration)
    folder = posixpath.dirname(configuration)
    paths: Mapping[str, list[tuple[str, str]]] = {}
    base: str | None = None
    if depth < _DEEP:
        for extended in _list(settings.get("extends")):
            path = _join(folder, extended)
            candidates = (path, f"{path}.json", _join(path, "tsconfig.json"))
            parent = next((one for one in candidates if view.is_file(one)), "")
            if extended.startswith(".") and parent:
                inherited, inherited_base = _compiler_paths(parent, view, depth + 1)
                paths = inherited or paths
                base = inherited_base if inherited_base is not None else base
    if "baseUrl" in settings:
        base = _join(folder, settings["baseUrl"])
    if "paths" in settings:
        stated = _object(settings["paths"])
        where = base if base is not None else folder
        paths = {
            pattern: [(target, where) for target in targets if isinstance(target, str)]
            for pattern, targets in stated.items()
            if isinstance(targets, list)
        }
    return paths, base


def _best_pattern(specifier: str, patterns: Mapping[str, Any]) -> tuple[str, str] | None:
    """The pattern that fits, the longest before `*` first, and the text in place of the star."""
    if specifier in patterns:
        return specifier, ""
    best: tuple[str, str] | None = None
    for pattern in patterns:
        before, star, after = pattern.partition("*")
        if not star or len(specifier) < len(before) + len(after):
            continue
        fits = specifier.startswith(before) and specifier.endswith(after)
        if fits and (best is None or len(before) > len(best[0].partition("*")[0])):
            best = pattern, specifier[len(before) : len(specifier) - len(after)]
    return best


# -- package.json


def _private_import(specifier: str, folder: str, view: FileView) -> str:
    package = _nearest(("package.json",), folder, view)
    if not package:
        return ""
    stated = _object(view.settings(package).get("imports"))
    return _exported(specifier, stated, posixpath.dirname(package), view)


def _package_file(specifier: str, importer: str, view: FileView) -> str:
    """The file of a package of this repository."""
    parts = specifier.split("/")
    count = 2 if specifier.startswith("@") else 1
    name, inner = "/".join(parts[:count]), "/".join(parts[count:])
    packages = view.packages(name)
    if not packages:
        return ""
    package = max(packages, key=lambda path: (_shared(path, importer), path))
    folder, settings = posixpath.dirname(package), view.settings(package)
    exports = settings.get("exports")
    if exports:
        stated = _structure(exports)
        is_table = isinstance(stated, dict) and any(key.startswith(".") for key in stated)
        table = stated if is_table else {".": stated}
        source = _exported(f"./{inner}" if inner else ".", table, folder, view)
        if source:
            return source
    if inner:
        return _source(_join(folder, inner), view) or _source(_join(folder, f"src/{inner}"), view)
    for key in ("source", "types", "typings", "module", "main"):
        if settings.get(key):
            source = _built_source(folder, settings[key], view)
            if source:
                return source
    return _source(_join(folder, "index"), view) or _source(_join(folder, "src/index"), view)


def _exported(name: str, table: Mapping[str, Any], folder: str, view: FileView) -> str:
    best = _best_pattern(name, table)
    if best is None:
        return ""
    pattern, rest = best
    for target in _targets(table[pattern]):
        source = _built_source(folder, target.replace("*", rest), view)
        if source:
            return source
    return ""


def _targets(stated: Any) -> list[str]:
    """The targets in a structure of conditions, the likeliest to be source first."""
    targets: list[str] = []
    waiting = [(stated, 0)]
    while waiting:
        part, depth = waiting.pop(0)
        if isinstance(part, str):
            targets.append(part)
        elif isinstance(part, list) and depth < _DEEP:
            waiting = [*((inner, depth + 1) for inner in part), *waiting]
        elif isinstance(part, dict) and depth < _DEEP:
            ordered = [part[key] for key in _CONDITIONS if key in part]
            ordered += [part[key] for key in part if key not in _CONDITIONS]
            waiting = [*((inner, depth + 1) for inner in ordered), *waiting]
    # a condition of the project's own names the source, whatever it is called
    return sorted(targets, key=lambda target: not target.endswith(_ENDINGS[:2]) or ".d." in target)


def _built_source(folder: str, target: str, view: FileView) -> str:
    """The source at a target of a package, or that it is built from."""
    path = _join(folder, target)
    source = _source(path, view, is_folder_read=False)
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
    return _source(_join(folder, f"src/{rest}"), view, is_folder_read=False)


def _shared(a: str, b: str) -> int:
    """How many leading folders two paths share."""
    count = 0
    for first, second in zip(a.split("/")[:-1], b.split("/")[:-1], strict=False):
        if first != second:
            break
        count += 1
    return count


def _list(text: str | None) -> list[str]:
    stated = _structure(text)
    return stated if isinstance(stated, list) else []


def _object(text: str | None) -> dict[str, Any]:
    stated = _structure(text)
    return stated if isinstance(stated, dict) else {}


def _structure(text: str | None) -> Any:
    return json.loads(text) if text else None
