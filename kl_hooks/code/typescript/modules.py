"""Which file an import means: the rules of Node and of the TypeScript compiler, within the
repository.

In this order: a path from the importing file, with the endings and the `index` of the compiler;
`paths` and `baseUrl` of the nearest `tsconfig.json`; `imports` of the nearest `package.json`
(`#name`); a package of the repository by its name, with `exports`, `types` and `main`.

A `tsconfig.json` counts with those that it refers to. Each states its settings itself, or has those
of a configuration that it extends: one at a path, or one of a package of the repository
(`@acme/settings/tsconfig.base.json`). What is extended from outside of the repository is not read.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kl_hooks.code.module_systems import FileView, ImportTarget
from kl_hooks.code.typescript.packages import (
    join,
    nearest,
    package_file,
    package_of,
    private_import,
    source_at,
    stated_list,
    stated_object,
)
from kl_hooks.code.typescript.patterns import Patterns

_CONFIGURATIONS: Final = ("tsconfig.json", "jsconfig.json")
_LONGEST_CHAIN: Final = 100
"""Configurations that extend each other, one after the other, that are followed."""


class NodeModules:
    """The module system of TypeScript and JavaScript."""

    constructor: str = "constructor"

    def find(self, specifier: str, importer: str, view: FileView) -> ImportTarget | None:
        """The file that a specifier means."""
        written, folder = specifier.partition("?")[0], posixpath.dirname(importer)
        path = view.once(("import", written, folder), lambda: _find(written, folder, view))
        return ImportTarget(path) if path else None

    def outside(self, specifier: str, importer: str) -> str:
        """`node_modules/react`; `web/missing` for a path that no source has."""
        if specifier.startswith("."):
            return posixpath.normpath(posixpath.join(posixpath.dirname(importer), specifier))
        if ":" in specifier:
            return specifier
        return f"node_modules/{specifier}"


NODE: Final = NodeModules()


def _find(specifier: str, folder: str, view: FileView) -> str:
    """The file that a specifier means in a folder; empty for none of the repository."""
    if specifier.startswith(("./", "../")) or specifier in (".", ".."):
        return source_at(posixpath.join(folder, specifier), view)
    if not specifier or specifier.startswith("/"):
        return ""
    for path in _mapped_paths(specifier, folder, view):
        source = source_at(path, view)
        if source:
            return source
    if specifier.startswith("#"):
        return private_import(specifier, folder, view)
    return package_file(specifier, folder, view)


class _Options(NamedTuple):
    """What a configuration states about imports, by itself or by those that it extends."""

    stated_in: str = ""
    """The configuration that states `paths`; empty for none."""
    base: str | None = None
    """The folder that `baseUrl` means."""


class _Paths(NamedTuple):
    """`paths` of a configuration."""

    patterns: Patterns
    targets: Mapping[str, list[str]]
    """Pattern → the paths that it gives, from `folder`."""
    folder: str


def _mapped_paths(specifier: str, folder: str, view: FileView) -> Iterator[str]:
    """The paths that a file in `folder` may mean by `specifier`, the likeliest first."""
    configuration = nearest(_CONFIGURATIONS, folder, view)
    if not configuration:
        return
    for options in view.once(("options", configuration), lambda: _all_options(configuration, view)):
        if options.stated_in:
            yield from _given_paths(specifier, options.stated_in, view)
        if options.base is not None:
            yield join(options.base, specifier)


def _all_options(configuration: str, view: FileView) -> list[_Options]:
    """The options of a configuration and of all that it refers to, each place once."""
    all_options: list[_Options] = []
    visited, tables, bases = set[str](), {""}, set[str | None]()
    waiting = [configuration]
    while waiting:
        path = waiting.pop()
        if path in visited:
            continue
        visited.add(path)
        options = _options(path, view)
        all_options.append(
            _Options(
                "" if options.stated_in in tables else options.stated_in,
                None if options.base in bases else options.base,
            )
        )
        tables.add(options.stated_in)
        bases.add(options.base)
        waiting += reversed(_references(path, view))
    return [options for options in all_options if options != _Options()]


def _references(configuration: str, view: FileView) -> list[str]:
    """The configurations that one refers to."""
    references = []
    for reference in stated_list(view.settings(configuration).get("references")):
        path = join(posixpath.dirname(configuration), reference)
        if not path.endswith(".json"):
            path = join(path, "tsconfig.json")
        if view.is_file(path):
            references.append(path)
    return references


def _options(configuration: str, view: FileView) -> _Options:
    return view.once(("extended", configuration), lambda: _extended(configuration, view, {}, 0))


def _extended(
    configuration: str, view: FileView, options_by_path: dict[str, _Options], depth: int
) -> _Options:
    """The options of a configuration: its own before those of what it extends, of that the last
    first. `options_by_path`: of those that were looked at, each once.
    """
    if configuration in options_by_path or depth > _LONGEST_CHAIN:
        return options_by_path.get(configuration, _Options())
    options_by_path[configuration] = _Options()  # what extends itself adds nothing
    settings = view.settings(configuration)
    stated_in, base = _Options()
    for name in stated_list(settings.get("extends")):
        parent = _parent(name, configuration, view)
        if parent:
            inherited = _extended(parent, view, options_by_path, depth + 1)
            stated_in = inherited.stated_in or stated_in
            base = inherited.base if inherited.base is not None else base
    if "baseUrl" in settings:
        base = join(posixpath.dirname(configuration), settings["baseUrl"])
    if "paths" in settings:
        stated_in = configuration
    options_by_path[configuration] = _Options(stated_in, base)
    return options_by_path[configuration]


def _parent(name: str, configuration: str, view: FileView) -> str:
    """The configuration that one extends by a name; empty where it is not in the repository."""
    if name.startswith("."):
        path = join(posixpath.dirname(configuration), name)
    else:
        package, inner = package_of(name, configuration, view)
        if not package:
            return ""
        path = join(posixpath.dirname(package), inner)
    candidates = (path, f"{path}.json", join(path, "tsconfig.json"))
    return next((candidate for candidate in candidates if view.is_file(candidate)), "")


def _given_paths(specifier: str, configuration: str, view: FileView) -> Iterator[str]:
    paths = view.once(("paths", configuration), lambda: _paths(configuration, view))
    match = paths.patterns.best(specifier)
    if match is not None:
        for target in paths.targets[match.pattern]:
            yield join(paths.folder, target.replace("*", match.rest, 1))


def _paths(configuration: str, view: FileView) -> _Paths:
    base = _options(configuration, view).base
    folder = base if base is not None else posixpath.dirname(configuration)
    targets = {
        pattern: [path for path in paths if isinstance(path, str)]
        for pattern, paths in stated_object(view.settings(configuration).get("paths")).items()
        if isinstance(paths, list)
    }
    return _Paths(Patterns(targets), targets, folder)
