"""How benches measure: CPU time of processes with their children, the sides in turn, medians."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def environment() -> dict[str, str]:
    """Ours, with bytecode allowed (without it every import costs twice) and this checkout on the path."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "CI")}
    return kept | {"PYTHONPATH": str(ROOT)}


def command(*argv: str, cwd: Path, environ: Mapping[str, str] | None = None) -> float:
    """CPU milliseconds of a command, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=cwd, env=environ or environment(), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def python(*args: str, cwd: Path) -> float:
    """CPU milliseconds of this interpreter with these arguments."""
    return command(sys.executable, *args, cwd=cwd)


def wall(work: Callable[[], object]) -> float:
    """Milliseconds on the clock of a call."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def medians(sides: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """The median of each side, measured in turn `rounds` times after one round that does not count."""
    rows = [[side() for side in sides] for _ in range(rounds + 1)][1:]
    return [statistics.median(column) for column in zip(*rows, strict=True)]
