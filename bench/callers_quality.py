"""How complete and how right `kl graph callers` is, against two oracles.

Complete: every call `name(` or `.name(` that Python's own parser sees is listed or counted. Right:
a resolved call leads to what libcst's qualified name, once imported, is.

    python -m bench.callers_quality [PACKAGE…]
"""

from __future__ import annotations

import ast
import builtins
import random
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from pydoc import ErrorDuringImport, locate
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import libcst as cst
from libcst.metadata import (
    MetadataWrapper,
    PositionProvider,
    QualifiedNameProvider,
    QualifiedNameSource,
)

from kl_hooks.code.query.references import callers
from kl_hooks.code.query.session import Graph, open_graph
from kl_hooks.code.query.sites import possible_uses
from kl_hooks.model.symbol import last_name, split_id
from kl_hooks.workspace import open_workspace
from tests.git.repos import make

PACKAGES: Final = ("attr", "click", "networkx", "pluggy", "rich", "yaml", "_pytest")
"""Packages of the environment of development."""
SYMBOLS: Final = 40
SEED: Final = 29
_BUILTINS: Final = frozenset(dir(builtins))
_DRAWN: Final = ("function", "method", "type", "interface")

Position = tuple[str, int]
"""(path, line)"""


class Quality(NamedTuple):
    """What the oracles saw of the callers of some symbols."""

    symbols: int
    calls: int
    """By name, as Python's parser sees them."""
    missing: tuple[tuple[str, Position], ...]
    """(symbol, place) of calls that are neither listed nor counted."""
    compared: int
    """Resolved calls whose qualified name could be imported."""
    wrong: tuple[tuple[str, Position, str], ...]
    """(symbol, place, what libcst sees there) of resolved calls that mean something else."""

    @property
    def precision(self) -> float:
        """Of the resolved calls."""
        return 1 - len(self.wrong) / self.compared if self.compared else 1.0


