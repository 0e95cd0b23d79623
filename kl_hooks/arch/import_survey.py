"""The imports of one content of the repository: modules, links, and files that could not be read.

The index of the last check is cached (ADR-0008): of thousands of files only those that changed are
read again. It is valid for another content as long as the same files are there under the same
names.

Imports that reach a layer through files in no layer are followed, so that such a file does not hide
where an import leads: `core` imports `shop.facade`, which no layer owns and which imports
`shop.web.page`; for the rules `core` imports `shop.web.page`. Followed is what the import can mean:
`from shop import Page` leads to where `shop/__init__.py` gets `Page` from, not to everything else
that it imports.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.arch.content import Content
from kl_hooks.arch.layers import (
    THROUGH_METHOD,
    TYPE_CHECKING_METHOD,
    ManifestProblems,
    file_of,
    first_file_between,
    is_through,
    layer_lookup,
    namespace_lookup,
)
from kl_hooks.code.languages import (
    EXTRA,
    READ_NAMES,
    is_file_module,
    is_named,
    is_source,
    module_system,
    names_of_language,
    read_imports,
    scanners_of,
)
from kl_hooks.code.modules import (
    ModuleIndex,
    QueriedNames,
    file_links,
    imported_names,
    module_names,
    plain_name,
)
from kl_hooks.code.scanner.parser import MINIFIED, PARTIAL_WITH_IMPORTS, unavailable_facts
from kl_hooks.config.compile_cache import read_entry, write_entry
from kl_hooks.git.files import FileEntry
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link, split_id
from kl_hooks.model.text import counted
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.code.import_edits import Source
    from kl_hooks.code.module_systems import FileView
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.model.manifest import Layer, Manifest


MAX_REREAD: Final = 8
"""Changed files that cost less to parse again than to write to the cache."""
_INDEX_KIND: Final = "survey-3"
_NO_PACKAGE: Final = lazy_pattern(r"node_modules/(@/|[~#$][^/]*/)")
"""A name outside of the repository that no package of npm can have: an alias (`@/`, `~/`, `#lib/`)
which no configuration that is read explains.
"""
_FactsByPath = Mapping[str, Mapping[str, Any]]


class ImportLinks:
    """What the imports of files lead to, by the rules of each file's language."""

    def __init__(
        self, modules: Mapping[str, str], settings_by_path: Mapping[str, Mapping[str, str]]
    ) -> None:
        """`modules`, `settings_by_path`: as in `ImportIndex`."""
        self.modules = ModuleIndex(modules)
        self._sources, self._settings_by_path = modules, settings_by_path
        self._view: FileView | None = None

    def of(self, path: str, rows: Iterable[Sequence[Any]]) -> list[Link]:
        """The imports of one file, of its import rows; see `modules.file_links`."""
        system = module_system(path)
        if system is None:
            return file_links(path, rows, self.modules)
        # a repository of Python alone has no such files
        from kl_hooks.code.module_systems import ListedFiles, path_links

        if self._view is None:
            self._view = ListedFiles(self._sources, self._settings_by_path)
        return path_links(path, rows, system, self._view)


@dataclass(slots=True)
class ImportIndex:
    """Who imports whom, of one list of files."""

    blobs: dict[str, str]
    """Path → blob; configuration, and files that mark a project, included."""
    modules: dict[str, str]
    """Path → module, of the source files: a dotted name in Python, else the path."""
    errors: dict[str, str]
    """Path → why it could not be read, "line:column: reason"."""
    asked: dict[str, int]
    """Name that decided about a module's → how many files import it."""
    asks: dict[str, list[str]]
    """Path → those of these names that it imports."""
    links: dict[str, list[Any]]
    """Path → [target, line, method, confidence, target, …] of its imports of modules of the
    repository.
    """
    settings: dict[str, dict[str, str]]
    """Path → what a configuration file states about imports."""
    nowhere: dict[str, list[Any]]
    """Path → [alias, line, alias, …] of its imports by an alias that nothing explains."""

    def into(self, names: Collection[str]) -> Iterator[Link]:
        """Yield the imports of the modules of these names (see `plain_name`), in no particular
        order.
        """
        if names:
            called = {target for flat in self.links.values() for target in flat[0::4]}
        else:
            called = set()
        wanted = {target for target in called if plain_name(target) in names}
        for path, flat in self.links.items() if wanted else ():
            if not wanted.isdisjoint(flat[0::4]):
                yield from (
                    link for link in self.of(path) if link.target.partition(":")[2] in wanted
                )

    def of(self, path: str) -> Iterator[Link]:
        """The imports of a file, in its order."""
        source = f"namespace:{self.modules[path]}"
        flat = self.links[path]
        for target, line, method, confidence in zip(
            flat[0::4], flat[1::4], flat[2::4], flat[3::4], strict=True
        ):
            yield Link(source, "imports", f"namespace:{target}", path, line, method, confidence)

    def to_list(self) -> list[Any]:
        """Return the index as JSON can store it."""
        return [
            self.blobs,
            self.modules,
            self.errors,
            self.asked,
            self.asks,
            self.links,
            self.settings,
            self.nowhere,
        ]


def cache_key(root: Path, versions: Iterable[str]) -> str:
    """The key of a working tree's index: its root and the versions of the scanners."""
    # surrogateescape: a path may hold bytes that are not UTF-8 (PEP 383)
    return sha256("\0".join([str(root), *versions]).encode("utf-8", "surrogateescape")).hexdigest()


