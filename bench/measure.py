"""How benches measure: CPU time of processes with their children, the sides in turn, medians."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
Side = Callable[[], "Cost"]


class Cost(NamedTuple):
    """What a process took, its children included."""

    cpu: float
    """Milliseconds, user and system."""
    wall: float
    """Milliseconds on the clock."""
    peak: float
    """MB of its largest process at its largest."""


class Failed(Exception):
    """A measured command ended otherwise than it should have."""


def environment() -> dict[str, str]:
    """Ours, with bytecode allowed (without it every import costs twice) and this checkout on the
    path.
    """
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "CI")}
    return variables | {"PYTHONPATH": str(ROOT)}


def command(*argv: str, cwd: Path, environ: Mapping[str, str] | None = None) -> float:
    """CPU milliseconds of a command, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=cwd, env=environ or environment(), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def cost(
    *argv: str, cwd: Path, environ: Mapping[str, str] | None = None, codes: Collection[int] = (0,)
) -> Cost:
    """What a command took. Failed where its exit code is none of `codes`, with the end of what it
    reported.
    """
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=environ or environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        _, status, used = os.wait4(process.pid, 0)
        passed = (time.perf_counter() - started) * 1000
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            output.seek(0)
            end = output.read().decode("utf-8", "replace")[-500:]
            raise Failed(f"{' '.join(argv)[:200]}: exit code {process.returncode}: {end}")
    unit = 1_000_000 if sys.platform == "darwin" else 1000
    return Cost((used.ru_utime + used.ru_stime) * 1000, passed, used.ru_maxrss / unit)


def python(*args: str, cwd: Path) -> float:
    """CPU milliseconds of this interpreter with these arguments."""
    return command(sys.executable, *args, cwd=cwd)


def wall(work: Callable[[], object]) -> float:
    """Milliseconds on the clock of a call."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def medians(sides: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """The median of each side, measured in turn `rounds` times after one round that does not
    count.
    """
    rows = [[side() for side in sides] for _ in range(rounds + 1)][1:]
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def median_costs(
    sides: Mapping[str, Side], rounds: int, warm_up: bool = True, may_fail: Collection[str] = ()
) -> dict[str, Cost]:
    """Name → median cost of each side, measured in turn `rounds` times; a round before that does
    not count.

    `may_fail`: other people's sides; one that fails is omitted from then on, and that is reported.
    """
    left, seen = dict(sides), dict[str, list[Cost]]()
    for number in range(rounds + warm_up):
        for name, side in list(left.items()):
            try:
                took = side()
            except Failed as problem:
                if name not in may_fail:
                    raise
                print(f"{name} is left out: {problem}", file=sys.stderr)
                del left[name]
                continue
            if number >= warm_up:
                seen.setdefault(name, []).append(took)
    return {
        name: Cost(*(statistics.median(values) for values in zip(*seen[name], strict=True)))
        for name in left
    }


def tree_peak(
    *argv: str, cwd: Path, environ: Mapping[str, str] | None = None, every: float = 0.05
) -> float | None:
    """MB that a command and all its children hold together at their largest, what they share
    counted once.

    Looked at every so many seconds; None where the system does not report it (only Linux does).
    """
    if not Path("/proc/self/smaps_rollup").exists():
        return None
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=environ or environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    most = 0
    while process.poll() is None:
        most = max(most, _resident(process.pid))
        time.sleep(every)
    return most / 1000


def _resident(pid: int) -> int:
    """kB of a process and its children."""
    proc = Path("/proc") / str(pid)
    try:
        rollup = (proc / "smaps_rollup").read_text()
        children = [
            child
            for task in (proc / "task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:  # it has just ended
        return 0
    own = next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
    return own + sum(_resident(int(child)) for child in children)
