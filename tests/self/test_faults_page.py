"""The page of faults is printed from markers that are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import faults_page


def test_every_fault_is_injected_by_a_test() -> None:
    marked = {row.fault for row in faults_page.marked_faults()}
    assert marked == set(faults_page.FAULTS)


def test_the_page_has_a_row_for_every_marked_test() -> None:
    page = faults_page.text()
    missing = [row.test for row in faults_page.marked_faults() if f"[{row.test}](" not in page]
    assert missing == []


@pytest.mark.parametrize(
    "marker",
    [
        '"killed process", promised="a"',
        '"killed process", injected="a"',
        '"unknown", promised="a", injected="b"',
        'promised="a", injected="b"',
    ],
)
def test_a_marker_that_lacks_a_text_is_refused(tmp_path: Path, marker: str) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        f"@pytest.mark.fault({marker})\ndef test_a(): ...\n", "utf-8"
    )
    with pytest.raises(ValueError, match="test_a"):
        faults_page.marked_faults(tmp_path)
