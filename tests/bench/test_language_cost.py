"""What is compared when a language is scanned: each file once, and copies with contents of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.language_cost import cold_graph, report, sources

pytest.importorskip("tree_sitter_rust")
pytestmark = pytest.mark.once


def test_a_folder_is_reported_by_its_language(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.rs").write_text("pub fn total() -> u32 { 1 }\n" * 20)
    (folder / "tool.py").write_text("def tool():\n    return 1\n")
    assert sources(folder).keys() == {"cart.rs"}
    words = report(folder, rounds=1, number=0)
    assert words.startswith("shop: 1 files, 0.0 MB, parse ")
    assert "walk" in words and "scan" in words


def test_a_cold_graph_has_as_many_contents_as_files(tmp_path: Path) -> None:
    build, parsed = cold_graph({"cart.rs": b"pub fn total() -> u32 { 1 }\n"}, 3)
    assert build > parsed > 0
