"""How a file, module or layer came to be judged as it is: its name, its layer, its imports across layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from kl_hooks.arch.check import excuses, expired
from kl_hooks.arch.edges import TYPE_CHECKING_METHOD, Edge, edges
from kl_hooks.arch.looking.overview import Overview, Seen, overview
from kl_hooks.arch.paths import covers, owner
from kl_hooks.code.modules import RULES, explain, imported_names, plain_name
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import Layer

SCHEMA: Final = "kl.arch.explain/1"


def explained(seen: Seen, what: str, paths: list[str]) -> dict[str, Any]:
    """The explanation of a layer, module or file as plain data (`kl.arch.explain/1`).

    `paths`: how `what` may be read as a path from the repository's root. UsageProblem where it is none of these.
    """
    modules = seen.survey.modules
    layer = next((one for one in seen.manifest.layers if one.name == what), None)
    named = [path for path, module in modules.items() if what in (module, plain_name(module))]
    inits = [f"{path.rstrip('/')}/__init__.py" for path in paths if path]
    files = [path for path in (*paths, *inits) if path in modules] or ([] if layer else sorted(named))
    if files:
        return {"schema": SCHEMA, "kind": "file", **_file(seen, files[0]), "others": files[1:] if named else []}
    if layer is not None:
        return {"schema": SCHEMA, "kind": "layer", **_layer(seen, layer)}
    top = seen.survey.content.repo.top
    if any(path.rstrip("/") and not path.endswith(".py") and (top / path).is_file() for path in paths):
        hint = "Files that kl reads are called *.py."
        raise UsageProblem(f'"{what}" is there, but not judged.', place="kl arch explain", hint=hint)
    known = [*(one.name for one in seen.manifest.layers), *map(plain_name, modules.values()), *modules]
    near = get_close_matches(what, known, 1) or get_close_matches(paths[0] if paths else what, known, 1)
    hint = f'Did you mean "{near[0]}"?' if near else "Give a Python file, a module or a layer. See: kl arch show"
    raise UsageProblem(f'no such file, module or layer: "{what}".', place="kl arch explain", hint=hint)


def _file(seen: Seen, path: str) -> dict[str, Any]:
    survey = seen.survey
    every = [entry.path for entry in survey.content.entries]
    mapped = explain(every, imported_names(survey.facts), path)
    assert mapped is not None, "what has a module is named by these rules"
    layer = owner(seen.manifest.layers)(path)
    covering = sorted(
        ((own, one) for one in seen.manifest.layers for own in one.paths if covers(own, path)),
        key=lambda pair: -len(pair[0].rstrip("/")) if pair[0] != "./" else 0,
    )
    across = list(_across(seen))
    return {
        "path": path,
        "module": mapped.module,
        "root": mapped.root,
        "rule": mapped.rule,
        "because": RULES[mapped.rule],
        "same_name": list(mapped.same),
        "layer": layer.name if layer else None,
        "owned_by": covering[0][0] if covering else None,
        "also_covered_by": [{"layer": one.name, "path": own} for own, one in covering[1:]],
        "may_depend_on": list(layer.may_depend_on) if layer else [],
        "line": f"{seen.manifest.path}:{layer.line}" if layer else seen.manifest.path,
        "decision": layer.decision if layer else "",
        "problem": next((str(one) for one in survey.unread if one.path == path), ""),
        "imports": [row for edge, row in across if edge.link.path == path],
        "imported_by": [row for edge, row in across if edge.imported == plain_name(mapped.module)],
    }


def _across(seen: Seen) -> Iterator[tuple[Edge, dict[str, Any]]]:
    """Every import across layers with what is decided about it; those for type checkers only as well."""
    everything = replace(seen.manifest, type_checking_imports="enforce")
    accepted = {(one.path, one.line, one.imported) for one in seen.verdict.accepted}
    for edge in edges(everything, seen.survey.links_under(everything), seen.survey.modules):
        yield (
            edge,
            {
                "path": edge.link.path,
                "line": edge.link.line,
                "importer": edge.importer,
                "imported": edge.imported,
                "from": edge.source.name,
                "to": edge.target.name,
                "method": edge.link.method,
                "decided": _decided(seen, edge, (edge.link.path, edge.link.line, edge.imported) in accepted),
            },
        )


def _decided(seen: Seen, edge: Edge, accepted: bool) -> str:
    """`allowed`, `ignored …`, `excepted …`, `in the baseline` or `forbidden`."""
    if edge.allowed:
        return "allowed"
    if edge.link.method == TYPE_CHECKING_METHOD and seen.manifest.type_checking_imports == "ignore":
        return "ignored: for type checkers only"
    matching = [one for one in seen.manifest.exceptions if excuses(one, edge)]
    for one in matching:
        if not expired(one, seen.today):
            until = f" until {one.until}" if one.until else ""
            return f"excepted{until} ({seen.manifest.path}:{one.line})"
    ended = f": its exception ended on {matching[0].until}" if matching else ""
    return "in the baseline" if accepted else f"forbidden{ended}"


def _layer(seen: Seen, layer: Layer) -> dict[str, Any]:
    whole: Overview = overview(seen.manifest, seen.survey.links_under(seen.manifest), seen.survey.modules, seen.verdict)
    layer_of = owner(seen.manifest.layers)
    counts = _counts(seen.survey.modules, layer, layer_of)
    imports = {(one.source, one.target): one.imports for one in whole.arrows}
    return {
        "layer": layer.name,
        "paths": [{"path": path, "files": count} for path, count in counts.items()],
        "files": sum(counts.values()),
        "line": f"{seen.manifest.path}:{layer.line}",
        "decision": layer.decision,
        "may_depend_on": [{"layer": to, "imports": imports.get((layer.name, to), 0)} for to in layer.may_depend_on],
        "used_by": [
            {"layer": one.source, "imports": one.imports, "allowed": one.allowed}
            for one in whole.arrows
            if one.target == layer.name and one.imports
        ],
        "broken": [row for edge, row in _across(seen) if edge.source.name == layer.name and _counts_as_broken(row)],
    }


def _counts_as_broken(row: Mapping[str, Any]) -> bool:
    return not str(row["decided"]).startswith(("allowed", "ignored"))


def _counts(modules: Mapping[str, str], layer: Layer, layer_of: Any) -> dict[str, int]:
    """Path of the layer → files that it owns through this path (the longest that covers them)."""
    found = dict.fromkeys(layer.paths, 0)
    for file in modules:
        if layer_of(file) is layer:
            path = max(
                (own for own in layer.paths if covers(own, file)), key=lambda own: len(own) if own != "./" else 0
            )
            found[path] += 1
    return found
