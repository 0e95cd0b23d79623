"""Mutants of the bench: each is valid Python, differs from the source, and is of the class that it
is counted in.
"""

from __future__ import annotations

import ast
from collections import Counter

from bench.proof_quality import CLASSES, mutants_of

SOURCE = """\
RATE = {"cent": 1, "é": "ü"}
class Cart:
    size: int = 1
    label = "é" "x"
    @property
    def total(self, scale=2, *, flag=True, none=None):
        \"\"\"Doc.\"\"\"
        return self.size * scale
    @staticmethod
    def one(): return 1
    def inner(self):
        def local(x=1):
            return x
        return local
"""


def test_mutants_of_each_class() -> None:
    found = list(mutants_of("cart.py", SOURCE))
    assert Counter(one.kind for one in found) == dict(
        zip(CLASSES, (2, 1 + 1, 1, 3, 2), strict=True)
    ), [(one.kind, one.name) for one in found]
    before = ast.dump(ast.parse(SOURCE))
    for one in found:
        assert ast.dump(ast.parse(one.text)) != before, one
    assert {one.name for one in found if one.kind == "default"} == {"Cart.total"}
