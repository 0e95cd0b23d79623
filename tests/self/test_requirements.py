"""The numbers in the tests' markers are numbers that the project knows, and the page of them is
whole.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tools import requirements_page

ROOT = Path(__file__).parents[2]
PRINTER = vars(requirements_page)
LAST = {"A": 71, "B": 56, "C": 21, "D": 54, "E": 17}
"""The highest number of each system."""
KNOWN = {number: row for rows in PRINTER["requirements"]().values() for number, row in rows.items()}


def test_no_test_carries_a_number_that_nobody_asked_for() -> None:
    unknown = [
        f"{one.path}:{one.line} {one.number}"
        for one in PRINTER["marked"]()
        if one.number not in KNOWN
    ]
    assert unknown == []


def test_every_number_that_is_asked_for_has_a_title_of_its_own() -> None:
    asked = {f"{letter}{n}" for letter, last in LAST.items() for n in range(1, last + 1)}
    assert set(KNOWN) == asked
    titles = [row.title for row in KNOWN.values()]
    assert len(set(titles)) == len(titles)
    assert all(title.endswith(".") and len(title) <= 120 for title in titles)


def test_a_remark_states_partly_or_not_yet_and_why() -> None:
    remarks = [row.remark for row in KNOWN.values() if row.remark]
    assert [one for one in remarks if not re.fullmatch(r"(partly|not yet): .+\.", one)] == []


def test_the_page_gives_every_number_its_status() -> None:
    carried = {one.number for one in PRINTER["marked"]()}
    shown = dict(
        re.findall(
            r"^- \*\*([A-E]\d+)\*\* .* — (works|partly|not yet)", PRINTER["text"](), re.MULTILINE
        )
    )
    assert set(shown) == set(KNOWN)
    assert {number for number, word in shown.items() if word == "works"} <= carried


def test_inner_functions_are_not_seen_from_outside() -> None:
    source = (
        "@pytest.fixture\ndef answer(repo): return repo.kl('status')\n"
        "def helper(repo): return repo.pytest()\n"
        "def test_by_fixture(answer): ...\ndef test_by_helper(repo): helper(repo)\n"
        "def test_pure(): assert tier([]) == 0\n"
    )
    found = PRINTER["_names_from_outside"](ast.parse(source))
    assert {"test_by_fixture", "test_by_helper"} <= found
    assert "test_pure" not in found
    row = PRINTER["Requirement"]("A title.", "")
    inner = PRINTER["Marked"]("A1", "tests/model/test_claim.py", "test_pure", 1, False)
    assert PRINTER["status"](row, [inner]).startswith("partly")
    assert PRINTER["status"](row, [inner._replace(outside=True)]) == "works"
    assert PRINTER["status"](row, []) == "not yet"


def test_markers_are_read_from_functions_classes_and_files() -> None:
    source = (
        'import pytest\npytestmark = [pytest.mark.slow, pytest.mark.requirement("A20")]\n'
        '@pytest.mark.requirement("A21", "A22")\ndef test_a(): ...\n'
        '@pytest.mark.requirement("A23")\nclass TestB:\n'
        '    @pytest.mark.requirement("A24")\n    def test_c(self): ...\n'
    )
    found = list(PRINTER["_numbers"](ast.parse(source)))
    assert [(name, number) for name, _, number in found] == [
        ("", "A20"),
        ("test_a", "A21"),
        ("test_a", "A22"),
        ("TestB", "A23"),
        ("test_c", "A24"),
    ]