def load_index(cache_dir: Path, key: str) -> ImportIndex | None:
    """Return the cached index; None where there is none, or where it is not whole."""
    cached = read_entry(cache_dir, _INDEX_KIND, key)
    if (
        not isinstance(cached, list)
        or len(cached) != 8
        or not all(isinstance(table, dict) for table in cached)
    ):
        return None
    index = ImportIndex(*cached)
    if _is_whole(index):
        return index
    return None


def _is_whole(index: ImportIndex) -> bool:
    # an entry that is odd in any way is as good as none (ADR-0008): a verdict rests on it
    sources = {path for path in index.blobs if is_source(path)}
    texts = (index.blobs, index.modules, index.errors)
    return (
        sources == index.modules.keys() == index.links.keys()
        and sources | index.settings.keys() >= index.errors.keys() | index.asks.keys()
        and index.settings.keys() <= index.blobs.keys()
        and all(_are_settings(settings) for settings in index.settings.values())
        and index.modules.keys() >= index.nowhere.keys()
        and all(_are_places(flat) for flat in index.nowhere.values())
        and all(set(map(type, table.values())) <= {str} for table in texts)
        # `type() is`, here and below: JSON's `true` passes isinstance(…, int), as bool is a
        # subclass of int
        and all(type(count) is int and count >= 0 for count in index.asked.values())
        and all(_are_names(names, index.asked) for names in index.asks.values())
        and _are_links(index.links.values())
    )


def _are_names(names: Any, asked: Mapping[str, int]) -> bool:
    return type(names) is list and all(type(name) is str and name in asked for name in names)


def _are_settings(settings: Any) -> bool:
    return type(settings) is dict and set(map(type, settings.values())) <= {str}


def _are_places(flat: Any) -> bool:
    """(text, line), over and over."""
    if type(flat) is not list or len(flat) % 2:
        return False
    return set(map(type, flat[0::2])) <= {str} and set(map(type, flat[1::2])) <= {int}


def _are_links(flat_rows: Iterable[Any]) -> bool:
    """Lists of (target, line, method, confidence), over and over."""
    if not set(map(type, flat_rows)) <= {list} or any(len(flat) % 4 for flat in flat_rows):
        return False
    sorts = list(map(type, chain.from_iterable(flat_rows)))
    return set(sorts[0::4]) | set(sorts[2::4]) <= {str} and set(sorts[1::4]) | set(sorts[3::4]) <= {
        int
    }


def save_index(cache_dir: Path, key: str, index: ImportIndex) -> None:
    """Cache the index. Names that are not UTF-8 can't be cached: then nothing is."""
    write_entry(cache_dir, _INDEX_KIND, key, index.to_list())


def _changed_entries(index: ImportIndex, entries: Sequence[FileEntry]) -> list[FileEntry] | None:
    """The source files that are not as they were; None where the files are not the same ones, or
    configuration has changed, which may decide about every import.
    """
    if len(entries) != len(index.blobs):
        return None
    changed = []
    for entry in entries:
        blob = index.blobs.get(entry.path)
        if blob is None:
            return None
        if blob == entry.blob:
            continue
        if entry.path in index.settings and not is_source(entry.path):
            return None
        if is_source(entry.path):
            changed.append(entry)
    return changed


def _update_index(index: ImportIndex, entries: Sequence[FileEntry], facts: _FactsByPath) -> bool:
    """Add the facts of changed files; False (the index is useless then) where modules may have
    other names now.
    """
    before = {name for name, count in index.asked.items() if count}
    for path, changed_facts in facts.items():
        mine = imported_names([changed_facts])
        for name in index.asks.pop(path, ()):
            index.asked[name] -= 1
        index.asks[path] = [name for name in index.asked if name in mine]
        for name in index.asks[path]:
            index.asked[name] += 1
    # such a name decides about the dotted names of modules, so links of unchanged files may differ
    # too (ADR-0008)
    if before != {name for name, count in index.asked.items() if count}:
        return False
    # a file that declares another module decides where imports of others lead
    if any(
        _settings_of(path, changed_facts) != index.settings.get(path, {})
        for path, changed_facts in facts.items()
    ):
        return False
    import_links = ImportLinks(index.modules, index.settings)
    files = paths_by_module(index.modules)
    for path, changed_facts in facts.items():
        index.errors.pop(path, None)
        if changed_facts["error"]:
            index.errors[path] = changed_facts["error"]
        index.links[path], nowhere = _links(path, changed_facts, import_links, files)
        index.nowhere.pop(path, None)
        if nowhere:
            index.nowhere[path] = nowhere
    index.blobs.update((entry.path, entry.blob) for entry in entries)
    return True


def build_index(entries: Sequence[FileEntry], facts: _FactsByPath) -> ImportIndex:
    """From the facts of all source and configuration files among the entries."""
    asked = QueriedNames(imported_names(facts.values()))
    modules = module_names([entry.path for entry in entries], asked)
    modules |= {
        entry.path: entry.path
        for entry in entries
        if entry.path not in modules and is_source(entry.path)
    }
    asks = {
        path: [name for name in imported_names([file_facts]) if name in asked.answers]
        for path, file_facts in facts.items()
    }
    counts = Counter(name for names in asks.values() for name in names)
    settings = {
        path: stated
        for path, file_facts in facts.items()
        if (stated := _settings_of(path, file_facts)) or path not in modules
    }
    import_links = ImportLinks(modules, settings)
    files = paths_by_module(modules)
    links_by_path = {
        path: _links(path, file_facts, import_links, files)
        for path, file_facts in facts.items()
        if path in modules
    }
    return ImportIndex(
        blobs={entry.path: entry.blob for entry in entries},
        modules=modules,
        errors={
            path: file_facts["error"] for path, file_facts in facts.items() if file_facts["error"]
        },
        asked={name: counts[name] for name in asked.answers},
        asks={path: names for path, names in asks.items() if names},
        links={path: flat for path, (flat, _) in links_by_path.items()},
        settings=settings,
        nowhere={path: nowhere for path, (_, nowhere) in links_by_path.items() if nowhere},
    )


