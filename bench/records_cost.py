"""What ten thousand records cost: `list`, `search` and `review` over a full store, against the same
over an empty one.

python -m bench.records_cost [--rounds 9] [--records 10000]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from bench.command_cost import repository
from bench.measure import medians, python

GOAL = 2.0
WORDS = [
    "parser",
    "cache",
    "store",
    "index",
    "graph",
    "layer",
    "commit",
    "test",
    "tree",
    "blob",
    "token",
    "spool",
    "lock",
    "reader",
    "writer",
    "hash",
]
QUESTIONS = (
    ("kl decision list", ("decision", "list")),
    ("kl decision search parser cache", ("decision", "search", "parser", "cache")),
    ("kl memory list", ("memory", "list")),
    ("kl memory review --format json", ("memory", "review", "--format", "json")),
)
FILL = """
import pathlib, random, sys
from kl_hooks.records.write import create_records
from kl_hooks.workspace import open_workspace
ws, r, words = open_workspace(pathlib.Path(".")), random.Random(1), sys.argv[2].split()
create_records(ws, ws.kinds["memory"], [
    {"title": f"Lesson {n}", "pattern": f"{' '.join(r.choices(words, k=12))} {n}"} for n in range(int(sys.argv[1]))
])
"""


def decisions(folder: Path, count: int) -> None:
    """So many decision files, as hands would write them."""
    r, place = random.Random(1), folder / ".kl" / "knowledge" / "decisions"
    place.mkdir(parents=True)
    for n in range(1, count + 1):
        text = (
            f"---\nid: ADR-{n:04}\ntitle: {' '.join(r.choices(WORDS, k=4))} {n}\nstatus:"
            f" {r.choice(('accepted', 'proposed'))}\ndate: 2026-01-01\ngoverns:"
            f" [pkg/m{n % 200}.py]\ntags: [{r.choice(WORDS)}]\n---\n\n##"
            f" Context\n\n{' '.join(r.choices(WORDS, k=30))}\n\n##"
            f" Decision\n\n{' '.join(r.choices(WORDS, k=20))}\n"
        )
        (place / f"ADR-{n:04}.md").write_text(text, encoding="utf-8")


def main() -> int:
    """Measures and prints; 1 if a goal is missed."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--records", type=int, default=10_000)
    chosen = options.parse_args()
    missed = False
    with tempfile.TemporaryDirectory(prefix="kl-bench-") as place:
        empty, full = repository(Path(place) / "empty"), repository(Path(place) / "full")
        decisions(full, chosen.records)
        python("-c", FILL, str(chosen.records), " ".join(WORDS), cwd=full)
        for folder in (empty, full):
            python("-m", "kl_hooks", "decision", "list", cwd=folder)
        for name, args in QUESTIONS:
            few, many = medians(
                [
                    lambda where=where, args=args: python("-m", "kl_hooks", *args, cwd=where)
                    for where in (empty, full)
                ],
                chosen.rounds,
            )
            missed = missed or many / few > GOAL
            print(
                f"{name:<40} / empty store {many / few:6.2f}   (CPU {many:.0f} / {few:.0f} ms; goal"
                f" {GOAL:g})"
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
