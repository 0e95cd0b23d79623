"""Ways in which something may be called that no link shows.

Who uses a symbol, and when "nobody" may be reported.

One symbol on a page; one file as a tree.
"""

from __future__ import annotations

import pytest

from kl_hooks.cli.graph import relation_counts
from kl_hooks.code.query.lookup import file_symbols
from kl_hooks.code.query.references import callers, references, symbol_page
from kl_hooks.code.query.session import Graph
from tests.code.query.conftest import Ask


def doubts(graph: Graph, name: str) -> list[str]:
    found = callers(graph, name)
    assert found.links == ()
    assert found.answer.verdict == (
        "not assessed" if found.answer.doubts or found.answer.unresolved else "no"
    )
    return list(found.answer.doubts)


def test_what_is_handed_on_may_be_called(shop: Graph) -> None:
    (printed,) = doubts(shop, "handed")
    assert (
        printed
        == "it is used without being called in a place (kl graph refs function:shop.core.handed)"
    )


def test_what_overrides_may_be_called_through_what_it_overrides(shop: Graph) -> None:
    (printed,) = doubts(shop, "BigBasket.add_line")
    assert (
        printed == "a call of method:shop.core.Basket.add_line, which it overrides, may reach it"
        " (kl graph callers method:shop.core.Basket.add_line)"
    )


def test_decorators_and_bases_of_others_and_python_itself(graph_of: Ask) -> None:
    graph = graph_of(
        {
            "m.py": (
                "import functools, json\nfrom flask import app\n\n\n@app.route('/')\ndef page():"
                " pass\n\n\n@functools.cache\ndef cached(): pass\n\n\nclass"
                " Encoder(json.JSONEncoder):\n    def default(self, o): pass\n\n\nclass"
                " Deeper(Encoder):\n    def other(self): pass\n\n\nclass Plain(object):\n    def"
                " alone(self): pass\n    def __len__(self): return 0\n    def __init__(self):"
                " pass\n"
            )
        }
    )
    assert doubts(graph, "page") == ["@app.route('/') may call it"]
    assert doubts(graph, "cached") == []
    outside = (
        "json.JSONEncoder, which type:m.Encoder inherits from, is not of this repository and may"
        " call it"
    )
    assert doubts(graph, "Encoder.default") == [outside]
    assert doubts(graph, "Deeper.other") == [outside]
    assert doubts(graph, "Plain.alone") == []
    assert doubts(graph, "Plain.__init__") == []
    assert doubts(graph, "Plain.__len__") == [
        "Python itself calls it where its class is used, which is not seen"
    ]


def test_a_class_may_be_made_by_its_own_class_methods(graph_of: Ask) -> None:
    graph = graph_of(
        {"m.py": "class A:\n    @classmethod\n    def make(cls): return cls()\n\n\nA.make()\n"}
    )
    assert "method:m.A.make may make one by cls()" in doubts(graph, "type:m.A")


def test_an_init_is_called_by_the_name_of_its_class(graph_of: Ask) -> None:
    graph = graph_of(
        {"m.py": "class Plain:\n    def __init__(self): pass\n\n\ndef f(x): x.Plain()\n"}
    )
    found = callers(graph, "Plain.__init__")
    assert (found.answer.verdict, len(found.answer.unresolved)) == ("not assessed", 1)


def test_a_module_is_called_by_nothing_and_used_all_the_same(graph_of: Ask) -> None:
    graph = graph_of({"lone.py": "def lone(): pass\n", "other.py": "import lone\nlone.lone()\n"})
    found = callers(graph, "lone")
    assert found.answer.doubts == (
        (
            "it is a module, which nothing calls (kl graph dependents namespace:lone lists what"
            " uses it)"
        ),
    )


def sources(graph: Graph, name: str) -> list[tuple[str, str]]:
    return [(link.relation, link.source) for link in callers(graph, name).links]


@pytest.mark.requirement("A31")
def test_references_of_every_sort_with_place_and_method(shop: Graph) -> None:
    found = references(shop, "Basket")
    assert [(k.path, k.line, k.relation, k.source, k.method) for k in found.links] == [
        ("src/shop/core.py", 38, "inherits", "type:shop.core.BigBasket", "same scope"),
        ("src/shop/web.py", 2, "imports", "namespace:shop.web", "import"),
        ("src/shop/web.py", 5, "references", "function:shop.web.show_page", "import"),
        ("src/shop/web.py", 13, "calls", "function:shop.web.main", "import"),
        ("tests/test_core.py", 1, "imports", "namespace:tests.test_core", "import"),
        (
            "tests/test_core.py",
            6,
            "calls",
            "method:tests.test_core.TestBasket.test_total",
            "import",
        ),
    ]
    assert found.answer.verdict == "yes"
    assert [k.relation for k in references(shop, "Priced").links] == ["implements"]
    assert {k.relation for k in references(shop, "src/shop/core.py").links} >= {"imports"}


