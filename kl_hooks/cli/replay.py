"""`kl context replay`: how well packages find code, graded on the history of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kl_hooks.cli.output import echo, echo_json, progress, warn, workspace
from kl_hooks.context.replay import (
    BUDGETS,
    METHODS,
    PLACES,
    RECIPE,
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


def replay_history(repos: Sequence[Path], last: int, tasks: int, seed: int, as_json: bool) -> None:
    """Replay commits of these clones, of this repository where none is named, and print what was found."""
    done: list[Replayed] = []
    for name, repo in _repositories(repos):
        chosen = find_tasks(repo, last, tasks, seed)
        if not chosen:
            warn(f"{name}: no commit here is a task: one that changes existing source and has a message of some words.")
        one = Replay(repo, name)
        with progress(f"Replaying {len(chosen)} commits of {name}"):
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
    for title, some in _groups(done):
        echo(f"{title}: {len(some)} tasks")
        if not some:
            continue
        budgets = "".join(f"  file@{b // 1000}k  sym@{b // 1000}k" for b in BUDGETS)
        echo(f"  {'':12}" + "".join(f"{f'R@{place}':>7}" for place in PLACES) + f"    MRR sym@10{budgets}")
        for method in METHODS:
            found = mean(some, method)
            numbers = "".join(f"{found.recall[place]:7.3f}" for place in PLACES)
            texts = "".join(f"{files:9.3f}{symbols:8.3f}" for files, symbols in found.delivered.values())
            echo(f"  {method:12}{numbers}{found.reciprocal:7.3f}{found.symbols:7.3f}{texts}")
        echo()
    for other in _AGAINST:
        for place in PLACES:
            gain, low, high = difference(done, other, place, seed)
            echo(f"{RECIPE} - {other}, R@{place}: {gain:+.3f} [{low:+.3f}, {high:+.3f}]")
    lost = losses(done)
    echo()
    echo(f"not all files among the first ten: {len(lost)} of {len(done)} tasks")
    for one in lost[:_LOSSES]:
        missing = ", ".join(sorted(one.missing))
        echo(f"  {one.repository} {one.task.sha[:10]} {one_line(one.task.text, 60)}: {safe_text(missing)}")
    if len(lost) > _LOSSES:
        echo(f"  … and {len(lost) - _LOSSES} more: --format json")


def _as_json(done: list[Replayed], seed: int) -> dict[str, Any]:
    groups = [
        {"group": title, "tasks": len(some), "methods": {name: mean(some, name).to_dict() for name in METHODS}}
        for title, some in _groups(done)
    ]
    return {
        "schema": "kl.replay/1", "groups": groups,
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
