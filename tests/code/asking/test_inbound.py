"""Who uses a thing, and when "nobody" may be said."""

from __future__ import annotations

import pytest

from kl_hooks.code.asking.inbound import callers, refs
from kl_hooks.code.asking.opened import Graph
from tests.code.asking.conftest import Ask


def sources(graph: Graph, name: str) -> list[tuple[str, str]]:
    return [(link.relation, link.source) for link in callers(graph, name).links]


@pytest.mark.requirement("A31")
def test_references_of_every_sort_with_place_and_method(shop: Graph) -> None:
    found = refs(shop, "Basket")
    assert [(k.path, k.line, k.relation, k.source, k.method) for k in found.links] == [
        ("src/shop/core.py", 38, "inherits", "type:shop.core.BigBasket", "same scope"),
        ("src/shop/web.py", 2, "imports", "namespace:shop.web", "import"),
        ("src/shop/web.py", 5, "references", "function:shop.web.show_page", "import"),
        ("src/shop/web.py", 13, "calls", "function:shop.web.main", "import"),
        ("tests/test_core.py", 1, "imports", "namespace:tests.test_core", "import"),
        ("tests/test_core.py", 6, "calls", "method:tests.test_core.TestBasket.test_total", "import"),
    ]
    assert found.answer.verdict == "yes"
    assert [k.relation for k in refs(shop, "Priced").links] == ["implements"]
    assert {k.relation for k in refs(shop, "src/shop/core.py").links} >= {"imports"}


def test_calls_of_a_method_through_an_instance(shop: Graph) -> None:
    found = callers(shop, "Basket.total")
    assert [(k.source, k.method, k.confidence) for k in found.links] == [
        ("method:shop.core.BigBasket.total", "super", 90),
        ("function:shop.web.show_page", "instance", 80),
        ("method:tests.test_core.TestBasket.test_total", "instance", 80),
    ]


def test_a_call_of_a_class_is_one_of_its_init_and_told_once(shop: Graph) -> None:
    found = callers(shop, "Line")
    places = [(k.path, k.line) for k in found.links]
    assert places == [
        ("src/shop/core.py", 28),
        ("src/shop/core.py", 32),
        ("src/shop/core.py", 43),
        ("src/shop/web.py", 6),
    ]
    assert {k.target for k in found.links} == {"type:shop.core.Line"}


def test_a_class_whose_init_is_called_by_a_subclass_has_callers(graph_of: Ask) -> None:
    graph = graph_of({"m.py": "class A:\n    def __init__(self): pass\nclass B(A): pass\nB()\n"})
    assert [(k.source, k.target) for k in callers(graph, "A").links] == [("namespace:m", "method:m.A.__init__")]


def test_reading_a_property_calls_it(shop: Graph) -> None:
    assert [k.source for k in callers(shop, "Line.label").links] == ["function:shop.web.show_page"]


def test_a_test_is_called_by_pytest(shop: Graph) -> None:
    assert sources(shop, "test_total") == [("calls", "test:tests/test_core.py::TestBasket::test_total")]


@pytest.mark.requirement("C19")
def test_no_is_said_where_everything_was_looked_at(shop: Graph) -> None:
    found = callers(shop, "alone")
    assert (found.links, found.answer.verdict, found.answer.doubts) == ((), "no", ())
    assert refs(shop, "Basket.unused").answer.verdict == "no"


def test_unresolved_uses_of_the_name_leave_it_open(shop: Graph) -> None:
    found = callers(shop, "vanish")
    assert (found.links, found.answer.verdict) == ((), "not assessed")
    assert [(k.source, k.relation, k.line) for k in found.answer.unresolved] == [
        ("function:shop.web.main", "calls", 12)
    ]


@pytest.mark.parametrize("ask", [callers, refs])
def test_a_file_that_was_not_assessed_leaves_everything_open(graph_of: Ask, ask: object) -> None:
    graph = graph_of({"m.py": "def f(): pass\n", "bad.py": "x = = f()\n"})
    found = callers(graph, "f") if ask is callers else refs(graph, "f")
    assert (found.answer.verdict, found.answer.not_assessed) == ("not assessed", ("bad.py",))
