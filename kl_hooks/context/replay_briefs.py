"""Replay of briefs: what a prompt brings an agent, built for past commits whose answer is known.

Unlike the ranking alone, a brief is made of the graph, the tests that reach a symbol, the history
and the records of the parent, as a prompt makes it; so each task has a checkout and a store of its
own, in a temporary folder. It takes seconds a task. Receipts are not part of a commit: the tests
are found by calls and imports alone, as in a clone in which nothing was ever recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.context.brief import TESTS
from kl_hooks.context.build import build
from kl_hooks.context.replay import dotted_module
from kl_hooks.index.postings import SOURCE, corpus_of
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.package import PLACE
from kl_hooks.model.request import BRIEF, Request
from kl_hooks.model.symbol import dotted_name, last_name
from kl_hooks.model.text import counted

if TYPE_CHECKING:
    from kl_hooks.context.replay import Replayed
    from kl_hooks.git.repository import Repository
    from kl_hooks.model.package import Item, Package
    from kl_hooks.workspace import Workspace

BUDGETS: Final = (500, 1000)
"""Tokens of four characters; a prompt brings 500 at most."""


class Brief(NamedTuple):
    """What a brief of one task named."""

    files: int
    """Source files that it named …"""
    touched: int
    """… and those of them that the commit changed …"""
    changed: int
    """… of so many."""
    symbols: int
    """Changed functions, methods and classes that it named …"""
    changed_symbols: int
    """… of so many."""
    names_test: bool | None
    """Whether it named a test file that the commit changed; None: it changed none that was
    there.
    """
    characters: int


def replay_briefs(ws: Workspace, repo: Repository, replayed: Replayed) -> dict[int, Brief]:
    """Return budget → what the brief of a task named. Nothing in the repository is written.

    Raises EnvironmentProblem where no copy of the parent can be made.
    """
    from kl_hooks.workspace import workspace_at

    task = replayed.task
    with workspace_at(replace(ws, repo=repo), task.parent) as past:
        # a clone that kl is not set up in: the checkout is a temporary one
        (past.root / ".kl").mkdir(exist_ok=True)
        with past.store.reusing():
            packages = {
                budget: build(past, Request(task.text, f"{budget}tok", profile=BRIEF))
                for budget in BUDGETS
            }
    return {budget: judge(package, replayed) for budget, package in packages.items()}


def judge(package: Package, replayed: Replayed) -> Brief:
    """Return what a brief named of what the commit changed. Pure."""
    task = replayed.task
    places = [item for item in package.items if item.candidate.kind == PLACE]
    files = {item.candidate.path for item in places}
    files = {path for path in files if corpus_of(path) == SOURCE}
    tests = {item.candidate.path for item in package.items if item.candidate.kind == TESTS}
    symbols = sum(
        any(_shows(item, identifier) for item in places) for identifier in replayed.symbols
    )
    return Brief(
        len(files),
        len(files & task.files),
        len(task.files),
        symbols,
        len(replayed.symbols),
        bool(tests & task.tests) if task.tests else None,
        len(package.text),
    )


def _shows(item: Item, identifier: str) -> bool:
    """Whether an item shows a symbol (its ID as `replay.read_source` has it) of its file:
    `close(self)` on its own line, `Slot.close:88` among further names.
    """
    name = re.escape(last_name(identifier))
    is_named = re.search(rf"(?<!\w){name}(?:[:(]|  |$)", item.text, re.MULTILINE)
    is_in_file = dotted_name(identifier).startswith(f"{dotted_module(item.candidate.path)}.")
    return is_in_file and is_named is not None


def brief_figures(briefs: Sequence[Brief]) -> dict[str, Any]:
    """Return the shares over all tasks, to four digits; null of nothing. Pure.

    Recall is the mean of tasks, as in the other tables; precision that of all files named.
    """
    with_tests = [brief.names_test for brief in briefs if brief.names_test is not None]
    recalls = [brief.touched / brief.changed for brief in briefs if brief.changed]
    symbols = [brief.symbols / brief.changed_symbols for brief in briefs if brief.changed_symbols]
    return {
        "tasks": len(briefs),
        "file_recall": _share(sum(recalls), len(recalls)),
        "file_precision": _share(
            sum(brief.touched for brief in briefs), sum(brief.files for brief in briefs)
        ),
        "files_named": _share(sum(brief.files for brief in briefs), len(briefs)),
        "symbol_recall": _share(sum(symbols), len(symbols)),
        "tasks_with_tests": len(with_tests),
        "test_file_named": _share(sum(with_tests), len(with_tests)),
        "characters": _share(sum(brief.characters for brief in briefs), len(briefs)),
    }


def _share(part: float, whole: int) -> float | None:
    if not whole:
        return None
    return round(part / whole, 4)


def brief_lines(figures_of_budget: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of briefs for people."""
    first = next(iter(figures_of_budget.values()))
    yield (
        f"The brief that a prompt brings: {counted(first['tasks'], 'task')}, of which"
        f" {first['tasks_with_tests']} changed a test file"
    )
    yield (
        f"  {'percent':16}{'changed files':>15}{'changed symbols':>17}{'files named':>13}"
        f"{'of these changed':>18}{'test file named':>17}"
    )
    for budget, figures in figures_of_budget.items():
        named = figures["files_named"]
        if named is None:
            files_named = "–"
        else:
            files_named = f"{named:.1f}"
        yield (
            f"  {f'{budget:,} tokens':16}{_percent(figures['file_recall']):>15}"
            f"{_percent(figures['symbol_recall']):>17}{files_named:>13}"
            f"{_percent(figures['file_precision']):>18}{_percent(figures['test_file_named']):>17}"
        )


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    return f"{share:.1%}"
