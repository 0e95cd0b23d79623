"""The parts of an Id in JSON answers: the name that people look for, and what it is defined in."""

from __future__ import annotations

import pytest

from kl_hooks.operations.graph_json import id_to_dict


@pytest.mark.parametrize(
    ("identifier", "name", "owner"),
    [
        ("function:pkg.mod.f", "f", "pkg.mod"),
        ("method:pkg.mod.C.m", "m", "pkg.mod.C"),
        ("namespace:pkg.mod", "mod", "pkg"),
        ("namespace:pkg", "pkg", None),
        ("file:docs/a.md", "a.md", "docs"),
        ("test:tests/test_a.py::test_x", "test_x", "tests/test_a.py"),
        ("type:web/cart.ts#Cart", "Cart", "web/cart.ts"),
        ("method:web/cart.ts#Cart.add", "add", "web/cart.ts#Cart"),
        ("type:cart.ts#Cart", "Cart", "cart.ts"),
        ("namespace:web/cart.ts", "cart.ts", "web"),
    ],
)
def test_an_id_has_its_name_and_what_it_is_defined_in(
    identifier: str, name: str, owner: str | None
) -> None:
    parts = id_to_dict(identifier)
    assert (parts["name"], parts["owner"]) == (name, owner)
    assert parts["kind"] == identifier.partition(":")[0]