def test_calls_of_a_method_through_an_instance(shop: Graph) -> None:
    found = callers(shop, "Basket.total")
    assert [(k.source, k.method, k.confidence) for k in found.links] == [
        ("method:shop.core.BigBasket.total", "super", 90),
        ("function:shop.web.show_page", "instance", 80),
        ("method:tests.test_core.TestBasket.test_total", "instance", 80),
    ]


def test_a_call_of_a_class_is_one_of_its_init_and_reported_once(shop: Graph) -> None:
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
    assert [(k.source, k.target) for k in callers(graph, "A").links] == [
        ("namespace:m", "method:m.A.__init__")
    ]


def test_reading_a_property_calls_it(shop: Graph) -> None:
    assert [k.source for k in callers(shop, "Line.label").links] == ["function:shop.web.show_page"]


def test_a_test_is_called_by_pytest(shop: Graph) -> None:
    assert sources(shop, "test_total") == [
        ("calls", "test:tests/test_core.py::TestBasket::test_total")
    ]


@pytest.mark.requirement("C19")
def test_no_is_reported_where_everything_was_looked_at(shop: Graph) -> None:
    found = callers(shop, "alone")
    assert (found.links, found.answer.verdict, found.answer.doubts) == ((), "no", ())
    assert references(shop, "Basket.unused").answer.verdict == "no"


def test_unresolved_uses_of_the_name_leave_it_open(shop: Graph) -> None:
    found = callers(shop, "vanish")
    assert (found.links, found.answer.verdict) == ((), "not assessed")
    assert [(k.source, k.relation, k.line) for k in found.answer.unresolved] == [
        ("function:shop.web.main", "calls", 12)
    ]


@pytest.mark.parametrize("ask", [callers, references])
def test_a_file_that_was_not_assessed_leaves_everything_open(graph_of: Ask, ask: object) -> None:
    graph = graph_of({"m.py": "def f(): pass\n", "bad.py": "x = = f()\n"})
    found = callers(graph, "f") if ask is callers else references(graph, "f")
    assert (found.answer.verdict, found.answer.not_assessed) == ("not assessed", ("bad.py",))


def test_a_page(shop: Graph) -> None:
    page = symbol_page(shop, "Basket.total")
    assert page.symbol.decorators == ("@functools.cache",)
    assert page.symbol.signature == "def total(self) -> int"
    assert len(page.symbol.content_hash) == 16
    assert page.defined_by == "type:shop.core.Basket"
    assert page.overridden_by == ("method:shop.core.BigBasket.total",)
    assert page.tests == ("test:tests/test_core.py::TestBasket::test_total",)
    assert relation_counts(page.used_by) == {"calls": 3}
    assert {link.target for link in page.uses} >= {"method:shop.core.Line.price"}
    assert page.answer.verdict == "yes"
    assert symbol_page(shop, "BigBasket.total").overrides == ("method:shop.core.Basket.total",)


def test_a_class_with_its_bases_and_what_inherits_it(shop: Graph) -> None:
    page = symbol_page(shop, "Basket")
    assert page.defines == tuple(
        f"method:shop.core.Basket.{name}" for name in ("add_line", "total", "unused")
    )
    assert (page.bases, page.subclasses) == ((), ("type:shop.core.BigBasket",))
    assert symbol_page(shop, "Line").bases == ("interface:shop.core.Priced",)
    assert symbol_page(shop, "Line.price").overrides == ("method:shop.core.Priced.price",)


def test_a_file_as_a_tree(shop: Graph) -> None:
    path, found, problem = file_symbols(shop, "web.py")
    assert (path, problem) == ("src/shop/web.py", "")
    assert [(depth, one.id) for depth, one in found] == [
        (0, "namespace:shop.web"),
        (1, "function:shop.web.show_page"),
        (1, "function:shop.web.main"),
        (1, "function:shop.web.vanish"),
    ]
    depths = {one.id: depth for depth, one in file_symbols(shop, "shop.core")[1]}
    assert (depths["type:shop.core.Line"], depths["method:shop.core.Line.price"]) == (1, 2)


def test_what_a_namespace_holds_is_listed_under_it(graph_of: Ask) -> None:
    source = (
        "namespace Shop {\n  class Cart { lines = 1; add() {} }\n}\n"
        "interface Order { id: number }\nnamespace Tail {\n  const last = 1;\n}\n"
        "interface Order { sum: number }\n"
    )
    tree = file_symbols(graph_of({"a.ts": source}), "a.ts")[1]
    assert [(depth, symbol.id.rpartition("#")[2]) for depth, symbol in tree] == [
        (0, "namespace:a.ts"),
        (1, "Shop"),
        (2, "Shop.Cart"),
        (3, "Shop.Cart.add"),
        (3, "Shop.Cart.lines"),
        (1, "Order"),
        (2, "Order.id"),
        (2, "Order.sum"),
        (1, "Tail"),
        (2, "Tail.last"),
    ]


def test_a_file_that_could_not_be_read_reports_it(graph_of: Ask) -> None:
    path, found, problem = file_symbols(graph_of({"bad.py": "x = = 1\n"}), "bad.py")
    assert (path, found) == ("bad.py", [])
    assert problem.startswith("bad.py:1:5: invalid syntax.")
