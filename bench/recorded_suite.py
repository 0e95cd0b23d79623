"""Whether a recorded run of the tests makes packages better or worse: the same tasks with and
without one.

    python -m bench.recorded_suite --repo CLONE … [--each 8] [--last 300] [--documents]

RUNS THE TESTS OF THESE REPOSITORIES in scratch clones: code of strangers, so this is no command of
kl. A task is a past commit: its message, without paths and IDs, asked at its parent. Printed is the
mean share of the changed files and symbols that the delivered package shows, without a recorded run
and after one, and the difference with its interval. `--documents` runs nothing: it compares
packages with no document indexed and with those of the repository.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.failing_tests import git, name_of, pytest, scratch
from kl_hooks.context.build import build
from kl_hooks.context.replay import Replay, Task, bootstrap, find_tasks
from kl_hooks.git.repository import find_repository
from kl_hooks.model.request import Request
from kl_hooks.workspace import open_workspace

BUDGETS = (1000, 4000)
_PLUGIN = ("-p", "pytest_kl.plugin", "--kl", "-q", "-x", "--tb=no", "-o", "addopts=")


def recall(clone: Path, task: Task, gold: frozenset[str], budget: int) -> tuple[float, float]:
    """The share of the files and of the symbols that a package of so many tokens shows."""
    package = build(open_workspace(clone), Request(task.text, f"{budget}tok"))
    shown = [item.candidate for item in package.items]
    files = {one.path for one in shown if one.kind in ("file", "symbol")}
    names = [name_of(one.id) for one in shown if one.kind == "symbol"]
    # the name of a symbol of a task begins with all folders of its file, as its module is not known
    # there
    found = [one for one in gold if any(f".{name_of(one)}".endswith(f".{name}") for name in names)]
    return len(task.files & files) / len(task.files), len(found) / len(gold) if gold else 1.0


def compare(
    path: Path, each: int, last: int, seed: int
) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """For each task the recalls (files and symbols by budget) without a recorded run, and with
    one.
    """
    repo = find_repository(path)
    assert repo is not None
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, task in enumerate(find_tasks(repo, last, each, seed)):
            place = Path(folder) / str(number)
            place.mkdir()
            clone = scratch(path, place)
            git(clone, "checkout", "--quiet", "--detach", task.parent)
            (clone / ".kl").mkdir(exist_ok=True)
            gold = Replay(repo, path.name).changed_symbols(task)
            without = tuple(
                value for budget in BUDGETS for value in recall(clone, task, gold, budget)
            )
            code, out = pytest(Path(sys.executable), clone, *_PLUGIN)
            if "kl: run" not in out:
                print(f"  {task.sha[:10]}: not recorded (exit {code})", file=sys.stderr)
                continue
            rows.append(
                (
                    without,
                    tuple(
                        value for budget in BUDGETS for value in recall(clone, task, gold, budget)
                    ),
                )
            )
    return rows


def compare_documents(
    path: Path, each: int, last: int, seed: int
) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """For each task the recalls without documents, and with those of the repository."""
    repo = find_repository(path)
    assert repo is not None
    rows = []
    for task in find_tasks(repo, last, each, seed):
        with tempfile.TemporaryDirectory() as folder:
            clone = scratch(path, Path(folder))
            git(clone, "checkout", "--quiet", "--detach", task.parent)
            (clone / ".kl").mkdir(exist_ok=True)
            gold = Replay(repo, path.name).changed_symbols(task)
            both = []
            for settings in ("version: 1\ndocuments:\n  include: [no-such-file]\n", "version: 1\n"):
                (clone / ".kl/config.yaml").write_text(settings, encoding="utf-8")
                both.append(
                    tuple(
                        value for budget in BUDGETS for value in recall(clone, task, gold, budget)
                    )
                )
            rows.append((both[0], both[1]))
    return rows


def report(name: str, rows: Sequence[tuple[tuple[float, ...], tuple[float, ...]]]) -> None:
    """A line for each measure: without, with, and the difference with its 95 % interval."""
    measures = [f"{what} @{budget // 1000}k" for budget in BUDGETS for what in ("files", "symbols")]
    for at, measure in enumerate(measures):
        before, after = [row[0][at] for row in rows], [row[1][at] for row in rows]
        middle, low, high = bootstrap([b - a for a, b in zip(before, after, strict=True)], 1)
        shares = f"{sum(before) / len(rows):.3f} -> {sum(after) / len(rows):.3f}"
        print(
            f"{name:12} {measure:12} {shares}  {middle:+.3f} [{low:+.3f}, {high:+.3f}] of"
            f" {len(rows)}",
            flush=True,
        )


def main() -> int:
    """0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repo", type=Path, action="append", required=True)
    parser.add_argument("--each", type=int, default=8)
    parser.add_argument("--last", type=int, default=300)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument(
        "--documents", action="store_true", help="with and without documents, in place of a run"
    )
    given = parser.parse_args()
    total = []
    for path in given.repo:
        rows = (compare_documents if given.documents else compare)(
            path, given.each, given.last, given.seed
        )
        if rows:
            report(path.name, rows)
        total += rows
    if len(given.repo) > 1 and total:
        report("all", total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
