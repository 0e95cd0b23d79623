"""`kl graph build --precise`: both scanners over the working tree, and every difference between
them.

Imports are also compared with the edges that grimp sees, and what grimp can't see is counted. grimp
reads packages on disk, so the files are written into a folder of their own, each where its module's
name puts it.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.file_facts import facts_of, modules_of
from kl_hooks.code.languages import scanners_of
from kl_hooks.code.modules import import_links, plain_name
from kl_hooks.code.precise.process import assess_files, grimp_edges
from kl_hooks.code.query.session import repository_of
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import FilePath, Link

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


SHARED: Final = "file that shares its module's name with another"
OUTSIDE: Final = (
    "module that grimp does not look at (a script, or below a folder without __init__.py in a"
    " package)"
)
DYNAMIC: Final = "dynamic import with a literal name"
NEAREST: Final = (
    "import of a name that no file has (generated or compiled), which we lead to the nearest module"
)
_SELF: Final = "import of a module by itself, which is no link"
_AMBIGUOUS: Final = "import of a name that several files have, of which we take the nearest"
NAMESPACE: Final = "import of a folder without __init__.py, which is no module"

Edge = tuple[str, str]


def export_packages(
    folder: Path, contents: Iterable[tuple[str, bytes]], modules: Mapping[str, str]
) -> dict[str, str]:
    """Write each file where its module's name puts it; returns the packages, name → folder. Files
    of one name stay out.

    The folder is ours and new. A module in no folder is no package and can't be given to grimp.
    """
    for path, content in contents:
        parts = modules[path].split(".")
        # `@` distinguishes files with one name (code.modules), which can't both be written to its
        # place
        if "@" in modules[path] or not all(_usable(part) for part in parts):
            continue
        if path.endswith("__init__.py") and parts[-1] != "__init__":
            parts.append("__init__")
        target = folder.joinpath(*parts[:-1], f"{parts[-1]}.py")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return {one.name: str(one) for one in sorted(folder.iterdir()) if one.is_dir()}


def compare_imports(
    facts: Mapping[str, Mapping[str, Any]],
    modules: Mapping[str, str],
    seen_modules: set[str],
    theirs: Mapping[Edge, Sequence[int]],
) -> tuple[int, list[list[Any]], dict[str, int]]:
    """(imports compared, [[path, line, what, ours, theirs], …], what was not compared → how often).

    `seen_modules`: the modules that grimp knows; `theirs`: (importer, imported) → lines.
    """
    inside = set(modules.values())
    links = import_links(facts, modules)
    ours, unseen = _ours(links, inside, seen_modules, theirs)
    ambiguous = {
        (link.source.removeprefix("namespace:"), link.line) for link in links if "@" in link.target
    }
    odd = {edge: why for edge in theirs if (why := _odd(edge, inside))}
    for edge in odd.keys() - ours.keys():
        unseen[odd[edge]] += len(theirs[edge])
    theirs = {edge: lines for edge, lines in theirs.items() if edge not in odd or edge in ours}
    path_of = {module: path for path, module in modules.items()}
    differences = []
    for edge in ours.keys() | theirs.keys():
        for line in ours.get(edge, set()) ^ set(theirs.get(edge, ())):
            if (edge[0], line) in ambiguous:
                unseen[_AMBIGUOUS] += 1
                continue
            by_us = line in ours.get(edge, ())
            if by_us:
                sides = ("imported", "not there")
            else:
                sides = ("not there", "imported")
            differences.append(
                [path_of.get(edge[0], edge[0]), line, f"import {edge[0]} -> {edge[1]}", *sides]
            )
    unseen[SHARED] = sum("@" in module for module in modules.values())
    unseen[OUTSIDE] = len(
        {module for module in modules.values() if "@" not in module} - seen_modules
    )
    return (
        sum(map(len, ours.values())),
        sorted(differences),
        {what: n for what, n in unseen.items() if n},
    )


def _odd(edge: Edge, inside: set[str]) -> str:
    """Why an edge of grimp's is none of ours, or empty."""
    if edge[0] == edge[1]:
        return _SELF
    if edge[1] in inside:
        return ""
    return NAMESPACE


