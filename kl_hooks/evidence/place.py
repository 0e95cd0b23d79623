"""Where something ran: the trees of the real content, commit and branch. What can't be known is None."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.repository import Repository
from kl_hooks.git.trees import snapshot
from kl_hooks.git.worktree import FileListing

_HARMLESS: Final = (".md", ".rst", ".log", ".patch", ".diff", ".orig", ".rej", ".swp", "~")
"""Endings of untracked files that no test is expected to need."""
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Place:
    """The content of a work tree at one moment."""

    tree: str | None = None
    """Git tree id of the tracked files as they are on disk."""
    tree_all: str | None = None
    """The same with untracked, not ignored files."""
    head: str | None = None
    branch: str | None = None
    dirty: bool = False
    changed: int = 0
    """Tracked files that differ from the commit."""
    untracked: tuple[str, ...] = ()
    """Files that git neither tracks nor ignores."""
    seen: FileListing = field(default_factory=FileListing, compare=False, repr=False)
    """What git listed when it was asked for the trees."""

    def plain(self) -> dict[str, Any]:
        """The keys of an opening record."""
        return {key: getattr(self, key) for key in ("tree", "tree_all", "head", "branch", "dirty")}

    @property
    def beside(self) -> dict[str, Any] | None:
        """What is untracked and could be needed by a test (not notes, nor what editors leave): how many, the first."""
        names = [name for name in self.untracked if not name.endswith(_HARMLESS)]
        return {"files": len(names), "first": names[:_NAMED]} if self.untracked else None

    @property
    def trees(self) -> tuple[str, ...]:
        """The tree ids that evidence for this content may carry."""
        return tuple(dict.fromkeys(t for t in (self.tree, self.tree_all) if t))


def place_of(repo: Repository | None, *, untracked: bool = True) -> Place:
    """The place now. Without git, or where git fails, everything is unknown: evidence then can't count as hard."""
    if repo is None or repo.bare:
        return Place()
    try:
        trees = snapshot(repo, untracked=untracked)
    except (EnvironmentProblem, OSError):
        return Place()
    known = trees.tree, trees.tree_all, trees.head, trees.branch, trees.dirty, trees.changed, trees.untracked
    return Place(*known, trees.seen)