def _settings_of(path: str, facts: Mapping[str, Any]) -> dict[str, str]:
    """What a configuration file, or a source file, states about imports."""
    if is_source(path):
        system = module_system(path)
    else:
        system = None
    if system is not None:
        stated = system.settings_of(facts["imports"])
    else:
        stated = None
    return dict(facts.get("settings", ()) if stated is None else stated)


def paths_by_module(modules: Mapping[str, str]) -> dict[str, str]:
    """Dotted name → path."""
    return {dotted: path for path, dotted in modules.items()}


def _links(
    path: str, facts: Mapping[str, Any], import_links: ImportLinks, files: Mapping[str, str]
) -> tuple[list[Any], list[Any]]:
    """`links` and `nowhere` of a file, see `ImportIndex`."""
    flat: list[Any] = []
    nowhere: list[Any] = []
    for link in import_links.of(path, facts["imports"]):
        target = link.target.partition(":")[2]
        if file_of(target, files) is not None:
            flat += (target, link.line, link.method, link.confidence)
        elif alias := _NO_PACKAGE.match(target):
            nowhere += (alias[1], link.line)
    return flat, nowhere


_RECENT_KIND: Final = "imports-1"
_ROW: Final = (str, str, int, int, str, str)
"""Types of the fields of an import as the scanner stores it."""
_FileFacts = Mapping[str, Any]
_ImportReader = Callable[[Sequence[FileEntry]], Mapping[str, _FileFacts]]
"""Read `error` and `imports` of files, by path, without those that can't be read."""


def cached_imports(
    cache_dir: Path | None, key: str, entries: Sequence[FileEntry], read: _ImportReader
) -> dict[str, _FileFacts]:
    """Path → `error` and `imports` of these files: cached where the content is the same, else read.

    `key`: that of the index. Only these files stay in the cache.
    """
    if cache_dir:
        memory = read_entry(cache_dir, _RECENT_KIND, key)
    else:
        memory = None
    if not isinstance(memory, dict):
        memory = {}
    cached = {
        entry.path: facts
        for entry in entries
        if (facts := _facts(memory.get(entry.path), entry.blob))
    }
    if len(cached) < len(entries):
        fresh = read([entry for entry in entries if entry.path not in cached])
    else:
        fresh = {}
    facts_by_path = {**cached, **fresh}
    if cache_dir and fresh:
        rows = {
            e.path: [e.blob, facts_by_path[e.path]["error"], facts_by_path[e.path]["imports"]]
            for e in entries
            if e.path in facts_by_path
        }
        write_entry(cache_dir, _RECENT_KIND, key, rows)
    return facts_by_path


def _facts(row_of_file: Any, blob: str) -> _FileFacts | None:
    """The cached facts of a file; None for another content, or where they are not whole."""
    if (
        type(row_of_file) is not list
        or len(row_of_file) != 3
        or row_of_file[0] != blob
        or type(row_of_file[1]) is not str
        or type(row_of_file[2]) is not list
    ):
        return None
    whole = all(type(row) is list and tuple(map(type, row)) == _ROW for row in row_of_file[2])
    if not whole:
        return None
    return {"error": row_of_file[1], "imports": row_of_file[2]}


_FEW: Final = 12
"""Files asked for one by one before all are read at once."""


class _LazyFacts(Mapping[str, dict[str, Any]]):
    """Path → facts, of all entries."""

    def __init__(
        self,
        facts: Mapping[str, dict[str, Any]],
        entries: Mapping[str, FileEntry],
        read: Callable[[Sequence[FileEntry]], dict[str, Any]],
    ) -> None:
        self._known, self._entries, self._read = dict(facts), entries, read
        self._asked = 0

    def __getitem__(self, path: str) -> dict[str, Any]:
        if path not in self._known:
            entry = self._entries[path]
            self._asked += 1
            if self._asked <= _FEW:
                entries_to_read = [entry]
            else:
                entries_to_read = [e for p, e in self._entries.items() if p not in self._known]
            self._known.update(self._read(entries_to_read))
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        self._asked = _FEW  # whoever goes through them wants them all
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


_DEFINED: Final = lazy_pattern(
    rb"^(?:async def|def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=", re.MULTILINE
)
_Step = tuple[str, str]
"""(file, name taken from it; `*`: everything; empty: nothing but the module, by a file of the same
package)
"""


def _imports_through(
    survey: Survey,
    layers: Mapping[str, Layer | None],
    is_wanted: Callable[[Layer, Layer], bool],
    manifest: Manifest,
) -> list[Link]:
    """Return an import for each statement in a layer that reaches another layer through files in no
    layer.

    `manifest`: whether imports for type checkers count, and which names belong to layers. `layers`:
    path → layer of every Python file. `is_wanted(source, target)`: whether such an import is asked
    for. Of several modules of one layer that a statement reaches, the nearest is named, then the
    first by name.
    """
    if None not in layers.values():
        return []
    return list(_Follower(survey, layers, is_wanted, manifest).links())


