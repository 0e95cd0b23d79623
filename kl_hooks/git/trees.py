"""The tree that the working tree would become if it were committed as it is: what evidence is bound to.

A dirty working tree gets the very ID that the commit of the same content will have. Nothing is written anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kl_hooks.git.objects import TreeBuilder, object_id, tree_reader
from kl_hooks.git.repository import Repository, branch_name, find_repository, git_in, head
from kl_hooks.git.worktree import (
    GITLINK,
    REMOVED,
    FileChange,
    FileListing,
    FileStates,
    WorktreeScan,
    scan_worktree,
    staged_changes,
)

_MAX_UNTRACKED: Final = 256 * 1024 * 1024
"""Bytes. Data that nobody ignored must not be read at every test run: beyond this `tree_all` is unknown."""

_State = tuple[bytes, str] | None
"""(mode, blob ID) of a file; None: it is not there."""


@dataclass(frozen=True, slots=True)
class TreeSnapshot:
    """The working tree's content at one moment."""

    tree: str | None
    """ID of the tracked files as they are on disk; None: unknown (a file can't be read)."""
    tree_all: str | None
    """The same with untracked, not ignored files; None: unknown, or not asked for."""
    dirty: bool
    """The tracked files on disk are not those of HEAD."""
    changed: int
    """How many tracked files differ from HEAD."""
    exact: bool
    """False: a filter driver of the repository was not run, so a commit may get another ID."""
    head: str | None = None
    branch: str | None = None
    untracked: tuple[str, ...] = ()
    """Files that git neither tracks nor ignores, if they were asked for; a repository inside this one ends in `/`."""
    listing: FileListing = field(default_factory=FileListing, compare=False, repr=False)
    """What git listed: the paths of the content, without another question to git."""


def snapshot(repo: Repository, untracked: bool = True, scan: WorktreeScan | None = None) -> TreeSnapshot:
    """The trees of what is on disk now. Three git processes if it is clean, five if not, and as many per submodule;
    one less with a `scan` that was made just now, and another less if that has hashed what differs.

    A submodule whose files are not those of its commit gives the superproject an ID that no commit of it can have.

    GitFailed where the repository itself is broken; what can't be read makes an ID None, no exception.
    """
    commit, base, branch = _head(repo)
    if scan is None:
        scan = scan_worktree(repo, base=base, untracked=untracked)
        changes = scan.changes
    else:
        changes = scan.changes_from(base)
    others = scan.listing.untracked
    whole = untracked and _total_size(repo, others) <= _MAX_UNTRACKED
    unknown = _unknown(changes)
    found = scan.contents(unknown | (dict.fromkeys(others) if whole else {}))
    _add_nested_repositories(repo, found)
    tracked = _real_changes(changes, found)
    extra = {path.rstrip(b"/"): found.files.get(path.rstrip(b"/")) for path in others} if whole else {}
    ids = _tree_ids(repo, base if commit else "", tracked, extra) if tracked or any(extra.values()) else [base, base]
    tree = None if found.unreadable & unknown.keys() else ids[0]
    names = tuple(os.fsdecode(path) for path in others)
    tree_all = ids[1] if tree and whole and not found.unreadable else None
    dirty = bool(tracked) or tree is None
    return TreeSnapshot(tree, tree_all, dirty, len(tracked), found.exact, commit, branch, names, scan.listing)


def staged_tree(repo: Repository) -> TreeSnapshot:
    """The tree that `git commit` would make of the index, None while there are conflicts. Two git processes or three.

    `dirty` and `changed` are about what is staged.
    """
    commit, base, branch = _head(repo)
    changes = staged_changes(repo, base)
    if any(change.mode is None for change in changes.values()):
        return TreeSnapshot(None, None, True, len(changes), True, commit, branch)
    now = {path: (c.mode, c.blob) if c.mode and c.blob else None for path, c in changes.items()}
    tree = _tree_ids(repo, base if commit else "", now)[0] if now else base
    return TreeSnapshot(tree, None, bool(now), len(now), True, commit, branch)


