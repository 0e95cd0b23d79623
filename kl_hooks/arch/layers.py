"""Which layer owns a file or a name, and the imports that cross from one layer to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from kl_hooks.code.modules import plain_name
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.manifest import Layer, Manifest
from kl_hooks.model.problem import Problems
from kl_hooks.model.symbol import Link, split_id

_WHOLE_REPOSITORY = "./"
"""The path that covers the whole repository."""


def covers(path: str, file: str) -> bool:
    """True if the path of a layer is this file or a folder above it."""
    return (
        path == _WHOLE_REPOSITORY
        or file == path
        or file.startswith(path if path.endswith("/") else path + "/")
    )


def namespace_lookup(layers: Iterable[Layer]) -> Callable[[str], Layer | None]:
    """A function from a dotted name to the layer whose `namespaces` cover it; the longest wins,
    None: no layer's.
    """
    by_name = {name: layer for layer in layers for name in layer.namespaces}

    def of(dotted: str) -> Layer | None:
        while dotted and dotted not in by_name:
            dotted = dotted.rpartition(".")[0]
        return by_name.get(dotted)

    if by_name:
        return of
    return lambda dotted: None


def layer_lookup(layers: Iterable[Layer]) -> Callable[[str], Layer | None]:
    """A function from a file to its layer. The longest path that covers the file wins; None: no
    layer's.
    """
    by_path: dict[str, Layer | None] = {
        path.rstrip("/"): layer for layer in layers for path in layer.paths
    }
    # the top always has an entry, so that the climb below ends there
    by_path[""] = by_path.pop(".", None)

    def of(file: str) -> Layer | None:
        passed = []
        place = file
        while place not in by_path:
            passed.append(place)
            place = place.rpartition("/")[0]
        for folder in passed[1:]:  # most files share theirs with others
            by_path[folder] = by_path[place]
        return by_path[place]

    return of


def unmatched_paths(manifest: Manifest, modules: Iterable[str]) -> list[tuple[Layer, str]]:
    """Each layer with a path of it that matches no Python file (`modules`: their paths)."""
    files = set(modules)
    folders = {path.rpartition("/")[0] for path in files}
    for folder in list(folders):
        while folder := folder.rpartition("/")[0]:
            if folder in folders:
                break
            folders.add(folder)
    return [
        (layer, path)
        for layer in manifest.layers
        for path in layer.paths
        if path != "./" and path.rstrip("/") not in folders and path not in files
    ]


TYPE_CHECKING_METHOD = "type-checking import"
THROUGH_METHOD: Final = "import through "
"""How the `method` of such an import begins; the import statements in between follow, as
`path:line`.
"""


class ManifestProblems(Problems):
    """The manifest can't be used: exit 2. `problems` has each with its place."""


class Edge(NamedTuple):
    """One import across a border between layers."""

    link: Link
    importer: str
    """Dotted name of the module that imports."""
    imported: str
    source: Layer
    target: Layer

    @property
    def allowed(self) -> bool:
        """True where the manifest's layers allow it."""
        return self.target.name in self.source.may_depend_on


class EdgeFinder:
    """The layers of files, ready to be asked about imports again and again."""

    def __init__(self, manifest: Manifest, modules: Mapping[str, str]) -> None:
        """`modules`: path → dotted name of every source file."""
        self._ignoring = manifest.type_checking_imports == "ignore"
        self._files = {dotted: path for path, dotted in modules.items()}
        self._layer_of, self._layer_of_name = (
            layer_lookup(manifest.layers),
            namespace_lookup(manifest.layers),
        )

    def edges(self, links: Iterable[Link]) -> Iterator[Edge]:
        """The imports between different layers, in the order of file and line; each (line, target)
        once.

        Omits imports for type checking where the manifest ignores them.
        """
        keys_seen = set()
        for link in sorted(links, key=lambda link: (link.path, link.line, link.target)):
            if link.relation != "imports":
                continue
            if link.method == TYPE_CHECKING_METHOD and self._ignoring:
                continue
            dotted = split_id(link.target)[1]
            file = file_of(dotted, self._files)
            source = self._layer_of(link.path)
            target = self._layer_of_name(plain_name(dotted)) or (
                self._layer_of(file) if file else None
            )
            key = (link.path, link.line, link.target)
            if source and target and source.name != target.name and key not in keys_seen:
                keys_seen.add(key)
                importer, imported = (
                    plain_name(split_id(end)[1]) for end in (link.source, link.target)
                )
                yield Edge(link, importer, imported, source, target)


def edges(manifest: Manifest, links: Iterable[Link], modules: Mapping[str, str]) -> Iterator[Edge]:
    """The imports between different layers (see `EdgeFinder.edges`), asked for once."""
    return EdgeFinder(manifest, modules).edges(links)


def file_of(dotted: str, files: Mapping[str, str]) -> str | None:
    """The file of a module; for a name that has none (a compiled module, a name inside) that of its
    package.
    """
    while dotted:
        if dotted in files:
            return files[dotted]
        dotted = dotted.rpartition(".")[0]
    return None


def is_through(method: str) -> bool:
    """True for the method of an import that was followed through files in no layer."""
    return method.startswith(THROUGH_METHOD)


def places_between(method: str) -> tuple[str, ...]:
    """The statements in files in no layer that such an import leads through, as `path:line`; none
    for another method.
    """
    if not is_through(method):
        return ()
    return tuple(method.removeprefix(THROUGH_METHOD).split(" -> "))


def first_file_between(method: str) -> str:
    """The file in no layer that such an import names itself."""
    return places_between(method)[0].rpartition(":")[0]
