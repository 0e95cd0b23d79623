"""One symbol on a page; one file as a tree."""

from __future__ import annotations

from kl_hooks.code.asking.defined import symbols
from kl_hooks.code.asking.opened import Graph
from kl_hooks.code.asking.shown import counted_relations, show
from tests.code.asking.conftest import Ask


def test_a_page(shop: Graph) -> None:
    page = show(shop, "Basket.total")
    assert page.symbol.decorators == ("@functools.cache",)
    assert page.symbol.signature == "def total(self) -> int"
    assert len(page.symbol.content_hash) == 16
    assert page.defined_by == "type:shop.core.Basket"
    assert page.overridden_by == ("method:shop.core.BigBasket.total",)
    assert page.tests == ("test:tests/test_core.py::TestBasket::test_total",)
    assert counted_relations(page.used_by) == {"calls": 3}
    assert {link.target for link in page.uses} >= {"method:shop.core.Line.price"}
    assert page.answer.verdict == "yes"
    assert show(shop, "BigBasket.total").overrides == ("method:shop.core.Basket.total",)


def test_a_class_with_its_bases_and_what_inherits_it(shop: Graph) -> None:
    page = show(shop, "Basket")
    assert page.defines == tuple(f"method:shop.core.Basket.{name}" for name in ("add_line", "total", "unused"))
    assert (page.bases, page.subclasses) == ((), ("type:shop.core.BigBasket",))
    assert show(shop, "Line").bases == ("interface:shop.core.Priced",)
    assert show(shop, "Line.price").overrides == ("method:shop.core.Priced.price",)


def test_a_file_as_a_tree(shop: Graph) -> None:
    path, found, problem = symbols(shop, "web.py")
    assert (path, problem) == ("src/shop/web.py", "")
    assert [(depth, one.id) for depth, one in found] == [
        (0, "namespace:shop.web"), (1, "function:shop.web.show_page"), (1, "function:shop.web.main"),
        (1, "function:shop.web.vanish"),
    ]  # fmt: skip
    depths = {one.id: depth for depth, one in symbols(shop, "shop.core")[1]}
    assert (depths["type:shop.core.Line"], depths["method:shop.core.Line.price"]) == (1, 2)


def test_a_file_that_could_not_be_read_says_so(graph_of: Ask) -> None:
    path, found, problem = symbols(graph_of({"bad.py": "x = = 1\n"}), "bad.py")
    assert (path, found) == ("bad.py", [])
    assert problem.startswith("bad.py:1:5: invalid syntax.")
