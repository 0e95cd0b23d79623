"""Graphs of worktrees that are gone. Inside a graph nothing is left over: it is derived from files, and what a file no
longer says is gone with the next look. Decisions and violations are never pruned: they come from files and checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.model.change import Change
from kl_hooks.store.state import locate

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace.open import Workspace

POLICY: Final = "orphaned graphs"
_BESIDE: Final = ("", "-journal", "-wal", "-shm")


def look(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Graph databases that belong to no worktree and were not written for the days of grace."""
    days, found = numbers.orphaned_node_grace_period_days, []
    wanted = _wanted(ws)
    folder = ws.state.graph.parent
    locks = [path for path in folder.glob("*.lock") if not path.with_suffix(".db").exists()]
    for path in sorted([*folder.glob("*.db"), *locks]):
        written = path.lstat().st_mtime_ns // 1000
        if path.with_suffix(".db").name not in wanted and numbers.old(now, written, days):
            reason = f"its worktree is gone; orphaned_node_grace_period_days: {days}"
            found.append(Change("prune", f"graph/{path.name}", POLICY, reason, "kept"))
    return found


def _wanted(ws: Workspace) -> set[str]:
    """The names of the graphs of all worktrees that git knows."""
    names = {ws.state.graph.name, "main.db"}
    if ws.repo is None:
        return names
    inside = ws.repo.common_dir / "worktrees"
    for git_dir in inside.iterdir() if inside.is_dir() else ():
        names.add(locate(ws.root, ws.repo.common_dir, git_dir, str(ws.state.directory), ws.environ).graph.name)
    return names


def apply(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Takes these databases out, unless a worktree of that name is there again."""
    for one in changes:
        path = ws.state.graph.parent / Path(one.id).name
        if path.with_suffix(".db").name in _wanted(ws):
            continue
        for end in _BESIDE:
            path.with_name(path.with_suffix(".db").name + end).unlink(missing_ok=True)
        path.with_suffix(".lock").unlink(missing_ok=True)
