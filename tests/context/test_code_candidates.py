"""What code offers to a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.context.ranking import find_code
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.package import Signals, Task
from tests.code.making import repository, workspace
from tests.git.repos import write


def task(text: str) -> Task:
    return Task(text, Signals())


def test_a_symbol_has_its_place_signature_and_docstring(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo")
    found = find_code(ws, task("add_line to a basket"), 50)
    assert (found[0].id, found[0].kind, found[0].path) == (
        "file:src/shop/core.py",
        "file",
        "src/shop/core.py",
    )
    first = next(one for one in found if one.kind == "symbol")
    assert (first.id, first.title) == (
        "method:shop.core.Basket.add_line",
        "def add_line(self, item: str) -> None",
    )
    assert (first.text, first.summary) == ("", "")
    assert (first.path, first.line, first.tier) == ("src/shop/core.py", 8, None)
    assert first.reasons[0] == "has words of the task"
    page = next(one for one in find_code(ws, task("show the page"), 9) if one.kind == "symbol")
    assert (page.title, page.summary) == (
        "def show_page(basket: Basket) -> str",
        "Renders the page.",
    )


@pytest.mark.requirement("A12", "A15")
def test_a_class_named_by_a_plain_word_of_a_sentence_is_first(tmp_path: Path) -> None:
    tests = "".join(
        f"def test_basket_loses_items_{n}():\n    basket = items = 1\n\n\n" for n in range(60)
    )
    files = {
        "shop.py": "class Basket:\n    def total(self): pass\n",
        "tests/test_shop.py": tests,
        "inner.py": "def make():\n    class Basket: pass\n",
        "tests/fakes.py": "class Basket: pass\n",
    }
    ws = repository(tmp_path / "repo", files)
    for word in ("basket", "baskets"):
        found = find_code(ws, task(f"why does the {word} lose items"), 20)
        assert next(one.id for one in found if one.kind == "symbol") == "type:shop.Basket"
        paths = [one.path for one in found if one.kind == "file"]
        assert paths == ["shop.py", "inner.py", "tests/test_shop.py", "tests/fakes.py"]


def test_no_more_than_asked_and_the_same_every_time(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo")
    everything = find_code(ws, task("shop core basket"), 50)
    assert len(everything) > 3
    assert find_code(ws, task("shop core basket"), 3) == everything[:3]
    assert find_code(ws, task("the"), 5) == []
    assert find_code(ws, task("zebra"), 5) == []


def test_an_older_graph_is_better_than_none(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo")
    find_code(ws, task("page"), 1)
    write(tmp_path / "repo", {"late.py": "def page_later(): pass\n"})
    with ws.store.writing("graph"):
        found = [candidate.id for candidate in find_code(ws, task("page"), 9)]
    assert found and "function:late.page_later" not in found


def test_without_git_it_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "plain/.kl").mkdir(parents=True)
    ws = workspace(tmp_path / "plain")
    with pytest.raises(EnvironmentProblem, match="git"):
        find_code(ws, task("page"), 5)
