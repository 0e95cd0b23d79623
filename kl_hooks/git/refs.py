"""The trees that branches, tags and remote branches point at: what somebody may check out and ask about."""

from __future__ import annotations

from kl_hooks.git.repository import Repository, ask


def tips(repo: Repository) -> set[str]:
    """Tree ids of everything that has a name in git. One git process. GitFailed as it comes."""
    out = ask(repo, "for-each-ref", "--format=%(tree)%0a%(*tree)").decode("ascii", "replace")
    return {line for line in out.split() if line}
