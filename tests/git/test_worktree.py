"""One look answers for files and trees alike, as if each had asked for itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.git.files import read_files, worktree_files
from kl_hooks.git.repository import Repository
from kl_hooks.git.run import one_moment
from kl_hooks.git.worktree import changed_files, scan_worktree, snapshot, tree_of_revision
from tests.git.repos import commit, make, sh, write
from tests.git.test_trees import START, STATES, count, edit


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return make(tmp_path / "r", START)


@pytest.mark.parametrize("change", STATES, ids=lambda f: f.__name__)
@pytest.mark.share(4)
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


def looks(repo: Repository) -> list[object]:
    """What all kinds of questions about the working tree are answered with."""
    first, head = (tree_of_revision(repo, name) or "" for name in ("FIRST^{tree}", "HEAD^{tree}"))
    return [
        snapshot(repo),
        worktree_files(repo, (".py",)),
        changed_files(repo, head),
        changed_files(repo, first, untracked=False),
        snapshot(repo, untracked=False),
        changed_files(repo, first),
        changed_files(repo, head, untracked=False),
        worktree_files(repo),
    ]


@pytest.mark.parametrize("change", STATES, ids=lambda f: f.__name__)
@pytest.mark.share(4)
def test_in_one_moment_each_answer_is_what_it_would_be_alone(
    repo: Repository, change: Callable[[Path], None]
) -> None:
    sh(repo.top, "tag", "FIRST")
    write(repo.top, {"later.py": "later = 1\n"})
    commit(repo.top, "later")
    change(repo.top)
    write(repo.top, {"untracked/u.py": "u\n", "ignored.log": "no\n"})
    alone = looks(repo)
    with one_moment():
        assert looks(repo) == alone
        assert looks(repo) == alone


def test_in_one_moment_the_files_are_looked_at_once(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count(monkeypatch)
    with one_moment():
        snapshot(repo)
        assert len(calls) == 4, "HEAD, the files in two, what is staged"
        worktree_files(repo, (".py",))
        with one_moment():
            snapshot(repo, untracked=False)
            changed_files(repo, tree_of_revision(repo, "HEAD^{tree}") or "")
        assert len(calls) == 6, "the name of the tree, and that it is there"
        write(repo.top, {"new.py": "new = 1\n"})
        assert "new.py" not in snapshot(repo).untracked
        assert len(calls) == 6
        with one_moment(is_later=True):
            assert "new.py" in snapshot(repo).untracked
        assert "new.py" not in snapshot(repo).untracked
    assert "new.py" in snapshot(repo).untracked


def test_in_one_moment_some_files_are_looked_at_alone_until_all_are_asked_for(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repo.top, {"new.py": "new = 1\n", "new.txt": "new\n"})
    with one_moment():
        calls = count(monkeypatch)
        sources = scan_worktree(repo, ["*.py"])
        assert scan_worktree(repo, ["*.py"]) is sources
        assert (len(calls), [*sources.listing.untracked]) == (2, [b"new.py"])
        everything = scan_worktree(repo)
        assert scan_worktree(repo, ["*.py"]) is everything
        assert (len(calls), [*everything.listing.untracked]) == (4, [b"new.py", b"new.txt"])
