"""Which files git ignores, in a repository or by a list of patterns: git itself reads the patterns."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kl_hooks.git.repository import Repository, ask
from kl_hooks.git.run import git


def ignored(folder: Path, patterns: bytes, scratch: Path) -> list[str]:
    """Paths of files below `folder`, `/` between, that the patterns name, sorted. Nothing in `folder` is written.

    `scratch` is an empty folder of the caller's for an empty repository and the patterns. Links are not followed; names
    that are not UTF-8 are left out. GitMissing, GitFailed as they come.
    """
    listed, empty = scratch / "patterns", scratch / "empty.git"
    listed.write_bytes(patterns)
    git("init", "-q", "--bare", str(empty), cwd=scratch)
    out = git(
        "-c", "core.bare=false", "--git-dir", str(empty), "--work-tree", str(folder),
        "ls-files", "-o", "-i", "-z", "--exclude-from", str(listed), cwd=folder,
    )  # fmt: skip
    names = (os.fsdecode(path) for path in out.split(b"\0") if path)
    return sorted(name for name in names if not any("\ud800" <= sign <= "\udfff" for sign in name))


def ignored_paths(repo: Repository, paths: Iterable[str]) -> set[str]:
    """Those of these paths (from the top) that git ignores, existing or not; no tracked ones. One git process.

    Empty where git refuses one of them, such as a path inside a submodule.
    """
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    out = ask(repo, "check-ignore", "-z", "--stdin", stdin=stdin, ok=(0, 1, 128))
    return {os.fsdecode(path) for path in out.split(b"\0") if path}
