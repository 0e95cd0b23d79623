"""The newest proven content, and what differs from it; the answer of the gate for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.snapshot import Snapshot
from kl_hooks.git.run import GitFailed
from kl_hooks.git.worktree import differing_paths
from kl_hooks.model.claim import Tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import name_list
from kl_hooks.proof.content_runs import NAMED
from kl_hooks.proof.gate import judge
from kl_hooks.workspace import Workspace

_LOOK_BACK: Final = 20
"""Passing runs among which the newest proven content is looked for."""
_TREES: Final = 5
"""Contents that are judged: each costs what `kl verify` costs."""
_LISTED: Final = 100
"""Paths in a JSON answer."""


class Nearest(NamedTuple):
    """A proven content, and what differs from it."""

    run: str
    tree: str
    paths: tuple[str, ...]
    """All of them, sorted."""

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        return {
            "run": self.run,
            "tree": self.tree,
            "paths": list(self.paths[:_LISTED]),
            "total": len(self.paths),
        }

    def __str__(self) -> str:
        """`only CHANGELOG.rst and .kl/ (2 files) differ from the proven content of run
        5d1e0a77`.
        """
        proven_content = f"the proven content of run {self.run[:8]}"
        places = _places(self.paths)
        if not places:
            return (
                f"no tracked file differs from {proven_content}; untracked files or their number do"
            )
        if len(places) > NAMED:
            return (
                f"{len(self.paths)} files differ from {proven_content}: {name_list(places, NAMED)}"
            )
        last = places[-1]
        if len(places) > 1:
            named = f"{', '.join(places[:-1])} and {last}"
        else:
            named = last
        return (
            f"only {named} {'differs' if len(self.paths) == 1 else 'differ'} from {proven_content}"
        )


def nearest(
    ws: Workspace, snapshot: Snapshot, trees: Sequence[str], other: str | None
) -> Nearest | None:
    """The newest proven content whose objects git has, against the content with these tree IDs.

    `other`: the tree to compare with; None: what is on disk. None where nothing was proven, or git
    has no answer.
    """
    if ws.repo is None or snapshot.gaps:
        return None
    left = _TREES
    for tree in _passing_trees(snapshot, trees):
        if not left:
            break
        try:
            paths = differing_paths(ws.repo, tree, other)
        except GitFailed:
            return None
        if paths is None:
            continue
        # here, not above: a content whose objects git does not have costs one short question, not a
        # judgment
        left -= 1
        try:
            proof = judge(ws, snapshot, (tree,), committed=True, transfer=False)[1]
        except UsageProblem:  # the settings of that content are invalid; another one may be proven
            continue
        if proof.tier >= Tier.INFERRED and proof.run:
            return Nearest(proof.run, tree, tuple(paths))
    return None


def _passing_trees(snapshot: Snapshot, besides: Sequence[str]) -> list[str]:
    """The tree IDs of the newest passing runs of tests, newest first, but for these."""
    # the header is canonical JSON, with no space after a colon, so its text can be matched
    sql = (
        "SELECT tree_all, tree FROM receipt WHERE source IN ('pytest', 'junit')"
        ' AND header LIKE \'%"verdict":"passed"%\' ORDER BY seq DESC LIMIT ?'
    )
    waiting = (
        entry.receipt
        for entry in snapshot.waiting
        if entry.receipt.result.get("verdict") == "passed"
    )
    rows = [
        *((receipt.tree_all, receipt.tree) for receipt in waiting),
        *(snapshot.db.rows(sql, (_LOOK_BACK,)) if snapshot.db else ()),
    ]
    return [
        tree
        for tree in dict.fromkeys(tree for row in rows for tree in row)
        if tree and tree not in besides
    ]


def _places(paths: Sequence[str]) -> list[str]:
    """The files at the top, and the directories there, with the number of files where it is more
    than one.
    """
    count = Counter(path.partition("/")[0] for path in paths)
    tops = [(path, *path.partition("/")[:2]) for path in paths]
    names = (
        f"{top}/ ({count[top]} files)" if slash and count[top] > 1 else path
        for path, top, slash in tops
    )
    return list(dict.fromkeys(names))
