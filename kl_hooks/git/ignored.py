"""Which files of any folder a list of gitignore patterns names: git reads the patterns, so they mean what git means."""

from __future__ import annotations

import os
from pathlib import Path

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
