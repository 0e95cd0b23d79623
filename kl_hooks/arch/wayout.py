"""A way out of a violation, found in the code where there is one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kl_hooks.arch.edges import TYPE_CHECKING_METHOD, Edge
from kl_hooks.model.manifest import Manifest


class Ways:
    """Knows today's imports between layers, and so who gets the same thing legally."""

    def __init__(self, manifest: Manifest, crossing: Iterable[Edge]) -> None:
        self._manifest = manifest
        self._legal: dict[str, list[Edge]] = defaultdict(list)
        """Imported module → the allowed imports of it."""
        for edge in crossing:
            if edge.allowed:
                self._legal[edge.imported].append(edge)

    def out(self, edge: Edge, annotation_only: bool = False) -> str:
        """One sentence without a full stop: what to do instead of this import."""
        if edge.link.method == TYPE_CHECKING_METHOD:
            need = f"describe what {edge.source.name} needs as a Protocol of its own"
            return f"only a type checker needs this import: {need}, or set type_checking_imports: ignore"
        if annotation_only and self._manifest.type_checking_imports == "ignore":
            return "only annotations use it here: move it under `if TYPE_CHECKING:`, with annotations from __future__"
        return self._bridge(edge) or self._move(edge)

    def _bridge(self, edge: Edge) -> str:
        """Through a module that may import it and that the source layer may import; one in use already comes first."""
        found = []
        for other in self._legal[edge.imported]:
            if other.source.name in edge.source.may_depend_on:
                users = [use for use in self._legal[other.importer] if use.source.name == edge.source.name]
                found.append((not users, other.importer, other, users))
        if not found:
            return ""
        _, _, other, users = min(found, key=lambda row: row[:2])
        way = f"get it through {other.importer} ({other.source.name}), which may import {edge.imported}"
        return way + (f" and which {users[0].link.path}:{users[0].link.line} uses already" if users else "")

    def _move(self, edge: Edge) -> str:
        lower = [layer.name for layer in self._manifest.layers if layer.name in edge.source.may_depend_on]
        into = " or ".join([edge.source.name, *lower[:1]])
        return f"pass it in as an argument, or move what is needed of {edge.imported} into {into}"
