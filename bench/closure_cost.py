"""What transitive dependents cost over 500,000 links: ours against SQLite's recursive query on a
plain table of links.

python -m bench.closure_cost [--rounds 5] [--links 500000]

The table is what people would make: texts, with an index on the target. Both give the texts of
everything that hangs on one item, to any depth and to depth 3.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from bench.measure import medians, wall
from kl_hooks.graph import links
from kl_hooks.graph.links import ANY_DEPTH, reach
from kl_hooks.graph.plugin import kl_schema
from kl_hooks.model.symbol import Link
from kl_hooks.store.database import Database
from kl_hooks.store.sqlite import open_sqlite
from kl_hooks.store.store import migrate

PER_FILE = 170
START = "function:pkg0.m2.f50"


def filled(path: Path, number: int) -> Database:
    """A graph database with so many links, packed and as rows of a plain table. The same for every
    run.
    """
    chance, nodes = random.Random(1), number // 5
    names = [f"function:pkg{n // 2000}.m{n // 20}.f{n}" for n in range(nodes)]
    batch: dict[str, list[Link]] = {}
    for n in range(number):
        source = n * nodes // number
        target = (
            int(source * chance.random() ** 2) if chance.random() < 0.9 else chance.randrange(nodes)
        )
        file = f"pkg/m{n // PER_FILE}.py"
        batch.setdefault(file, []).append(
            Link(names[source], "calls", names[target], file, n, "import", 100)
        )
    db = open_sqlite(path, write=True)
    migrate(db, [kl_schema()], path, None)
    with db.transaction():
        links.replace_many(db, batch)
        db.execute("CREATE TABLE plain (source TEXT NOT NULL, target TEXT NOT NULL)")
        db.many(
            "INSERT INTO plain VALUES (?, ?)",
            ((k.source, k.target) for some in batch.values() for k in some),
        )
        db.execute("CREATE INDEX plain_target ON plain (target)")
    return db


def recursive(db: Database, depth: int) -> set[str]:
    """The same by SQLite alone."""
    if depth == ANY_DEPTH:
        sql = "SELECT ? UNION SELECT p.source FROM plain p JOIN d ON p.target = d.n"
        found = db.rows(f"WITH RECURSIVE d(n) AS ({sql}) SELECT n FROM d", (START,))
    else:
        sql = (
            "SELECT ?, 0 UNION SELECT p.source, d.k + 1 FROM plain p JOIN d ON p.target = d.n WHERE"
            " d.k < ?"
        )
        found = db.rows(
            f"WITH RECURSIVE d(n, k) AS ({sql}) SELECT DISTINCT n FROM d", (START, depth)
        )
    return {row[0] for row in found} - {START}


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--links", type=int, default=500_000)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="kl-bench-") as place:
        db = filled(Path(place) / "graph.db", asked.links)
        for depth, depth_name, goal in (
            (ANY_DEPTH, "all", "; goal 0.2"),
            (1, "to depth 1", ""),
            (3, "to depth 3", ""),
        ):
            ours = reach(db, [START], depth).levels
            assert set(ours) == recursive(db, depth), "the two sides differ"
            mine, theirs = medians(
                [
                    lambda depth=depth: wall(lambda: reach(db, [START], depth)),  # type: ignore[misc]
                    lambda depth=depth: wall(lambda: recursive(db, depth)),  # type: ignore[misc]
                ],
                asked.rounds,
            )
            what = f"dependents over {asked.links:,} links, {depth_name} ({len(ours):,})"
            print(
                f"{what:<58} / recursive query {mine / theirs:6.2f}   (wall {mine:.1f} /"
                f" {theirs:.1f} ms{goal})"
            )
        db.close()


if __name__ == "__main__":
    main()