class _Follower:
    """Follow imports from layer to layer through the files between; each file's own imports are
    read once.
    """

    def __init__(
        self,
        survey: Survey,
        layers: Mapping[str, Layer | None],
        is_wanted: Callable[[Layer, Layer], bool],
        manifest: Manifest,
    ) -> None:
        self._survey = survey
        self._layers = layers
        self._is_wanted = is_wanted
        self._layer_of_name = namespace_lookup(manifest.layers)
        self._ignores_types = manifest.type_checking_imports == "ignore"
        self._files = {dotted: path for path, dotted in survey.modules.items()}
        self._file: dict[str, str | None] = {}
        self._reached: dict[str, frozenset[str]] = {}
        self._found: dict[_Step, dict[str, tuple[int, str, tuple[str, ...]]]] = {}

    def links(self) -> Iterator[Link]:
        """The imports, in the order of files and lines."""
        for path, source in sorted(self._layers.items()):
            if source is None:
                continue
            # most files import none of these, and making Links of all imports would cost more than
            # the check
            if all(
                self._file_between(target) is None
                for target in self._survey.index.links[path][0::4]
            ):
                continue
            for link in self._survey.index.of(path):
                typed = self._ignores_types and link.method == TYPE_CHECKING_METHOD
                if self._between(link) is not None and not typed:
                    yield from self._from(link, source)

    def _between(self, link: Link) -> str | None:
        """The file in no layer that an import leads to; None where it leads into a layer."""
        return self._file_between(link.target.partition(":")[2])

    def _file_between(self, dotted: str) -> str | None:
        if dotted not in self._file:
            file = file_of(dotted, self._files)
            owned = (
                file is None
                or self._layers[file] is not None
                or self._layer_of_name(plain_name(dotted))
            )
            self._file[dotted] = None if owned else file
        return self._file[dotted]

    def _from(self, link: Link, source: Layer) -> Iterator[Link]:
        file = self._between(link)
        by_name = {layer.name: layer for layer in self._layers.values() if layer is not None}
        wanted = {
            name for name in self._reach(file or "") if self._is_wanted(source, by_name[name])
        }
        if not wanted:
            return  # cheap: names are looked at only where it matters
        nearest: dict[str, tuple[int, str, tuple[str, ...]]] = {}
        for step in self._taken(link, file or ""):
            for name, nearest_of_step in self._layers_of(step).items():
                nearest[name] = min(nearest_of_step, nearest.get(name, nearest_of_step))
        for name in sorted(nearest.keys() & wanted):
            _, target, places = nearest[name]
            method = THROUGH_METHOD + " -> ".join(places)
            yield Link(
                link.source,
                "imports",
                f"namespace:{target}",
                link.path,
                link.line,
                method,
                link.confidence,
            )

    def _reach(self, start: str) -> frozenset[str]:
        """The layers that a file in no layer reaches at all, whatever is taken from it."""
        if start not in self._reached:
            visited = {start}
            todo = [start]
            reached_layers = set()
            while todo:
                for link in self._survey.index.of(todo.pop()):
                    between = self._between(link)
                    if between is None:
                        layer = self._layer(link)
                        if layer:
                            reached_layers |= {layer.name}
                    elif between not in visited:
                        visited.add(between)
                        todo.append(between)
            self._reached[start] = frozenset(reached_layers)
        return self._reached[start]

    def _layer(self, link: Link) -> Layer | None:
        dotted = link.target.partition(":")[2]
        file = file_of(dotted, self._files)
        return self._layer_of_name(plain_name(dotted)) or (self._layers[file] if file else None)

    def _taken(self, link: Link, file: str) -> set[_Step]:
        """The names that the statement behind an import imports from the file."""
        rows = [
            row
            for row in self._survey.rows(link.path)
            if row[3] == link.line and row[4] == link.method
        ]
        return {step for row in rows for step in self._steps(link.path, row) if step[0] == file}

    def _steps(self, path: str, row: Sequence[Any]) -> Iterator[_Step]:
        """The files in no layer that an import statement leads to, each with the imported name."""
        for link in self._survey.links_of(path, [row]):
            between = self._between(link)
            if between is not None:
                name = plain_name(link.target.partition(":")[2]).rpartition(".")[2]
                whole = row[1] in ("", name)
                inside = path.startswith(between.removesuffix("__init__.py"))
                if whole:
                    yield between, "" if inside else "*"
                else:
                    yield between, str(row[1])

    def _layers_of(self, start: _Step) -> dict[str, tuple[int, str, tuple[str, ...]]]:
        """Layer → (number of steps, module, places) of the nearest module of it that is reached, by
        breadth first.
        """
        if start in self._found:
            return self._found[start]
        nearest_by_layer: dict[str, tuple[int, str, tuple[str, ...]]] = {}
        visited = {start}
        todo = [(start, tuple[str, ...]())]
        while todo:
            following = []
            for (file, name), places in todo:
                for row in self._rows_behind(file, name):
                    further_places = (*places, f"{file}:{row[3]}")
                    for link in self._survey.links_of(file, [row]):
                        if self._between(link) is None:
                            layer = self._layer(link)
                        else:
                            layer = None
                        if layer is not None:
                            way = (
                                len(further_places),
                                link.target.partition(":")[2],
                                further_places,
                            )
                            nearest_by_layer[layer.name] = min(
                                way, nearest_by_layer.get(layer.name, way)
                            )
                    for step in self._steps(file, row):
                        if step not in visited:
                            visited.add(step)
                            following.append((step, further_places))
            todo = following
        self._found[start] = nearest_by_layer
        return nearest_by_layer

    def _rows_behind(self, file: str, name: str) -> Iterable[Sequence[Any]]:
        """The imports of a file that may be behind a name taken from it.

        A package by itself (`import shop` in a file of `shop`, or a name that `shop/__init__.py`
        defines) leads nowhere: that file runs with every import of the package anyway.
        """
        rows = [row for row in self._survey.rows(file) if row[4] != TYPE_CHECKING_METHOD]
        if is_file_module(file):
            return self._handed_on(file, name, rows)
        binding = [row for row in rows if name in bound_names(row)]
        if binding and name != "*":
            return binding
        if name == "*" or not file.endswith("__init__.py"):
            return rows
        if not name or name in self._defined(file):
            return []
        # the rest of a statement over several lines is not stored: a name given with `as` there is
        # not known
        return [row for row in rows if row[1] == "*"] or rows

    def _handed_on(
        self, file: str, name: str, rows: Sequence[Sequence[Any]]
    ) -> Iterable[Sequence[Any]]:
        """Those of the imports `rows` of a file, whose module is named by its path, that are behind
        a name which it exports: the one that it is taken from, else all, since what the file
        defines itself may use any.
        """
        from kl_hooks.code.module_systems import decoded
        from kl_hooks.code.scanner.expressions import IMPORTED, decode

        outline = self._survey.outline(file)
        if name not in ("", "*"):
            expression = outline["names"].get(name, "")
        else:
            expression = ""
        source = decode(expression) if expression else None
        if source is not None and source.kind == IMPORTED:
            specifier = decoded(source.module)
            taken = [row for row in rows if row[0] == specifier and row[1] in (source.path, "")]
            return taken or rows
        if name in outline["defs"] or not outline["stars"]:
            return rows
        stars = [row for row in rows if row[1] == "*" and self._exports(file, row, name, set())]
        return stars or rows

    def _exports(self, file: str, star: Sequence[Any], name: str, visited: set[str]) -> bool:
        """Whether what a file hands on as a whole (`export * from`) has a name."""
        for link in self._survey.links_of(file, [star]):
            source = self._files.get(link.target.partition(":")[2], "")
            if not source or source in visited:
                continue
            visited.add(source)
            outline = self._survey.outline(source)
            if name in outline["names"] or name in outline["defs"]:
                return True
            further = [row for row in self._survey.rows(source) if row[1] == "*"]
            if any(self._exports(source, row, name, visited) for row in further):
                return True
        return False

    def _defined(self, file: str) -> set[str]:
        text = self._survey.read([file]).get(file, b"")
        return {(one or other).decode() for one, other in _DEFINED.findall(text)}


