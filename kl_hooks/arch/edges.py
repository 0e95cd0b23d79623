"""The imports that matter to a manifest: from a file of one layer to a file of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kl_hooks.arch.paths import owner, owner_by_name
from kl_hooks.code.modules import plain_name
from kl_hooks.model.ids import split
from kl_hooks.model.manifest import Layer, Manifest
from kl_hooks.model.symbol import Link

TYPE_CHECKING_METHOD = "type-checking import"


@dataclass(frozen=True, slots=True)
class Edge:
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


class Borders:
    """The layers of files, ready to be asked about imports again and again."""

    def __init__(self, manifest: Manifest, modules: Mapping[str, str]) -> None:
        """`modules`: path → dotted name of every source file."""
        self._ignoring = manifest.type_checking_imports == "ignore"
        self._files = {dotted: path for path, dotted in modules.items()}
        self._layer_of, self._layer_of_name = owner(manifest.layers), owner_by_name(manifest.layers)

    def edges(self, links: Iterable[Link]) -> Iterator[Edge]:
        """The imports between different layers, in the order of file and line; each (line, target) once.

        Imports for type checking only are left out where the manifest ignores them.
        """
        seen = set()
        for link in sorted(links, key=lambda link: (link.path, link.line, link.target)):
            if link.relation != "imports":
                continue
            if link.method == TYPE_CHECKING_METHOD and self._ignoring:
                continue
            dotted = split(link.target)[1]
            file = file_of(dotted, self._files)
            source = self._layer_of(link.path)
            target = self._layer_of_name(plain_name(dotted)) or (self._layer_of(file) if file else None)
            key = (link.path, link.line, link.target)
            if source and target and source.name != target.name and key not in seen:
                seen.add(key)
                importer, imported = (plain_name(split(end)[1]) for end in (link.source, link.target))
                yield Edge(link, importer, imported, source, target)


def edges(manifest: Manifest, links: Iterable[Link], modules: Mapping[str, str]) -> Iterator[Edge]:
    """The imports between different layers (see `Borders.edges`), asked for once."""
    return Borders(manifest, modules).edges(links)


def file_of(dotted: str, files: Mapping[str, str]) -> str | None:
    """The file of a module; for a name that has none (a compiled module, a name inside) that of its package."""
    while dotted:
        if dotted in files:
            return files[dotted]
        dotted = dotted.rpartition(".")[0]
    return None
