"""Which functions are tests, by pytest's own defaults: nothing is collected, nothing is run.

`test_*.py` and `*_test.py`; in them functions called `test*`, methods called `test*` of classes called `Test*`, and
methods called `test*` of classes that inherit something called `…TestCase`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = list[Any]


def is_test_file(path: str) -> bool:
    """True for a file that pytest would look into."""
    name = path.rpartition("/")[2]
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))


def test_rows(path: str, symbols: Sequence[Row], bases: Mapping[str, Sequence[str]]) -> list[Row]:
    """A row as those of `symbols` for each test, its Id as pytest would call it, with the function's Id at the end.

    `bases`: class → the expressions of its bases (see `code.uses`).
    """
    if not is_test_file(path) or not symbols:
        return []
    module = symbols[0][0].partition(":")[2]
    found = []
    for row in symbols:
        prefix, _, name = row[0].partition(":")
        parts = name[len(module) + 1 :].split(".")
        if prefix not in ("function", "method") or not parts[-1].startswith("test") or "<locals>" in parts:
            continue
        if all(_collected(".".join(parts[:depth]), bases) for depth in range(1, len(parts))):
            found.append([f"test:{path}::{'::'.join(parts)}", *row[1:], row[0]])
    return found


def _collected(name: str, bases: Mapping[str, Sequence[str]]) -> bool:
    return name.rpartition(".")[2].startswith("Test") or any(base.endswith("TestCase") for base in bases.get(name, ()))
