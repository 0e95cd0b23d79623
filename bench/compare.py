"""What a change costs: two revisions measured in turn, in the same projects, by the same Python.

    python -m bench.compare REV [--rows verify] [--pairs 9]

Side A is the revision, side B the code of this checkout as it is on the disk. Each pair measures A,
then B; a first one does not count. Printed are the median CPU time of both, the ratio of the
medians, and the median of the ratios of the pairs with the middle half of them: where that holds 1,
a difference is not shown. `--rows` is a regular expression for names of rows (`bench/rows.py`).
"""

from __future__ import annotations

import argparse
import io
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.downloads import extract
from bench.measure import ROOT, Failed, environment
from bench.rows import ROWS, Revision, Row

_HEAD = f"  {'row':20} {'A':>8} {'B':>8}  B / A  of the pairs (middle half)"


@dataclass(frozen=True, slots=True)
class Comparison:
    """CPU milliseconds of one row, by pair."""

    row: str
    first: tuple[float, ...]
    second: tuple[float, ...]

    def ratio_of_medians(self) -> float:
        """What B takes, in units of A."""
        return statistics.median(self.second) / statistics.median(self.first)

    def ratios(self) -> list[float]:
        """B / A of each pair, in order of size."""
        return sorted(b / a for a, b in zip(self.first, self.second, strict=True))

    def line(self) -> str:
        """As it is printed."""
        ratios = self.ratios()
        quarter = len(ratios) // 4
        low, high = ratios[quarter], ratios[-1 - quarter]
        return (
            f"  {self.row:20} {statistics.median(self.first):5,.0f} ms"
            f" {statistics.median(self.second):5,.0f} ms  {self.ratio_of_medians():5.3f}"
            f"  {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"
        )


def selected(pattern: str) -> list[Row]:
    """The rows whose names the regular expression finds. ValueError where there is none."""
    rows = [row for row in ROWS if re.search(pattern, row.name)]
    if not rows:
        raise ValueError(f"no row matches {pattern!r}: {', '.join(row.name for row in ROWS)}")
    return rows


def parse_rows(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None
) -> tuple[argparse.Namespace, list[Row]]:
    """The options of a command that measures rows, and the rows that `--rows` chooses."""
    parser.add_argument("--rows", default="", help="a regular expression; all by default")
    options = parser.parse_args(argv)
    try:
        return options, selected(options.rows)
    except (ValueError, re.error) as problem:
        parser.error(str(problem))


@contextmanager
def revision(name: str) -> Iterator[Revision]:
    """The files of a revision of this repository in a scratch folder. CalledProcessError for none
    such.
    """
    archive = subprocess.run(
        ["git", "archive", name], cwd=ROOT, env=environment(), check=True, capture_output=True
    ).stdout
    with tempfile.TemporaryDirectory(prefix="kl-bench-") as folder:
        code, place = Path(folder) / "code", Path(folder) / "projects"
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            extract(packed, code)
        place.mkdir()
        yield Revision(name, code, place)


@contextmanager
def working_tree() -> Iterator[Revision]:
    """This checkout as it is on the disk."""
    with tempfile.TemporaryDirectory(prefix="kl-bench-") as place:
        yield Revision("working tree", ROOT, Path(place))


def compared(row: Row, first: Revision, second: Revision, pairs: int) -> Comparison:
    """Measure a row in turn. Failed where a side can't run it."""
    times = [(first.milliseconds(row), second.milliseconds(row)) for _ in range(pairs + 1)][1:]
    return Comparison(row.name, *zip(*times, strict=True))


def main(argv: Sequence[str] | None = None) -> int:
    """0 where each row that was asked for was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision")
    parser.add_argument("--pairs", type=int, default=9)
    options, rows = parse_rows(parser, argv)
    failed = 0
    with revision(options.revision) as first, working_tree() as second:
        busy = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        print(f"A: {first.name}, B: {second.name}; {options.pairs} pairs, CPU time ({busy})")
        print(_HEAD, flush=True)
        for row in rows:
            try:
                print(compared(row, first, second, options.pairs).line(), flush=True)
            except Failed as problem:
                failed = 1
                print(f"  {row.name:20} not measured: {problem}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
