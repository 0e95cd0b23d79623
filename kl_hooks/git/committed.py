"""Which files are as they were committed, told from their bytes: no filter runs, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.git.repository import Repository, ask
from kl_hooks.git.run import GitFailed
from kl_hooks.git.treehash import object_id


def unlike_head(repo: Repository, paths: Sequence[str]) -> frozenset[str]:
    """The files among `paths` (from the top) that the current commit does not hold, or holds otherwise.

    All of them where there is no commit. A file that a checkout converts (line ends) counts as unlike. One git process.
    """
    try:
        out = ask(repo, "ls-tree", "--full-tree", "-z", "HEAD", "--", *paths)
    except GitFailed:
        return frozenset(paths)
    held = dict(_row(line) for line in out.split(b"\0") if line)
    return frozenset(path for path in paths if held.get(path) != _blob(repo, path, held.get(path, "")))


def _row(line: bytes) -> tuple[str, str]:
    about, _, path = line.partition(b"\t")
    return path.decode("utf-8", "surrogateescape"), about.rpartition(b" ")[2].decode("ascii")


def _blob(repo: Repository, path: str, like: str) -> str:
    """The blob id of the file on disk, hashed as `like` was; empty where it can't be read."""
    try:
        content = (repo.top / path).read_bytes()
    except OSError:
        return ""
    return object_id("sha256" if len(like) == 64 else "sha1", b"blob", content)
