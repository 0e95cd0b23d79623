"""Why a file, module or layer is judged as it is: its name, its layer, its imports across layers.

An explanation (`kl.arch.explain/1`) as lines for people. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from kl_hooks.arch.layer_check import is_excepted, is_expired
from kl_hooks.arch.layers import TYPE_CHECKING_METHOD, Edge, covers, edges, layer_lookup
from kl_hooks.arch.overview import CheckedWorktree, Overview, build_overview
from kl_hooks.code.modules import RULES, explain, imported_names, plain_name
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import Layer
from kl_hooks.model.text import one_line

SCHEMA: Final = "kl.arch.explain/1"


def explanation(seen: CheckedWorktree, what: str, paths: list[str]) -> dict[str, Any]:
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


def _file(seen: CheckedWorktree, path: str) -> dict[str, Any]:
    survey = seen.survey
    every = [entry.path for entry in survey.content.entries]
    mapped = explain(every, imported_names(survey.facts), path)
    assert mapped is not None, "what has a module is named by these rules"
    layer = layer_lookup(seen.manifest.layers)(path)
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


def _across(seen: CheckedWorktree) -> Iterator[tuple[Edge, dict[str, Any]]]:
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


def _decided(seen: CheckedWorktree, edge: Edge, accepted: bool) -> str:
    """`allowed`, `ignored …`, `excepted …`, `in the baseline` or `forbidden`."""
    if edge.allowed:
        return "allowed"
    if edge.link.method == TYPE_CHECKING_METHOD and seen.manifest.type_checking_imports == "ignore":
        return "ignored: for type checkers only"
    matching = [one for one in seen.manifest.exceptions if is_excepted(one, edge)]
    for one in matching:
        if not is_expired(one, seen.today):
            until = f" until {one.until}" if one.until else ""
            return f"excepted{until} ({seen.manifest.path}:{one.line})"
    ended = f": its exception ended on {matching[0].until}" if matching else ""
    return "in the baseline" if accepted else f"forbidden{ended}"


def _layer(seen: CheckedWorktree, layer: Layer) -> dict[str, Any]:
    whole: Overview = build_overview(
        seen.manifest, seen.survey.links_under(seen.manifest), seen.survey.modules, seen.verdict
    )
    layer_of = layer_lookup(seen.manifest.layers)
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


_MOST: Final = 40
"""Rows of one list; JSON has all."""


def explanation_lines(facts: Mapping[str, Any]) -> list[str]:
    """The lines to print."""
    return _layer_lines(facts) if facts["kind"] == "layer" else _file_lines(facts)


def _file_lines(facts: Mapping[str, Any]) -> list[str]:
    root = facts["root"] or "the top of the repository"
    lines = [one_line(facts["path"]), f"  module   {one_line(facts['module'])}", f"           {facts['because']}"]
    lines.append(f"           source root: {one_line(root)}")
    if facts["same_name"]:
        others = ", ".join(facts["same_name"][:3]) + (", ..." if len(facts["same_name"]) > 3 else "")
        lines.append(f"           other files of that name: {one_line(others)}")
    if facts["others"]:
        lines.append(f"           other files of this module name: {one_line(', '.join(facts['others']))}")
    if facts["problem"]:
        lines.append(f"  problem  {one_line(facts['problem'])}")
    if facts["layer"] is None:
        return [*lines, f"  layer    none: no path of {facts['line']} covers it, so nothing it imports is judged"]
    decision = f"  ({facts['decision']})" if facts["decision"] else ""
    lines.append(f"  layer    {facts['layer']}, by its path {facts['owned_by']}")
    for other in facts["also_covered_by"]:
        lines.append(f"           the shorter path {other['path']} of {other['layer']} covers it too, and gives way")
    lines.append(
        f"           may depend on: {', '.join(facts['may_depend_on']) or '(nothing)'}    {facts['line']}{decision}"
    )
    lines += _rows("imports from other layers", facts["imports"], "to", "imported")
    return lines + _rows("imported from other layers", facts["imported_by"], "from", "importer", places=True)


def _rows(title: str, rows: Sequence[Mapping[str, Any]], layer: str, module: str, places: bool = False) -> list[str]:
    """One import a line: where, which layer, which module, what is decided."""
    if not rows:
        return [f"  {title}: none"]
    shown = rows[:_MOST]
    where = [one_line(f"{row['path']}:{row['line']}") if places else f"line {row['line']}" for row in shown]
    columns = [where, [one_line(row[layer]) for row in shown], [one_line(row[module]) for row in shown]]
    widths = [max(map(len, column)) for column in columns]
    lines = [f"  {title}"]
    for row, cells in zip(shown, zip(*columns, strict=True), strict=True):
        how = "" if row["method"] == "import" else f"  ({row['method']})"
        padded = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append(f"    {padded}  {row['decided']}{how}")
    return lines + ([f"    ... and {len(rows) - _MOST} more: --format json"] if len(rows) > _MOST else [])


def _layer_lines(facts: Mapping[str, Any]) -> list[str]:
    decision = f"  ({facts['decision']})" if facts["decision"] else ""
    lines = [f"layer {facts['layer']}    {facts['line']}{decision}"]
    for one in facts["paths"]:
        lines.append(f"  path     {one_line(one['path'])}  {_count(one['files'], 'file')}")
    used = [f"{one['layer']} {one['imports']}" for one in facts["may_depend_on"] if one["imports"]]
    unused = [one["layer"] for one in facts["may_depend_on"] if not one["imports"]]
    if not used and not unused:
        lines.append("  may depend on: (nothing)")
    lines += [f"  may depend on, with imports: {', '.join(used)}"] if used else []
    lines += [f"  may depend on, unused: {', '.join(unused)}"] if unused else []
    by = [f"{one['layer']} {one['imports']}{'' if one['allowed'] else ' (not allowed)'}" for one in facts["used_by"]]
    lines.append(f"  used by: {', '.join(by) or '(no layer)'}")
    return lines + _rows("imports that the rule forbids", facts["broken"], "to", "imported", places=True)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
