"""What `kl context` costs: the process against `import click`, the work inside against one bare full-text query.

    python -m bench.context_cost [--files 11000] [--rounds 15] [--repo PATH]

Makes a repository of that many Python files unless one is named (it needs a `.kl/` folder), warms it up, then measures
both sides in turn, so that a busy machine slows both, and prints ratios of medians of CPU time.
"""

from __future__ import annotations

import argparse
import random
import resource
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import python
from kl_hooks.context.build import build
from kl_hooks.model.package import Request
from kl_hooks.workspace import Workspace, open_workspace

TASK = "fix rounding of checkout totals in the price report"
QUERY = '"rounding" OR "checkout" OR "totals" OR "price" OR "report"'
SYLLABLES = ["ba", "cor", "di", "fen", "gla", "hu", "jin", "ko", "lam", "mi", "nor", "pu", "ras", "se", "tol", "vex"]
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
        path.write_text(f"import os{body}\n\nclass {chance.choice(known).title()}{n}:\n    y = 1\n", encoding="utf-8")
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
    """The database that holds the index, opened without any of our code."""
    for path in (p for p in ws.state.directory.rglob("*.db") if p.is_file()):
        connection = sqlite3.connect(path)
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'documents_text'").fetchone():
            return connection
        connection.close()
    raise SystemExit("no full-text index was built")


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
        sql = "SELECT rowid FROM documents_text WHERE documents_text MATCH ? ORDER BY rank LIMIT 10"
        build(ws, Request(TASK))
        rows: list[tuple[float, float, float, float]] = []
        for _ in range(asked.rounds):
            rows.append((
                python("-c", "import click", cwd=repo),
                python("-m", "kl_hooks", "context", TASK, cwd=repo),
                inside(lambda: connection.execute(sql, (QUERY,)).fetchall()),
                inside(lambda: build(ws, Request(TASK))),
            ))  # fmt: skip
        click, process, query, built = (statistics.median(column) for column in zip(*rows, strict=True))
    print(f"CPU, medians of {asked.rounds}, interleaved; first call (index built): {cold:.0f} ms")
    print(f"kl context, process / import click      {process / click:6.2f}   ({process:.0f} / {click:.0f} ms; goal 3)")
    print(f"build() / bare five-word FTS5 query     {built / query:6.2f}   ({built:.2f} / {query:.2f} ms; goal 10)")


if __name__ == "__main__":
    main()
