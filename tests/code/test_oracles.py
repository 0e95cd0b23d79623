"""libcst and grimp as oracles: they read the same packages by other means and must see the same."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import libcst as cst
import pytest
from hypothesis import settings
from libcst.metadata import MetadataWrapper, PositionProvider, QualifiedNameProvider

from bench import oracles
from bench.corpora import SDISTS, python_files
from kl_hooks.code.file_facts import modules_of
from kl_hooks.code.scanner.python import scan_python

OURS = Path(__file__).parents[2]
MOST = 20
"""Files of one package that are compared with libcst."""


def source_of(package: str) -> Path:
    if (OURS / package).is_dir():
        return OURS / package
    found = importlib.util.find_spec(package)
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


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
    """The same with libcst's own qualified names: an oracle for these too, but some ten times
    slower.
    """

    METADATA_DEPENDENCIES = (PositionProvider, QualifiedNameProvider)

    def _note(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        super()._note(node)
        names = {name.name for name in self.get_metadata(QualifiedNameProvider, node)}
        assert ".".join(self.around) in names


def compare(folder: Path, visitor_class: type[Visitor], names: str = "") -> int:
    """Holds the files of a package (always the same of a large one) against libcst; how many
    definitions there are.
    """
    compared = 0
    files = {name: content for name, content in python_files(folder).items() if names in name}
    for name, content in oracles.sample(files, MOST).items():
        visitor = visitor_class()
        MetadataWrapper(cst.parse_module(content), unsafe_skip_copy=True).visit(visitor)
        facts = scan_python(content, name, "m")
        kinds = ("type:", "interface:", "function:", "method:", "property:")
        ours = {
            row[0].partition(":m.")[2]: row[1]
            for row in facts["symbols"]
            if row[0].startswith(kinds)
        }
        assert set(ours) == {found for found, _ in visitor.found}, name
        # of several definitions of one name one place is stored, and it is the place of one of them
        assert set(ours.items()) <= visitor.found, name
        compared += len(ours)
    return compared


@pytest.mark.parametrize(
    "package",
    [*(pytest.param(one, marks=pytest.mark.slow) for one in ("kl_hooks", "click")), "pluggy"],
)
@pytest.mark.share("kl_hooks", "pluggy")
def test_definitions_are_those_that_libcst_sees(package: str) -> None:
    assert compare(source_of(package), Definitions) > 50


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "names"), [("kl_hooks", "code/modules"), ("click", "decorators")]
)
def test_qualified_names_are_those_of_libcst(package: str, names: str) -> None:
    assert compare(source_of(package), ScopedDefinitions, names) > 10


IS_THOROUGH = settings.default is not None and settings.default.max_examples >= 400


def locked(name: str, folder: Path, number: int) -> oracles.Result:
    """A sample of a corpus (files of up to 40 kB) compared with libcst, all of it against grimp.

    All of it but for its tests, which are half of the files and import the other half: these in
    the profile `thorough` alone.
    """
    files = {
        path: content
        for path, content in oracles.corpus(name, folder).items()
        if IS_THOROUGH or name == "self" or {"test", "tests"}.isdisjoint(path.split("/"))
    }
    result = oracles.hold(files, number, largest=40_000)
    assert result.differences == []
    assert result.failed == UNREADABLE.get(name, [])
    assert result.compared == number
    return result


UNREADABLE: dict[str, list[str]] = {}
"""Corpus → what libcst can't read of the sample, or grimp of the whole."""


@pytest.mark.slow
@pytest.mark.sweep
def test_this_project_is_what_libcst_and_grimp_see(tmp_path: Path) -> None:
    result = locked("self", tmp_path, 25)
    assert result.refused == 0
    assert result.definitions > 200
    assert result.edges > 1000
    assert result.unseen == {}


def test_pythons_own_library_is_what_libcst_and_grimp_see(tmp_path: Path) -> None:
    result = locked("Lib", tmp_path, 10)
    assert result.definitions > 200
    assert result.edges > 1000


@pytest.mark.net
@pytest.mark.slow
@pytest.mark.parametrize("name", SDISTS)
@pytest.mark.share()
def test_three_large_packages_are_what_libcst_and_grimp_see(name: str, tmp_path: Path) -> None:
    result = locked(name, tmp_path, 32)
    assert result.definitions > 200
    assert result.edges > 1000


@pytest.mark.parametrize(
    "package", ["click", "pluggy", pytest.param("networkx", marks=pytest.mark.sweep)]
)
def test_installed_packages_import_what_grimp_sees(package: str) -> None:
    folder = source_of(package)
    files = {f"{package}/{path}": content for path, content in python_files(folder).items()}
    result = oracles.Result()
    facts = {path: scan_python(content, path, "_") for path, content in files.items()}
    oracles.edges_of(result, facts, files, modules_of(facts))
    assert (result.differences, result.failed) == ([], [])
    assert result.edges > 5


def test_the_sample_is_always_the_same_and_spread() -> None:
    files = {f"{letter}{number}.py": b"" for letter in "abc" for number in range(100)}
    some = oracles.sample(files, 30)
    assert some.keys() == oracles.sample(dict(reversed(files.items())), 30).keys()
    assert {path[0] for path in some} == {"a", "b", "c"}
