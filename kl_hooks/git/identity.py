"""Identity: which repository a clone is of, and which person works in it; the same on every machine
and in every folder.
"""

from __future__ import annotations

from typing import Final

from kl_hooks.git.repository import Repository, git_in, is_shallow
from kl_hooks.model.definitions import lazy_pattern

_REMOTE: Final = lazy_pattern(
    r"(?:\w+://)?(?:[^@/]*@)?(?P<host>[^:/]+)(?::\d+)?[:/]+(?P<path>.+?)(?:\.git)?/?"
)


def remote_name(repo: Repository) -> str:
    """`example.org/team/shop` of the address of `origin`: the same over ssh and https, without who
    logs in. Empty for none, and for a folder: its path is another one on each machine.
    """
    answer = git_in(repo, "config", "--get", "remote.origin.url", ok=(0, 1))
    address = answer.decode("utf-8", "replace").strip()
    if address.startswith(("/", ".", "file:")):
        return ""
    parts = _REMOTE.fullmatch(address)
    if not parts:
        return ""
    return f"{parts['host']}/{parts['path']}"


def repository_identity(repo: Repository) -> str:
    """The name of the repository for what clones of it share outside of git: its first commit.

    Every clone has it, from whatever address it was cloned. A shallow clone has not: there it is
    the name of its remote. Empty before a commit, and for a shallow clone of a folder.
    """
    if is_shallow(repo):
        return remote_name(repo)
    # along the first parents alone: a history that was merged into this one has a first commit of
    # its own, and is another repository. 128: there is no commit yet
    first = git_in(
        repo, "rev-list", "--first-parent", "--max-parents=0", "HEAD", ok=(0, 128)
    ).split()
    if not first:
        return ""
    return first[0].decode("ascii")


def person(repo: Repository) -> str:
    """The address by which git knows who works here (`user.email`), in lower case; empty: git knows
    none.
    """
    answer = git_in(repo, "config", "--get", "user.email", ok=(0, 1))
    return answer.decode("utf-8", "replace").strip().lower()
