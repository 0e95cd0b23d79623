"""`kl graph build --precise`: both scanners over the work tree, and every difference between them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kl_hooks.code.facts import facts_of, modules_of
from kl_hooks.code.imports_read import scanners_of
from kl_hooks.code.precise.edges import compare, export
from kl_hooks.code.precise.run import assessed, edges
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.problem import Problem

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """One thing that the two scanners do not see alike."""

    path: str
    line: int
    what: str
    fast: str
    precise: str
    """Of libcst, or of grimp where `what` is an import between modules."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}: fast {self.fast!r}, precise {self.precise!r}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both scanners said of the work tree."""

    files: int
    """Compared with libcst."""
    definitions: int
    imports: int
    edges: int
    """Imports between modules, by line, that were compared with grimp."""
    differences: tuple[Difference, ...]
    not_assessed: tuple[Problem, ...]
    """Files that libcst could not read or that cost it its process; grimp as a whole under the path `.`."""
    unseen: dict[str, int]
    """What grimp can't see → how often it is there."""


def compared(ws: Workspace, tick: Callable[[int], None] | None = None) -> Comparison:
    """Reads the work tree with both scanners. EnvironmentProblem without git, or if the libraries can't be run.

    Files that the fast scanner refuses are left out here; building the graph has named them. Nothing is stored.
    """
    facts, contents = _read(ws)
    modules = modules_of(facts)
    answers = assessed([(path, modules[path], contents[path]) for path in facts], tick=tick)
    differences = [Difference(path, *row) for path, one in answers.items() for row in one.get("differences", ())]
    failed = [Problem(path, 0, 0, f"{one['failed']}.") for path, one in answers.items() if "failed" in one]
    count, edged, unseen, trouble = _imports(facts, modules, contents)
    good = [one for one in answers.values() if "differences" in one]
    return Comparison(
        len(good),
        sum(one["definitions"] for one in good),
        sum(one["imports"] for one in good),
        count,
        tuple(sorted([*differences, *edged])),
        tuple(sorted([*failed, *trouble])),
        unseen,
    )


def _read(ws: Workspace) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Facts and contents of the files that the fast scanner could read."""
    from kl_hooks.git import files

    repo = ws.repo
    if repo is None:
        raise EnvironmentProblem("the code graph needs a git repository.", place=str(ws.root), hint="Run: git init")
    entries = [entry for entry in files.worktree_files(repo, [".py"]) if _is_text(entry.path)]
    facts = facts_of(ws.store, entries, lambda some: files.read_files(repo, some), scanners_of(ws.plugins))
    contents = {
        entry.path: content for entry, content in files.read_files(repo, entries) if not facts[entry.path]["error"]
    }
    return {path: facts[path] for path in sorted(contents)}, contents


def _is_text(path: str) -> bool:
    """False for a name that is not UTF-8: building the graph has told it."""
    return path.isascii() or path == path.encode("utf-8", "replace").decode()


def _imports(
    facts: dict[str, Any], modules: dict[str, str], contents: dict[str, bytes]
) -> tuple[int, list[Difference], dict[str, int], list[Problem]]:
    """What grimp sees of the same files; if it can't be had, that is a problem and no difference."""
    with tempfile.TemporaryDirectory(prefix="kl-precise-") as folder:
        packages = export(Path(folder), contents.items(), modules)
        if not packages:
            return 0, [], {}, []
        try:
            seen, theirs = edges(packages)
        except EnvironmentProblem as problem:
            return 0, [], {}, [Problem(".", 0, 0, str(problem))]
    count, rows, unseen = compare(facts, modules, seen, theirs)
    return count, [Difference(*row) for row in rows], unseen, []
