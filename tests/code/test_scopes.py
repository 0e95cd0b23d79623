"""What a name means where it is used: the expressions of one file."""

from __future__ import annotations

import sys

import pytest

from kl_hooks.code.scanner.expressions import is_anonymous, with_attributes
from kl_hooks.code.scanner.python import scan_python

CASES: dict[str, tuple[str, set[str], set[str]]] = {
    # what is reported about `f` in the file: expressions that must be there, and such that must not
    "defined in the file": ("def f(): pass\nf()", {"=f"}, {"?f"}),
    "defined nowhere": ("f()", {"?f"}, set()),
    "argument": ("def f(): pass\ndef g(f): f()", set(), {"=f", "?f"}),
    "keyword-only argument": ("def f(): pass\ndef g(*, f): f()", set(), {"=f"}),
    "star argument": ("def f(): pass\ndef g(*f, **h): f()", set(), {"=f"}),
    "local": ("def f(): pass\ndef g():\n    f = h\n    f()", set(), {"=f"}),
    "local, bound later": ("def f(): pass\ndef g():\n    f()\n    f = 1", set(), {"=f"}),
    "local of the function around": (
        "def f(): pass\ndef g():\n    f = 1\n    def k(): f()",
        set(),
        {"=f"},
    ),
    "comprehension": ("def f(): pass\ndef g(x): return [f() for f in x]", set(), {"=f"}),
    "lambda": ("def f(): pass\ng = lambda f: f()", set(), {"=f"}),
    "for": ("def f(): pass\ndef g(x):\n    for f in x: f()", set(), {"=f"}),
    "with": ("def f(): pass\ndef g(x):\n    with x as f: f()", set(), {"=f"}),
    "except": ("def f(): pass\ndef g(x):\n    try: pass\n    except x as f: f()", set(), {"=f"}),
    "match": ("def f(): pass\ndef g(x):\n    match x:\n        case [f, *_]: f()", set(), {"=f"}),
    "match as": (
        "def f(): pass\ndef g(x):\n    match x:\n        case int() as f: f()",
        set(),
        {"=f"},
    ),
    "walrus": ("def f(): pass\ndef g(x):\n    if f := x: f()", set(), {"=f"}),
    "class scope is not seen inside": (
        "class A:\n    def f(self): pass\n    def g(self): f()",
        {"?f"},
        {"=A.f"},
    ),
    "class scope is seen in the class": (
        "class A:\n    def f(self): pass\n    x = f()",
        {"=A.f"},
        {"?f"},
    ),
    "class scope in a decorator": (
        "class A:\n    def f(g): pass\n    @f\n    def h(self): pass",
        {"=A.f"},
        {"?f"},
    ),
    "default of an argument": ("def f(): pass\ndef g(f=f()): pass", {"=f"}, set()),
    "global": (
        "def f(): pass\ndef g():\n    f = 1\n    def k():\n        global f\n        f()",
        {"=f"},
        {"?f"},
    ),
    "global at the module": ("global f\ndef f(): pass\nf()", {"=f"}, {"?f"}),
    "nonlocal": (
        "def f(): pass\ndef g():\n    def f(): pass\n    def k():\n        nonlocal f\n        f()",
        {"=g.<locals>.f"},
        {"=f"},
    ),
    "imported": ("from a import f\nf()", {"@a:f"}, {"?f"}),
    "imported, relative": ("from ..a import f\nf()", {"@..a:f"}, set()),
    "imported as": ("import a.b as f\nf.g()", {"@a.b|g"}, set()),
    "imported, first part": ("import f.b\nf.b.g()", {"@f|b.g"}, set()),
    "under TYPE_CHECKING": ("if TYPE_CHECKING:\n    from a import f\nf()", {"@a:f"}, set()),
    "by a star": ("from a import *\nf()", {"*f"}, {"?f"}),
    "self": ("class A:\n    def g(self): self.f()", {"^A|f"}, set()),
    "self of a function inside": (
        "class A:\n    def g(self):\n        def h(): self.f()",
        {"^A|f"},
        set(),
    ),
    "static": ("class A:\n    @staticmethod\n    def g(self): self.f()", {"?f"}, {"^A|f"}),
    "super": ("class A:\n    def g(self): super().f()", {"<A|f"}, {"^A|f"}),
    "instance": ("class A: pass\nA().f()", {"~=A>|f"}, set()),
    "instance of a class inside of a function": (
        "def g():\n    class A: pass\n    a = A()\n    a.f()",
        {"~=g.<locals>.A>|f"},
        set(),
    ),
    "what a method returns": (
        "class A:\n    def g(self):\n        x = self.h()\n        x.f()",
        {"~^A|h>|f"},
        set(),
    ),
    "a method by another name": (
        "class A:\n    def g(self):\n        x = self.h\n        x.f()",
        {"^A|h.f"},
        set(),
    ),
    "something unknown": ("g()[0].f()", {"?f"}, set()),
}


@pytest.mark.parametrize("case", CASES)
def test_expressions(case: str) -> None:
    source, there, absent = CASES[case]
    facts = scan_python(source.encode(), "m.py", "_")
    assert not facts["error"]
    assert there <= facts["uses"].keys()
    assert not absent & facts["uses"].keys()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_a_type_parameter_is_no_class_of_the_file() -> None:
    facts = scan_python(
        b"class T:\n    def f(self): pass\ndef g[T](x: T) -> T: pass\ng(1).f()\n", "m.py", "_"
    )
    assert "g" not in facts["outline"]["types"]


@pytest.mark.parametrize(
    ("expression", "rest", "wanted"),
    [
        ("=A", "f", "=A|f"),
        ("=A|f", "g.h", "=A|f.g.h"),
        ("~=A>", "f", "~=A>|f"),
        ("~=A|b>|c", "d", "~=A|b>|c.d"),
        ("=g.<locals>.A", "f", "=g.<locals>.A|f"),
        ("~=A|b>", "c", "~=A|b>|c"),
    ],
)
def test_attributes_are_with_attributes(expression: str, rest: str, wanted: str) -> None:
    assert with_attributes(expression, rest) == wanted


def test_items_without_a_name_of_their_own() -> None:
    assert [
        one
        for one in ("~=A>", "^A", "<A", "~=A|b>", "=A", "^A|b", "~=A>|b", "@a:b", "")
        if is_anonymous(one)
    ] == [
        "~=A>",
        "^A",
        "<A",
        "~=A|b>",
    ]
