"""Python's parser and libcst as oracles of who calls what: none is lost, none is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.callers_quality import measure, package_sources


@pytest.mark.sweep
def test_every_call_of_a_package_is_listed_or_counted_and_links_are_right(tmp_path: Path) -> None:
    quality = measure(tmp_path / "repo", package_sources("pluggy"), 40, seed=7)
    assert quality.missing == ()
    assert quality.calls > 30 and quality.compared > 10, "else it proves nothing"
    assert quality.precision >= 0.98, quality.wrong
