"""One set of rules in the words of kl, of import-linter and of tach, and what each reports as
broken. Pure.

Every subpackage (`django.db`) is a layer of its own. A layer may import those that it is allowed
to, and no others; imports through third modules count for nobody, except where kl is set to follow
those through files in no layer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

Edges = set[tuple[str, str]]
"""(importing module, imported module)"""
Allowed = Mapping[str, Sequence[str]]
"""Layer → the layers that it may import."""
_EDGE: Final = re.compile(r"^\s*-?\s*([\w.]+) -> ([\w.]+) \(l\.", re.MULTILINE)


def layers(files: Iterable[str], packages: Sequence[str]) -> list[str]:
    """The subpackages of these packages, dotted, by name."""
    parts = (path.split("/") for path in files)
    return sorted(
        {
            ".".join(part[:2])
            for part in parts
            if part[0] in packages and part[2:] == ["__init__.py"]
        }
    )


def layer_of(module: str, names: Iterable[str]) -> str | None:
    """The layer that a module belongs to."""
    layer = ".".join(module.split(".")[:2])
    return layer if layer in set(names) else None


def allowed(edges: Edges, names: Sequence[str]) -> dict[str, list[str]]:
    """The rules that these imports keep: each layer may import what it does import."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for importer, imported in edges:
        source, target = layer_of(importer, names), layer_of(imported, names)
        if source and target and source != target:
            found[source].add(target)
    return {name: sorted(some) for name, some in found.items()}


def manifest(rules: Allowed, unassigned_imports: str = "ignore") -> str:
    """`.kl/architecture.yaml`; only with `ignore`, which is not kl's default, it means what the
    others' rules mean.
    """
    lines = ["version: 1", "layers:"]
    for name, some in rules.items():
        lines += [f"  - name: {name}", f"    paths: [{name.replace('.', '/')}/]"]
        lines.append(f"    may_depend_on: [{', '.join(some)}]")
    return "\n".join(
        [*lines, "type_checking_imports: enforce", f"unassigned_imports: {unassigned_imports}", ""]
    )


def importlinter(rules: Allowed, packages: Sequence[str]) -> str:
    """`.importlinter`: a contract for each layer, on direct imports."""
    lines = ["[importlinter]", "root_packages =", *(f"    {name}" for name in packages)]
    for number, (name, some) in enumerate(rules.items()):
        forbidden = [other for other in rules if other != name and other not in some]
        if forbidden:
            lines += [f"[importlinter:contract:{number}]", f"name = {name}", "type = forbidden"]
            lines += [
                "allow_indirect_imports = true",
                "source_modules =",
                f"    {name}",
                "forbidden_modules =",
            ]
            lines += [f"    {other}" for other in forbidden]
    return "\n".join([*lines, ""])


def tach(rules: Allowed) -> str:
    """`tach.toml`."""
    lines = [
        'source_roots = ["."]',
        'root_module = "ignore"',
        "ignore_type_checking_imports = false",
        "exclude = []",
    ]
    for name, some in rules.items():
        lines += ["[[modules]]", f'path = "{name}"', f"depends_on = {json.dumps(list(some))}"]
    return "\n".join([*lines, ""])


def broken_for_kl(text: str) -> Edges:
    """What `kl arch check --format json` reports as broken; imports by a text
    (`import_module("…")`) are omitted.

    No other tool here sees those.
    """
    found = json.loads(text)["violations"]
    return {
        (one["importer"], one["imported"]) for one in found if one["method"] != "dynamic import"
    }


def broken_for_importlinter(text: str) -> Edges:
    """What `lint-imports` reports as broken."""
    return set(_EDGE.findall(text))


def difference(ours: Edges, theirs: Edges) -> list[str]:
    """A line for each import that only one side calls broken."""
    only_ours = [f"only kl: {a} -> {b}" for a, b in sorted(ours - theirs)]
    return only_ours + [f"only import-linter: {a} -> {b}" for a, b in sorted(theirs - ours)]