def package_sources(package: str) -> dict[str, str]:
    """Path → source of a package of this environment, as a repository would have them."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return {}
    folder = Path(spec.origin).parent
    return {
        f"{package}/{path.relative_to(folder).as_posix()}": path.read_text("utf-8")
        for path in sorted(folder.rglob("*.py"))
        if "tests" not in path.parts
    }


def measure(folder: Path, sources: dict[str, str], number: int, seed: int) -> Quality:
    """Make a repository of sources in a folder, and measure the callers of `number` symbols."""
    make(folder, sources)
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    with open_graph(open_workspace(folder, environ={"HOME": str(home)})) as graph:
        return _measured(graph, sources, _drawn(graph, number, seed))


def _drawn(graph: Graph, number: int, seed: int) -> list[str]:
    rows = graph.db.rows("SELECT sort, name, outer, file FROM symbol_rows ORDER BY file, place")
    modules = dict(graph.db.rows("SELECT number, module FROM files"))
    ids = [
        f"{sort}:{modules[file]}{outer}{name}"
        for sort, name, outer, file in rows
        if sort in _DRAWN and not name.startswith("__") and "<locals>" not in outer
    ]
    return random.Random(seed).sample(sorted(set(ids)), min(number, len(set(ids))))


def _measured(graph: Graph, sources: dict[str, str], ids: Sequence[str]) -> Quality:
    calls_by_name = _calls_by_name(sources)
    qualified = _QualifiedNames(sources)
    missing, wrong = [], []
    calls = compared = 0
    for identifier in ids:
        found = callers(graph, identifier)
        uses = possible_uses(graph, found.symbol, found.links, calls=True)
        listed = {(link.path, link.line) for link in found.links}
        listed |= {(site.path, site.line) for site in (*uses.possible, *uses.elsewhere)}
        positions = calls_by_name.get(last_name(identifier), set())
        calls += len(positions)
        missing += [(identifier, place) for place in sorted(positions - listed)]
        for link in found.links:
            names = qualified.at((link.path, link.line), last_name(link.target))
            meant = _imported(split_id(link.target)[1].removesuffix(".__init__"))
            called = [value for value in map(_imported, sorted(names)) if value is not None]
            if called and meant is not None:
                compared += 1
                if meant not in called:
                    wrong.append((identifier, (link.path, link.line), sorted(names)[0]))
    return Quality(len(ids), calls, tuple(missing), compared, tuple(wrong))


def _calls_by_name(sources: dict[str, str]) -> dict[str, set[Position]]:
    """Name → where it is called, but for parameters, local variables and builtins of that name."""
    calls: dict[str, set[Position]] = {}
    for path, source in sources.items():
        for name, line in _calls(ast.parse(source), _BUILTINS):
            calls.setdefault(name, set()).add((path, line))
    return calls


def _calls(node: ast.AST, local_names: frozenset[str]) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        local_names |= _bound(node)
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute):
            yield function.attr, function.end_lineno or function.lineno
        elif isinstance(function, ast.Name) and function.id not in local_names:
            yield function.id, function.lineno
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, local_names)


def _bound(function: ast.AST) -> frozenset[str]:
    """The names that a function assigns or is given."""
    parts = list(ast.walk(function))
    shared = {
        name for part in parts if isinstance(part, ast.Global | ast.Nonlocal) for name in part.names
    }
    bound = {part.arg for part in parts if isinstance(part, ast.arg)} | {
        part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    return frozenset(bound - shared)


class _QualifiedNames:
    """What libcst sees at a place, as the dotted names of what Python then imports."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources
        self._names: dict[str, dict[tuple[int, str], set[str]]] = {}

    def at(self, place: Position, name: str) -> set[str]:
        """The dotted names of what is called there; none where that is unknown."""
        path, line = place
        if path not in self._names:
            self._names[path] = self._read(path)
        return self._names[path].get((line, name), set())

    def _read(self, path: str) -> dict[tuple[int, str], set[str]]:
        visitor = _Calls(path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"), path)
        MetadataWrapper(cst.parse_module(self._sources[path]), unsafe_skip_copy=True).visit(visitor)
        return visitor.names


class _Calls(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider, QualifiedNameProvider)

    def __init__(self, module: str, path: str) -> None:
        super().__init__()
        self.names: dict[tuple[int, str], set[str]] = {}
        self._module = module
        self._package = module if path.endswith("__init__.py") else module.rpartition(".")[0]

    def visit_Call(self, node: cst.Call) -> None:
        last = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        if not isinstance(last, cst.Name):
            return
        line = self.get_metadata(PositionProvider, last).start.line
        for qualified in self.get_metadata(QualifiedNameProvider, node.func, set()):
            name = self._absolute(qualified)
            if name:
                self.names.setdefault((line, last.value), set()).add(name)

    def _absolute(self, qualified: Any) -> str:
        """A qualified name from its package on; empty for what no import leads to."""
        name = qualified.name
        if "<locals>" in name or qualified.source is QualifiedNameSource.BUILTIN:
            return ""
        if qualified.source is QualifiedNameSource.LOCAL:
            name = f"{self._module}.{name}"
        dots = len(name) - len(name.lstrip("."))
        if dots:
            base = self._package.split(".")[: len(self._package.split(".")) - dots + 1]
            name = ".".join([*base, name[dots:]])
        return name


def _imported(name: str) -> Any:
    """What a dotted name leads to; None where it can't be imported."""
    try:
        return locate(name)
    except (ErrorDuringImport, Exception):  # whatever a module does when it is imported
        return None


def main(packages: Sequence[str]) -> int:
    """Print a row for each package; 1 where a call is missing or the precision is below .98."""
    print(f"{'package':<12} symbols  calls  missing  compared  precision")
    is_good = True
    for package in packages:
        with TemporaryDirectory(prefix="kl-callers-") as folder:
            quality = measure(Path(folder) / "repo", package_sources(package), SYMBOLS, SEED)
        print(
            f"{package:<12} {quality.symbols:>7} {quality.calls:>6} {len(quality.missing):>8}"
            f" {quality.compared:>9} {quality.precision:>10.3f}"
        )
        for identifier, place, *names in (*quality.missing, *quality.wrong):
            print("   ", identifier, *place, *names)
        is_good = is_good and not quality.missing and quality.precision >= 0.98
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PACKAGES))
