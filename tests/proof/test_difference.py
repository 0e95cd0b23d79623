"""What differs between two contents, asked by many runs in one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kl_hooks.git.files import FileEntry, read_files, worktree_files
from kl_hooks.git.repository import Repository, git_in
from kl_hooks.git.run import one_moment
from kl_hooks.proof import difference
from kl_hooks.proof.difference import mentions, symbols_of_content
from kl_hooks.workspace import Workspace
from tests.support import Checkout

FILES = {
    "shop/cart.py": "def total():\n    return price\n",
    "shop/page.py": "from shop.cart import total\n",
    "shop/broken.py": "def f(:\n",
}


@pytest.fixture
def shop(repo: Checkout) -> Workspace:
    for path, text in FILES.items():
        repo.write(path, text)
    repo.commit()
    return repo.workspace()


def entries_of(ws: Workspace) -> list[FileEntry]:
    assert ws.repo is not None
    return worktree_files(ws.repo, (".py",))


def test_a_word_is_asked_once_in_a_moment(shop: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[str] = []

    def counting(repo: Repository, *words: str, **options: Any) -> bytes:
        questions.append(words[words.index("-e") + 1])
        return git_in(repo, *words, **options)

    monkeypatch.setattr(difference, "git_in", counting)
    assert shop.repo is not None
    with one_moment():
        first = mentions(shop.repo, ["total", "nowhere"], None)
        again = mentions(shop.repo, ["nowhere", "price", "total"], None)
        mentions(shop.repo, ["total"], "HEAD")
    assert first == {"total": {"shop/cart.py", "shop/page.py"}}
    assert again == first | {"price": {"shop/cart.py"}}
    assert questions == ["nowhere|total", "price", "total"]
    (shop.root / "shop" / "new.py").write_text("total\n")
    with one_moment():
        assert len(mentions(shop.repo, ["total"], None)["total"]) == 3


def test_a_content_is_looked_up_once_in_a_moment(shop: Workspace) -> None:
    asked: list[str] = []

    def read(entries: Sequence[FileEntry]) -> Iterator[tuple[FileEntry, bytes]]:
        asked.extend(entry.path for entry in entries)
        assert shop.repo is not None
        return read_files(shop.repo, entries)

    with one_moment():
        first = symbols_of_content(shop, entries_of(shop), read)
        again = symbols_of_content(shop, entries_of(shop), read)
    later = symbols_of_content(shop, entries_of(shop), read)
    assert first == again == later
    assert again["shop/cart.py"] is first["shop/cart.py"]
    assert later["shop/cart.py"] is not first["shop/cart.py"]
    assert first["shop/cart.py"].hashes.keys() == {"namespace:_", "function:_.total"}
    assert first["shop/cart.py"].names == {"price"}
    assert first["shop/broken.py"].error


def test_what_could_not_be_read_is_asked_again(shop: Workspace) -> None:
    def unreadable(entries: Sequence[FileEntry]) -> Iterator[tuple[FileEntry, bytes]]:
        return iter(())

    def readable(entries: Sequence[FileEntry]) -> Iterator[tuple[FileEntry, bytes]]:
        assert shop.repo is not None
        return read_files(shop.repo, entries)

    with one_moment():
        assert symbols_of_content(shop, entries_of(shop), unreadable)["shop/cart.py"].error
        assert symbols_of_content(shop, entries_of(shop), readable)["shop/cart.py"].hashes
