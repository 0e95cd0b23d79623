"""Our import Links held against the edges that grimp sees, and what grimp can't see counted.

grimp reads packages on disk, so the files are written into a folder of their own, each where its module's name says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kl_hooks.code.imports import import_links
from kl_hooks.code.modules import plain_name
from kl_hooks.model.symbol import Link

SHARED: Final = "file that shares its module's name with another"
OUTSIDE: Final = "module that grimp does not look at (a script, or below a folder without __init__.py in a package)"
DYNAMIC: Final = "dynamic import with a literal name"
NEAREST: Final = "import of a name that no file has (generated or compiled), which we lead to the nearest module"
SELF: Final = "import of a module by itself, which is no link"
AMBIGUOUS: Final = "import of a name that several files have, of which we take the nearest"
NAMESPACE: Final = "import of a folder without __init__.py, which is no module"

Edge = tuple[str, str]


def export(folder: Path, contents: Iterable[tuple[str, bytes]], modules: Mapping[str, str]) -> dict[str, str]:
    """Writes each file where its module's name says; the packages, name → folder. Files of one name stay out.

    The folder is ours and new. A module that stands alone, in no folder, is no package and can't be given to grimp.
    """
    for path, content in contents:
        parts = modules[path].split(".")
        if "@" in modules[path] or not all(_usable(part) for part in parts):
            continue
        if path.endswith("__init__.py") and parts[-1] != "__init__":
            parts.append("__init__")
        target = folder.joinpath(*parts[:-1], f"{parts[-1]}.py")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return {one.name: str(one) for one in sorted(folder.iterdir()) if one.is_dir()}


def compare(
    facts: Mapping[str, Mapping[str, Any]],
    modules: Mapping[str, str],
    seen: set[str],
    theirs: Mapping[Edge, Sequence[int]],
) -> tuple[int, list[list[Any]], dict[str, int]]:
    """(imports compared, [[path, line, what, ours, theirs], …], what was not compared → how often).

    `seen`: the modules that grimp knows; `theirs`: (importer, imported) → lines.
    """
    inside = set(modules.values())
    links = import_links(facts, modules)
    ours, unseen = _ours(links, inside, seen, theirs)
    ambiguous = {(link.source.removeprefix("namespace:"), link.line) for link in links if "@" in link.target}
    odd = {edge: why for edge in theirs if (why := _odd(edge, inside))}
    for edge in odd.keys() - ours.keys():
        unseen[odd[edge]] += len(theirs[edge])
    theirs = {edge: lines for edge, lines in theirs.items() if edge not in odd or edge in ours}
    path_of = {module: path for path, module in modules.items()}
    differences = []
    for edge in ours.keys() | theirs.keys():
        for line in ours.get(edge, set()) ^ set(theirs.get(edge, ())):
            if (edge[0], line) in ambiguous:
                unseen[AMBIGUOUS] += 1
                continue
            by_us = line in ours.get(edge, ())
            sides = ("imported", "not there") if by_us else ("not there", "imported")
            differences.append([path_of.get(edge[0], edge[0]), line, f"import {edge[0]} -> {edge[1]}", *sides])
    unseen[SHARED] = sum("@" in module for module in modules.values())
    unseen[OUTSIDE] = len({module for module in modules.values() if "@" not in module} - seen)
    return sum(map(len, ours.values())), sorted(differences), {what: n for what, n in unseen.items() if n}


def _odd(edge: Edge, inside: set[str]) -> str:
    """Why an edge of grimp's is none of ours, or empty."""
    if edge[0] == edge[1]:
        return SELF
    return "" if edge[1] in inside else NAMESPACE


def _ours(
    links: Iterable[Link], inside: set[str], seen: set[str], theirs: Mapping[Edge, Sequence[int]]
) -> tuple[dict[Edge, set[int]], Counter[str]]:
    """Our imports between modules that grimp knows, and what of ours it can't know."""
    found: dict[Edge, set[int]] = {}
    unseen: Counter[str] = Counter()
    for link in links:
        source, target = (name.removeprefix("namespace:") for name in (link.source, link.target))
        if plain_name(target) not in seen or source not in seen:
            continue
        if link.method == "dynamic import":
            unseen[DYNAMIC] += 1
        elif link.confidence < 100 and target in inside and link.line not in theirs.get((source, target), ()):
            unseen[NEAREST] += 1
        else:
            found.setdefault((source, target), set()).add(link.line)
    return found, unseen


def _usable(part: str) -> bool:
    return bool(part) and "/" not in part and "\0" not in part and part not in (".", "..") and len(part) < 200
