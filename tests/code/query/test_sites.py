"""Calls that no link shows are listed by name, with what the receiver is likely to be."""

from __future__ import annotations

import pytest

from kl_hooks.code.query.lookup import resolve_text
from kl_hooks.code.query.references import callers, references
from kl_hooks.code.query.session import Graph
from kl_hooks.code.query.sites import PossibleUses, possible_uses
from tests.code.query.conftest import Ask

STORE = {
    "store.py": (
        "class Base:\n    def close(self): ...\n\n\n"
        "class Store(Base):\n    def close(self): ...\n\n\n"
        "class Child(Store):\n    pass\n\n\n"
        "class Other:\n    def close(self): ...\n"
    ),
}


def uses(graph: Graph, name: str, *, calls: bool = True) -> PossibleUses:
    symbol = resolve_text(graph, name)
    links = (callers if calls else references)(graph, name).links
    return possible_uses(graph, symbol, links, calls=calls)


def certainties(found: PossibleUses) -> list[tuple[str, tuple[str, ...], str]]:
    sites = (*found.possible, *found.elsewhere)
    return [(site.certainty, site.types, site.text) for site in sites]


@pytest.mark.parametrize(
    ("body", "certainty", "types"),
    [
        ("def f(x): x.close()", "possible", ()),
        ("def f(store): store.close()", "similar", ()),
        ("def f(x: Base): x.close()", "likely", ("Base",)),
        (
            "def f(x: Base | Other): x.close()",
            "likely",
            ("Base (annotation)", "Other (annotation)"),
        ),
        ("def f(x: 'Store | None | int'): x.close()", "likely", ("Store (annotation)",)),
        ("def f(x):\n    if isinstance(x, Store): x.close()", "likely", ("Store (isinstance)",)),
        ("def f(x):\n    x = Store()\n    x.close()", "likely", ("Store (constructor)",)),
        ("def f(x: list[Store]):\n    for y in x: y.close()", "likely", ("Store (annotation)",)),
        ("def f(x):\n    x = x\n    x.close()", "possible", ()),
        ("class C:\n    def f(self): self.close()", "elsewhere", ("C",)),
        ("class C:\n    def f(self): self.x.close()", "possible", ()),
        (
            "class C:\n    def __init__(self, x: Store | None = None):\n        self.x = x "
            "or Store()\n    def f(self): self.x.close()",
            "likely",
            ("Store (annotation)", "Store (constructor)"),
        ),
        ("def f(x: Other): x.close()", "elsewhere", ("Other",)),
        ("import io\ndef f(): io.close()", "elsewhere", ("outside of the repository",)),
    ],
)
def test_a_call_is_possible_by_what_its_receiver_is_likely_to_be(
    graph_of: Ask, body: str, certainty: str, types: tuple[str, ...]
) -> None:
    source = f"from store import Base, Other, Store\n{body}\n"
    found = uses(graph_of({**STORE, "use.py": source}), "Store.close")
    ((actual, shown, _),) = certainties(found)
    assert (actual, shown) == (certainty, types)


def test_a_parameter_of_that_name_means_something_else(graph_of: Ask) -> None:
    source = "def f(close, x):\n    x.close\n    close()\n"
    (site,) = uses(graph_of({**STORE, "use.py": source}), "Store.close").elsewhere
    assert (site.line, site.types) == (3, ("a local name",))


def test_a_call_with_a_link_is_not_listed_again(graph_of: Ask) -> None:
    source = "from store import Child\n\n\ndef f(x: Child):\n    x.close()\n"
    graph = graph_of({**STORE, "use.py": source})
    assert [link.line for link in callers(graph, "Store.close").links] == [5]
    assert uses(graph, "Store.close") == ((), ())


def test_a_call_in_a_mixin_may_reach_a_class_with_a_common_subclass(graph_of: Ask) -> None:
    source = (
        "from store import Store\n\n\nclass Mixin:\n    def stop(self):\n        self.close()\n\n\n"
        "class Both(Mixin, Store):\n    pass\n"
    )
    (site,) = uses(graph_of({**STORE, "use.py": source}), "Store.close").possible
    assert (site.line, site.certainty, site.types) == (6, "likely", ("Mixin",))


def test_a_protocol_is_implemented_without_inheriting_from_it(graph_of: Ask) -> None:
    source = (
        "from typing import Protocol\n\n\nclass Closing(Protocol):\n    def close(self): ...\n\n\n"
        "def f(x: Closing):\n    x.close()\n"
    )
    (site,) = uses(graph_of({**STORE, "use.py": source}), "Store.close").possible
    assert (site.line, site.types) == (9, ("Closing",))


def test_a_decorator_calls_what_it_names(graph_of: Ask) -> None:
    graph = graph_of({"m.py": "def mark(f): return f\n\n\n@mark\ndef g(): pass\n"})
    (site,) = uses(graph, "mark").possible
    assert (site.line, site.kind, site.certainty) == (4, "decorator", "resolved")


def test_an_annotation_in_quotes_is_a_use(graph_of: Ask) -> None:
    source = "from store import Store\n\n\ndef f(x: 'dict[str, Store]'): pass\n"
    found = uses(graph_of({**STORE, "use.py": source}), "type:store.Store", calls=False)
    assert [(site.line, site.kind) for site in found.possible] == [(4, "annotation")]


def test_a_line_of_source_is_shown_without_secrets(graph_of: Ask) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    found = uses(graph_of({**STORE, "use.py": f"def f(x): x.close('{secret}')\n"}), "Store.close")
    assert secret not in found.possible[0].text and "close(" in found.possible[0].text


def test_a_file_that_does_not_parse_hides_no_other(graph_of: Ask) -> None:
    files = {**STORE, "bad.py": "x.close( = 1\n", "use.py": "def f(x): x.close()\n"}
    assert [site.path for site in uses(graph_of(files), "Store.close").possible] == ["use.py"]
