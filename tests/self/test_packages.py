"""kl follows its own architecture: one order of packages, no import cycles, docstrings everywhere,
short functions.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import networkx
import pytest

from kl_hooks.arch.layer_check import violations
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.code.modules import import_links, imported_names, module_names
from kl_hooks.code.scanner.python import imports_guarded
from kl_hooks.model.manifest import MANIFEST
from tools.syntax import nodes, tree_of

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("kl_hooks", "pytest_kl")
OWNERS = {
    "kl_hooks/cli/": ("click", "rich"),
    "kl_hooks/code/": ("libcst", "grimp", "tree_sitter"),
    "kl_hooks/store/": ("sqlite3", "diskcache", "psycopg", "redis"),
    "kl_hooks/arch/": ("importlinter",),
    "kl_hooks/documents/": ("pypdf",),
    "kl_hooks/report/": ("jinja2", "markupsafe"),
    "kl_hooks/index/": ("numpy", "wordllama", "sentence_transformers"),
    "pytest_kl/": ("pytest", "_pytest"),
}
"""Folder → the libraries that only it may import."""
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if "_shipped" not in path.parts
)


def package_rows() -> list[list[str]]:
    """The layers of import-linter's contract `packages`, from the bottom up; siblings in one
    list.
    """
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = [one for one in config["contracts"] if one["id"] == "packages"]
    return [[name.strip() for name in row.split("|")] for row in reversed(contract["layers"])]


@cache
def facts_of(path: str) -> Mapping[str, Any]:
    """`error` and `imports`, read the way that `kl arch check` goes."""
    return imports_guarded((ROOT / path).read_bytes(), path)


def test_both_orders_of_packages_agree() -> None:
    manifest = read_manifest(MANIFEST, (ROOT / MANIFEST).read_bytes())
    expected: dict[str, set[str]] = {}
    for row in package_rows():
        below = set(expected)
        expected.update(dict.fromkeys(row, below))
    expected["pytest_kl"] = set(expected)
    assert {layer.name: set(layer.may_depend_on) for layer in manifest.layers} == expected
    for layer in manifest.layers:
        place = layer.name if layer.name == "pytest_kl" else f"kl_hooks/{layer.name}"
        # a folder that has minified libraries, too, is listed by all of its own files
        files = tuple(path for path in FILES if path.startswith(f"{place}/"))
        assert layer.paths in ((f"{place}/",), (f"{place}.py",), files), layer


def test_every_package_exists_and_no_other() -> None:
    here = {
        name.removeprefix("kl_hooks/").partition("/")[0].removesuffix(".py")
        for name in FILES
        if "kl_hooks" in name
    }
    assert here - {"__init__", "__main__"} == {name for row in package_rows() for name in row}


def test_our_own_check_is_clean() -> None:
    facts = {path: facts_of(path) for path in FILES}
    assert [path for path in FILES if facts[path]["error"]] == []
    modules = module_names(FILES, imported_names(facts.values()))
    links = import_links(facts, modules)
    assert len(links) > len(FILES)
    manifest = read_manifest(MANIFEST, (ROOT / MANIFEST).read_bytes())
    assert [f"{v.path}:{v.line} {v.statement}" for v in violations(manifest, links, modules)] == []


def test_each_library_is_imported_by_one_package() -> None:
    owner = {library: folder for folder, libraries in OWNERS.items() for library in libraries}
    outside = []
    for path in FILES:
        for module, _, level, line, *_ in facts_of(path)["imports"]:
            library = module.partition(".")[0]
            if not level and library in owner and not path.startswith(owner[library]):
                outside.append(f"{path}:{line}: {library} belongs to {owner[library]}")
    assert outside == []


def test_import_linter_protects_what_is_imported() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    protected = {name for one in config["contracts"] for name in one.get("protected_modules", ())}
    known = {library for libraries in OWNERS.values() for library in libraries}
    used = {
        row[0].partition(".")[0]
        for path in FILES
        for row in facts_of(path)["imports"]
        if not row[2]
    }
    assert protected == known & used


def test_import_linter_keeps_every_contract(tmp_path: Path) -> None:
    call = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", call],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_no_cycles_with_lazy_and_type_checking_imports_counted() -> None:
    call = (
        f"import grimp, json; g = grimp.build_graph(*{PACKAGES!r},"
        " cache_dir=None);print(json.dumps([[a, b] for a in sorted(g.modules) for b in"
        " g.find_modules_directly_imported_by(a)]))"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", call], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    edges = json.loads(done.stdout)
    assert len(edges) > len(FILES)
    cycles = [
        sorted(c)
        for c in networkx.strongly_connected_components(networkx.DiGraph(edges))
        if len(c) > 1
    ]
    assert cycles == []


@pytest.mark.parametrize("path", FILES)
def test_every_module_has_a_docstring(path: str) -> None:
    doc = ast.get_docstring(tree_of(ROOT / path))
    assert doc and len(doc.split()) >= 4, path


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith("__init__.py")])
def test_the_docstring_of_a_package_imports_nothing(path: str) -> None:
    assert not [
        node
        for node in nodes(tree_of(ROOT / path))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
