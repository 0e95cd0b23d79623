"""Revisions and ranges: the commit that is meant, and where histories part."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.errors import UsageProblem
from kl_hooks.git.ranges import commit_of, merge_base
from tests.git.repos import commit, make, opened, sh


def test_whatever_names_a_commit(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", {"a": "1"})
    sha = sh(repo.top, "rev-parse", "HEAD")
    sh(repo.top, "tag", "-a", "-m", "x", "v1")
    for rev in ("HEAD", "main", "v1", sha[:10], "HEAD^{}"):
        assert commit_of(repo, rev) == sha


@pytest.mark.parametrize("rev", ["", "nowhere", "--all", "-h", "HEAD:a", "HEAD^{tree}", "a\0b", "HEAD..HEAD"])
def test_whatever_does_not(tmp_path: Path, rev: str) -> None:
    with pytest.raises(UsageProblem, match="is not a commit"):
        commit_of(make(tmp_path / "r", {"a": "1"}), rev)


def test_where_two_histories_part(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", {"a": "1"})
    base = sh(repo.top, "rev-parse", "HEAD")
    one = commit(repo.top, "one")
    sh(repo.top, "checkout", "-q", "-b", "other", base)
    other = commit(repo.top, "other")
    assert merge_base(repo, one, other) == base
    sh(repo.top, "checkout", "-q", "--orphan", "alone")
    with pytest.raises(UsageProblem, match="no commit in common"):
        merge_base(repo, commit(repo.top, "alone"), one)


def test_in_a_shallow_clone_it_says_what_to_fetch(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", {"a": "1"})
    commit(repo.top, "two")
    sh(tmp_path, "clone", "-q", "--depth=1", f"file://{repo.top}", "shallow")
    with pytest.raises(UsageProblem) as refused:
        commit_of(opened(tmp_path / "shallow"), "HEAD~1")
    assert "fetch-depth: 0" in refused.value.hint
