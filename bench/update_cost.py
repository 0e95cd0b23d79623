"""What a question to the graph costs after one file was changed among thousands, against `import click`.

python -m bench.update_cost [--repository large|django] [--rounds 5]

The command as a process; and, in this process, what of it is git, what is bringing the graph up to date, and what is
the question.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
from collections.abc import Callable
from typing import TypeVar
from unittest import mock

from bench.measure import Cost, cost, median_costs
from bench.repositories import NAMES, NotHere, Repository, python_files, repository
from bench.table import Row, against, show

CHANGED = "django/db/models/query.py"
CLICK, SYMBOLS, AGAIN = "import click", "kl graph symbols FILE", "kl graph symbols FILE, nothing changed"
_NUMBERS = itertools.count()
T = TypeVar("T")


def edit(repo: Repository) -> None:
    """Gives the changed file a content that nobody has seen."""
    text = repo.git("show", f"made:{CHANGED}").decode("utf-8")
    text += f"\n\ndef _bench_{next(_NUMBERS)}():\n    return {next(_NUMBERS)}\n"
    (repo.top / CHANGED).write_text(text, encoding="utf-8")


def processes(repo: Repository, rounds: int) -> dict[str, Cost]:
    """The command as a process, after a change and without."""
    argv = repo.kl("graph", "symbols", CHANGED)

    def click() -> Cost:
        return cost(sys.executable, "-c", "import click", cwd=repo.top, environ=repo.environ())

    def changed() -> Cost:
        edit(repo)
        return cost(*argv, cwd=repo.top, environ=repo.environ())

    def again() -> Cost:
        return cost(*argv, cwd=repo.top, environ=repo.environ())

    return median_costs({CLICK: click, SYMBOLS: changed, AGAIN: again}, rounds)


def inside(repo: Repository, rounds: int) -> dict[str, float]:
    """Part → median CPU milliseconds, its git processes included, in this process, where all is imported already."""
    from kl_hooks.code.asking.defined import symbols
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.code.catch_up import catch_up
    from kl_hooks.git import files
    from kl_hooks.workspace.open import open_workspace

    seen: dict[str, list[float]] = {"opening": [], "git": [], "catching up": [], "question": []}
    environ = repo.environ()
    for _ in range(rounds + 1):
        edit(repo)
        took, ws = _timed(lambda: open_workspace(repo.top, environ=environ))
        seen["opening"].append(took)
        spent: list[float] = []

        def listed(*args: object, _true: Callable[..., object] = files.worktree, _spent: list[float] = spent) -> object:
            took, found = _timed(lambda: _true(*args))
            _spent.append(took)
            return found

        with mock.patch.object(files, "worktree", listed):
            took, scan = _timed(lambda: catch_up(ws))  # noqa: B023
        assert scan.parsed == 1, f"{scan.parsed} files were parsed, not one"
        seen["git"].append(sum(spent))
        seen["catching up"].append(took - sum(spent))
        with ws.store.reading("graph") as db:
            assert db is not None
            seen["question"].append(_timed(lambda: symbols(Graph(db, scan), CHANGED))[0])  # noqa: B023
    return {part: statistics.median(some[1:]) for part, some in seen.items()}


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """CPU milliseconds with children, and the result."""
    before = os.times()
    result = work()
    after = os.times()
    return sum(after[:4]) * 1000 - sum(before[:4]) * 1000, result


def rows(seen: dict[str, Cost], parts: dict[str, float]) -> list[Row]:
    """The table. Pure."""
    click = seen[CLICK].cpu
    made = [Row(CLICK, f"{click:,.0f} ms CPU", 1.0, CLICK), against(SYMBOLS, seen[SYMBOLS].cpu, click, CLICK, 1.6)]
    made.append(against(AGAIN, seen[AGAIN].cpu, click, CLICK))
    return made + [against(f"  inside: {part}", took, click, CLICK) for part, took in parts.items()]


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
    seen, parts = processes(repo, asked.rounds), inside(repo, asked.rounds)
    number = len(python_files(repo.top))
    show(f"One file changed among {number:,} ({asked.repository}): {asked.rounds} rounds", rows(seen, parts))
    repo.git("reset", "-q", "--hard", "made")


if __name__ == "__main__":
    main()
