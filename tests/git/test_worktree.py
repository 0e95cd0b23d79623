"""One look answers for files and trees alike, as if each had asked for itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.git.files import read_files, worktree_files
from kl_hooks.git.repository import Repository
from kl_hooks.git.worktree import scan_worktree, snapshot
from tests.git.repos import make, write
from tests.git.test_trees import START, STATES, count, edit


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return make(tmp_path / "r", START)


@pytest.mark.parametrize("change", STATES, ids=lambda f: f.__name__)
def test_files_and_tree_are_those_that_each_would_find_alone(
    repo: Repository, change: Callable[[Path], None]
) -> None:
    change(repo.top)
    write(repo.top, {"untracked/u.py": "u\n", "ignored.log": "no\n"})
    scan = scan_worktree(repo)
    assert worktree_files(repo, scan=scan) == worktree_files(repo)
    assert worktree_files(repo, (".py",), scan) == worktree_files(repo, (".py",))
    assert snapshot(repo, scan=scan) == snapshot(repo)


def test_what_is_edited_is_hashed_once(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(repo.top)
    calls = count(monkeypatch)
    scan = scan_worktree(repo)
    assert len(calls) == 2
    found = worktree_files(repo, (".py",), scan)
    assert len(calls) == 3
    assert dict(read_files(repo, found)).keys() == set(found), (
        "the disk has them all: git is not asked"
    )
    assert len(calls) == 3
    snapshot(repo, scan=scan)
    assert len(calls) == 6, "HEAD, what is staged, the folders above the file that was edited"


def test_where_nothing_was_committed_yet(tmp_path: Path) -> None:
    repo = make(tmp_path / "r")
    write(repo.top, {"a.py": "a = 1\n"})
    scan = scan_worktree(repo)
    assert [entry.path for entry in worktree_files(repo, scan=scan)] == ["a.py"]
    assert snapshot(repo, scan=scan) == snapshot(repo)
