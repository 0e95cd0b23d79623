"""The history of what kl costs: a line of `bench/history.jsonl` for each main that was measured.

    python -m bench.history [--rows verify] [--rounds 7]

A line is a JSON object: `commit`, `date` of that commit, `python`, `cores` of the machine, and
`rows`: the name of a row (`bench/rows.py`) → its median CPU time in units of its floor, both
measured in turn. Ratios of two machines can be compared more or less, times can't. The line of a
commit that has one for the same Python and machine is replaced. Where files differ from the commit
there is nothing to record.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.compare import parse_rows, working_tree
from bench.measure import ROOT, Failed, environment, medians
from bench.rows import Row

FILE: Final = ROOT / "bench" / "history.jsonl"
_SAME: Final = ("commit", "python", "cores")
"""Where these are equal, the newer line takes the place of the older one."""


def ratios(rows: Sequence[Row], rounds: int) -> dict[str, float]:
    """Name → ratio to the floor, of the rows that this checkout can run."""
    measured = {}
    with working_tree() as code:
        for row in rows:
            try:
                sides = [partial(code.floor, row), partial(code.milliseconds, row)]
                floor, took = medians(sides, rounds)
            except Failed as problem:
                print(f"  {row.name:20} not measured: {problem}", flush=True)
                continue
            measured[row.name] = round(took / floor, 3)
            print(f"  {row.name:20} {took / floor:6.2f} x its floor of {floor:,.0f} ms", flush=True)
    return measured


def line_of(commit: str, date: str, rows: Mapping[str, float]) -> dict[str, Any]:
    """A line of the history."""
    return {
        "commit": commit,
        "date": date,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "rows": dict(rows),
    }


def record(line: Mapping[str, Any], file: Path = FILE) -> None:
    """Add a line, in the place of one for the same commit, Python and machine."""
    texts = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    lines = [json.loads(text) for text in texts]
    others = [other for other in lines if any(other[key] != line[key] for key in _SAME)]
    file.write_text(
        "".join(json.dumps(entry) + "\n" for entry in [*others, line]), encoding="utf-8"
    )


def _git(*args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=ROOT, env=environment(), check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def main(argv: Sequence[str] | None = None) -> int:
    """0 where a line was written."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    options, rows = parse_rows(parser, argv)
    if _git("status", "--porcelain", "--", ".", f":!{FILE.relative_to(ROOT)}"):
        print("no line for the history: files differ from the commit", file=sys.stderr)
        return 1
    commit, date = _git("log", "-1", "--format=%H %cs").split()
    measured = ratios(rows, options.rounds)
    if measured:
        record(line_of(commit, date, measured))
    return 0 if measured else 1


if __name__ == "__main__":
    sys.exit(main())
