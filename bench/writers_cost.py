"""How long short commands wait for each other: 64 at once that each write into one store, against
as many bare processes that import the same modules and write one row of SQLite; the sides in turn.

python -m bench.writers_cost [--writers 64] [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from bench.command_cost import git, repository
from bench.measure import environment
from bench.table import Row, against, table

GOAL: Final = 10.0
"""Seconds in which 99 of 100 writers end, on a machine that does nothing else."""
_COMMANDS: Final = (
    ("remember", "key-{n}", "a value of {n}"),
    ("pool", "write", "default", "bench.n{n}", "{n}"),
    ("decision", "new", "Decide {n}", "--context", "c", "--decision", "d"),
    ("memory", "add", "Totals of part {n} are rounded once"),
)
_MODULES: Final = """
import sys
from kl_hooks.__main__ import main
try:
    main()
except SystemExit:
    pass
sys.stderr.write("\\n".join(("", "MODULES", *sys.modules)))
"""
_BARE: Final = """
import sys
from importlib import import_module
for name in open(sys.argv[1]).read().split():
    try:
        import_module(name)
    except ImportError:
        pass
import sqlite3
db = sqlite3.connect(sys.argv[2], timeout=600, isolation_level=None)
db.execute("PRAGMA synchronous = EXTRA")
db.execute("BEGIN IMMEDIATE")
db.execute("INSERT INTO t VALUES (?)", (sys.argv[3],))
db.execute("COMMIT")
"""


class Wave(NamedTuple):
    """Processes that were started at once."""

    seconds: tuple[float, ...]
    """Of each, from the start of the first to its own end; in order."""
    cpu: float
    """Seconds of CPU of all of them."""
    refused: int
    """Those that did not end with 0."""

    @property
    def p99(self) -> float:
        """Seconds in which 99 of 100 ended."""
        return self.seconds[min(len(self.seconds) - 1, int(len(self.seconds) * 0.99))]


def wave(commands: Sequence[Sequence[str]], folder: Path) -> Wave:
    """Start these commands at once and wait for all of them."""
    started, before = time.monotonic(), os.times()
    running = {}
    for command in commands:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running[process.pid] = process
    seconds, refused = list[float](), 0
    while running:
        pid, status = os.wait()
        process = running.pop(pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        refused += process.returncode != 0
        seconds.append(time.monotonic() - started)
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Wave(tuple(seconds), cpu, refused)


def loaded_modules(folder: Path, command: Sequence[str]) -> list[str]:
    """The modules that a command of kl loads."""
    done = subprocess.run(
        [sys.executable, "-c", _MODULES, *command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.partition("MODULES\n")[2].split()


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser()
    options.add_argument("--writers", type=int, default=64)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="kl-bench-") as place:
        folder = repository(Path(place) / "repository")
        for command in (("init", "--yes"), ("pool", "create", "default"), ("remember", "a", "b")):
            subprocess.run(
                [sys.executable, "-m", "kl_hooks", *command],
                cwd=folder,
                env=environment(),
                capture_output=True,
                check=False,
            )
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "Set up")
        modules, database = Path(place) / "modules", Path(place) / "bare.db"
        modules.write_text("\n".join(loaded_modules(folder, ("remember", "a", "b"))), "utf-8")
        with closing(sqlite3.connect(database)) as bare_database:
            bare_database.execute("PRAGMA journal_mode = WAL")
            bare_database.execute("CREATE TABLE t (a)")
        numbers = iter(range(1_000_000))

        def kl() -> Wave:
            commands = []
            for _ in range(chosen.writers):
                n = next(numbers)
                words = _COMMANDS[n % len(_COMMANDS)]
                commands.append(
                    [sys.executable, "-m", "kl_hooks", *(word.format(n=n) for word in words)]
                )
            return wave(commands, folder)

        def bare() -> Wave:
            command = [sys.executable, "-c", _BARE, str(modules), str(database)]
            return wave([[*command, str(n)] for n in range(chosen.writers)], folder)

        sides: dict[str, Callable[[], Wave]] = {"kl": kl, "bare processes": bare}
        waves: dict[str, list[Wave]] = {name: [] for name in sides}
        for _ in range(chosen.rounds):
            for name, side in sides.items():
                waves[name].append(side())
    kl_waves, bare_waves = waves.values()
    load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
    title = f"{chosen.writers} writers at once, {os.cpu_count()} CPUs, load {load}"
    print("\n".join(table(title, rows(kl_waves, bare_waves, chosen.writers))))


def rows(kl_waves: Sequence[Wave], bare_waves: Sequence[Wave], writers: int) -> list[Row]:
    """What both sides took, the medians of their waves."""
    refused = sum(wave.refused for wave in kl_waves)
    p99, bare_p99 = (
        statistics.median(wave.p99 for wave in side) for side in (kl_waves, bare_waves)
    )
    cpu, bare_cpu = (
        statistics.median(wave.cpu for wave in side) * 1000 / writers
        for side in (kl_waves, bare_waves)
    )
    ratio = p99 / bare_p99
    return [
        Row(f"p99, {refused} refused", f"{p99:.2f} s", p99 / GOAL, f"{GOAL:g} s", 1.0),
        Row("p99", f"{p99:.2f} s", ratio, f"bare processes ({bare_p99:.2f} s)"),
        against("each", cpu, bare_cpu, f"bare processes ({bare_cpu:,.0f} ms)"),
    ]


if __name__ == "__main__":
    main()
