"""What a process took, and the medians of several."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.measure import Cost, Failed, cost, median_costs
from bench.scans import by_ast


def test_a_process_that_ends_wrongly_is_not_a_measurement(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="exit code 3: no such thing"):
        cost(
            sys.executable,
            "-S",
            "-c",
            "import sys; print('no such thing'); sys.exit(3)",
            cwd=tmp_path,
        )


def test_a_process_has_a_cost(tmp_path: Path) -> None:
    seen = cost(sys.executable, "-S", "-c", "raise SystemExit(1)", cwd=tmp_path, codes=(1,))
    assert seen.wall > 0 and seen.peak > 1


def test_medians_are_of_the_rounds_after_the_first_in_turn() -> None:
    turns: list[str] = []

    def side(name: str, values: list[float]) -> Cost:
        turns.append(name)
        return Cost(values.pop(0), 0, 0)

    first, second = [99.0, 1, 3, 2], [99.0, 5, 5, 6]
    seen = median_costs({"a": lambda: side("a", first), "b": lambda: side("b", second)}, 3)
    assert (seen["a"].cpu, seen["b"].cpu) == (2, 5)
    assert "".join(turns) == "abababab"


def test_the_limit_reads_what_can_be_parsed_and_no_hidden_folder(tmp_path: Path) -> None:
    for name, text in (
        ("a.py", "x = 1"),
        ("b.py", "x ="),
        ("pkg/c.py", ""),
        (".git/d.py", ""),
        ("e.txt", ""),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert by_ast(str(tmp_path), ()) == 2
    assert by_ast(str(tmp_path), ["pkg"]) == 1


def test_a_peer_that_fails_is_omitted_and_the_others_are_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken() -> Cost:
        raise Failed("no licence")

    sides = {"peer": broken, "ours": lambda: Cost(1, 2, 3)}
    assert median_costs(sides, 2, may_fail=("peer",)) == {"ours": Cost(1, 2, 3)}
    assert capsys.readouterr().err == "peer is left out: no licence\n"
    with pytest.raises(Failed):
        median_costs(sides, 2)
