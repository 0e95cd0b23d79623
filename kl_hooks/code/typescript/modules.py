"""Which file an import means: the rules of Node and of the TypeScript compiler, within the
repository.

In this order: a path from the importing file, with the endings and the `index` of the compiler;
`paths` and `baseUrl` of the nearest `tsconfig.json`; `imports` of the nearest `package.json`
(`#name`); a package of the repository by its name, with `exports`, `types` and `main`.

A `tsconfig.json` counts with those that it refers to. Each states its settings itself, or has those
of a configuration that it extends: one at a path, or one of a package of the repository
(`@acme/settings/tsconfig.base.json`). What is extended from outside of the repository is not read.

What a package builds (`dist/`) is in no repository: the source that it is built from is meant,
where there is one under `src/`.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kl_hooks.code.module_systems import FileView, ImportTarget
from kl_hooks.model.definitions import NamedTuple

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
_CONFIGURATIONS: Final = ("tsconfig.json", "jsconfig.json")
_LONGEST_CHAIN: Final = 100
"""Configurations that extend each other, one after the other, that are followed."""


class NodeModules:
    """The module system of TypeScript and JavaScript."""

    constructor: str = "constructor"
    has_extensions: bool = False

    def split(self, specifier: str) -> tuple[str, tuple[str, ...]]:
        """A specifier means a file as a whole."""
        return specifier, ()

    def imported_file(self, specifier: str, name: str, importer: str, view: FileView) -> str | None:
        """The file that a specifier means, whatever is imported from it."""
        target = self.find(specifier, importer, view)
        if target is not None:
            return target.path
        return None

    def root_of(self, path: str, view: FileView) -> str:
        """No package has macros."""
        return path

    def settings_of(self, rows: Iterable[Sequence[Any]]) -> Mapping[str, str]:
        """A source file states nothing."""
        return {}

    def otherwise(self, specifier: str, name: str) -> str:
        """A name that a file does not export is none."""
        return ""

    def find(self, specifier: str, importer: str, view: FileView) -> ImportTarget | None:
        """The file that a specifier means."""
        written = specifier.partition("?")[0]
        folder = posixpath.dirname(importer)
        path = view.once(("import", written, folder), lambda: _find(written, folder, view))
        if path:
            return ImportTarget(path)
        return None

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
        return _source_at(posixpath.join(folder, specifier), view)
    if not specifier or specifier.startswith("/"):
        return ""
    for path in _mapped_paths(specifier, folder, view):
        source = _source_at(path, view)
        if source:
            return source
    if specifier.startswith("#"):
        return _private_import(specifier, folder, view)
    return _package_file(specifier, folder, view)


class _Match(NamedTuple):
    """A pattern that fits a text."""

    pattern: str
    star_text: str
    """What is in place of the star; empty for a pattern without one."""


class _Patterns:
    """Patterns with one star, as `paths` of tsconfig.json and `exports` of package.json have them,
    in the order in which they are stated.

    There may be thousands, and as many texts to compare with them: they are found by what is before
    the star, the longest first, and by what is after it.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = list(dict.fromkeys(patterns))
        self._exact = frozenset(self._patterns)
        # before the star → after it → number of the pattern
        self._numbers: dict[str, dict[str, int]] = {}
        for number, pattern in enumerate(self._patterns):
            before, star, after = pattern.partition("*")
            if star:
                self._numbers.setdefault(before, {})[after] = number
        self._lengths = sorted({len(before) for before in self._numbers}, reverse=True)
        self._end_lengths = {
            before: sorted({len(after) for after in numbers})
            for before, numbers in self._numbers.items()
        }

    def best(self, text: str) -> _Match | None:
        """The pattern that fits: the text itself, else the longest before the star; of equally
        long ones the first.
        """
        if text in self._exact:
            return _Match(text, "")
        for length in self._lengths:
            before = text[:length]
            if len(before) == length and before in self._numbers:
                match = self._first(text, before)
                if match is not None:
                    return match
        return None

    def _first(self, text: str, before: str) -> _Match | None:
        numbers = self._numbers[before]
        length = len(text)
        fitting = []
        for end_length in self._end_lengths[before]:
            if len(before) + end_length > length:
                break
            number = numbers.get(text[length - end_length :])
            if number is not None:
                fitting.append((number, text[len(before) : length - end_length]))
        if not fitting:
            return None
        number, star_text = min(fitting)
        return _Match(self._patterns[number], star_text)


