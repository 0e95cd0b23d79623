"""Ways in which something may be called that no link shows."""

from __future__ import annotations

from kl_hooks.code.asking.inbound import callers
from kl_hooks.code.asking.opened import Graph
from tests.code.asking.conftest import Ask


def doubts(graph: Graph, name: str) -> list[str]:
    found = callers(graph, name)
    assert found.links == ()
    assert found.answer.verdict == ("not assessed" if found.answer.doubts or found.answer.unresolved else "no")
    return list(found.answer.doubts)


def test_what_is_handed_on_may_be_called(shop: Graph) -> None:
    (said,) = doubts(shop, "handed")
    assert said == "it is used without being called in a place (kl graph refs function:shop.core.handed)"


def test_what_overrides_may_be_called_through_what_it_overrides(shop: Graph) -> None:
    (said,) = doubts(shop, "BigBasket.add_line")
    assert said == (
        "a call of method:shop.core.Basket.add_line, which it overrides, may reach it"
        " (kl graph callers method:shop.core.Basket.add_line)"
    )


def test_decorators_and_bases_of_others_and_python_itself(graph_of: Ask) -> None:
    graph = graph_of({"m.py": (
        "import functools, json\nfrom flask import app\n\n\n@app.route('/')\ndef page(): pass\n\n\n"
        "@functools.cache\ndef cached(): pass\n\n\n"
        "class Encoder(json.JSONEncoder):\n    def default(self, o): pass\n\n\n"
        "class Deeper(Encoder):\n    def other(self): pass\n\n\n"
        "class Plain(object):\n    def alone(self): pass\n    def __len__(self): return 0\n"
        "    def __init__(self): pass\n"
    )})  # fmt: skip
    assert doubts(graph, "page") == ["@app.route('/') may call it"]
    assert doubts(graph, "cached") == []
    outside = "json.JSONEncoder, which type:m.Encoder inherits from, is not of this repository and may call it"
    assert doubts(graph, "Encoder.default") == [outside]
    assert doubts(graph, "Deeper.other") == [outside]
    assert doubts(graph, "Plain.alone") == []
    assert doubts(graph, "Plain.__init__") == []
    assert doubts(graph, "Plain.__len__") == ["Python itself calls it where its class is used, which is not seen"]


def test_a_class_may_be_made_by_its_own_class_methods(graph_of: Ask) -> None:
    graph = graph_of({"m.py": "class A:\n    @classmethod\n    def make(cls): return cls()\n\n\nA.make()\n"})
    assert "method:m.A.make may make one by cls()" in doubts(graph, "type:m.A")


def test_an_init_is_called_by_the_name_of_its_class(graph_of: Ask) -> None:
    graph = graph_of({"m.py": "class Plain:\n    def __init__(self): pass\n\n\ndef f(x): x.Plain()\n"})
    found = callers(graph, "Plain.__init__")
    assert (found.answer.verdict, len(found.answer.unresolved)) == ("not assessed", 1)


def test_a_module_is_called_by_nothing_and_used_all_the_same(graph_of: Ask) -> None:
    graph = graph_of({"lone.py": "def lone(): pass\n", "other.py": "import lone\nlone.lone()\n"})
    found = callers(graph, "lone")
    assert found.answer.doubts == (
        "it is a module, which nothing calls (kl graph dependents namespace:lone lists what uses it)",
    )
