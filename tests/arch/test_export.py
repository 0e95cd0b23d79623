"""Copies of the judged content: whole, private, linked where nothing changed, a few of them, nothing outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kl_hooks.arch.contracts.export import KEPT, export, name_of
from kl_hooks.arch.source import STAGED, content
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.files import Entry
from tests.arch.shop import ORDER, opened, shop
from tests.git.repos import write


def test_what_did_not_change_is_linked_and_old_ones_go(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    trees = []
    for number in range(KEPT + 2):
        write(folder, {ORDER: f"x = {number}\n"})
        seen = content(opened(folder))
        tree, lost = export(tmp_path / "cache", seen, seen.entries)
        assert lost == [] and (tree / ORDER).read_text() == f"x = {number}\n"
        assert {p.relative_to(tree).as_posix() for p in tree.rglob("*.py")} == {one.path for one in seen.entries}
        assert tree.parent.stat().st_mode & 0o077 == 0
        trees.append(tree)
    assert [tree.exists() for tree in trees] == [False, False] + [True] * KEPT
    assert len({(tree / "src/shop/web/page.py").stat().st_ino for tree in trees[2:]}) == 1
    assert (trees[-2] / ORDER).read_text() == f"x = {KEPT}\n"


def test_the_same_content_is_one_export_from_wherever_it_comes(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    places = {
        export(tmp_path / "cache", seen, seen.entries)[0]
        for seen in (content(opened(folder), source) for source in ("worktree", STAGED, "HEAD"))
    }
    assert len(places) == 1


def test_what_git_does_not_have_is_named_and_paths_that_lead_out_are_not_written(tmp_path: Path) -> None:
    seen = content(opened(shop(tmp_path / "shop")), STAGED)
    blob = seen.entries[0].blob
    entries = [
        Entry("../out.py", blob, "100644"),
        Entry("/abs.py", blob, "100644"),
        Entry("gone.py", "1" * 40, "100644"),
    ]
    tree, lost = export(tmp_path / "cache", replace(seen, entries=tuple(entries)), entries)
    assert lost == ["../out.py", "/abs.py", "gone.py"] and list(tree.iterdir()) == []
    assert not list(tmp_path.rglob("out.py"))
    assert name_of(entries) == name_of(entries[::-1]) != name_of(entries[1:])


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    seen = content(opened(shop(tmp_path / "shop")))
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(EnvironmentProblem, match="can't hold a copy of the source"):
        export(tmp_path / "cache", seen, seen.entries)
