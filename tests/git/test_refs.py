"""The trees that have a name: of branches, remote branches and tags, those with a message too."""

from __future__ import annotations

from kl_hooks.git.repository import find_repository, ref_trees
from tests.support import Checkout


def test_every_name_counts_and_what_lost_its_name_does_not(repo: Checkout) -> None:
    trees = []
    for number in range(4):
        repo.write("a.py", f"A = {number}\n")
        repo.commit()
        trees.append(repo.git("rev-parse", "HEAD^{tree}"))
        if number == 0:
            repo.git("tag", "-a", "v1", "-m", "with a message")
        if number == 1:
            repo.git("update-ref", "refs/remotes/origin/x", "HEAD")
    found = find_repository(repo.root)
    assert found is not None
    assert ref_trees(found) == {trees[0], trees[1], trees[3]}


def test_a_repository_without_a_commit_has_none(repo: Checkout) -> None:
    repo.git("checkout", "-q", "--orphan", "empty")
    repo.git("branch", "-D", "main")
    found = find_repository(repo.root)
    assert found is not None
    assert ref_trees(found) == set()
