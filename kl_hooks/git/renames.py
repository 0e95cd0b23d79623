"""Renames between two contents, as git detects them, and the last commits that touched paths."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.git.repository import Repository, git_in, is_commit_index

_DETECTION: Final = (
    "--name-status",
    "-z",
    "--find-renames",
    # the limit only bounds renames with edits, which cost git a comparison for each pair of files
    "-l1000",
    "--diff-filter=R",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "--no-relative",
)
_MAX_COMMITS: Final = 5000
"""Commits of a history that are searched for the last one that touched a path."""


def renamed_files(
    repo: Repository, before: str, after: str = "", suffix: str = ".py"
) -> dict[str, str]:
    """Path in `before` → its new path, of the files that git takes for renamed. One git process.

    `before` is a revision, and `after` one too; empty: what is staged, as a commit would hold it.
    Only files with the suffix are compared. GitFailed where git knows no such revision.
    """
    if after:
        command: Sequence[str] = ("diff-tree", "-r", *_DETECTION, before, after)
    else:
        command = ("diff-index", "--cached", "--ita-invisible-in-index", *_DETECTION, before)
    keep = not after and is_commit_index(repo)
    cells = git_in(repo, *command, "--", f"*{suffix}", keep_index=keep).split(b"\0")
    # `R087`, the old path, the new path
    return {
        os.fsdecode(old): os.fsdecode(new)
        for _, old, new in zip(cells[0::3], cells[1::3], cells[2::3], strict=False)
    }


def last_commit_touching(repo: Repository, rev: str, paths: Sequence[str]) -> str:
    """The newest commit in the history of `rev` that changed something at one of these paths; empty
    for none among the last `_MAX_COMMITS`. Two git processes.

    GitFailed where there is no such revision.
    """
    revisions = _recent(repo, rev)
    if not revisions:
        return ""
    command = ("--literal-pathspecs", "rev-list", "--max-count=1", *revisions, "--", *paths)
    return git_in(repo, *command).decode("ascii").strip()


def last_commits_touching(repo: Repository, rev: str, paths: Collection[str]) -> dict[str, str]:
    """Path → the newest commit in the history of `rev` that changed a file there, or under it; no
    entry for none among the last `_MAX_COMMITS`. Two git processes, however many paths.

    GitFailed where there is no such revision.
    """
    revisions = _recent(repo, rev) if paths else ()
    if not revisions:
        return {}
    # no path begins with `/`; `-c` for what a merge itself changed
    shown = ("--format=%x00/%H", "--name-only", "-z", "--no-renames", "-c", "--no-ext-diff")
    command = ("--literal-pathspecs", "log", *shown, *revisions, "--", *sorted(paths))
    commits: dict[str, str] = {}
    commit = ""
    for cell in filter(None, git_in(repo, *command).split(b"\0")):
        if cell.startswith(b"/"):
            commit = cell[1:].decode("ascii")
            continue
        changed = os.fsdecode(cell.removeprefix(b"\n"))
        for path in (changed, *map(str, PurePosixPath(changed).parents)):
            commits.setdefault(path, commit)
    return {path: commits[path] for path in paths if path in commits}


def _recent(repo: Repository, rev: str) -> tuple[str, ...]:
    """Arguments for the newest `_MAX_COMMITS` commits in the history of `rev`; empty for none.

    Without a bound git walks the whole history for a path that was never there.
    """
    newest = git_in(repo, "rev-list", f"--max-count={_MAX_COMMITS}", rev, "--").split()
    if not newest:
        return ()
    if len(newest) == _MAX_COMMITS:
        return (rev, f"^{newest[-1].decode('ascii')}")
    return (rev,)
