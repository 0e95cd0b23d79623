"""Draws the sample of references that the resolver is compared with: `python -m bench.resolver_draw
> drawn.csv`.

Positions are drawn from the syntax trees of packages that nobody here wrote, by a fixed seed, and
without asking our resolver anything. What each of them leads to was then read by a person and is in
`tests/code/samples/resolver.csv`.
"""

from __future__ import annotations

import ast
import builtins
import csv
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bench.corpora import WHEELS, python_files, unzipped

PER_PACKAGE: Final = {"name": 9, "module": 9, "self": 9, "local": 9, "base": 7, "decorator": 7}
"""Kind of use → how many are drawn from each package; a kind with too few makes up for it in
`name`.

name: a plain name that no function around it binds; module: an attribute chain that begins with an
import from the package itself; self: one that begins with a method's first argument or `super()`;
local: one that begins with another local name or argument; base: a base of a class; decorator.
"""
_BUILTINS: Final = frozenset(dir(builtins))
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_INNER: Final = (*_FUNCTIONS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


COLUMNS: Final = (
    "package",
    "version",
    "path",
    "line",
    "column",
    "end_line",
    "expression",
    "kind",
    "truth",
    "note",
)


class Use(NamedTuple):
    """One place where a name or a chain of attributes is used."""

    path: str
    line: int
    column: int
    end_line: int
    """Where its last name is."""
    expression: str
    kind: str


def draw(package: str, files: Mapping[str, bytes]) -> list[Use]:
    """The uses drawn from a package; `files`: path → content."""
    found: dict[str, list[Use]] = {kind: [] for kind in PER_PACKAGE}
    for path, content in sorted(files.items()):
        if "/tests/" not in path and path.startswith(f"{MODULE.get(package, package)}/"):
            for use in uses(path, ast.parse(content), MODULE.get(package, package)):
                found[use.kind].append(use)
    drawn: list[Use] = []
    short = 0
    for kind in sorted(PER_PACKAGE, key=lambda kind: kind == "name"):
        wanted = PER_PACKAGE[kind] + (short if kind == "name" else 0)
        some = random.Random(f"{package} {kind} 1").sample(
            found[kind], min(wanted, len(found[kind]))
        )
        short += wanted - len(some)
        drawn += some
    return sorted(drawn)


MODULE: Final = {"attrs": "attr"}
"""Distribution → the package it is drawn from, where that is called otherwise."""


def uses(path: str, tree: ast.Module, package: str) -> Iterator[Use]:
    """Every use of a file that is of one of the kinds."""
    ours, heads = set[str](), dict[int, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = (
                "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            )
            for alias in node.names:
                if (source or alias.name).startswith((package, ".")):
                    ours.add(alias.asname or alias.name.partition(".")[0])
        if isinstance(node, ast.ClassDef):
            heads |= {
                id(base.value if isinstance(base, ast.Subscript) else base): "base"
                for base in node.bases
            }
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            heads |= {
                id(one.func if isinstance(one, ast.Call) else one): "decorator"
                for one in node.decorator_list
            }
    waiting: list[tuple[ast.AST, frozenset[str], str]] = [(tree, frozenset(), "")]
    while waiting:
        node, local, receiver = waiting.pop()
        root = _root(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if isinstance(node, ast.Name | ast.Attribute) and root:
            kind = heads.get(id(node)) or _kind(node, root, ours, local, receiver)
            if kind and isinstance(node.ctx, ast.Load):
                yield Use(
                    path,
                    node.lineno,
                    node.col_offset,
                    node.end_lineno or 0,
                    ast.unparse(node),
                    kind,
                )
            continue
        if isinstance(node, ast.ClassDef):
            receiver = IN_CLASS
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = (node.args.posonlyargs + node.args.args)[:1]
            receiver = (
                first[0].arg
                if receiver == IN_CLASS and first
                else ""
                if receiver == IN_CLASS
                else receiver
            )
        if isinstance(node, _INNER):
            local |= _bound(node)
        waiting += [(child, local, receiver) for child in ast.iter_child_nodes(node)]


IN_CLASS: Final = "<class>"


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes begins with, `super()` too; empty for others."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        return "super()"
    return node.id if isinstance(node, ast.Name) else ""


def _bound(function: ast.AST) -> set[str]:
    """The names that a function or comprehension binds."""
    found, waiting = set[str](), list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif (isinstance(node, ast.ExceptHandler) and node.name) or isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            found.add(node.name)
        if not isinstance(node, (*_INNER, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)
    return found


def _kind(node: ast.expr, root: str, ours: set[str], local: frozenset[str], receiver: str) -> str:
    if isinstance(node, ast.Name):
        return "name" if root not in local and root not in _BUILTINS else ""
    if root in ("super()", receiver):
        return "self"
    return "local" if root in local else "module" if root in ours else ""


def main() -> int:
    """Prints the drawn uses as a table without the truth."""
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow([*COLUMNS])
    with tempfile.TemporaryDirectory() as folder:
        for package, requirement in WHEELS.items():
            version = requirement.partition("==")[2].partition(" ")[0]
            for use in draw(package, python_files(unzipped(package, Path(folder) / package))):
                table.writerow([package, version, *use, "", ""])
    return 0


if __name__ == "__main__":
    sys.exit(main())
