"""`kl context replay`: how well packages find code, graded on the history of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kl_hooks.cli.output import counted, echo, echo_json, progress, warn, workspace
from kl_hooks.context.replay import (
    BUDGETS,
    KL,
    METHODS,
    PLACES,
    Replay,
    Replayed,
    difference,
    find_tasks,
    losses,
    mean,
)
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git.repository import Repository, find_repository
from kl_hooks.model.text import one_line, safe_text

_AGAINST = ("BM25 symbol", "RRF")
_LOSSES = 20
_ENOUGH = 30
"""Tasks from which on an interval means something."""
_TITLES = {
    "all": "All tasks", "a changed symbol is named": "The message names a symbol that was changed",
    "none is named": "The message names none",
}  # fmt: skip
_ROWS = {
    "grep": "grep", "BM25 file": "BM25 of files", "BM25 symbol": "BM25 of symbols", "history": "past commits",
    "RRF": "three fused", KL: "kl context",
}  # fmt: skip
"""Method → what its row is called."""
_LEGEND = (
    "  grep             files that hold most of the message's words, rare ones counting more",
    "  BM25 of files    a plain full-text search over files; of symbols: over functions, methods and classes",
    "  past commits     files of older commits with such messages",
    "  three fused      the three rows before it by reciprocal rank",
    "  kl context       kl's ranking and its packages; packages of the other rows have eight signatures a file",
)


def replay_history(repos: Sequence[Path], last: int, tasks: int, seed: int, as_json: bool) -> None:
    """Replay commits of these clones, of this repository where none is named, and print what was found."""
    done: list[Replayed] = []
    for name, repo in _repositories(repos):
        chosen = find_tasks(repo, last, tasks, seed)
        if not chosen:
            warn(f"{name}: no commit here is a task: one that changes existing source and has a message of some words.")
        one = Replay(repo, name)
        with progress(f"Replaying {counted(len(chosen), 'commit')} of {name}"):
            done += [one.replay(task) for task in chosen]
    if as_json:
        echo_json(_as_json(done, seed))
    else:
        _print(done, seed)


def _repositories(paths: Sequence[Path]) -> list[tuple[str, Repository]]:
    if not paths:
        repo = workspace().repo
        if repo is None:
            raise EnvironmentProblem("a replay needs a git repository.", hint="Name one: --repo PATH")
        return [(repo.top.name, repo)]
    found = [(path.resolve().name, find_repository(path.resolve())) for path in paths]
    missing = [name for name, repo in found if repo is None]
    if missing:
        raise UsageProblem(f"{missing[0]!r} is in no git repository.", place="--repo")
    return [(name, repo) for name, repo in found if repo is not None]


def _groups(done: list[Replayed]) -> list[tuple[str, list[Replayed]]]:
    """The tasks whose text names a changed symbol leak the answer: they are shown apart."""
    named = [one for one in done if one.named]
    return [("all", done), ("a changed symbol is named", named), ("none is named", [o for o in done if not o.named])]


def _print(done: list[Replayed], seed: int) -> None:
    if not done:
        return
    echo("Each task is the message of a past commit, without paths, file names and IDs. To be found is what the commit")
    echo("changed: files of source, and functions, methods and classes. Only the content of its parent is searched.\n")
    for title, some in _groups(done):
        if some:
            _print_table(title, some)
    for line in _LEGEND:
        echo(line)
    echo()
    if len(done) < _ENOUGH:
        echo(f"Fewer than {_ENOUGH} tasks: differences between the rows may be chance. More: --tasks, --repo.")
    else:
        _print_differences(done, seed)
    lost = losses(done)
    echo()
    echo(f"A changed file is not among the first ten of kl context in {len(lost)} of {counted(len(done), 'task')}")
    for one in lost[:_LOSSES]:
        missing = ", ".join(sorted(one.missing))
        echo(f"  {one.repository} {one.task.sha[:10]} {one_line(one.task.text, 60)}: {safe_text(missing)}")
    if len(lost) > _LOSSES:
        echo(f"  … and {len(lost) - _LOSSES} more: --format json")


def _print_table(title: str, some: list[Replayed]) -> None:
    echo(f"{_TITLES[title]}: {counted(len(some), 'task')}")
    budgets = "".join(f"{f'{budget:,} tokens':>16}" for budget in BUDGETS)
    echo(f"  {'percent found':16}{'files among the first':^24}{'symbols':>9}  files and symbols in a package of")
    echo(f"  {'':16}" + "".join(f"{place:8}" for place in PLACES) + f"{'first 10':>9}{budgets}")
    for method in METHODS:
        found = mean(some, method)
        numbers = "".join(f"{value:8.1%}" for value in found.recall.values())
        texts = "".join(f"{files:9.1%}{symbols:7.1%}" for files, symbols in found.delivered.values())
        echo(f"  {_ROWS[method]:16}{numbers}{found.symbols:9.1%}{texts}")
    echo()


def _print_differences(done: list[Replayed], seed: int) -> None:
    echo("How much more kl context finds, in percentage points, with the interval that holds 95 % of resampled tasks:")
    for other in _AGAINST:
        for place in PLACES:
            gain, low, high = (100 * value for value in difference(done, other, place, seed))
            echo(f"  than {_ROWS[other]:16} among the first {place:2}: {gain:+5.1f}  [{low:+.1f} to {high:+.1f}]")


def _as_json(done: list[Replayed], seed: int) -> dict[str, Any]:
    groups = [
        {"group": title, "tasks": len(some), "methods": {name: mean(some, name).to_dict() for name in METHODS}}
        for title, some in _groups(done)
    ]
    return {
        "schema": "kl.replay/2", "groups": groups,
        "differences": [
            dict(zip(("gain", "low", "high"), difference(done, other, place, seed), strict=True))
            | {"against": other, "place": place}
            for other in _AGAINST
            for place in PLACES
        ],
        "losses": [
            {
                "repository": one.repository, "commit": one.task.sha, "task": one.task.text,
                "missing": sorted(one.missing),
            }
            for one in losses(done)
        ],
    }  # fmt: skip
