"""What a question to the graph costs after one file was changed among thousands, against `import
click`.

python -m bench.update_cost [--repository large|django] [--rounds 5]

The command as a process, for a file of the middle size and for a large one; and, in this process,
what of it is git, what is bringing the graph up to date, and what is the question.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar
from unittest import mock

from bench.measure import Cost, cost, median_costs
from bench.repositories import NAMES, NotHere, Repository, python_files, repository
from bench.table import Row, against, show

LARGE = "django/db/models/query.py"
CLICK, AGAIN = "import click", "kl graph symbols FILE, nothing changed"
GOAL = 1.6
_NUMBERS = itertools.count(time.time_ns())
T = TypeVar("T")


def files(repo: Repository) -> dict[str, str]:
    """Name of a row → the file that is changed for it: one of the middle size among those with any
    names, and `LARGE`.
    """
    sizes = sorted(((repo.top / path).stat().st_size, path) for path in python_files(repo.top))
    named = [(size, path) for size, path in sizes if size]
    chosen = [named[len(named) // 2], next(one for one in named if one[1] == LARGE)]
    return {f"kl graph symbols FILE of {size / 1000:.0f} kB": path for size, path in chosen}


def edit(repo: Repository, path: str) -> None:
    """Gives a file a content that nobody has seen."""
    text = repo.git("show", f"made:{path}").decode("utf-8")
    text += f"\n\ndef _bench_{next(_NUMBERS)}():\n    return {next(_NUMBERS)}\n"
    (repo.top / path).write_text(text, encoding="utf-8")


def restore(repo: Repository, path: str) -> None:
    """Puts it back as it was; the graph knows that too."""
    repo.git("checkout", "-q", "made", "--", path)
    cost(*repo.kl("graph", "symbols", path), cwd=repo.top, environ=repo.environ())


def processes(repo: Repository, changes: Mapping[str, str], rounds: int) -> dict[str, Cost]:
    """The command as a process, after each of the changes and without."""

    def click() -> Cost:
        return cost(sys.executable, "-c", "import click", cwd=repo.top, environ=repo.environ())

    def changed(path: str) -> Cost:
        edit(repo, path)
        took = cost(*repo.kl("graph", "symbols", path), cwd=repo.top, environ=repo.environ())
        restore(repo, path)
        return took

    def again() -> Cost:
        return cost(*repo.kl("graph", "symbols", LARGE), cwd=repo.top, environ=repo.environ())

    sides: dict[str, Callable[[], Cost]] = {CLICK: click}
    sides |= {name: lambda path=path: changed(path) for name, path in changes.items()}  # type: ignore[misc]
    return median_costs(sides | {AGAIN: again}, rounds)


def inside(repo: Repository, path: str, rounds: int) -> dict[str, float]:
    """Part → median CPU milliseconds, its git processes included, in this process, where all is
    imported already.
    """
    from kl_hooks.code.query.lookup import file_symbols
    from kl_hooks.code.query.session import Graph, refresh_graph
    from kl_hooks.git import files
    from kl_hooks.workspace import open_workspace

    seen: dict[str, list[float]] = {"opening": [], "git": [], "catching up": [], "question": []}
    environ = repo.environ()
    for _ in range(rounds + 1):
        edit(repo, path)
        took, ws = _timed(lambda: open_workspace(repo.top, environ=environ))
        seen["opening"].append(took)
        spent: list[float] = []

        def listed(
            *args: object,
            _true: Callable[..., object] = files.worktree_files,
            _spent: list[float] = spent,
        ) -> object:
            took, found = _timed(lambda: _true(*args))
            _spent.append(took)
            return found

        with mock.patch.object(files, "worktree_files", listed):
            took, scan = _timed(lambda: refresh_graph(ws))  # noqa: B023
        assert scan.parsed == 1, f"{scan.parsed} files were parsed, not one"
        seen["git"].append(sum(spent))
        seen["catching up"].append(took - sum(spent))
        with ws.store.reading("graph") as db:
            assert db is not None
            seen["question"].append(_timed(lambda: file_symbols(Graph(db, scan), path))[0])  # noqa: B023
    restore(repo, path)
    return {part: statistics.median(some[1:]) for part, some in seen.items()}


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """CPU milliseconds with children, and the result."""
    before = _spent()
    result = work()
    return _spent() - before, result


def _spent() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both) * 1000


def rows(seen: Mapping[str, Cost], parts: Mapping[str, Mapping[str, float]]) -> list[Row]:
    """The table. `parts`: name of a side → its parts. Pure."""
    click = seen[CLICK].cpu
    made = [Row(CLICK, f"{click:,.0f} ms CPU", 1.0, CLICK)]
    for name in [name for name in seen if name not in (CLICK, AGAIN)]:
        made.append(against(name, seen[name].cpu, click, CLICK, GOAL))
        made += [
            against(f"  inside: {part}", took, click, CLICK)
            for part, took in parts.get(name, {}).items()
        ]
    return [*made, against(AGAIN, seen[AGAIN].cpu, click, CLICK)]


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser()
    options.add_argument("--repository", choices=NAMES, default="large")
    options.add_argument("--rounds", type=int, default=5)
    asked = options.parse_args()
    try:
        repo = repository(asked.repository)
    except NotHere as why:
        print(f"not measured: {why}")
        return
    cost(*repo.kl("graph", "build"), cwd=repo.top, environ=repo.environ())
    changes = files(repo)
    seen = processes(repo, changes, asked.rounds)
    parts = {name: inside(repo, path, asked.rounds) for name, path in changes.items()}
    number = len(python_files(repo.top))
    show(
        f"One file changed among {number:,} ({asked.repository}): {asked.rounds} rounds",
        rows(seen, parts),
    )
    repo.git("reset", "-q", "--hard", "made")


if __name__ == "__main__":
    main()
