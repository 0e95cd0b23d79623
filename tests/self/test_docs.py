"""Pages that are printed from the program are what the program prints today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def printer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("print_docs", ROOT / "tools" / "print_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = dict(printer().pages())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_page_is_what_the_program_prints(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path], "run: make docs"


def test_no_page_is_left_of_a_command_that_was_removed() -> None:
    assert set((ROOT / "docs" / "commands").glob("*.md")) <= set(PAGES)


def test_every_command_shows_an_example() -> None:
    without = [
        path.name
        for path, text in PAGES.items()
        if path.parent.name == "commands" and path.name != "README.md" and "Example:" not in text
    ]
    assert without == []
