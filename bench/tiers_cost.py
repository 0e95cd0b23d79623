"""What 100,000 entries of short-term memory cost: a write against a bare insert of SQLite as durable as ours, a recall
against a keyed read of the same database.

python -m bench.tiers_cost [--entries 100000] [--rounds 60]
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.command_cost import repository
from bench.table import Row, table
from kl_hooks.tiers.entries import Caller, writing
from kl_hooks.tiers.router import Memory
from kl_hooks.workspace import Workspace, open_workspace

MOST_WRITE, MOST_READ = 2.0, 3.0
ME = Caller("agent:bench", "s")
_COLUMNS = "id, actor, session, key, type, value, at, expires"


def fill(ws: Workspace, entries: int) -> None:
    """So many entries, in one transaction."""
    now = ws.clock.now()
    rows = (
        (f"{n:016x}", *ME, f"key {n}", "general", f'"value {n}"', now, now + 600_000_000_000) for n in range(entries)
    )
    with writing(ws, "bench") as db:
        db.many(f"INSERT INTO short_entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def median(rounds: int, act: Callable[[int], object]) -> float:
    """Microseconds, the median of so many calls."""
    took = []
    for number in range(rounds):
        start = time.perf_counter()
        act(number)
        took.append((time.perf_counter() - start) * 1e6)
    return statistics.median(took)


def bare(path: Path, rounds: int) -> tuple[float, float]:
    """(an insert, a keyed read) with the sync of our databases; each opens the file, as a command does."""

    def opened() -> sqlite3.Connection:
        made = sqlite3.connect(path, isolation_level=None)
        made.execute("PRAGMA synchronous = EXTRA")
        return made

    def insert(number: int) -> None:
        db = opened()
        db.execute("BEGIN IMMEDIATE")
        row = (f"b{number}", "bare", "s", f"b{number}", "general", '"v"', 1, 2)
        db.execute(f"INSERT INTO short_entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        db.execute("COMMIT")
        db.close()

    def read(number: int) -> None:
        db = opened()
        sql = "SELECT value FROM short_entry WHERE actor = ? AND session = ? AND key = ?"
        assert db.execute(sql, (*ME, f"key {number}")).fetchone()
        db.close()

    return median(rounds, insert), median(rounds, read)


def main() -> int:
    """Measures and prints; 1 if a goal is missed."""
    options = argparse.ArgumentParser()
    options.add_argument("--entries", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=60)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="kl-bench-") as place:
        folder = Path(place) / "repo"
        repository(folder)
        ws = open_workspace(folder)
        fill(ws, chosen.entries)
        memory = Memory(ws, ME)
        insert, read = bare(ws.state.database, chosen.rounds)
        write = median(chosen.rounds, lambda n: memory.write(f"new {n}", "v"))
        recall = median(chosen.rounds, lambda n: memory.read(f"key {n}", "short"))
        with ws.store.reading() as db:
            assert db is not None
            sql = "SELECT value FROM short_entry WHERE actor = ? AND session = ? AND key = ?"
            keyed = median(chosen.rounds, lambda n: _opened_row(ws, sql, n))
        routed = median(chosen.rounds, lambda n: memory.read(f"key {n}"))
    rows = [
        Row("bare insert, opened and committed", f"{insert:,.0f} µs"),
        Row("kl write", f"{write:,.0f} µs", write / insert, "bare insert", MOST_WRITE),
        Row("bare keyed read, opened", f"{read:,.0f} µs"),
        Row("keyed read of our store, opened", f"{keyed:,.0f} µs"),
        Row("kl recall", f"{recall:,.0f} µs", recall / keyed, "keyed read of our store", MOST_READ),
        Row(
            "kl recall through working memory",
            f"{routed:,.0f} µs",
            routed / keyed,
            "keyed read of our store",
            MOST_READ,
        ),
    ]
    print("\n".join(table(f"short-term memory, {chosen.entries:,} entries", rows)))
    return int(any(one.ratio and one.goal and one.ratio > one.goal for one in rows))


def _opened_row(ws: Workspace, sql: str, number: int) -> None:
    with ws.store.reading() as db:
        assert db is not None and db.row(sql, (*ME, f"key {number}"))


if __name__ == "__main__":
    sys.exit(main())
