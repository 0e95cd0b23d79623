"""A way out of a violation, found in the code where there is one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from kl_hooks.arch.circular import Circles
from kl_hooks.arch.edges import TYPE_CHECKING_METHOD, Borders, Edge
from kl_hooks.arch.paths import owner
from kl_hooks.arch.unassigned import THROUGH, is_through
from kl_hooks.code.modules import plain_name
from kl_hooks.model.ids import split
from kl_hooks.model.manifest import Manifest
from kl_hooks.model.symbol import Link

if TYPE_CHECKING:
    from kl_hooks.arch.ready import Ready

_MOST_ASKED: Final = 50
"""Violations for which sources are read: whoever has more starts with the first ones."""
_MOST_LOOKS: Final = 8
"""Modules, or groups of them, that are asked for one by one before all imports are put in order once."""


class Sight(Protocol):
    """What the source itself says about an import; asked for violations only."""

    @property
    def ready(self) -> Ready | None:
        """Who imports whom; None where only the imports given are known."""
        ...

    def statement(self, link: Link) -> str:
        """The import as it stands there, on one line; empty where it is not known."""
        ...

    def kind(self, link: Link) -> str:
        """What the file needs it for: `unused`, `annotations`, or `kept`."""
        ...

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """The contents of files, to find a way out in."""
        ...


class Ways:
    """Knows today's imports between layers, and so who gets the same thing legally."""

    def __init__(
        self,
        manifest: Manifest,
        ready: Ready | None,
        crossing: Callable[[], Iterable[Link]],
        modules: Mapping[str, str],
    ) -> None:
        """`ready`: who imports whom, to be asked about a few modules; `crossing`: gives all imports between layers.

        Both are looked at only where a way out is looked for.
        """
        self._manifest, self._ready, self._modules, self._crossing = manifest, ready, modules, crossing
        self._asked = self._looks = 0
        self._legal: dict[str, list[Edge]] = {}
        self._circles = Circles(ready, crossing, modules)

    @cached_property
    def _borders(self) -> Borders:
        return Borders(self._manifest, self._modules)

    @cached_property
    def _importing(self) -> Mapping[str, list[Link]]:
        """Imported module → the imports of it."""
        found: dict[str, list[Link]] = defaultdict(list)
        for link in self._crossing():
            found[plain_name(split(link.target)[1])].append(link)
        return found

    def _into(self, names: Collection[str]) -> Iterable[Link]:
        self._looks += 1
        if self._ready and self._looks <= _MOST_LOOKS:
            return self._ready.into(names)
        return (link for name in names for link in self._importing.get(name, ()))

    def _allowed(self, names: Iterable[str]) -> Mapping[str, Sequence[Edge]]:
        """Imported module → the allowed imports of it, for these modules at least."""
        missing = frozenset(names) - self._legal.keys()
        self._legal.update((name, []) for name in missing)
        for edge in self._borders.edges(self._into(missing)) if missing else ():
            if edge.allowed:
                self._legal[edge.imported].append(edge)
        return self._legal

    def out(self, edge: Edge, sight: Sight | None = None) -> str:
        """One sentence without a full stop: what to do instead of this import."""
        if edge.link.method == TYPE_CHECKING_METHOD:
            need = f"describe what {edge.source.name} needs as a Protocol of its own"
            return f"only a type checker needs this import: {need}, or set type_checking_imports: ignore"
        if is_through(edge.link.method):
            between = edge.link.method.removeprefix(THROUGH)
            return f"it leads through {between}, in no layer: give that file a layer, or drop one of the imports"
        sight = sight if self._asked < _MOST_ASKED else None
        self._asked += sight is not None
        kind = sight.kind(edge.link) if sight else ""
        if kind == "unused":
            return "nothing uses it here: drop it, as kl arch fix does where that is safe"
        if kind == "annotations" and self._manifest.type_checking_imports == "ignore":
            move = "move it under `if TYPE_CHECKING:`, as kl arch fix does where that is safe"
            return f"only annotations use it here: {move}"
        return self._bridge(edge) or self._pass_in(edge, sight) or self._move(edge)

    def _pass_in(self, edge: Edge, sight: Sight | None) -> str:
        if sight is None:
            return ""
        from kl_hooks.arch.pass_in import pass_in

        return pass_in(edge, lambda: self._files[edge.source.name], sight.read)

    @cached_property
    def _files(self) -> Mapping[str, list[str]]:
        """Layer → its files."""
        layer_of = owner(self._manifest.layers)
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._modules):
            layer = layer_of(path)
            if layer is not None:
                found[layer.name].append(path)
        return found

    def _bridge(self, edge: Edge) -> str:
        """Through a module that may import it and that the source layer may import; one in use already comes first."""
        if self._manifest.indirect == "forbid":
            return ""  # it would be the middle of a chain that is forbidden
        others = [
            other
            for other in self._allowed([edge.imported])[edge.imported]
            if other.source.name in edge.source.may_depend_on and _offers(other)
        ]
        uses = self._allowed({other.importer for other in others})
        found = []
        for other in others:
            users = [use for use in uses[other.importer] if use.source.name == edge.source.name]
            found.append((not users, other.importer, other, users))
        for _, _, other, users in sorted(found, key=lambda row: row[:2]):
            if not self._circles.closes(other.link.path, edge.link.path):
                way = f"get it through {other.importer} ({other.source.name}), which may import {edge.imported}"
                return way + (f" and which {users[0].link.path}:{users[0].link.line} uses already" if users else "")
        return ""

    def _move(self, edge: Edge) -> str:
        lower = [layer.name for layer in self._manifest.layers if layer.name in edge.source.may_depend_on]
        into = " or ".join([edge.source.name, *lower[:1]])
        return f"pass it in as an argument, or move what is needed of {edge.imported} into {into}"


def _offers(edge: Edge) -> bool:
    """True if others can take what is imported from the module that imports it: it has it as soon as it is there."""
    return edge.link.method in ("import", "star import") and edge.importer.rpartition(".")[2] != "__main__"
