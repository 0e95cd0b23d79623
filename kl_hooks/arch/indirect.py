"""Layers that reach a forbidden layer through a chain of imports, each of them allowed by itself. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kl_hooks.arch.edges import TYPE_CHECKING_METHOD, edges
from kl_hooks.arch.paths import owner
from kl_hooks.code.modules import plain_name
from kl_hooks.model.ids import split
from kl_hooks.model.manifest import Layer, Manifest, Violation
from kl_hooks.model.symbol import Link

INDIRECT: Final = "indirect import"
"""The `method` of such a violation."""
_Step = tuple[str, Link]
"""(file that is imported, the import)"""


def chains(manifest: Manifest, links: Iterable[Link], modules: Mapping[str, str]) -> list[Violation]:
    """The shortest chain for every pair of layers whose first may not depend on the second but reaches it.

    `modules`: path → dotted name of every source file. A chain has two imports or more, and none of them is forbidden
    itself: those are violations of their own, or excepted, and then no chain goes through them. Modules of no layer
    may stand in it. Of chains that are equally short the first by the order of files is reported.
    """
    links = tuple(links)
    steps = _steps(manifest, links, modules)
    layer_of = owner(manifest.layers)
    layers = {path: layer for path in modules if (layer := layer_of(path)) is not None}
    found = []
    for source in manifest.layers:
        starts = sorted(path for path, layer in layers.items() if layer.name == source.name)
        for target, chain in _reached(starts, steps, layers, source).items():
            found.append(_violation(manifest, source, target, chain, modules))
    return sorted(found, key=lambda one: (one.path, one.line, one.target_layer))


def _steps(manifest: Manifest, links: Sequence[Link], modules: Mapping[str, str]) -> dict[str, list[_Step]]:
    """File → the files that it imports, without the imports that are forbidden; the first line of each."""
    forbidden = {edge.link for edge in edges(manifest, links, modules) if not edge.allowed}
    files = {dotted: path for path, dotted in modules.items()}
    first: dict[tuple[str, str], Link] = {}
    for link in sorted(links, key=lambda link: (link.path, link.line, link.target)):
        ignored = link.method == TYPE_CHECKING_METHOD and manifest.type_checking_imports == "ignore"
        file = files.get(split(link.target)[1]) if link.relation == "imports" else None
        if file and file != link.path and not ignored and link not in forbidden:
            first.setdefault((link.path, file), link)
    steps: dict[str, list[_Step]] = {}
    for (path, file), link in sorted(first.items(), key=lambda item: item[0]):
        steps.setdefault(path, []).append((file, link))
    return steps


def _reached(
    starts: Sequence[str], steps: Mapping[str, list[_Step]], layers: Mapping[str, Layer], source: Layer
) -> dict[str, list[Link]]:
    """Forbidden layer → the shortest chain from any of the files to it, by breadth first."""
    came: dict[str, Link | None] = dict.fromkeys(starts)
    waiting = deque(starts)
    found: dict[str, list[Link]] = {}
    while waiting:
        path = waiting.popleft()
        for file, link in steps.get(path, ()):
            if file in came:
                continue
            came[file] = link
            waiting.append(file)
            layer = layers.get(file)
            if layer and layer.name not in (source.name, *source.may_depend_on, *found):
                found[layer.name] = _back(link, came)
    return found


def _back(link: Link, came: Mapping[str, Link | None]) -> list[Link]:
    chain = [link]
    while (before := came[chain[-1].path]) is not None:
        chain.append(before)
    return chain[::-1]


def _violation(
    manifest: Manifest, source: Layer, target: str, chain: Sequence[Link], modules: Mapping[str, str]
) -> Violation:
    names = [plain_name(modules[chain[0].path]), *(plain_name(split(link.target)[1]) for link in chain)]
    told = [f"{name} ({link.path}:{link.line})" for name, link in zip(names, chain, strict=False)]
    return Violation(
        path=chain[0].path,
        line=chain[0].line,
        importer=names[0],
        imported=names[-1],
        source_layer=source.name,
        target_layer=target,
        statement=" -> ".join(names),
        method=INDIRECT,
        rule=f"{manifest.path}:{source.line}",
        decision=source.decision,
        way_out=f"take out one import of this chain: {' -> '.join([*told, names[-1]])}",
        allowed=source.may_depend_on,
    )
