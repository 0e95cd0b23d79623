"""libcst and grimp as oracles: they read the same packages by other means and must see the same."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider, QualifiedNameProvider

from kl_hooks.code.facts import modules_of
from kl_hooks.code.imports import import_links
from kl_hooks.code.scan import scan_python

OURS = Path(__file__).parents[2]


def source_of(package: str) -> Path:
    if (OURS / package).is_dir():
        return OURS / package
    found = importlib.util.find_spec(package)
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


def python_files(folder: Path) -> dict[str, Path]:
    """Path from the folder above, as a repository would name it → file."""
    return {str(path.relative_to(folder.parent)): path for path in sorted(folder.rglob("*.py"))}


class Visitor(cst.CSTVisitor):
    """(qualified name, line of the name) of every function and class, as libcst sees them."""

    def __init__(self) -> None:
        self.found: set[tuple[str, int]] = set()
        self.around: list[str] = []

    def _note(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        line = self.get_metadata(PositionProvider, node.name).start.line
        self.found.add((".".join([*self.around, node.name.value]), line))
        self.around.append(node.name.value)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._note(node)
        self.around.append("<locals>")

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._note(node)

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        del self.around[-2:]

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        del self.around[-1]


class Definitions(Visitor):
    """With positions only: fast enough for whole packages."""

    METADATA_DEPENDENCIES = (PositionProvider,)


class ScopedDefinitions(Visitor):
    """The same with libcst's own qualified names: an oracle for these too, but some ten times slower."""

    METADATA_DEPENDENCIES = (PositionProvider, QualifiedNameProvider)

    def _note(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        super()._note(node)
        names = {name.name for name in self.get_metadata(QualifiedNameProvider, node)}
        assert ".".join(self.around) in names


def compare(folder: Path, visitor_class: type[Visitor], names: str = "") -> int:
    """Holds the files of a package against libcst; how many definitions were compared."""
    compared = 0
    for name, path in python_files(folder).items():
        if names not in name:
            continue
        content = path.read_bytes()
        visitor = visitor_class()
        MetadataWrapper(cst.parse_module(content), unsafe_skip_copy=True).visit(visitor)
        facts = scan_python(content, name, "m")
        kinds = ("type:", "interface:", "function:", "method:", "property:")
        ours = {row[0].partition(":m.")[2]: row[1] for row in facts["symbols"] if row[0].startswith(kinds)}
        assert set(ours) == {found for found, _ in visitor.found}, name
        # of several definitions of one name one place is kept, and it is the place of one of them
        assert set(ours.items()) <= visitor.found, name
        compared += len(ours)
    return compared


@pytest.mark.parametrize("package", ["kl_hooks", "click", "pluggy"])
def test_definitions_are_those_that_libcst_sees(package: str) -> None:
    assert compare(source_of(package), Definitions) > 50


@pytest.mark.parametrize(("package", "names"), [("kl_hooks", "code/modules"), ("click", "decorators")])
def test_qualified_names_are_those_of_libcst(package: str, names: str) -> None:
    assert compare(source_of(package), ScopedDefinitions, names) > 10


GRIMP = """
import sys
sys.path.insert(0, sys.argv[1])
import grimp
graph = grimp.build_graph(sys.argv[2], include_external_packages=False, cache_dir=None)
for one in sorted(graph.modules):
    for other in sorted(graph.find_modules_directly_imported_by(one)):
        lines = sorted({found["line_number"] for found in graph.get_import_details(importer=one, imported=other)})
        print(one, other, *lines)
"""


def grimp_edges(folder: Path) -> dict[tuple[str, str], set[int]]:
    """(importer, imported) → lines, in a child process: grimp needs the package on its path."""
    command = [sys.executable, "-c", GRIMP, str(folder.parent), folder.name]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {(row[0], row[1]): {int(number) for number in row[2:]} for row in rows}


@pytest.mark.parametrize("package", ["kl_hooks", "click", "pluggy", pytest.param("networkx", marks=pytest.mark.slow)])
def test_imports_are_those_that_grimp_sees(package: str) -> None:
    """Edges and their lines. Two things grimp can't see: literal dynamic imports, and folders without __init__.py."""
    folder = source_of(package)
    files = {name: path for name, path in python_files(folder).items() if (path.parent / "__init__.py").exists()}
    facts = {name: scan_python(path.read_bytes(), name, "") for name, path in files.items()}
    modules = modules_of(facts)
    inside = {f"namespace:{module}" for module in modules.values()}
    ours: dict[tuple[str, str], set[int]] = {}
    for link in import_links(facts, modules):
        if link.target in inside and link.method != "dynamic import":
            pair = (link.source.removeprefix("namespace:"), link.target.removeprefix("namespace:"))
            ours.setdefault(pair, set()).add(link.line)
    assert ours == grimp_edges(folder)
    assert len(ours) > 5