def bound_names(row: Sequence[Any]) -> set[str]:
    """The names that an import may bind: the one given with `as`, and its own where it is written
    without.
    """
    imported = re.escape(str(row[1] or row[0]))
    statement = str(row[5]).partition("import")[2]
    renamed = set(re.findall(rf"\b{imported}\s+as\s+(\w+)", statement))
    plain = not renamed or re.search(rf"\b{imported}\b(?!\s+as\b)", statement)
    return renamed | ({str(row[1] or row[0].partition(".")[0])} if plain else set())


class _Where(dict[str, str | None]):
    """Dotted name → name of the layer that it belongs to, by a namespace or by its file; None: to
    none.
    """

    def __init__(
        self, modules: Mapping[str, str], layers: Mapping[str, Layer | None], manifest: Manifest
    ) -> None:
        self._files, self._layers, self._named = (
            paths_by_module(modules),
            layers,
            namespace_lookup(manifest.layers),
        )

    def __missing__(self, dotted: str) -> str | None:
        file = file_of(dotted, self._files)
        layer = self._named(plain_name(dotted)) or (
            self._layers[file] if file is not None else None
        )
        name = self[dotted] = layer.name if layer else None
        return name


@dataclass(frozen=True, slots=True)
class Survey:
    """The imports of one content."""

    index: ImportIndex
    facts: Mapping[str, dict[str, Any]]
    """Path → facts of the source files; read when somebody asks."""
    unread: tuple[Problem, ...]
    """Files that could not be read, each with its place and reason."""
    content: Content
    partly_read: tuple[Problem, ...] = ()
    """Files with a syntax error, all imports of which were read."""
    minified: frozenset[str] = frozenset()
    """The paths of those that could not be read because no person wrote them."""
    notes: tuple[str, ...] = ()
    """Remarks about what was slow or could not be cached."""

    _memory: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was read for statements and suggestions: only files with violations, each once."""

    @property
    def modules(self) -> Mapping[str, str]:
        """Path → module of every source file: a dotted name in Python, else the path."""
        return self.index.modules

    @property
    def python_modules(self) -> Mapping[str, str]:
        """Path → dotted name of every Python file."""
        return {path: name for path, name in self.modules.items() if not is_file_module(path)}

    def nowhere(self, paths: Container[str]) -> list[Problem]:
        """A warning for each alias that these files import by and that nothing explains: where such
        an import leads is not known.
        """
        places: dict[str, list[tuple[str, int]]] = {}
        for path, flat in sorted(self.index.nowhere.items()):
            if path in paths:
                for alias, line in zip(flat[0::2], flat[1::2], strict=True):
                    places.setdefault(alias, []).append((path, line))
        problems = []
        for alias, imports in places.items():
            verb = "leads" if len(imports) == 1 else "lead"
            message = (
                f'{counted(len(imports), "import")} by "{alias}", this the first, {verb} nowhere:'
                " no configuration explains it."
            )
            hint = "Add it to `paths` of the tsconfig.json above."
            problems.append(Problem(*imports[0], 1, message, hint))
        return problems

    @property
    def projects(self) -> Mapping[str, str]:
        """Folder → name, of the folders that have the configuration of a package; in no such folder
        that of a compiler makes one.
        """
        from kl_hooks.arch.packages import project_of
        from kl_hooks.code.module_systems import PACKAGE_FILES

        folders: dict[str, str] = {}
        compiler_files = []
        for path, settings in sorted(self.index.settings.items()):
            if path.rpartition("/")[2] in PACKAGE_FILES:
                # Cargo's has two: the package's, and what code calls its library
                name = settings.get("crate", settings.get("name", ""))
                folders[path.rpartition("/")[0]] = name
            elif not is_source(path):
                compiler_files.append(path)
        for path in sorted(compiler_files, key=lambda path: path.count("/")):
            if project_of(path, folders) is None:
                folders[path.rpartition("/")[0]] = ""
        return folders

    @property
    def links(self) -> tuple[Link, ...]:
        """The imports of modules of the repository, by path and line."""
        return tuple(link for path in sorted(self.index.links) for link in self.index.of(path))

    def rows(self, path: str) -> Sequence[Sequence[Any]]:
        """The imports of a file, as the scanner stores them."""
        imports: Sequence[Sequence[Any]] = self.facts.get(path, {}).get("imports", ())
        return imports

    def target(self, path: str, row: Sequence[Any]) -> str:
        """The module that an import of a file leads to; empty for itself, or out of its package."""
        return next((split_id(link.target)[1] for link in self.links_of(path, [row])), "")

    def links_of(self, path: str, rows: Iterable[Sequence[Any]]) -> list[Link]:
        """The imports of one file, of some of its rows, those out of the repository included."""
        return self._import_links().of(path, rows)

    def outline(self, path: str) -> Mapping[str, Any]:
        """What a file, whose module is named by its path, defines and exports; of one that can't be
        read nothing.
        """
        key = ("outline", path)
        if key not in self._memory:
            from kl_hooks.code.languages import own_scanners, scanner_of

            scanner = scanner_of(path, own_scanners())
            content = self.read([path]).get(path)
            self._memory[key] = {"names": {}, "defs": {}, "stars": []}
            if scanner is not None and content is not None:
                self._memory[key] = scanner.scan(content, path, path)["outline"]
        outline: Mapping[str, Any] = self._memory[key]
        return outline

    def links_under(self, manifest: Manifest) -> tuple[Link, ...]:
        """`links`, and those that only a manifest makes: into its namespaces, and forbidden ones
        through no layer.
        """
        layer_of = layer_lookup(manifest.layers)
        layers = {path: layer_of(path) for path in self.modules}
        return (*self.links, *self._outside(manifest, layers), *self._through(manifest, layers))

    def forbidden(self, manifest: Manifest, layers: Mapping[str, Layer | None]) -> tuple[Link, ...]:
        """Those of `links_under` that lead from one layer into another that it may not depend on:
        mostly none.

        `layers`: path → layer of every Python file.
        """
        direct = self._leading(
            manifest, layers, lambda source: (None, source.name, *source.may_depend_on)
        )
        return (*direct, *self._outside(manifest, layers), *self._through(manifest, layers))

    def crossing(self, manifest: Manifest, layers: Mapping[str, Layer | None]) -> tuple[Link, ...]:
        """Those of `links` that lead from one layer into another, allowed or not."""
        return self._leading(manifest, layers, lambda source: (None, source.name))

    def _through(self, manifest: Manifest, layers: Mapping[str, Layer | None]) -> list[Link]:
        """The forbidden imports that lead through files in no layer; with `indirect: forbid` those
        are chains.
        """
        if manifest.indirect == "forbid" or manifest.unassigned_imports == "ignore":
            return []

        def is_wanted(source: Layer, target: Layer) -> bool:
            return target.name not in (source.name, *source.may_depend_on)

        return self.through(layers, is_wanted, manifest)

    def through(
        self,
        layers: Mapping[str, Layer | None],
        is_wanted: Callable[[Layer, Layer], bool],
        manifest: Manifest,
    ) -> list[Link]:
        """Return the imports through files in no layer, see `_imports_through`."""
        return _imports_through(self, layers, is_wanted, manifest)

    def _outside(self, manifest: Manifest, layers: Mapping[str, Layer | None]) -> list[Link]:
        """The imports of packages from outside that belong to a layer by a namespace."""
        if not any(layer.namespaces for layer in manifest.layers):
            return []
        named = namespace_lookup(manifest.layers)
        files = paths_by_module(self.modules)
        outside = []
        for path in sorted(path for path, layer in layers.items() if layer is not None):
            for link in self.links_of(path, self.rows(path)):
                dotted = link.target.partition(":")[2]
                if file_of(dotted, files) is None and named(dotted):
                    outside.append(link)
        return outside

    def _leading(
        self,
        manifest: Manifest,
        layers: Mapping[str, Layer | None],
        passed_over: Callable[[Layer], Iterable[str | None]],
    ) -> tuple[Link, ...]:
        """The links into a layer that is not among those `passed_over` for the layer they come
        from.
        """
        where = _Where(self.modules, layers, manifest)
        leading = list[Link]()
        passed_over_of = dict[str, frozenset[str | None]]()
        for path, flat in self.index.links.items():
            source = layers[path]
            if source is None:
                continue
            if source.name not in passed_over_of:
                passed_over_of[source.name] = frozenset(passed_over(source))
            fine = passed_over_of[source.name]
            targets = flat[0::4]
            if not fine.issuperset(map(where.__getitem__, targets)):
                links = zip(self.index.of(path), targets, strict=True)
                leading += [link for link, target in links if where[target] not in fine]
        return tuple(leading)

    def statement(self, link: Link) -> str:
        """The import statement behind a link."""
        return next((str(row[5]) for row in self._rows(link)), "")

    def kind(self, link: Link) -> str:
        """What the import is needed for in its file: `unused`, `annotations` or `needed` (see
        `code.import_edits.mention`).
        """
        from kl_hooks.code.import_edits import NEEDED, NOTED, UNUSED, mention

        if is_file_module(link.path):
            return NEEDED  # Python's syntax alone is looked at
        if is_through(link.method):
            return NEEDED  # what it is needed for is decided in the files between
        source = self.source(link.path)
        if source:
            kinds = {mention(source, row).kind for row in self._rows(link)}
        else:
            kinds = set()
        if NEEDED in kinds or not kinds:
            return NEEDED
        if NOTED in kinds:
            return NOTED
        return UNUSED

    def known(self) -> ModuleIndex:
        """The modules, asked by the names that imports use."""
        return self._import_links().modules

    def _import_links(self) -> ImportLinks:
        if "import links" not in self._memory:
            self._memory["import links"] = ImportLinks(self.modules, self.index.settings)
        import_links: ImportLinks = self._memory["import links"]
        return import_links

    def _rows(self, link: Link) -> list[Sequence[Any]]:
        """The imports of a file (see `code.scanner.imports`) behind a link."""
        rows = self._lines(link.path).get(link.line, [])
        # most lines have one import: for these the index of modules is not built
        if len(rows) < 2:
            return rows
        if is_through(link.method):
            files = paths_by_module(self.modules)
            first = first_file_between(link.method)

            return [row for row in rows if file_of(self.target(link.path, row), files) == first]
        key = ("targets", link.path, link.line)
        if key not in self._memory:
            rows_by_target: dict[str, list[Sequence[Any]]] = {}
            for row in rows:
                for link_of_row in self.links_of(link.path, [row]):
                    rows_by_target.setdefault(link_of_row.target, []).append(row)
            self._memory[key] = rows_by_target
        behind: dict[str, list[Sequence[Any]]] = self._memory[key]
        return behind.get(link.target, [])

    def _lines(self, path: str) -> dict[int, list[Sequence[Any]]]:
        """Line → the imports of a file on it; grouped once, since a file may have thousands of
        violations.
        """
        key = ("lines", path)
        if key not in self._memory:
            rows_by_line: dict[int, list[Sequence[Any]]] = {}
            for row in self.rows(path):
                rows_by_line.setdefault(row[3], []).append(row)
            self._memory[key] = rows_by_line
        lines: dict[int, list[Sequence[Any]]] = self._memory[key]
        return lines

    def source(self, path: str) -> Source | None:
        """The parsed file; None where it can't be read or parsed, and for other languages than
        Python. For files with violations: each is remembered.
        """
        if is_file_module(path):
            return None
        from kl_hooks.code.import_edits import Source, parsed

        key = ("source", path)
        if key not in self._memory:
            content = self.read([path]).get(path, b"\0")
            tree = parsed(content)
            self._memory[key] = Source(path, content, tree) if tree else None
        source: Source | None = self._memory[key]
        return source

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of files, each read once, without those that can't be read."""
        contents: dict[str, bytes] = self._memory.setdefault("contents", {})
        asked: set[str] = self._memory.setdefault("asked", set())
        missing = set(paths) - asked
        if missing:
            entries = [entry for entry in self.content.entries if entry.path in missing]
            contents.update((entry.path, text) for entry, text in self.content.read(entries))
            asked |= missing
        return {path: contents[path] for path in paths if path in contents}


