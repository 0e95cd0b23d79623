"""The shortest chain of links between two things: equal in length to networkx's."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from kl_hooks.code.asking.opened import Graph
from kl_hooks.code.asking.way import path
from kl_hooks.graph.closure import DEPENDS
from kl_hooks.graph.links import every
from tests.code.asking.conftest import Ask


def told(graph: Graph, start: str, end: str) -> list[tuple[str, str, int]]:
    return [(step.relation, step.target, step.line) for step in path(graph, start, end).steps]


def test_each_step_has_its_place(shop: Graph) -> None:
    assert told(shop, "shop.web.main", "Line.price") == [
        ("calls", "function:shop.web.show_page", 13),
        ("calls", "method:shop.core.Basket.total", 7),
        ("calls", "method:shop.core.Line.price", 32),
    ]
    assert told(shop, "show_page", "LIMIT")[-1] == ("references", "field:shop.core.LIMIT", 19)


def test_it_may_begin_and_end_in_a_part(shop: Graph) -> None:
    assert told(shop, "BigBasket", "Line.price") == [
        ("holds", "method:shop.core.BigBasket.total", 38),
        ("calls", "method:shop.core.Basket.total", 40),
        ("calls", "method:shop.core.Line.price", 32),
    ]
    steps = told(shop, "show_page", "Basket")
    assert steps == [("references", "type:shop.core.Basket", 5)]
    assert told(shop, "Basket.total", "Basket") == [("is part of", "type:shop.core.Basket", 31)]
    assert told(shop, "Basket", "Basket") == []


def test_it_may_lead_through_a_class_by_a_part(graph_of: Ask) -> None:
    code = "class A: pass\nclass B(A):\n    @staticmethod\n    def f(): pass\nb: B\n"
    graph = graph_of({"a.py": code, "m.py": "import a\ndef g(): return a.b.f()\n"})
    steps = told(graph, "g", "A")
    assert steps in (
        [("calls", "method:a.B.f", 2), ("is part of", "type:a.B", 0), ("inherits", "type:a.A", 2)],
        [("references", "field:a.b", 2), ("references", "type:a.B", 5), ("inherits", "type:a.A", 2)],
    )


def test_none_and_not_assessed(shop: Graph, graph_of: Ask) -> None:
    assert (path(shop, "Line.price", "show_page").answer.verdict, told(shop, "Line.price", "show_page")) == ("no", [])
    lost = path(shop, "shop.web.main", "vanish")
    assert (lost.steps, lost.answer.verdict) == ((), "not assessed")
    assert [(k.target, k.line) for k in lost.answer.unresolved] == [("name:vanish", 12)]
    graph = graph_of({"m.py": "def f(): pass\ndef g(): pass\n", "bad.py": "x = = 1\n"})
    assert path(graph, "f", "g").answer.verdict == "not assessed"


@pytest.mark.parametrize("seed", range(4))
def test_lengths_are_those_of_networkx(graph_of: Ask, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"f{n}" for n in range(9)]
    code = "\n".join(f"def {name}():\n    {chance.choice(names)}()\n    {chance.choice(names)}()" for name in names)
    graph = graph_of({"m.py": code + "\n"})
    oracle = nx.DiGraph([(k.source, k.target) for k in every(graph.db) if k.relation in DEPENDS])
    oracle.add_nodes_from(f"function:m.{name}" for name in names)
    for start in names:
        lengths = nx.single_source_shortest_path_length(oracle, f"function:m.{start}")
        for end in names:
            way = path(graph, start, end)
            assert (way.length if way.answer.found else None) == lengths.get(f"function:m.{end}")
            ends = [f"function:m.{start}", *(step.target for step in way.steps)]
            assert [step.source for step in way.steps] == ends[:-1]