def tree_of_revision(repo: Repository, rev: str) -> str | None:
    """The tree ID of a revision (a commit, a tag, a tree); None if there is none."""
    if rev.startswith("-"):
        return None
    out = git_in(repo, "rev-parse", "-q", "--verify", f"{rev}^{{tree}}", ok=(0, 1, 128))
    return out.decode().strip() or None


def differing_paths(repo: Repository, tree: str, other: str | None = None) -> list[str] | None:
    """The tracked files whose content differs between a tree and `other` (None: what is on disk), by path.

    None where git does not have the objects of the tree: that of a dirty working tree was never written.
    """
    if git_in(repo, "cat-file", "-t", tree, ok=(0, 128)).strip() != b"tree":
        return None
    if other is not None:
        out = git_in(repo, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", tree, other)
        return [os.fsdecode(path) for path in out.split(b"\0") if path]
    scan = scan_worktree(repo, base=tree, untracked=False)
    found = scan.contents(_unknown(scan.changes))
    _add_nested_repositories(repo, found)
    return sorted(os.fsdecode(path) for path in {*_real_changes(scan.changes, found), *found.unreadable})


def _head(repo: Repository) -> tuple[str | None, str, str | None]:
    """(commit, tree, branch) of HEAD; the empty tree where there is no commit yet."""
    out = git_in(repo, "rev-parse", "HEAD", "HEAD^{tree}", "--symbolic-full-name", "HEAD", ok=(0, 128))
    lines = out.decode("utf-8", "replace").splitlines()
    if len(lines) == 3:
        return lines[0], lines[1], branch_name(lines[2])
    return None, object_id(repo.object_format, b"tree", b""), head(repo)[1]


def _unknown(changes: Mapping[bytes, FileChange]) -> dict[bytes, bytes | None]:
    """Path → mode of the files whose content only the disk knows."""
    return {path: one.mode for path, one in changes.items() if one.blob is None and one.mode != REMOVED}


def _add_nested_repositories(repo: Repository, found: FileStates) -> None:
    """A repository inside this one whose tracked files were edited counts as the tree of what they are now."""
    for path, (mode, _) in list(found.files.items()):
        if mode != GITLINK:
            continue
        inner = find_repository(repo.top / os.fsdecode(path))
        now = snapshot(inner, untracked=False) if inner and inner.top != repo.top else None
        if now and now.tree is None:
            found.unreadable.add(path)
            del found.files[path]
        elif now and now.tree and now.dirty:
            found.files[path] = (mode, now.tree)


def _real_changes(changes: Mapping[bytes, FileChange], found: FileStates) -> dict[bytes, _State]:
    """What really differs, now that the contents are known."""
    real: dict[bytes, _State] = {}
    for path, change in changes.items():
        if path in found.unreadable:
            continue
        now: _State = None
        if change.mode and change.blob:
            now = (change.mode, change.blob)
        elif change.mode != REMOVED:  # what is removed may still be on disk, but untracked
            now = found.files.get(path)
        if now != change.before and (now or change.before[1].strip("0")):
            real[path] = now
    return real


def _tree_ids(repo: Repository, base: str, *states: Mapping[bytes, _State]) -> list[str]:
    """The ID of tree `base` (empty: of nothing) with these files, then with those too, and so on. One git process."""
    with tree_reader(repo) as load:
        builder = TreeBuilder(repo.object_format, base, load)
        return [_tree_id(builder, some) for some in states]


def _tree_id(builder: TreeBuilder, files: Mapping[bytes, _State]) -> str:
    """The ID with these files changed."""
    for path, state in files.items():
        if state is None:
            builder.drop(path)
    for path, state in files.items():  # afterwards: a folder may now be where a file was
        if state is not None:
            builder.put(path, *state)
    return builder.root()


def _total_size(repo: Repository, paths: list[bytes]) -> int:
    top, total = os.fsencode(repo.top), 0
    for path in paths:
        try:
            total += os.lstat(os.path.join(top, path)).st_size  # noqa: PTH118
        except OSError:
            continue
    return total
