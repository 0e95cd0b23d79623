"""A memory against the manifest: it tells a file of one layer to import what that layer may not. Pure.

Only a whole import statement in the memory counts, and only for the files that the memory is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kl_hooks.model.ids import split
from kl_hooks.model.manifest import Layer, Manifest
from kl_hooks.model.record import Record
from kl_hooks.upkeep.judge import Against, against

_IMPORT: Final = re.compile(r"(?:^|[`\s])(?:from\s+([A-Za-z_][\w.]*)\s+import\b|import\s+([A-Za-z_][\w.]*\.[\w.]+))")


def imported(text: str) -> list[str]:
    """The modules that import statements in a text name."""
    return list(dict.fromkeys(one or other for one, other in _IMPORT.findall(text)))


def layer_of(manifest: Manifest, path: str) -> Layer | None:
    """The layer that owns a path; the longest match wins."""
    owned = [(len(p), layer) for layer in manifest.layers for p in layer.paths if path == p or path.startswith(p)]
    return max(owned, key=lambda one: one[0])[1] if owned else None


def layer_of_module(manifest: Manifest, module: str) -> Layer | None:
    """The layer whose folder bears the module's name, or that of a package it is in."""
    parts = module.split(".")
    for size in range(len(parts), 0, -1):
        tail = "/".join(parts[:size])
        for layer in manifest.layers:
            if any(f"/{p.rstrip('/').removesuffix('.py')}".endswith(f"/{tail}") for p in layer.paths):
                return layer
    return None


def forbidden(
    memories: Iterable[Record], named: Mapping[str, Sequence[str]], manifest: Manifest | None
) -> Iterator[Against]:
    """The memories that ask for an import which the manifest forbids. `named`: id → Ids that it is about."""
    for one in memories if manifest else ():
        for path in (split(name)[1] for name in named.get(one.id, ()) if name.startswith("file:")):
            for module in imported("\n".join((one.title, one.text("pattern"), one.body))):
                yield from _judged(one, path, module, manifest)


def _judged(one: Record, path: str, module: str, manifest: Manifest | None) -> Iterator[Against]:
    if manifest is None:
        return
    source, target = layer_of(manifest, path), layer_of_module(manifest, module)
    if source and target and source != target and target.name not in source.may_depend_on:
        rule = f"{manifest.path}:{source.line}"
        yield against(one, "contradicted", f"{rule}: {path} ({source.name}) may not import {module} ({target.name})")
