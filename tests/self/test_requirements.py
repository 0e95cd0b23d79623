"""The numbers in the tests' markers are numbers that the project knows, and the page of them is whole."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRINTER = runpy.run_path(str(ROOT / "tools" / "requirements_page.py"))
KNOWN = {number: title for rows in PRINTER["titles"]().values() for number, title in rows.items()}


def test_no_test_carries_a_number_that_nobody_asked_for() -> None:
    unknown = [f"{one.path}:{one.line} {one.number}" for one in PRINTER["marked"](ROOT) if one.number not in KNOWN]
    assert unknown == []


def test_every_number_that_is_asked_for_has_a_title_of_its_own() -> None:
    asked = {
        *(f"A{n}" for n in [*range(20, 65), *range(66, 72)]),
        *(f"B{n}" for n in [*range(2, 10), *range(15, 36), *range(50, 57)]),
        *(f"C{n}" for n in range(1, 21)), *(f"D{n}" for n in [*range(40, 46), 48, 49]),
    }  # fmt: skip
    assert set(KNOWN) == asked
    assert len(set(KNOWN.values())) == len(KNOWN)
    assert all(title.endswith(".") and len(title) <= 120 for title in KNOWN.values())


def test_a_number_is_on_the_page_with_its_tests_or_among_those_without() -> None:
    carried = {one.number for one in PRINTER["marked"](ROOT)}
    page, _, missing = PRINTER["text"]().partition("## Not yet")
    assert set(re.findall(r"\b[A-D]\d+\b", missing)) == set(KNOWN) - carried
    assert all(f"**{number}**" in page for number in KNOWN)


def test_markers_are_read_from_functions_classes_and_files() -> None:
    source = (
        'import pytest\npytestmark = [pytest.mark.slow, pytest.mark.requirement("A20")]\n'
        '@pytest.mark.requirement("A21", "A22")\ndef test_a(): ...\n'
        '@pytest.mark.requirement("A23")\nclass TestB:\n'
        '    @pytest.mark.requirement("A24")\n    def test_c(self): ...\n'
    )
    found = list(PRINTER["_numbers"](ast.parse(source)))
    assert [(name, number) for name, _, number in found] == [
        ("", "A20"), ("test_a", "A21"), ("test_a", "A22"), ("TestB", "A23"), ("test_c", "A24"),
    ]  # fmt: skip
