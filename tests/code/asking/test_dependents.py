"""What depends on a thing: each once, nearest first, with the link that leads there."""

from __future__ import annotations

from kl_hooks.code.asking.address import addressed
from kl_hooks.code.asking.dependents import dependents, reaching_tests
from kl_hooks.code.asking.opened import Graph
from tests.code.asking.conftest import Ask

TEST = "test:tests/test_core.py::TestBasket::test_total"


def levels(graph: Graph, name: str, depth: int = 3) -> list[tuple[int, str, str]]:
    return [(one.level, one.link.source, one.link.relation) for one in dependents(graph, name, depth).found]


def test_levels_and_relations(shop: Graph) -> None:
    assert levels(shop, "Line.price") == [
        (1, "method:shop.core.Basket.total", "calls"),
        (2, "function:shop.web.show_page", "calls"),
        (2, "method:shop.core.BigBasket.total", "calls"),
        (2, "method:tests.test_core.TestBasket.test_total", "calls"),
        (3, "function:shop.web.main", "calls"),
        (3, TEST, "calls"),
    ]
    assert levels(shop, "Line.price", 1) == [(1, "method:shop.core.Basket.total", "calls")]
    assert levels(shop, "alone") == []


def test_who_uses_a_part_depends_on_the_whole_but_parts_do_not(shop: Graph) -> None:
    found = {(level, name) for level, name, _ in levels(shop, "Basket", 1)}
    assert (1, "type:shop.core.BigBasket") in found
    assert (1, "function:shop.web.show_page") in found
    assert not any(name.startswith("method:shop.core.Basket.") for _, name in found)
    module = {name for _, name, _ in levels(shop, "src/shop/core.py", 1)}
    assert {"namespace:shop.web", "function:shop.web.main"} <= module
    assert not any(".core." in name.replace("test_core", "") for name in module)


def test_a_class_that_is_found_counts_with_its_parts(graph_of: Ask) -> None:
    graph = graph_of({"m.py": "class A: pass\nclass B(A):\n    @staticmethod\n    def f(): pass\ndef g(f=None): B.f()\n"
                              "def h(b: 'B'): return b.f()\n"})  # fmt: skip
    found = {name: level for level, name, _ in levels(graph, "A")}
    assert found["type:m.B"] == 1
    assert found["function:m.g"] == 2
    assert "method:m.B.f" not in found


def test_a_limit_cuts_the_farthest_and_the_total_stays(shop: Graph) -> None:
    found = dependents(shop, "Line.price", limit=2)
    assert [one.level for one in found.found] == [1, 2]
    assert found.total == 6


def test_three_answers(shop: Graph, graph_of: Ask) -> None:
    assert dependents(shop, "alone").answer.verdict == "no"
    assert dependents(shop, "vanish").answer.verdict == "not assessed"
    open_part = graph_of({"m.py": "class A:\n    def feed(self): pass\ndef f(x): x.feed()\n"})
    found = dependents(open_part, "A")
    assert (found.total, found.answer.verdict, len(found.answer.unresolved)) == (0, "not assessed", 1)


def test_tests_among_them(shop: Graph) -> None:
    assert reaching_tests(shop, addressed(shop, "Line.price")) == [TEST]
    assert reaching_tests(shop, addressed(shop, "alone")) == []
