"""Pages that are printed from the program are what the program prints today."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from difflib import unified_diff
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def printer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("print_docs", ROOT / "tools" / "print_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def pages() -> Mapping[Path, str]:
    """Path → text. Not at import: every process that collects tests would print them."""
    return dict(printer().pages())


def test_pages_are_what_the_program_prints() -> None:
    stale = [
        "\n".join(
            unified_diff(
                path.read_text(encoding="utf-8").splitlines(), text.splitlines(), path.name, n=0
            )
        )
        for path, text in pages().items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert not stale, "run: make docs\n" + "\n".join(stale)


def test_no_page_is_left_of_a_command_that_was_removed() -> None:
    assert set((ROOT / "docs" / "commands").glob("*.md")) <= set(pages())


def test_every_command_shows_an_example() -> None:
    without = [
        path.name
        for path, text in pages().items()
        if path.parent.name == "commands" and path.name != "README.md" and "Example:" not in text
    ]
    assert without == []