class _Options(NamedTuple):
    """What a configuration states about imports, by itself or by those that it extends."""

    stated_in: str = ""
    """The configuration that states `paths`; empty for none."""
    base: str | None = None
    """The folder that `baseUrl` means."""


class _Paths(NamedTuple):
    """`paths` of a configuration."""

    patterns: _Patterns
    targets: Mapping[str, list[str]]
    """Pattern → the paths that it gives, from `folder`."""
    folder: str


def _mapped_paths(specifier: str, folder: str, view: FileView) -> Iterator[str]:
    """The paths that a file in `folder` may mean by `specifier`, the likeliest first."""
    configuration = _nearest(_CONFIGURATIONS, folder, view)
    if not configuration:
        return
    for options in view.once(("options", configuration), lambda: _all_options(configuration, view)):
        if options.stated_in:
            yield from _paths_by_alias(specifier, options.stated_in, view)
        if options.base is not None:
            yield _join(options.base, specifier)


def _all_options(configuration: str, view: FileView) -> list[_Options]:
    """The options of a configuration and of all that it refers to, each place once."""
    all_options: list[_Options] = []
    visited = set[str]()
    tables = {""}
    bases = set[str | None]()
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
    for reference in _stated_list(view.settings(configuration).get("references")):
        path = _join(posixpath.dirname(configuration), reference)
        if not path.endswith(".json"):
            path = _join(path, "tsconfig.json")
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
    for name in _stated_list(settings.get("extends")):
        parent = _parent(name, configuration, view)
        if parent:
            inherited = _extended(parent, view, options_by_path, depth + 1)
            stated_in = inherited.stated_in or stated_in
            if inherited.base is not None:
                base = inherited.base
    if "baseUrl" in settings:
        base = _join(posixpath.dirname(configuration), settings["baseUrl"])
    if "paths" in settings:
        stated_in = configuration
    options_by_path[configuration] = _Options(stated_in, base)
    return options_by_path[configuration]


def _parent(name: str, configuration: str, view: FileView) -> str:
    """The configuration that one extends by a name; empty where it is not in the repository."""
    if name.startswith("."):
        path = _join(posixpath.dirname(configuration), name)
    else:
        package, inner = _package_of(name, configuration, view)
        if not package:
            return ""
        path = _join(posixpath.dirname(package), inner)
    candidates = (path, f"{path}.json", _join(path, "tsconfig.json"))
    return next((candidate for candidate in candidates if view.is_file(candidate)), "")


def _paths_by_alias(specifier: str, configuration: str, view: FileView) -> Iterator[str]:
    paths = view.once(("paths", configuration), lambda: _paths(configuration, view))
    match = paths.patterns.best(specifier)
    if match is not None:
        for target in paths.targets[match.pattern]:
            yield _join(paths.folder, target.replace("*", match.star_text, 1))


def _paths(configuration: str, view: FileView) -> _Paths:
    base = _options(configuration, view).base
    if base is not None:
        folder = base
    else:
        folder = posixpath.dirname(configuration)
    targets = {
        pattern: [path for path in paths if isinstance(path, str)]
        for pattern, paths in _stated_object(view.settings(configuration).get("paths")).items()
        if isinstance(paths, list)
    }
    return _Paths(_Patterns(targets), targets, folder)


def _source_at(path: str, view: FileView, *, is_folder_read: bool = True) -> str:
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
    return _source_at(_join(path, "index"), view, is_folder_read=False)