def survey_imports(ws: Workspace, content: Content, manifest: Manifest | None = None) -> Survey:
    """Read the imports of `content`. Database and cache only make it faster: their failure is a
    note, or nothing.

    `manifest`: the rules that will be asked; `language` of it limits what is read. Raises
    ManifestProblems where files of its layers are in a language whose scanner is not installed.
    Without rules such files are omitted.
    """
    scanners = scanners_of(ws)
    if manifest is not None:
        language = names_of_language(manifest.language)
    else:
        language = ()
    entries = _readable(content.entries, scanners, language, manifest)
    key = cache_key(ws.root, [*(scanner.version for scanner in scanners), *language])
    reader = _FactReader(ws, content, scanners, key)
    sources = {entry.path: entry for entry in entries if is_source(entry.path)}
    index, facts = _current_index(reader, entries, sources)
    unread, partly_read = _reading_problems(index.errors)
    return Survey(
        index,
        _LazyFacts(facts, sources, reader.facts),
        unread,
        content,
        partly_read,
        frozenset(path for path, error in index.errors.items() if error.endswith(MINIFIED)),
        tuple(reader.notes),
    )


class _FactReader:
    """Facts of files of one content, as they are stored, cached, or read now."""

    def __init__(
        self, ws: Workspace, content: Content, scanners: Sequence[Scanner], key: str
    ) -> None:
        """`key`: that of the index."""
        self._content = content
        self._scanners = scanners
        self.key = key
        # a look at a repository without .kl/ leaves nothing, nor does one whose texts can't be
        # redacted
        is_stored = ws.initialized and not ws.missing_plugins
        self._store = ws.store if is_stored else None
        self.cache = ws.state.cache if is_stored else None
        # without those plugins the imports alone are read: other facts are text of the source
        self._is_limited = bool(ws.missing_plugins)
        self.notes: list[str] = []

    def facts(self, entries: Sequence[FileEntry]) -> dict[str, Any]:
        """Path → facts of source files."""
        from kl_hooks.code.file_facts import facts_of

        if self._is_limited:
            return self.imports(entries)
        return facts_of(
            self._store,
            entries,
            self._content.read,
            self._scanners,
            symbols=False,
            warn=self.notes.append,
        )

    def imports(self, entries: Sequence[FileEntry]) -> dict[str, Any]:
        """Path → the imports alone, or what a configuration file states about them."""
        return read_imports(entries, self._content.read, self._scanners)

    def changed_facts(self, entries: Sequence[FileEntry]) -> dict[str, Any]:
        """Path → facts of files that were changed: of a few the imports alone, which is sooner than
        asking the store.
        """
        if len(entries) > MAX_REREAD:
            return self.facts(entries)
        cached = cached_imports(self.cache, self.key, entries, self.imports)
        return {entry.path: cached.get(entry.path) or unavailable_facts() for entry in entries}


