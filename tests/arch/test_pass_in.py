"""Who takes an argument already: counted where all were looked at, and no more looked at than one sentence needs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kl_hooks.arch import pass_in
from kl_hooks.arch.run import check
from kl_hooks.arch.source import STAGED, WORKTREE
from kl_hooks.code.parse import last_tree
from tests.arch.shop import ORDER, opened, shop
from tests.git.repos import sh, write

USING = "from shop.web.page import Page\n\n\ndef total() -> int:\n    return Page()\n"
TAKING = "def {name}(page: str) -> str:\n    return page\n"
CORE = "src/shop/core/"


def way_out(folder: Path, source: str = WORKTREE) -> str:
    verdict, _ = check(opened(folder), source)
    assert verdict is not None
    (found,) = verdict.violations
    return found.way_out


def test_they_are_those_of_the_content_that_is_judged(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: USING, f"{CORE}a.py": TAKING.format(name="a"), f"{CORE}b.py": TAKING.format(name="b")})
    sh(folder, "add", "-A")
    write(folder, {f"{CORE}a.py": "\n\n" + TAKING.format(name="a"), f"{CORE}b.py": "x = 1\n"})
    said = "pass the page in as an argument of total() (order.py:4); "
    assert way_out(folder) == f"{said}1 other core function already takes one (a.py:3)"
    assert way_out(folder, STAGED) == f"{said}2 other core functions already take one (a.py:1, b.py:1)"


def test_where_too_much_would_be_parsed_no_number_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_in, "_MOST_PARSED", 50)
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: USING, f"{CORE}a.py": TAKING.format(name="a"), f"{CORE}b.py": TAKING.format(name="b")})
    said = "pass the page in as an argument of total() (order.py:4)"
    assert way_out(folder) == f"{said}; other core functions already take one (a.py:1, ...)"
    monkeypatch.setattr(pass_in, "_MOST_PARSED", 10)
    assert way_out(folder) == said


def test_only_the_file_itself_and_files_with_examples_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shop(tmp_path / "shop")
    others = {f"{CORE}{n}.py": f"import page\n\n\ndef f(x):  # a page\n    page(page={n})\n" for n in range(20)}
    write(folder, {**others, f"{CORE}a.py": TAKING.format(name="a")})
    check(opened(folder))
    last_tree.cache_clear()
    seen: list[bytes] = []
    compiled = ast.parse
    monkeypatch.setattr(ast, "parse", lambda content, *args: seen.append(content) or compiled(content, *args))
    write(folder, {ORDER: USING})
    assert way_out(folder).endswith("1 other core function already takes one (a.py:1)")
    assert seen == [USING.encode(), TAKING.format(name="a").encode()]


def test_a_large_layer_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: USING, f"{CORE}a.py": TAKING.format(name="a")})
    monkeypatch.setattr(pass_in, "_MOST_FILES", 2)
    assert way_out(folder) == "pass the page in as an argument of total() (order.py:4)"
