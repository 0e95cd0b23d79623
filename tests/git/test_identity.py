"""The identity of a repository: the same in each clone, another one in every other repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.git.identity import repository_identity
from tests.support import Checkout, checkout


def identity(repo: Checkout) -> str:
    repository = repo.workspace().repo
    assert repository is not None
    return repository_identity(repository)


def cloned(repo: Checkout, folder: Path, address: str = "", *options: str) -> Checkout:
    repo.git("clone", "-q", *options, address or str(repo.root), str(folder))
    return Checkout(folder)


@pytest.fixture
def shop(tmp_path: Path, home: Path) -> Checkout:
    """A repository of two commits."""
    shop = checkout(tmp_path / "shop", {"shop.py": "A = 1\n"})
    shop.write("shop.py", "A = 2\n")
    shop.commit("second")
    return shop


@pytest.mark.parametrize(
    "remote",
    [
        "https://example.org/team/shop.git",
        "ssh://git@example.org:2222/srv/git/team/shop",
        "git@work-alias:team/shop.git",
        "file:///srv/git/shop.git",
        "../shop",
    ],
)
def test_clones_agree_however_their_remote_is_written(
    shop: Checkout, tmp_path: Path, remote: str
) -> None:
    by_path = cloned(shop, tmp_path / "by-path")
    by_url = cloned(shop, tmp_path / "by-url", shop.root.as_uri())
    by_url.git("remote", "set-url", "origin", remote)
    shop.git("config", "kl.storeRepository", "example.org/team/shop")
    assert identity(shop) == identity(by_path) == identity(by_url) != ""


def test_a_merged_history_of_another_repository_changes_no_identity(
    shop: Checkout, tmp_path: Path
) -> None:
    before = identity(shop)
    for number in range(5):
        library = checkout(tmp_path / f"library-{number}", {f"library_{number}.py": "B = 1\n"})
        shop.git("fetch", "-q", str(library.root), "HEAD")
        shop.git("merge", "-q", "--allow-unrelated-histories", "-m", "library", "FETCH_HEAD")
        assert identity(library) != identity(shop) == before


def test_shallow_clones_have_the_name_of_their_remote(shop: Checkout, tmp_path: Path) -> None:
    address = shop.root.as_uri()
    clone = cloned(shop, tmp_path / "shallow", address, "--depth", "1")
    assert identity(clone) == ""
    clone.git("remote", "set-url", "origin", "https://example.org/team/shop.git")
    assert identity(clone) == "example.org/team/shop"
    clone.git("remote", "set-url", "origin", address)
    clone.git("fetch", "-q", "--unshallow")
    assert identity(clone) == identity(shop)


def test_a_repository_without_a_commit_has_no_identity(tmp_path: Path, home: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    repo = Checkout(empty)
    repo.git("init", "-q")
    assert identity(repo) == ""
