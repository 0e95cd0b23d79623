"""Proposes layers from today's imports, such that a first check by them is green. Pure.

Parts that import each other become one layer; each layer may depend on what it uses today and on nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kl_hooks.arch.edges import Edge, edges
from kl_hooks.arch.groups import Group, groups
from kl_hooks.arch.levels import components, levels
from kl_hooks.model.manifest import Layer, Manifest
from kl_hooks.model.symbol import Link

_MANY_LAYERS = 12


@dataclass(frozen=True, slots=True)
class Proposal:
    """Layers from the bottom up, with what is unsure about them."""

    layers: tuple[Layer, ...]
    doubts: Mapping[str, tuple[str, ...]]
    """Layer → sentences for the person who reviews it."""
    left_out: tuple[str, ...] = ()
    """Files that belong to no layer, with the reason."""


@dataclass
class _Part:
    """One layer in the making: groups that can't be told apart."""

    groups: list[Group]
    level: int = 0
    loose: bool = False
    """Put together for their level only."""

    @property
    def name(self) -> str:
        if len(self.groups) <= 3:
            return "-".join(sorted(group.name for group in self.groups))
        if self.loose:
            return f"level-{self.level}"
        first = min(self.groups, key=lambda group: (not group.folder, group.name.startswith("_"), group.name))
        return f"{first.name}-and-{len(self.groups) - 1}-more"


def propose(links: Iterable[Link], modules: Mapping[str, str]) -> Proposal:
    """Layers for the packages among `modules` (path → dotted name), from the imports in `links`."""
    links = list(links)
    made = groups(modules)
    found = _crossing(made, links, modules)
    loops = [loop for loop in _loops(made, found) if len(loop) > 1]
    roots = [group for group in made if group.root and any(group.name in loop for loop in loops)]
    if roots:
        # a package's own __init__ that everybody imports and that imports everybody would make one lump of it all
        made = [group for group in made if group not in roots]
        found = _crossing(made, links, modules)
    by_name = {group.name: group for group in made}
    parts = [_Part([by_name[name] for name in loop]) for loop in _loops(made, found)]
    _set_levels(parts, found)
    if len(parts) > _MANY_LAYERS:
        parts = _merge_loose(parts)
    left_out = tuple(f"{group.paths[0]}: it imports parts of the package that import it" for group in roots)
    return _finish(sorted(parts, key=lambda part: (part.level, part.name)), found, left_out)


def _crossing(made: Sequence[Group], links: Iterable[Link], modules: Mapping[str, str]) -> list[Edge]:
    """The imports between groups, seen exactly as a check will see them."""
    stub = tuple(Layer(group.name, group.paths, (), 0) for group in made)
    return list(edges(Manifest("", stub), links, modules))


def _uses(found: Iterable[Edge]) -> dict[str, list[str]]:
    uses: dict[str, set[str]] = defaultdict(set)
    for edge in found:
        uses[edge.source.name].add(edge.target.name)
    return {name: sorted(targets) for name, targets in uses.items()}


def _loops(made: Sequence[Group], found: Iterable[Edge]) -> list[list[str]]:
    return components([group.name for group in made], _uses(found))


def _part_of(parts: Iterable[_Part]) -> dict[str, int]:
    """Group's name → number of its part."""
    return {group.name: number for number, part in enumerate(parts) for group in part.groups}


def _part_uses(parts: Sequence[_Part], found: Iterable[Edge]) -> dict[int, list[int]]:
    place = _part_of(parts)
    uses: dict[int, set[int]] = defaultdict(set)
    for edge in found:
        source, target = place[edge.source.name], place[edge.target.name]
        if source != target:
            uses[source].add(target)
    return {source: sorted(targets) for source, targets in uses.items()}


def _set_levels(parts: Sequence[_Part], found: Iterable[Edge]) -> None:
    for number, level in levels(range(len(parts)), _part_uses(parts, found)).items():
        parts[number].level = level


def _merge_loose(parts: Iterable[_Part]) -> list[_Part]:
    """Joins the loose modules of one package and level: nothing on one level imports anything else on it."""
    kept: list[_Part] = []
    loose: dict[tuple[str, int], _Part] = {}
    for part in parts:
        if any(group.folder for group in part.groups):
            kept.append(part)
            continue
        joined = loose.setdefault((part.groups[0].package, part.level), _Part([], part.level, True))
        joined.groups.extend(part.groups)
    return [*kept, *loose.values()]


def _finish(parts: Sequence[_Part], found: Sequence[Edge], left_out: tuple[str, ...]) -> Proposal:
    uses = _part_uses(parts, found)
    names: list[str] = []
    for part in parts:
        name, number = part.name, 2
        while name in names:
            name, number = f"{part.name}-{number}", number + 1
        names.append(name)
    layers, doubts = [], {}
    for place, part in enumerate(parts):
        paths = tuple(sorted(path for group in part.groups for path in group.paths))
        layers.append(Layer(names[place], paths, tuple(names[target] for target in uses.get(place, ())), 0))
        said = _doubts(part, found)
        if said:
            doubts[names[place]] = said
    return Proposal(tuple(layers), doubts, left_out)


def _doubts(part: _Part, found: Iterable[Edge]) -> tuple[str, ...]:
    """Why these groups are one layer, with an import for each direction that could be mended."""
    if len(part.groups) == 1:
        return ()
    members = {group.name for group in part.groups}
    first: dict[tuple[str, str], Edge] = {}
    for edge in found:
        if edge.source.name in members and edge.target.name in members:
            first.setdefault((edge.source.name, edge.target.name), edge)
    if not first:
        return ("loose modules on one level; put together only to keep the list short",)
    said = ["these import each other, so they are one layer until that is mended:"]
    for (source, target), edge in sorted(first.items())[:6]:
        said.append(f"  {source} -> {target}: {edge.link.path}:{edge.link.line} imports {edge.imported}")
    if len(first) > 6:
        said.append(f"  and {len(first) - 6} more")
    return tuple(said)