def _join(folder: str, name: str) -> str:
    """The path that a name means in a folder."""
    return posixpath.normpath(posixpath.join(folder, name))


def _nearest(names: Sequence[str], folder: str, view: FileView) -> str:
    """The first file with one of these names in a folder or one above it; empty for none."""
    while True:
        for name in names:
            path = _join(folder, name)
            if view.is_file(path):
                return path
        if not folder:
            return ""
        folder = posixpath.dirname(folder)


class _Table(NamedTuple):
    """`exports` or `imports` of a package."""

    patterns: _Patterns
    targets: Mapping[str, Any]
    """Pattern → a path, or a structure of conditions and paths."""


def _private_import(specifier: str, folder: str, view: FileView) -> str:
    """The file that `#name` means in a folder; empty for none."""
    package = _nearest(("package.json",), folder, view)
    if package:
        return _exported(specifier, "imports", package, view)
    return ""


def _package_of(specifier: str, folder: str, view: FileView) -> tuple[str, str]:
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


def _package_file(specifier: str, folder: str, view: FileView) -> str:
    """The file of a package of this repository."""
    package, inner = _package_of(specifier, folder, view)
    if not package:
        return ""
    source = _exported(f"./{inner}" if inner else ".", "exports", package, view)
    if source:
        return source
    folder = posixpath.dirname(package)
    settings = view.settings(package)
    if inner:
        names = (inner, f"src/{inner}")
    else:
        names = ("index", "src/index")
    if not inner:
        for key in ("source", "types", "typings", "module", "main"):
            if settings.get(key):
                source = _built_source(folder, settings[key], view)
            else:
                source = ""
            if source:
                return source
    return _source_at(_join(folder, names[0]), view) or _source_at(_join(folder, names[1]), view)


def _exported(name: str, key: str, package: str, view: FileView) -> str:
    """The source that `exports` or `imports` of a package gives for a name; empty for none."""
    table = view.once((key, package), lambda: _table(key, package, view))
    match = table.patterns.best(name)
    if match is None:
        return ""
    folder = posixpath.dirname(package)
    for target in _targets(table.targets[match.pattern]):
        source = _built_source(folder, target.replace("*", match.star_text), view)
        if source:
            return source
    return ""


def _table(key: str, package: str, view: FileView) -> _Table:
    stated = _structure(view.settings(package).get(key))
    has_names = isinstance(stated, dict) and any(name[:1] in (".", "#") for name in stated)
    if not has_names:  # what the package exports as a whole
        if stated and key == "exports":
            stated = {".": stated}
        else:
            stated = {}
    return _Table(_Patterns(stated), stated)


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
    path = _join(folder, target)
    source = _source_at(path, view, is_folder_read=False)
    if source:
        return source
    inner = posixpath.normpath(target).split("/")
    start = 0
    while start < len(inner) - 1 and inner[start] in _BUILT:
        start += 1
    if not start:
        return ""
    source_path = "/".join(inner[start:]).removesuffix(".d.ts")
    for ending in (".d.mts", ".d.cts"):
        source_path = source_path.removesuffix(ending)
    return _source_at(_join(folder, f"src/{source_path}"), view, is_folder_read=False)


def _number_of_shared(path: str, folder: str) -> int:
    """How many leading folders a file and a folder share."""
    number = 0
    for first, second in zip(path.split("/")[:-1], folder.split("/"), strict=False):
        if first != second:
            break
        number += 1
    return number


def _stated_list(text: str | None) -> list[str]:
    """The list that a setting is; empty for anything else."""
    stated = _structure(text)
    if isinstance(stated, list):
        return stated
    return []


def _stated_object(text: str | None) -> dict[str, Any]:
    """The object that a setting is; empty for anything else."""
    stated = _structure(text)
    if isinstance(stated, dict):
        return stated
    return {}


def _structure(text: str | None) -> Any:
    if text:
        return json.loads(text)
    return None
