"""What a file may take out of modules: attributes, strings, keywords; from which module, where that is sure."""

from __future__ import annotations

import ast

import pytest

from kl_hooks.code.rewrite.import_use import Importing, attribute_uses


def module(node: Importing, alias: ast.alias) -> str | None:
    """Names with a capital are no modules."""
    return None if alias.name[0].isupper() else alias.name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import m\nm.A\n\nm.A\n", {"m": 2}),
        ("from p import m as n\nn.A\n", {"m": 2}),
        ("import m\nm = 1\nm.A\n", {"m": 3, None: 3}),
        ("import m\ndef f(m):\n    m.A\n", {"m": 3, None: 3}),
        ("from p import X\nX.A\n", {None: 2}),
        ("x.A\n", {None: 1}),
        ("from p.q import A as B\nfrom . import A\n", {"p.q": 1, "": 2}),
        ("import m\nm.b.A\n", {None: 2}),
        ("f().A\n", {None: 1}),
        ("x. \\\n  A\n", {None: 2}),
        ("f('x A')\n", {None: 1}),
        ("f(b'x.A')\n", {None: 1}),
        ("f(f'{x}A')\n", {None: 1}),
        ("f(A=1)\n", {None: 1}),
        ("match x:\n    case B(A=1): ...\n", {None: 2}),
        ("def f():\n    '''\n    >>> x.A\n    '''\n", {None: 2}),
        ("def f():\n    '''A'''\n    'A'\n", {None: 3}),
        ("def f(self, cls): return self.A, cls.A, A\n", {}),
        ("class A: ...\nimport A\nfrom m import B as A\nA = A\n# A x.A\n", {}),
        ("x.AA\n'AA'\n", {}),
    ],
)
def test_where_a_name_may_be_taken(text: str, found: dict[str | None, int]) -> None:
    assert attribute_uses(ast.parse(text), module).get("A", {}) == found