def _current_index(
    reader: _FactReader, entries: Sequence[FileEntry], sources: Mapping[str, FileEntry]
) -> tuple[ImportIndex, dict[str, Any]]:
    """The index of these entries, and the facts that were read for it.

    An ordinary check writes nothing: a few changed files are in the cache of imports already
    (ADR-0008, ADR-0012).
    """
    if reader.cache:
        index = load_index(reader.cache, reader.key)
    else:
        index = None
    if index is not None:
        changed = _changed_entries(index, entries)
    else:
        changed = None
    if index is not None and changed is not None:
        if changed:
            facts = reader.changed_facts(changed)
        else:
            facts = {}
        if _update_index(index, changed, facts):
            if reader.cache and len(changed) > MAX_REREAD:
                save_index(reader.cache, reader.key, index)
            return index, facts
    facts = reader.facts(list(sources.values()))
    settings = [
        entry for entry in entries if is_file_module(entry.path) and entry.path not in sources
    ]
    stated = reader.imports(settings) if settings else {}
    index = build_index(entries, {**facts, **stated})
    if reader.cache:
        save_index(reader.cache, reader.key, index)
    return index, facts


def _reading_problems(
    errors: Mapping[str, str],
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """The files that could not be read, and those with an error all imports of which were read.

    `errors`: path → `line:column: reason` of the facts.
    """
    unread = list[Problem]()
    partly_read = list[Problem]()
    for path, error in errors.items():
        line, column, reason = error.split(":", 2)
        if reason.strip() == MINIFIED:
            message = f"is {MINIFIED}."
        else:
            message = f"can't be parsed: {reason.strip()}."
        if error.endswith(PARTIAL_WITH_IMPORTS):
            problems = partly_read
        else:
            problems = unread
        problems.append(Problem(path, int(line), int(column), message))
    return tuple(sorted(unread)), tuple(sorted(partly_read))


def _readable(
    entries: Sequence[FileEntry],
    scanners: Sequence[Scanner],
    language: tuple[str, ...],
    manifest: Manifest | None,
) -> Sequence[FileEntry]:
    """The entries that a scanner reads, of one language where the rules name one (`language`: the
    ends of its files), and those that mark a project. Raises as `survey_imports`.
    """
    if language:
        entries = [
            entry
            for entry in entries
            if is_named(entry.path, language) or not is_named(entry.path, READ_NAMES)
        ]
    installed = {suffix for scanner in scanners for suffix in scanner.suffixes}
    absent = tuple(name for name in READ_NAMES if name not in installed)
    if not absent:
        return entries
    readable = [entry for entry in entries if not is_named(entry.path, absent)]
    if manifest is not None and len(readable) < len(entries):
        paths = [entry.path for entry in entries if is_named(entry.path, absent)]
        _refuse_unreadable(manifest, [path for path in paths if is_source(path)])
    return readable


def _refuse_unreadable(manifest: Manifest, paths: Iterable[str]) -> None:
    """Raise ManifestProblems where one of these files, which no scanner reads, is in a layer."""
    layer_of = layer_lookup(manifest.layers)
    files_by_layer: dict[str, list[str]] = {}
    for path in sorted(paths):
        layer = layer_of(path)
        if layer is not None:
            files_by_layer.setdefault(layer.name, []).append(path)
    problems = []
    for layer in manifest.layers:
        files = files_by_layer.get(layer.name, ())
        if files:
            message = (
                f'{counted(len(files), "file")} of layer "{layer.name}" can\'t be judged, since no'
                f" scanner reads {files[0]}."
            )
            hint = f"Install it: {EXTRA}; or check Python alone: language: python"
            problems.append(Problem(manifest.path, layer.line, 1, message, hint))
    if problems:
        raise ManifestProblems(problems)
