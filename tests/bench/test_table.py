"""The tables that benches print: ratios, goals, what is missing."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import bench
from bench.__main__ import BENCHES
from bench.measure import Cost
from bench.table import MISSING, Row, against, judged, missing, table


@pytest.mark.parametrize(
    ("took", "goal", "word"), [(150, 1.5, "met"), (151, 1.5, "missed"), (9, None, "")]
)
def test_a_goal_is_met_up_to_its_ratio(took: float, goal: float | None, word: str) -> None:
    assert judged(against("side", took, 100, "limit", goal)) == word


def test_a_ratio_that_is_rounded_down_to_the_goal_still_misses_it() -> None:
    row = against("side", 150.4, 100, "limit", 1.5)
    assert row.cells() == ("side", "150 ms CPU", "1.50", "x limit", "<= 1.5", "missed")


def test_a_peer_that_is_missing_has_a_row_and_no_ratio() -> None:
    assert missing("tach").cells() == ("tach", MISSING, "", "", "", "")


def test_a_limit_of_nothing_gives_no_ratio() -> None:
    assert judged(against("side", 5, 0, "limit", 1)) == ""


def test_the_columns_of_a_table_are_aligned() -> None:
    title, head, *lines = table(
        "Title", [Row("a", "1 ms", 1.0, "x"), Row("a longer side", "1,000 ms", 10.25, "x", 2)]
    )
    assert title == "Title"
    assert (
        head.index("ratio") + len("ratio")
        == lines[0].index("1.00") + 4
        == lines[1].index("10.25") + 5
    )
    assert lines[1].endswith("<= 2  missed")


def test_every_bench_that_is_run_exists() -> None:
    folder = Path(bench.__file__).parent
    assert {
        name for name, _ in BENCHES if not (folder / f"{name.partition('.')[2]}.py").is_file()
    } == set()


@pytest.mark.parametrize("name", ["scan_cost", "drift_cost", "update_cost"])
def test_a_bench_prints_what_it_has_where_no_peer_is_installed(name: str) -> None:
    module = importlib.import_module(f"bench.{name}")
    if name == "scan_cost":
        seen = {one: Cost(10, 10, 10) for one in (module.AST, module.OURS, module.BUILD)}
        rows = module.rows(seen, None)
        assert [row.side for row in rows if row.took == MISSING] == [
            module.CTAGS,
            module.GRIFFE,
            module.GRIMP,
            module.AIDER,
        ]
    elif name == "drift_cost":
        ours = (
            module.CLICK,
            module.FLOOR,
            module.STAGED_FLOOR,
            module.CHECK,
            module.STAGED,
            module.OWN,
        )
        rows = module.rows({one: Cost(10, 10, 10) for one in ours})
        assert [row.side for row in rows if row.took == MISSING] == [
            module.WARM,
            module.COLD,
            module.TACH,
        ]
        assert {row.side: judged(row) for row in rows if row.goal}[module.OWN] == "missed"
    else:
        seen = {
            one: Cost(10, 10, 10)
            for one in (module.CLICK, "FILE of 3 kB", "FILE of 105 kB", module.AGAIN)
        }
        rows = module.rows(seen, {"FILE of 105 kB": {"git": 5.0}})
        assert [row.side for row in rows if row.goal] == ["FILE of 3 kB", "FILE of 105 kB"]
        assert rows[-2].cells()[:3] == ("  inside: git", "5 ms CPU", "0.50")
