"""What 100,000 entries of short-term memory cost: a write against a bare insert of SQLite as
durable as ours, a recall against a keyed read of the same database. The same of working memory on a
Redis server that the bench starts, against a SET and a GET of the client library; each side opens
its connection, as a command does.

python -m bench.tiers_cost [--entries 100000] [--rounds 60]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.command_cost import git, repository
from bench.table import Row, missing, table
from kl_hooks.store.cache import checksummed
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
        (f"{n:016x}", *ME, f"key {n}", "general", f'"value {n}"', now, now + 600_000_000_000)
        for n in range(entries)
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
    """(an insert, a keyed read) with the sync of our databases; each opens the file, as a command
    does.
    """

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


@contextmanager
def redis_server() -> Iterator[str]:
    """URL of a server on a socket of its own, without persistence."""
    with tempfile.TemporaryDirectory(prefix="kl-redis-", dir="/tmp") as folder:
        socket = Path(folder) / "redis.sock"
        options = ("--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", folder)
        server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        try:
            while not socket.exists():
                assert server.poll() is None, "redis-server ended"
                time.sleep(0.02)
            yield f"unix://{socket}"
        finally:
            server.terminate()
            server.wait()


def on_redis(folder: Path, entries: int, rounds: int) -> list[Row]:
    """Writes and recalls of working memory on a server that has so many entries of the same
    caller.
    """
    if shutil.which("redis-server") is None:
        return [missing("Redis")]
    import redis

    with redis_server() as url:
        git(folder, "config", "kl.redis", url)
        ws = open_workspace(folder)
        prefix, at = f"kl:{ws.state.cache.name}:", ws.clock.now()

        def place(number: int) -> str:
            return json.dumps([*ME, f"key {number}"])

        def stored(number: int) -> bytes:
            plain = {
                "value": f"value {number}",
                "type": "general",
                "at": at,
                "expires": at + 10**12,
                "by": ME.actor,
            }
            return checksummed(place(number), json.dumps(plain).encode())

        with redis.Redis.from_url(url) as client, client.pipeline(transaction=False) as pipe:
            for number in range(entries):
                pipe.set(prefix + place(number), stored(number), ex=3600)
                if number % 10_000 == 9_999:
                    pipe.execute()
            pipe.execute()

        def bare_call(act: Callable[[Any, int], object]) -> float:
            def call(number: int) -> None:
                with redis.Redis.from_url(url) as client:
                    assert act(client, number)

            return median(rounds, call)

        def ours(act: Callable[[Memory, int], object]) -> float:
            def call(number: int) -> None:
                memory = Memory(ws, ME)
                assert act(memory, number) and not memory.working.note

            return median(rounds, call)

        bare_set = bare_call(lambda client, n: client.set(f"bare {n}", stored(n), ex=3600))
        bare_get = bare_call(lambda client, n: client.get(prefix + place(n)))
        write = ours(lambda memory, n: memory.write(f"new {n}", "v", tier="working"))
        recall = ours(lambda memory, n: memory.read(f"key {n}", "working"))
    return [
        Row("SET on Redis, connected", f"{bare_set:,.0f} µs"),
        Row(
            "kl write to working memory",
            f"{write:,.0f} µs",
            write / bare_set,
            "SET on Redis",
            MOST_WRITE,
        ),
        Row("GET on Redis, connected", f"{bare_get:,.0f} µs"),
        Row(
            "kl recall from working memory",
            f"{recall:,.0f} µs",
            recall / bare_get,
            "GET on Redis",
            MOST_READ,
        ),
    ]


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
        redis_rows = on_redis(folder, chosen.entries, chosen.rounds)
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
    print("\n".join(table(f"working memory on Redis, {chosen.entries:,} entries", redis_rows)))
    return int(any(one.ratio and one.goal and one.ratio > one.goal for one in [*rows, *redis_rows]))


def _opened_row(ws: Workspace, sql: str, number: int) -> None:
    with ws.store.reading() as db:
        assert db is not None and db.row(sql, (*ME, f"key {number}"))


if __name__ == "__main__":
    sys.exit(main())