def _ours(
    links: Iterable[Link],
    inside: set[str],
    seen_modules: set[str],
    theirs: Mapping[Edge, Sequence[int]],
) -> tuple[dict[Edge, set[int]], Counter[str]]:
    """Our imports between modules that grimp knows, and what of ours it can't know."""
    lines_by_edge: dict[Edge, set[int]] = {}
    unseen: Counter[str] = Counter()
    for link in links:
        source, target = (name.removeprefix("namespace:") for name in (link.source, link.target))
        if plain_name(target) not in seen_modules or source not in seen_modules:
            continue
        if link.method == "dynamic import":
            unseen[DYNAMIC] += 1
        elif (
            link.confidence < 100
            and target in inside
            and link.line not in theirs.get((source, target), ())
        ):
            unseen[NEAREST] += 1
        else:
            lines_by_edge.setdefault((source, target), set()).add(link.line)
    return lines_by_edge, unseen


def _usable(part: str) -> bool:
    # a file name has at most 255 bytes on Linux (NAME_MAX)
    return (
        bool(part)
        and "/" not in part
        and "\0" not in part
        and part not in (".", "..")
        and len(part) < 200
    )


class Difference(NamedTuple):
    """A difference between the two scanners."""

    path: FilePath
    line: int
    what: str
    fast: str
    precise: str
    """Of libcst, or of grimp where `what` is an import between modules."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}: fast {self.fast!r}, precise {self.precise!r}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both scanners found in the working tree."""

    files: int
    """Compared with libcst."""
    definitions: int
    imports: int
    edges: int
    """Imports between modules, by line, that were compared with grimp."""
    differences: tuple[Difference, ...]
    not_assessed: tuple[Problem, ...]
    """Files that libcst could not read or that cost it its process; grimp as a whole under the path
    `.`.
    """
    unseen: dict[str, int]
    """What grimp can't see → how often it is there."""


def compare_working_tree(ws: Workspace, tick: Callable[[int], None] | None = None) -> Comparison:
    """Read the working tree with both scanners. EnvironmentProblem without git, or if the libraries
    can't be run.

    Files that the fast scanner refuses are omitted here; building the graph has reported them.
    Nothing is stored.
    """
    facts, contents = _read(ws)
    modules = modules_of(facts)
    answers = assess_files([(path, modules[path], contents[path]) for path in facts], tick=tick)
    differences = [
        Difference(FilePath(path), *row)
        for path, one in answers.items()
        for row in one.get("differences", ())
    ]
    failed = [
        Problem(path, 0, 0, f"{one['failed']}.") for path, one in answers.items() if "failed" in one
    ]
    compared_imports, import_differences, not_compared, grimp_problems = _compare_with_grimp(
        facts, modules, contents
    )
    assessed = [answer for answer in answers.values() if "differences" in answer]
    return Comparison(
        len(assessed),
        sum(answer["definitions"] for answer in assessed),
        sum(answer["imports"] for answer in assessed),
        compared_imports,
        tuple(sorted([*differences, *import_differences])),
        tuple(sorted([*failed, *grimp_problems])),
        not_compared,
    )


def _read(ws: Workspace) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Facts and contents of the files that the fast scanner could read."""
    from kl_hooks.git import files

    repo = repository_of(ws)
    entries = [entry for entry in files.worktree_files(repo, [".py"]) if _is_text(entry.path)]
    facts = facts_of(
        ws.store, entries, lambda batch: files.read_files(repo, batch), scanners_of(ws)
    )
    contents = {
        entry.path: content
        for entry, content in files.read_files(repo, entries)
        if not facts[entry.path]["error"]
    }
    return {path: facts[path] for path in sorted(contents)}, contents


def _is_text(path: str) -> bool:
    """False for a name that is not UTF-8: building the graph has reported it."""
    return path.isascii() or path == path.encode("utf-8", "replace").decode()


def _compare_with_grimp(
    facts_by_path: dict[str, Any], module_by_path: dict[str, str], contents: dict[str, bytes]
) -> tuple[int, list[Difference], dict[str, int], list[Problem]]:
    """Compare our imports with those that grimp finds in the same files: (imports compared,
    differences, what was not compared → how often, problems). If grimp fails, one problem and no
    differences.
    """
    with tempfile.TemporaryDirectory(prefix="kl-precise-") as folder:
        packages = export_packages(Path(folder), contents.items(), module_by_path)
        if not packages:
            return 0, [], {}, []
        try:
            grimp_modules, grimp_imports = grimp_edges(packages)
        # one file that grimp can't read fails its whole graph (ADR-0001); what libcst found is
        # still worth a report
        except EnvironmentProblem as problem:
            return 0, [], {}, [Problem(".", 0, 0, str(problem))]
    compared, rows, not_compared = compare_imports(
        facts_by_path, module_by_path, grimp_modules, grimp_imports
    )
    return compared, [Difference(FilePath(path), *row) for path, *row in rows], not_compared, []
