"""Imports that reach a layer through files in no layer: such a file must not hide where an import leads.

`core` imports `shop.facade`, which no layer owns and which imports `shop.web.page`: for the rules `core` imports
`shop.web.page`. What is followed is what the import can mean: `from shop import Page` leads to where `shop/__init__.py`
gets `Page` from, not to everything else that it imports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from kl_hooks.arch.edges import TYPE_CHECKING_METHOD, file_of
from kl_hooks.arch.paths import owner_by_name
from kl_hooks.code.imports import file_links
from kl_hooks.code.modules import plain_name
from kl_hooks.model.symbol import Link

if TYPE_CHECKING:
    from kl_hooks.arch.ready import Ready
    from kl_hooks.code.imports import Known
    from kl_hooks.model.manifest import Layer, Manifest

THROUGH: Final = "import through "
"""How the `method` of such an import begins; the import statements in between follow, as `path:line`."""
_DEFINED: Final = re.compile(rb"^(?:async def|def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=", re.MULTILINE)
_Step = tuple[str, str]
"""(file, name taken from it; `*`: everything; empty: nothing but the module, by a file of the same package)"""


class Imports(Protocol):
    """What is known about imports, see `survey.Survey`."""

    @property
    def ready(self) -> Ready:
        """Who imports whom."""
        ...

    @property
    def modules(self) -> Mapping[str, str]:
        """Path → dotted name of every Python file."""
        ...

    @property
    def facts(self) -> Mapping[str, dict[str, Any]]:
        """Path → facts of the Python files; read when somebody asks."""
        ...

    def known(self) -> Known:
        """The modules, asked by the names that imports use."""
        ...

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """The contents of files."""
        ...


def through(
    survey: Imports,
    layers: Mapping[str, Layer | None],
    is_wanted: Callable[[Layer, Layer], bool],
    manifest: Manifest,
) -> list[Link]:
    """Return an import for each statement in a layer that reaches another layer through files in no layer.

    `manifest` says whether imports for type checkers count, and which names belong to layers. `layers`: path → layer of
    every Python file. `is_wanted(source, target)`: whether such an import is asked for. Of
    several modules of one layer that a statement reaches, the nearest is named, the first by name.
    """
    if None not in layers.values():
        return []
    return list(_Follower(survey, layers, is_wanted, manifest).links())


def is_through(method: str) -> bool:
    """True for the method of an import that was followed through files in no layer."""
    return method.startswith(THROUGH)


def first_file(method: str) -> str:
    """The file in no layer that such an import names itself."""
    return method.removeprefix(THROUGH).partition(" -> ")[0].rpartition(":")[0]


class _Follower:
    """Follows imports from layer to layer through the files between; each file's own imports are read once."""

    def __init__(
        self,
        survey: Imports,
        layers: Mapping[str, Layer | None],
        is_wanted: Callable[[Layer, Layer], bool],
        manifest: Manifest,
    ) -> None:
        self._survey, self._layers, self._is_wanted = survey, layers, is_wanted
        self._layer_of_name = owner_by_name(manifest.layers)
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
            # most files import none of these, and making Links of all imports would cost more than the check
            if all(self._file_between(target) is None for target in self._survey.ready.links[path][0::4]):
                continue
            for link in self._survey.ready.of(path):
                typed = self._ignores_types and link.method == TYPE_CHECKING_METHOD
                if self._between(link) is not None and not typed:
                    yield from self._from(link, source)

    def _between(self, link: Link) -> str | None:
        """The file in no layer that an import leads to; None where it leads into a layer."""
        return self._file_between(link.target.partition(":")[2])

    def _file_between(self, dotted: str) -> str | None:
        if dotted not in self._file:
            file = file_of(dotted, self._files)
            owned = file is None or self._layers[file] is not None or self._layer_of_name(plain_name(dotted))
            self._file[dotted] = None if owned else file
        return self._file[dotted]

    def _from(self, link: Link, source: Layer) -> Iterator[Link]:
        file = self._between(link)
        by_name = {layer.name: layer for layer in self._layers.values() if layer is not None}
        wanted = {name for name in self._reach(file or "") if self._is_wanted(source, by_name[name])}
        if not wanted:
            return  # cheap: names are looked at only where it matters
        nearest: dict[str, tuple[int, str, tuple[str, ...]]] = {}
        for step in self._taken(link, file or ""):
            for name, found in self._layers_of(step).items():
                nearest[name] = min(found, nearest.get(name, found))
        for name in sorted(nearest.keys() & wanted):
            _, target, places = nearest[name]
            method = THROUGH + " -> ".join(places)
            yield Link(link.source, "imports", f"namespace:{target}", link.path, link.line, method, link.confidence)

    def _reach(self, start: str) -> frozenset[str]:
        """The layers that a file in no layer reaches at all, whatever is taken from it."""
        if start not in self._reached:
            seen, todo, found = {start}, [start], set()
            while todo:
                for link in self._survey.ready.of(todo.pop()):
                    between = self._between(link)
                    if between is None:
                        layer = self._layer(link)
                        found |= {layer.name} if layer else set()
                    elif between not in seen:
                        seen.add(between)
                        todo.append(between)
            self._reached[start] = frozenset(found)
        return self._reached[start]

    def _layer(self, link: Link) -> Layer | None:
        dotted = link.target.partition(":")[2]
        file = file_of(dotted, self._files)
        return self._layer_of_name(plain_name(dotted)) or (self._layers[file] if file else None)

    def _taken(self, link: Link, file: str) -> set[_Step]:
        """What the statement behind an import takes from the file."""
        rows = [row for row in self._rows(link.path) if row[3] == link.line and row[4] == link.method]
        return {step for row in rows for step in self._steps(link.path, row) if step[0] == file}

    def _steps(self, path: str, row: Sequence[Any]) -> Iterator[_Step]:
        """The files in no layer that an import statement leads to, and what it takes from them."""
        for link in file_links(path, [row], self._survey.known()):
            between = self._between(link)
            if between is not None:
                name = plain_name(link.target.partition(":")[2]).rpartition(".")[2]
                whole = row[1] in ("", name)
                inside = path.startswith(between.removesuffix("__init__.py"))
                yield between, ("" if inside else "*") if whole else str(row[1])

    def _layers_of(self, start: _Step) -> dict[str, tuple[int, str, tuple[str, ...]]]:
        """Layer → (number of steps, module, places) of the nearest module of it that is reached, by breadth first."""
        if start in self._found:
            return self._found[start]
        found: dict[str, tuple[int, str, tuple[str, ...]]] = {}
        seen, todo = {start}, [(start, tuple[str, ...]())]
        while todo:
            following = []
            for (file, name), places in todo:
                for row in self._rows_behind(file, name):
                    more = (*places, f"{file}:{row[3]}")
                    for link in file_links(file, [row], self._survey.known()):
                        layer = self._layer(link) if self._between(link) is None else None
                        if layer is not None:
                            one = (len(more), link.target.partition(":")[2], more)
                            found[layer.name] = min(one, found.get(layer.name, one))
                    for step in self._steps(file, row):
                        if step not in seen:
                            seen.add(step)
                            following.append((step, more))
            todo = following
        self._found[start] = found
        return found

    def _rows_behind(self, file: str, name: str) -> Iterable[Sequence[Any]]:
        """The imports of a file that may be behind a name taken from it.

        A package by itself (`import shop` in a file of `shop`, or a name that `shop/__init__.py` defines) leads
        nowhere: that file runs with every import of the package anyway.
        """
        rows = [row for row in self._rows(file) if row[4] != TYPE_CHECKING_METHOD]
        binding = [row for row in rows if name in _bound(row)]
        if binding and name != "*":
            return binding
        if name == "*" or not file.endswith("__init__.py"):
            return rows
        if not name or name in self._defined(file):
            return []
        # the rest of a statement over several lines is not stored: a name given with `as` there is not known
        return [row for row in rows if row[1] == "*"] or rows

    def _defined(self, file: str) -> set[str]:
        text = self._survey.read([file]).get(file, b"")
        return {(one or other).decode() for one, other in _DEFINED.findall(text)}

    def _rows(self, path: str) -> Sequence[Sequence[Any]]:
        rows: Sequence[Sequence[Any]] = self._survey.facts.get(path, {}).get("imports", ())
        return rows


def _bound(row: Sequence[Any]) -> set[str]:
    """The names that an import may bind: the one given with `as`, and its own where it is written without."""
    imported, statement = re.escape(str(row[1] or row[0])), str(row[5]).partition("import")[2]
    renamed = set(re.findall(rf"\b{imported}\s+as\s+(\w+)", statement))
    plain = not renamed or re.search(rf"\b{imported}\b(?!\s+as\b)", statement)
    return renamed | ({str(row[1] or row[0].partition(".")[0])} if plain else set())
