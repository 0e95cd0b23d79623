"""What a file may get out of modules: attributes, strings, keywords, class patterns; whatever they
are of.
"""

from __future__ import annotations

import ast

import pytest

from kl_hooks.code.import_edits import Uses


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import m\nm.A\n\nm.A\n", 2),
        ("x.A\n", 1),
        ("import m\nm.b.A\n", 2),
        ("f().A\n", 1),
        ("x. \\\n  A\n", 2),
        ("f('x A')\n", 1),
        ("f(b'x.A')\n", 1),
        ("f(f'{x}A')\n", 1),
        ("f(A=1)\n", 1),
        ("match x:\n    case B(A=1): ...\n", 2),
        ("def f():\n    '''\n    >>> x.A\n    '''\n", 2),
        ("def f():\n    '''A'''\n    'A'\n", 3),
        ("x: 'm.A'\n", 1),
        ("def f(A): return A\n", 0),
        ("class A: ...\nimport A\nfrom m import B as A\nA = A\n# A x.A\n", 0),
        ("x.AA\n'AA'\n", 0),
    ],
)
def test_where_a_name_may_be_taken(text: str, line: int) -> None:
    assert Uses(ast.parse(text)).members.get("A", 0) == line
