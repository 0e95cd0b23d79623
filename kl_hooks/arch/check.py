"""Judges imports by a manifest. Pure: the same manifest, links and day give the same violations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from kl_hooks.arch.edges import Edge, edges
from kl_hooks.arch.levels import components
from kl_hooks.arch.paths import covers, owner
from kl_hooks.arch.wayout import Sight, Ways
from kl_hooks.model.manifest import Allowance, Layer, Manifest, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link

_PYTHON: Final = ("python", "py")
"""Values of `language` that name what is checked."""


def violations(
    manifest: Manifest,
    links: Iterable[Link],
    modules: Mapping[str, str],
    sight: Sight | None = None,
    today: str = "",
    closely: Collection[tuple[str, int]] | None = None,
    whole: Callable[[], Iterable[Link]] | None = None,
) -> list[Violation]:
    """The imports that the manifest forbids, in the order of file and line.

    `modules`: path → dotted name of every source file. `today`: `YYYY-MM-DD`, to know expired exceptions (empty: none
    is). An exception holds through its last day; an import under an expired one counts and its way out says so.
    `closely`: the places (path, line) whose way out is worth reading their files for; None: all.
    `whole`: gives all links between layers (with `indirect`, all), where `links` are only those that may be
    forbidden; ways out are found among them.
    """
    links = tuple(links)
    ways = Ways(manifest, sight.ready if sight else None, lambda: whole() if whole else links, modules)
    found = []
    for edge in edges(manifest, links, modules):
        if edge.allowed:
            continue
        matching = [one for one in manifest.exceptions if excuses(one, edge)]
        if any(not expired(one, today) for one in matching):
            continue
        close = sight if closely is None or (edge.link.path, edge.link.line) in closely else None
        way = _expired_way(manifest, matching[0]) if matching else ways.out(edge, close)
        found.append(_violation(manifest, edge, sight.statement(edge.link) if sight else "", way))
    if manifest.indirect == "forbid":
        from kl_hooks.arch.indirect import chains

        found = sorted(
            [*found, *chains(manifest, whole() if whole else links, modules)], key=lambda one: (one.path, one.line)
        )
    return _numbered(found)


def _numbered(found: Iterable[Violation]) -> list[Violation]:
    """Number the violations that share a fingerprint, in the order given."""
    seen: Counter[str] = Counter()
    numbered = []
    for one in found:
        seen[one.fingerprint] += 1
        numbered.append(replace(one, number=seen[one.fingerprint]))
    return numbered


def excuses(allowance: Allowance, edge: Edge) -> bool:
    """True where an exception names this import, by its exact modules or by their layers."""
    return allowance.source in (edge.importer, edge.source.name) and allowance.target in (
        edge.imported,
        edge.target.name,
    )


def expired(allowance: Allowance, today: str) -> bool:
    """True after the last day of an exception."""
    return bool(allowance.until and today) and allowance.until < today


def _expired_way(manifest: Manifest, allowance: Allowance) -> str:
    place = f"{manifest.path}:{allowance.line}"
    return f"the exception at {place} ended on {allowance.until}; fix the import, or renew it"


def _violation(manifest: Manifest, edge: Edge, statement: str, way: str) -> Violation:
    return Violation(
        path=edge.link.path,
        line=edge.link.line,
        importer=edge.importer,
        imported=edge.imported,
        source_layer=edge.source.name,
        target_layer=edge.target.name,
        statement=statement or f"import {edge.imported}",
        method=edge.link.method,
        rule=f"{manifest.path}:{edge.source.line}",
        decision=edge.source.decision,
        way_out=way,
        allowed=edge.source.may_depend_on,
    )


def unowned(manifest: Manifest, modules: Mapping[str, str]) -> list[Problem]:
    """For `exhaustive`: the files that belong to no layer."""
    layer_of = owner(manifest.layers)
    hint = f'Add its folder to a layer in {manifest.path}, or set "exhaustive" to false.'
    return [
        Problem(path, 1, 1, "belongs to no layer, and the manifest is exhaustive.", hint)
        for path in sorted(modules)
        if layer_of(path) is None
    ]


def warnings(manifest: Manifest, links: Iterable[Link], modules: Mapping[str, str], today: str = "") -> list[Problem]:
    """What in the manifest has no effect: layers without files, exceptions that no import needs."""
    found = []
    layer_of = owner(manifest.layers)
    owning = {layer.name for path in modules if (layer := layer_of(path))}
    for layer in manifest.layers:
        if (
            layer.name not in owning
            and not layer.namespaces
            and not any(covers(path, file) for path in layer.paths for file in modules)
        ):
            said = f'layer "{layer.name}" matches no file (paths: {", ".join(layer.paths)}).'
            found.append(Problem(manifest.path, 0, 0, said, _closest(layer, modules)))
    if manifest.language and manifest.language.lower() not in _PYTHON:
        said = f'language "{manifest.language}" is not supported: only Python files are checked.'
        found.append(Problem(manifest.path, manifest.language_line, 1, said, "Remove it, or write Python."))
    found += circles(manifest)
    crossing = [edge for edge in edges(manifest, links, modules) if not edge.allowed]
    for one in manifest.exceptions:
        if not any(excuses(one, edge) for edge in crossing):
            said = f"the exception from {one.source} to {one.target} fits no import."
            found.append(Problem(manifest.path, one.line, 1, said, "Take it out."))
    return found


def circles(manifest: Manifest) -> list[Problem]:
    """Layers that may depend on each other: allowed, and worth a word, because then there is no order to keep."""
    layers = {layer.name: layer for layer in manifest.layers}
    found = []
    for members in components(list(layers), {name: layer.may_depend_on for name, layer in layers.items()}):
        if len(members) > 1:
            names = sorted(members, key=list(layers).index)
            said = f"layers {', '.join(names[:-1])} and {names[-1]} may depend on each other."
            line = layers[names[0]].line
            found.append(Problem(manifest.path, line, 1, said, "Take one direction out, or make them one layer."))
    return found


def _closest(layer: Layer, modules: Mapping[str, str]) -> str:
    """The folder of the repository that is spelled most like the layer's first path."""
    import difflib

    folders = {path.rpartition("/")[0] + "/" for path in modules if "/" in path}
    close = difflib.get_close_matches(layer.paths[0], sorted(folders), n=1, cutoff=0.6)
    return f"Closest: {close[0]}." if close else ""
