"""Real repositories for the tests of this package, and the oracle: what git itself records after
`git add`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from kl_hooks.git.repository import Repository, find_repository
from tests.support import WHO, from_template

CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("GIT_") and name not in WHO
} | {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "LC_ALL": "C",
}


def sh(
    folder: Path, *args: str | bytes, stdin: bytes | None = None, ok: bool = True, **env: str
) -> str:
    """Plain git, as a person would call it."""
    done = subprocess.run(
        ["git", *args], cwd=folder, input=stdin, capture_output=True, env=CLEAN | env, check=False
    )
    assert not ok or done.returncode == 0, (args, done.stdout, done.stderr)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def make(folder: Path, files: dict[str, str] | None = None, *init: str) -> Repository:
    """A repository with one commit of `files`; none, no commit."""

    def build() -> None:
        sh(folder, "init", "-q", "-b", "main", *init)
        if files:
            write(folder, files)
            commit(folder, "first")

    if init:
        folder.mkdir(parents=True, exist_ok=True)
        build()
    else:
        from_template(folder, ("make", *(files or {}).items()), build, CLEAN)
    return opened(folder)


def write(folder: Path, files: dict[str, str]) -> None:
    """Writes text files, folders included."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def commit(folder: Path, message: str) -> str:
    """Commits everything; the new commit's id."""
    sh(folder, "add", "-A")
    sh(folder, "commit", "-q", "--allow-empty", "-m", message)
    return sh(folder, "rev-parse", "HEAD")


def opened(folder: Path) -> Repository:
    """The repository there."""
    found = find_repository(folder)
    assert found is not None
    return found


def oracle(repo: Repository, scratch: Path, how: str = "-A") -> str:
    """The tree that `git add HOW` and `git write-tree` make of the working tree, in a copy of
    everything.
    """
    copy = scratch / "oracle"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(repo.top, copy, symlinks=True)
    sh(copy, "add", how, ok=False)
    return sh(copy, "write-tree")


def fingerprint(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Every file below with the hash of its content, its mode and its time of change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        # git renews it at every look
        moment = 0 if path.name.startswith("sharedindex.") else state.st_mtime_ns
        found[str(path)] = (hashlib.sha256(content).hexdigest(), state.st_mode, moment)
    return found
