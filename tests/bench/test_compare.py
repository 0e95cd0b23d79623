"""Two revisions measured in turn, and the history of what rows cost."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from bench import history
from bench.__main__ import BENCHES
from bench.compare import Comparison, compared, main, revision, selected
from bench.measure import ROOT, Failed
from bench.rows import PROJECTS, ROWS, Revision, Row


def test_a_comparison_is_of_medians_and_of_pairs() -> None:
    # the machine got slower while the pairs were measured: medians hide it, pairs do not
    comparison = Comparison("verify", (10, 20, 30, 40), (11, 22, 33, 44))
    assert comparison.ratio_of_medians() == pytest.approx(1.1)
    assert comparison.ratios() == pytest.approx([1.1] * 4)
    assert comparison.line().split() == [
        "verify",
        "25",
        "ms",
        "28",
        "ms",
        "1.100",
        "1.100",
        "(1.100",
        "to",
        "1.100)",
    ]


def test_the_sides_take_turns_and_the_first_pair_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    times, order = {"a": [9.0, 1, 2], "b": [9.0, 3, 6]}, []

    def measured(side: Revision, row: Row) -> float:
        order.append(side.name)
        return times[side.name].pop(0)

    monkeypatch.setattr(Revision, "milliseconds", measured)
    sides = [Revision(name, tmp_path, tmp_path) for name in "ab"]
    comparison = compared(ROWS[0], *sides, pairs=2)
    assert "".join(order) == "ababab"
    assert (comparison.first, comparison.second) == ((1, 2), (3, 6))


def test_rows_are_selected_by_a_regular_expression_and_each_has_its_project() -> None:
    assert [row.name for row in selected("^verify|context")] == [
        "context",
        "verify",
        "verify transferred",
    ]
    assert {row.project for row in ROWS} == PROJECTS.keys()
    with pytest.raises(ValueError, match="no row matches 'nothing': version, "):
        selected("nothing")


@pytest.mark.slow
def test_a_revision_runs_its_own_code_and_is_compared_with_the_files_on_the_disk(
    tmp_path: Path, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with revision("HEAD") as code:
        (code.code / "kl_hooks" / "__init__.py").write_text("raise SystemExit(7)\n")
        with pytest.raises(Failed, match="exit code 7"):
            code.milliseconds(selected("version")[0])
    assert main(["HEAD", "--rows", "^version$", "--pairs", "1"]) == 0
    printed = capfd.readouterr().out.splitlines()
    assert printed[0].startswith("A: HEAD, B: working tree; 1 pairs")
    assert printed[-1].split()[0] == "version" and len(printed) == 3


def test_a_line_of_the_history_takes_the_place_of_one_for_the_same_commit(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    for commit, ratio in (("a" * 40, 3.0), ("b" * 40, 2.0), ("a" * 40, 1.0)):
        history.record(history.line_of(commit, "2026-11-24", {"verify": ratio}), file)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [(line["commit"][0], line["rows"]) for line in lines] == [
        ("b", {"verify": 2.0}),
        ("a", {"verify": 1.0}),
    ]


def test_the_history_is_made_of_such_lines() -> None:
    names = {row.name for row in ROWS}
    lines = [json.loads(line) for line in history.FILE.read_text("utf-8").splitlines()]
    assert lines
    for line in lines:
        assert list(line) == ["commit", "date", "python", "cores", "rows"]
        assert len(line["commit"]) == 40 and line["cores"] > 0
        assert line["rows"] and line["rows"].keys() <= names
        assert all(isinstance(ratio, float) and ratio > 0 for ratio in line["rows"].values())


def test_a_full_bench_ends_with_a_line_of_the_history() -> None:
    assert BENCHES[-1] == ("bench.history", ())


@pytest.mark.parametrize(
    ("variables", "command"),
    [
        ((), "bench"),
        (("COMPARE=v1", "ROWS=verify|pytest"), "bench.compare v1 --rows 'verify|pytest'"),
        (("HISTORY=yes",), "bench.history"),
    ],
)
def test_make_bench_asks_for_what_its_variables_name(
    variables: tuple[str, ...], command: str
) -> None:
    # a make that runs these tests hands its own options on
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    printed = subprocess.run(
        ["make", "-n", "bench", *variables],
        cwd=ROOT,
        env=environ,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert printed.rstrip().endswith(f"/python -m {command}")
