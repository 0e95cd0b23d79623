"""What `kl context` costs: the process against its floor, the work inside against one bare
full-text query.

    python -m bench.context_cost [--files 11000] [--rounds 15] [--repo PATH]

Makes a repository of that many Python files unless one is named (it needs a `.kl/` folder), warms
it up, then measures all sides in turn, so that a busy machine slows all, and prints ratios of
medians of CPU time. The floor is the interpreter, click and what git is asked (`bench.floor`); the
query is that of an FTS5 table made here of the symbols.
"""

from __future__ import annotations

import argparse
import random
import resource
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import medians, python
from bench.table import Row, against, show
from kl_hooks.code.query.lookup import SYMBOLS
from kl_hooks.code.query.session import refresh_graph
from kl_hooks.context.build import build
from kl_hooks.context.ranking import StoredCode, _missing, rank
from kl_hooks.index.postings import OTHER, SOURCE, Segments, split
from kl_hooks.model.request import Request
from kl_hooks.workspace import Workspace, open_workspace

FLOOR = str(Path(__file__).with_name("floor.py"))
TASK = "fix rounding of checkout totals in the price report"
QUERY = '"rounding" OR "checkout" OR "totals" OR "price" OR "report"'
SYLLABLES = [
    "ba",
    "cor",
    "di",
    "fen",
    "gla",
    "hu",
    "jin",
    "ko",
    "lam",
    "mi",
    "nor",
    "pu",
    "ras",
    "se",
    "tol",
    "vex",
]
RARE = ["rounding", "checkout", "totals", "price", "report"]


def vocabulary(chance: random.Random) -> list[str]:
    """Three thousand words; those that the task asks for are no commoner than the rest."""
    made = {"".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(3_000)}
    return sorted(made) + RARE


def repository(folder: Path, files: int) -> Path:
    """A repository of `files` modules with four functions and a class each."""
    chance = random.Random(7)
    known = vocabulary(chance)
    for n in range(files):
        path = folder / "src" / f"part{n % 97:02}" / f"{chance.choice(known)}_{n}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        names = [f"{chance.choice(known)}_{chance.choice(known)}_{k}" for k in range(4)]
        docs = [" ".join(chance.choices(known, k=6)) for _ in names]
        body = "".join(
            f'\n\ndef {name}(x: int) -> int:\n    """{doc.capitalize()}."""\n    return x\n'
            for name, doc in zip(names, docs, strict=True)
        )
        path.write_text(
            f"import os{body}\n\nclass {chance.choice(known).title()}{n}:\n    y = 1\n",
            encoding="utf-8",
        )
    (folder / ".kl").mkdir()
    for args in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "Start"),
    ):
        subprocess.run(["git", *args], cwd=folder, check=True)
    return folder


def inside(work: Callable[[], object]) -> float:
    """CPU milliseconds of a call, of the git processes it starts too."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + used.ru_utime + used.ru_stime

    before = spent()
    work()
    return (spent() - before) * 1000


@contextmanager
def place(asked: str | None, files: int) -> Iterator[Path]:
    if asked:
        yield Path(asked)
        return
    with tempfile.TemporaryDirectory(prefix="kl-bench-") as folder:
        yield repository(Path(folder), files)


def full_text(ws: Workspace) -> sqlite3.Connection:
    """A full text of the same symbols: name, its parts, signature, docstring and path."""
    made = sqlite3.connect(":memory:")
    made.execute("CREATE VIRTUAL TABLE words USING fts5(name, parts, signature, doc, path)")
    with ws.store.reading("graph") as db:
        assert db is not None
        rows = db.rows(f"SELECT name, signature, doc, path FROM {SYMBOLS}")
    texts = [
        (name, " ".join(split(name)), signature, doc, path) for name, signature, doc, path in rows
    ]
    made.executemany("INSERT INTO words VALUES (?, ?, ?, ?, ?)", texts)
    return made


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--files", type=int, default=11_000)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--repo")
    asked = options.parse_args()
    with place(asked.repo, asked.files) as repo:
        cold = python("-m", "kl_hooks", "context", TASK, cwd=repo)
        ws = open_workspace(repo)
        connection = full_text(ws)
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"
        build(ws, Request(TASK))
        sides: dict[str, Callable[[], float]] = {
            "floor": lambda: python(FLOOR, "worktree", cwd=repo),
            "process": lambda: python("-m", "kl_hooks", "context", TASK, cwd=repo),
            "query": lambda: inside(lambda: connection.execute(sql, (QUERY,)).fetchall()),
            "refresh": lambda: inside(lambda: refresh_graph(ws)),
            "ranking": lambda: inside(lambda: ranking(ws)),
            "build": lambda: inside(lambda: build(ws, Request(TASK))),
        }
        seen = dict(zip(sides, medians(list(sides.values()), asked.rounds), strict=True))
    floor, query = seen["floor"], seen["query"]
    show(
        f"kl context, warm; first call (graph built): {cold:,.0f} ms CPU; {asked.rounds} rounds",
        [
            Row("floor: Python, click, git's answers", f"{floor:,.0f} ms CPU", 1.0, "floor"),
            against("kl context, process", seen["process"], floor, "floor", 1.5),
            against("  inside: all of it, imports done", seen["build"], floor, "floor"),
            against("  inside: the graph brought up to date", seen["refresh"], floor, "floor"),
            Row("bare five-word FTS5 query", f"{query:,.2f} ms CPU", 1.0, "query"),
            against("ranking of code", seen["ranking"], query, "query", 10),
        ],
    )


def ranking(ws: Workspace) -> None:
    """Both corpora ranked, without bringing the graph up to date."""
    with ws.store.reading("graph") as db:
        assert db is not None
        segments = Segments(db)
        source = rank(StoredCode(db, SOURCE, segments), TASK)
        rank(StoredCode(db, OTHER, segments), TASK, is_source=False, most=_missing(source, TASK))


if __name__ == "__main__":
    main()
