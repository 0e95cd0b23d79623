"""The pages for contributors name files and functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATH = re.compile(r"`((?:kl_hooks|pytest_kl|tests|tools|docs|bench)/[\w./-]+)`")
NAMED = re.compile(r"`([\w/]+\.py)`\s+→\s+((?:`\w+`(?:,\s+)?)+)")
"""`file.py` → `function`, `function`."""
PAIRS = [(file, name) for file, names in NAMED.findall(PAGE) for name in re.findall(r"\w+", names)]


@pytest.mark.parametrize(("name", "fewest"), [("architecture.md", 30), ("how-to-change.md", 15)])
def test_every_path_exists(name: str, fewest: int) -> None:
    paths = PATH.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))
    assert len(paths) > fewest
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(("file", "name"), sorted(set(PAIRS)), ids="-".join)
def test_every_function_is_in_its_file(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def test_all_named_functions_are_checked() -> None:
    assert len(PAIRS) > 35 and len(re.findall(r"→\s+`", PAGE)) == len(NAMED.findall(PAGE))


def test_modules_are_listed() -> None:
    """`make docs` prints the list; a few modules may be newer than the last time."""
    page = (ROOT / "docs" / "reference" / "modules.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"(?m)^- \[`\w+`\]\(\.\./\.\./([\w/]+\.py)\): ", page))
    modules = {
        path.relative_to(ROOT).as_posix()
        for package in ("kl_hooks", "pytest_kl")
        for path in (ROOT / package).rglob("*.py")
        if path.name != "__init__.py" and "_shipped" not in path.parts
    }
    assert len(listed ^ modules) <= len(modules) // 10, "run: make docs"


def test_nine_files_to_read_and_five_commands() -> None:
    assert len(re.findall(r"(?m)^\d\. `[\w/]+\.py`: ", PAGE.partition("## Packages")[0])) == 9
    assert len(re.findall(r"(?m)^\*\*.*\*\*$", PAGE.partition("## What a command")[2])) == 5
