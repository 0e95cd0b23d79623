"""What depends on a symbol: each once, nearest first, with the link that leads there.

The shortest chain of links between two nodes: equal in length to networkx's.
"""

from __future__ import annotations

import random

import networkx as nx
import pytest

from kl_hooks.code.query.dependents import dependency_path, dependents
from kl_hooks.code.query.lookup import resolve_text
from kl_hooks.code.query.references import reaching_tests
from kl_hooks.code.query.session import Graph
from kl_hooks.graph.links import DEPENDS, every
from tests.code.query.conftest import Ask

TEST = "test:tests/test_core.py::TestBasket::test_total"


def levels(graph: Graph, name: str, depth: int = 3) -> list[tuple[int, str, str]]:
    return [
        (one.level, one.link.source, one.link.relation)
        for one in dependents(graph, name, depth).found
    ]


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
    graph = graph_of(
        {
            "m.py": (
                "class A: pass\nclass B(A):\n    @staticmethod\n    def f(): pass\ndef g(f=None):"
                " B.f()\ndef h(b: 'B'): return b.f()\n"
            )
        }
    )
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
    assert (found.total, found.answer.verdict, len(found.answer.unresolved)) == (
        0,
        "not assessed",
        1,
    )


def test_tests_among_them(shop: Graph) -> None:
    assert reaching_tests(shop, resolve_text(shop, "Line.price")) == [TEST]
    assert reaching_tests(shop, resolve_text(shop, "alone")) == []


def shown(graph: Graph, start: str, end: str) -> list[tuple[str, str, int]]:
    return [
        (step.relation, step.target, step.line) for step in dependency_path(graph, start, end).steps
    ]


def test_each_step_has_its_place(shop: Graph) -> None:
    assert shown(shop, "shop.web.main", "Line.price") == [
        ("calls", "function:shop.web.show_page", 13),
        ("calls", "method:shop.core.Basket.total", 7),
        ("calls", "method:shop.core.Line.price", 32),
    ]
    assert shown(shop, "show_page", "LIMIT")[-1] == ("references", "field:shop.core.LIMIT", 19)


def test_it_may_begin_and_end_in_a_part(shop: Graph) -> None:
    assert shown(shop, "BigBasket", "Line.price") == [
        ("holds", "method:shop.core.BigBasket.total", 38),
        ("calls", "method:shop.core.Basket.total", 40),
        ("calls", "method:shop.core.Line.price", 32),
    ]
    steps = shown(shop, "show_page", "Basket")
    assert steps == [("references", "type:shop.core.Basket", 5)]
    assert shown(shop, "Basket.total", "Basket") == [("is part of", "type:shop.core.Basket", 31)]
    assert shown(shop, "Basket", "Basket") == []


def test_it_may_lead_through_a_class_by_a_part(graph_of: Ask) -> None:
    code = "class A: pass\nclass B(A):\n    @staticmethod\n    def f(): pass\nb: B\n"
    graph = graph_of({"a.py": code, "m.py": "import a\ndef g(): return a.b.f()\n"})
    steps = shown(graph, "g", "A")
    assert steps in (
        [("calls", "method:a.B.f", 2), ("is part of", "type:a.B", 0), ("inherits", "type:a.A", 2)],
        [
            ("references", "field:a.b", 2),
            ("references", "type:a.B", 5),
            ("inherits", "type:a.A", 2),
        ],
    )


def test_none_and_not_assessed(shop: Graph, graph_of: Ask) -> None:
    assert (
        dependency_path(shop, "Line.price", "show_page").answer.verdict,
        shown(shop, "Line.price", "show_page"),
    ) == (
        "no",
        [],
    )
    lost = dependency_path(shop, "shop.web.main", "vanish")
    assert (lost.steps, lost.answer.verdict) == ((), "not assessed")
    assert [(k.target, k.line) for k in lost.answer.unresolved] == [("name:vanish", 12)]
    graph = graph_of({"m.py": "def f(): pass\ndef g(): pass\n", "bad.py": "x = = 1\n"})
    assert dependency_path(graph, "f", "g").answer.verdict == "not assessed"


@pytest.mark.parametrize("seed", range(4))
def test_lengths_are_those_of_networkx(graph_of: Ask, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"f{n}" for n in range(9)]
    code = "\n".join(
        f"def {name}():\n    {chance.choice(names)}()\n    {chance.choice(names)}()"
        for name in names
    )
    graph = graph_of({"m.py": code + "\n"})
    oracle = nx.DiGraph([(k.source, k.target) for k in every(graph.db) if k.relation in DEPENDS])
    oracle.add_nodes_from(f"function:m.{name}" for name in names)
    for start in names:
        lengths = nx.single_source_shortest_path_length(oracle, f"function:m.{start}")
        for end in names:
            way = dependency_path(graph, start, end)
            assert (way.length if way.answer.found else None) == lengths.get(f"function:m.{end}")
            ends = [f"function:m.{start}", *(step.target for step in way.steps)]
            assert [step.source for step in way.steps] == ends[:-1]
