"""Revisions and ranges as people write them: which commit is meant, and where two histories part."""

from __future__ import annotations

from kl_hooks.errors import UsageProblem
from kl_hooks.git.repository import Repository, ask, is_shallow


def commit_of(repo: Repository, rev: str) -> str:
    """The id of the commit that a revision means. UsageProblem if there is none."""
    if rev and not rev.startswith("-") and "\0" not in rev:
        out = ask(repo, "rev-parse", "-q", "--verify", f"{rev}^{{commit}}", ok=(0, 1, 128))
        if len(out.split()) == 1:  # a range has two
            return out.decode("ascii").strip()
    hint = "The history here is cut off: fetch more (fetch-depth: 0)." if is_shallow(repo) else "See: git log --oneline"
    raise UsageProblem(f"{rev!r} is not a commit of this repository.", hint=hint)


def merge_base(repo: Repository, one: str, other: str) -> str:
    """The newest commit that both (ids) have in their history. UsageProblem if there is none."""
    out = ask(repo, "merge-base", one, other, ok=(0, 1)).split()
    if out:
        return out[0].decode("ascii")
    hint = "The history here is cut off: fetch more (fetch-depth: 0)." if is_shallow(repo) else "Write A..B instead."
    raise UsageProblem(f"{one[:12]} and {other[:12]} have no commit in common.", hint=hint)
