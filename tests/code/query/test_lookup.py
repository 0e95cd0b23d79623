"""What people type, and the one item that it means."""

from __future__ import annotations

import pytest

from kl_hooks.code.query.lookup import Ambiguous, Unknown, file_of, resolve_text
from kl_hooks.code.query.session import Graph
from kl_hooks.errors import UsageProblem
from tests.code.query.conftest import Ask


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("method:shop.core.Basket.add_line", "method:shop.core.Basket.add_line"),
        ("shop.core.Basket.total", "method:shop.core.Basket.total"),
        ("Line.label", "property:shop.core.Line.label"),
        ("method:Basket.unused", "method:shop.core.Basket.unused"),
        ("show_page", "function:shop.web.show_page"),
        ("SHOW_page", "function:shop.web.show_page"),
        ("Basket", "type:shop.core.Basket"),
        ("shop.core", "namespace:shop.core"),
        ("core", "namespace:shop.core"),
        ("src/shop/web.py", "namespace:shop.web"),
        ("./src/shop/web.py", "namespace:shop.web"),
        ("file:src/shop/web.py", "namespace:shop.web"),
        ("web.py", "namespace:shop.web"),
        ("shop/core.py:16", "method:shop.core.Line.__init__"),
        ("shop/core.py:16:9", "method:shop.core.Line.__init__"),
        ("shop/core.py:12", "type:shop.core.Line"),
        ("shop/core.py:2", "namespace:shop.core"),
        (
            "tests/test_core.py::TestBasket::test_total",
            "test:tests/test_core.py::TestBasket::test_total",
        ),
        (
            "test_core.py::TestBasket::test_total[x]",
            "test:tests/test_core.py::TestBasket::test_total",
        ),
        ("test_total", "method:tests.test_core.TestBasket.test_total"),
        (
            "test:tests/test_core.py::TestBasket::test_total",
            "test:tests/test_core.py::TestBasket::test_total",
        ),
    ],
)
def test_an_id_a_name_its_end_a_file_or_a_place(shop: Graph, text: str, identifier: str) -> None:
    assert resolve_text(shop, text).id == identifier


def test_several_items_of_one_name_are_listed(shop: Graph) -> None:
    with pytest.raises(Ambiguous) as caught:
        resolve_text(shop, "total")
    ids = [one.id for one in caught.value.candidates]
    assert ids == ["method:shop.core.Basket.total", "method:shop.core.BigBasket.total"]
    assert (
        str(caught.value)
        == "total: ambiguous (2 matches). Use one of:\n  method:shop.core.Basket.total "
        " src/shop/core.py:31\n  method:shop.core.BigBasket.total  src/shop/core.py:39"
    )


def test_only_whole_parts_of_a_name_fit(shop: Graph) -> None:
    for text in ("asket", "ket.add_line", "shop.cor", "src/shop/we", "hop/web.py"):
        with pytest.raises(Unknown):
            resolve_text(shop, text)


def test_what_may_have_been_meant_is_reported(shop: Graph) -> None:
    with pytest.raises(Unknown, match=r"Did you mean function:shop.web.show_page"):
        resolve_text(shop, "shop.web.show_pag")
    with pytest.raises(Unknown, match="Look for it with: kl graph search"):
        resolve_text(shop, "zzzzzz")


def test_a_near_name_is_proposed_of_the_owner_that_was_named(graph_of: Ask) -> None:
    graph = graph_of(
        {
            "shop/cart.py": "class Cart:\n    def total(self): pass\n",
            "a.py": "class B:\n    def total(self): pass\n",
        }
    )
    for text in ("Cart.totl", "shop.cart.Cart.totl", "method:shop.cart.Cart.totl", "cart.totl"):
        with pytest.raises(Unknown, match=r"Did you mean method:shop\.cart\.Cart\.total\?"):
            resolve_text(graph, text)
    with pytest.raises(Unknown, match=r"Did you mean method:a\.B\.total\?"):
        resolve_text(graph, "totl")


def test_files_of_one_module_name_are_addressed_by_path_and_by_name(graph_of: Ask) -> None:
    graph = graph_of(
        {"a/src/helpers.py": "def one(): pass\n", "b/src/helpers.py": "def two(): pass\n"}
    )
    assert resolve_text(graph, "a/src/helpers.py").id == "namespace:helpers@a/src/helpers.py"
    assert resolve_text(graph, "helpers.one").id == "function:helpers@a/src/helpers.py.one"
    with pytest.raises(Ambiguous):
        resolve_text(graph, "helpers")
    with pytest.raises(Ambiguous):
        file_of(graph, "helpers.py")


def test_a_file_that_was_not_assessed_states_why(graph_of: Ask) -> None:
    graph = graph_of({"bad.py": "x = = 1\n", "good.py": "y = 1\n"})
    with pytest.raises(UsageProblem, match=r"bad.py: was not assessed: line 1: invalid syntax"):
        resolve_text(graph, "bad.py")
    with pytest.raises(Unknown, match=r"\(1 file not assessed\)"):
        resolve_text(graph, "zzz")
    assert file_of(graph, "bad.py") == "bad.py"
    assert file_of(graph, "good") == "good.py"
