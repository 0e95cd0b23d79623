"""What docstrings and comments name in backquotes with a package of kl is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kl_hooks.config.settings import Settings

ROOT = Path(__file__).parents[2]
_PRODUCT = ("kl_hooks", "pytest_kl")
_REFERENCE = re.compile(r"`((?:[a-z_]+\.)+[A-Za-z_]+)(?:\(\))?`")
_ENDINGS = frozenset(
    (
        "py",
        "json",
        "md",
        "yaml",
        "toml",
        "cfg",
        "ini",
        "txt",
        "html",
        "lock",
        "db",
        "git",
        "svg",
        "ts",
        "jsonl",
    )
)


@cache
def modules() -> dict[str, Path]:
    """Dotted name below `kl_hooks` or of `pytest_kl` → file or folder."""
    places = dict[str, Path]()
    for top in _PRODUCT:
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            names = parts[:-1] if parts[-1] == "__init__" else parts
            for length in range(1, len(names)):
                places.setdefault(".".join(names[:length]), path.parent)
            places[".".join(names)] = path
    return places


@cache
def packages_of_modules() -> dict[str, list[str]]:
    """Last part of a module's name → the packages that have such a module."""
    packages = dict[str, list[str]]()
    for name in modules():
        package, _, last = name.rpartition(".")
        packages.setdefault(last, []).append(package)
    return packages


@cache
def bound(path: Path) -> frozenset[str]:
    """The names that a module defines or imports, and those that its classes define."""
    if not path.is_file():
        return frozenset()
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    return frozenset(names)


def is_there(reference: str, package: str) -> bool:
    """Whether a dotted name means a module, or what one binds; True for one that names no package
    or module of ours. `package`: the dotted package of the file that has it.
    """
    parts = reference.split(".")
    above = package.split(".")
    bases = [*(".".join(above[:length]) for length in range(len(above), 0, -1)), ""]
    # a module that others import by its own name: `index.search` of `kl_hooks.index.index`
    bases += [base for base in packages_of_modules().get(parts[0], ()) if base.startswith(above[0])]
    is_ours = False
    for base in bases:
        prefix = f"{base}." if base else ""
        for length in range(len(parts), 0, -1):
            place = modules().get(prefix + ".".join(parts[:length]))
            if place is None:
                continue
            is_ours = True
            names = parts[length:]
            init = place / "__init__.py" if place.is_dir() else place
            if not names or names[0] in bound(init):
                return True
    is_setting = reference.replace(".", "_") in Settings._fields
    return is_setting or not is_ours


def references(source: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of what docstrings and comments have in backquotes."""
    texts = [
        (node.lineno, node.value.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    comments = (
        (number, line.partition("# ")[2]) for number, line in enumerate(source.splitlines(), 1)
    )
    for number, text in (*texts, *comments):
        for match in _REFERENCE.finditer(text):
            if match[1].rpartition(".")[2] not in _ENDINGS:
                yield number, match[1]


@pytest.mark.parametrize("top", _PRODUCT)
def test_what_a_docstring_names_is_there(top: str) -> None:
    absent = []
    for path in sorted((ROOT / top).rglob("*.py")):
        package = ".".join(path.relative_to(ROOT).parts[:-1])
        absent += [
            f"{path.relative_to(ROOT)}:{line}: {reference}"
            for line, reference in references(path.read_text("utf-8"))
            if not is_there(reference, package)
        ]
    assert not absent, "\n".join(absent)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("code.scanner.python.scan_python", True),
        ("code.uses", False),
        ("scanner.source_words", False),
        ("build.combine", True),
        ("os.path", True),
    ],
)
def test_a_name_that_was_removed_is_found(reference: str, expected: bool) -> None:
    package = "kl_hooks.context" if reference.startswith("build") else "kl_hooks.code"
    assert is_there(reference, package) is expected
