"""What code offers to a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.hookspecs import Retriever
from kl_hooks.model.package import Signals, Task
from kl_hooks.workspace import Workspace
from tests.code.making import repository, workspace
from tests.git.repos import write


def retriever(ws: Workspace) -> Retriever:
    return next(one for some in ws.plugins.hook.kl_retrievers() for one in some if one.name == "symbols")


def task(*keywords: str, symbols: tuple[str, ...] = (), paths: tuple[str, ...] = ()) -> Task:
    return Task(" ".join(keywords), Signals(keywords=keywords, symbols=symbols, paths=paths))


def test_a_symbol_has_its_place_signature_and_docstring(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo")
    first, *_ = retriever(ws).find(ws, task("line", symbols=("add_line",)), 5)
    assert (first.id, first.kind, first.title) == (
        "method:shop.core.Basket.add_line", "symbol", "def add_line(self, item: str) -> None",
    )  # fmt: skip
    assert (first.text, first.summary) == ("", "")
    assert (first.path, first.line, first.tier) == ("src/shop/core.py", 8, None)
    assert first.reasons == ("matches: add_line, line, add",)
    (page,) = retriever(ws).find(ws, task("page"), 1)
    assert (page.title, page.summary) == ("def show_page(basket: Basket) -> str", "Renders the page.")


@pytest.mark.requirement("A12", "A15")
def test_a_class_named_by_a_plain_word_of_a_sentence_is_first(tmp_path: Path) -> None:
    tests = "".join(f"def test_basket_loses_items_{n}():\n    basket = items = 1\n\n\n" for n in range(60))
    files = {
        "shop.py": "class Basket:\n    def total(self): pass\n", "tests/test_shop.py": tests,
        "inner.py": "def make():\n    class Basket: pass\n", "tests/fakes.py": "class Basket: pass\n",
    }  # fmt: skip
    ws = repository(tmp_path / "repo", files)
    for word in ("basket", "baskets"):
        found = [candidate.id for candidate in retriever(ws).find(ws, task("why", "does", word, "lose", "items"), 10)]
        assert found[0] == "type:shop.Basket"
        assert found[1].startswith("function:tests.test_shop.test_basket_loses_items")


def test_no_more_than_asked_and_the_same_every_time(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo")
    everything = retriever(ws).find(ws, task("shop", "core", "basket"), 50)
    assert len(everything) > 3
    assert retriever(ws).find(ws, task("shop", "core", "basket"), 3) == everything[:3]
    assert retriever(ws).find(ws, task(), 5) == []
    assert retriever(ws).find(ws, task("zebra"), 5) == []


def test_an_older_graph_is_better_than_none(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo")
    retriever(ws).find(ws, task("page"), 1)
    write(tmp_path / "repo", {"late.py": "def page_later(): pass\n"})
    with ws.store.writing("graph"):
        found = [candidate.id for candidate in retriever(ws).find(ws, task("page"), 5)]
    assert found and "function:late.page_later" not in found


def test_without_git_it_is_an_environment_problem(tmp_path: Path) -> None:
    (tmp_path / "plain/.kl").mkdir(parents=True)
    ws = workspace(tmp_path / "plain")
    with pytest.raises(EnvironmentProblem, match="git"):
        retriever(ws).find(ws, task("page"), 5)
