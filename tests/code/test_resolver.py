"""The order of classes is Python's own: `type.__mro__` is the oracle.

What a use leads to, through imports, re-exports, classes and annotations; one case per rule.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code.linker import linearize
from tests.code.resolving import called, rows

Shape = list[list[int]]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """For each class the numbers of its bases, which come before it."""
    number = draw(st.integers(1, 8))
    return [
        draw(st.lists(st.integers(0, one - 1), unique=True, max_size=4)) if one else []
        for one in range(number)
    ]


def orders(shape: Shape) -> list[list[int]]:
    found: list[list[int]] = []
    for one, bases in enumerate(shape):
        found.append(linearize(one, [found[base] for base in bases]))
    return found


@given(shapes())
def test_it_is_pythons_order_wherever_python_has_one(shape: Shape) -> None:
    ours = orders(shape)
    classes: list[type | None] = []
    for one, bases in enumerate(shape):
        above = [classes[base] for base in bases]
        if None in above:
            classes.append(None)
            continue
        try:
            made = type(str(one), tuple(base for base in above if base is not None), {})
        except TypeError:  # no consistent order
            classes.append(None)
            continue
        classes.append(made)
        assert [int(cls.__name__) for cls in made.__mro__[:-1]] == ours[one]


@given(shapes())
def test_every_class_above_is_there_once_and_the_class_itself_first(shape: Shape) -> None:
    ours = orders(shape)
    for one, bases in enumerate(shape):
        assert ours[one][0] == one
        assert sorted(ours[one]) == sorted(
            {one, *(above for base in bases for above in ours[base])}
        )


def test_a_diamond_and_an_impossible_one() -> None:
    assert linearize("d", [["b", "a"], ["c", "a"]]) == ["d", "b", "c", "a"]
    assert linearize("z", [["x", "a", "b"], ["y", "b", "a"]]) == ["z", "x", "y", "a", "b"]
    assert linearize("one", []) == ["one"]


CORE = """
    def run(): pass
    class Base:
        limit = 3
        def feed(self): pass
        def copy(self) -> Self: pass
        @classmethod
        def make(cls) -> 'Base': pass
        @property
        def twin(self) -> 'Base': pass
        @twin.setter
        def twin(self, value: int) -> None: pass
    class Child(Base):
        def feed(self): pass
    def made() -> Base: pass
    def maybe() -> Base | None: pass
    async def later() -> Base: pass
    @wrapped
    def changed() -> Base: pass
    def anything() -> Any: pass
    Other = Base
    default = Base()
    loose = Base()
    loose = 3
    first, second = Base(), 3
"""
FEED, CHILD = "method:pkg.core.Base.feed", "method:pkg.core.Child.feed"
RUN = "function:pkg.core.run"
ONE: dict[str, tuple[str, list[str]]] = {
    "absolute": ("import pkg.core\npkg.core.run()", [RUN]),
    "absolute, aliased": ("import pkg.core as c\nc.run()", [RUN]),
    "a name": ("from pkg.core import run\nrun()", [RUN]),
    "a name, aliased": ("from pkg.core import run as go\ngo()", [RUN]),
    "relative": ("from .core import run\nrun()", [RUN]),
    "relative, the module": ("from . import core\ncore.run()", [RUN]),
    "too many dots": ("from ...core import run\nrun()", []),
    "through a function": ("def f():\n    from .core import run\n    run()", [RUN]),
    "outside": ("import os\nos.run()", []),
    "builtin": ("len([])", []),
    "nobody binds it": ("run()", ["name:run"]),
    "member of a class": ("from .core import Base\nBase.feed(1)", [FEED]),
    "inherited, by the class": (
        "from .core import Child\nChild.make()",
        ["method:pkg.core.Base.make"],
    ),
    "constructed": ("from .core import Child\nChild().feed()", ["type:pkg.core.Child", CHILD]),
    "local instance": (
        "from .core import Base\ndef f():\n    b = Base()\n    b.feed()",
        ["type:pkg.core.Base", FEED],
    ),
    "local instance of two classes": (
        (
            "from .core import Base, Child\ndef f(x):\n    b = Base()\n    if x:\n        b ="
            " Child()\n    b.feed()"
        ),
        ["type:pkg.core.Base", "type:pkg.core.Child", "name:feed"],
    ),
    "rebound by an inner function": (
        (
            "from .core import Base\ndef f(x):\n    b = Base()\n    def g():\n        nonlocal b\n"
            "        b = x\n    b.feed()"
        ),
        ["type:pkg.core.Base", "name:feed"],
    ),
    "annotated argument": ("from .core import Base\ndef f(b: Base): b.feed()", [FEED]),
    "annotated in quotes": ("from .core import Base\ndef f(b: 'Base'): b.feed()", [FEED]),
    "Optional": ("from .core import Base\ndef f(b: Optional[Base]): b.feed()", [FEED]),
    "Union with None": ("from .core import Base\ndef f(b: Union[None, Base]): b.feed()", [FEED]),
    "Union of two": ("from .core import Base\ndef f(b: Union[Base, int]): b.feed()", ["name:feed"]),
    "two by a bar": ("from .core import Base\ndef f(b: Base | int): b.feed()", ["name:feed"]),
    "Type": ("from .core import Base\ndef f(b: type[Base]): b.feed()", [FEED]),
    "Any says nothing": ("from typing import Any\ndef f(b: Any): b.feed()", ["name:feed"]),
    "an annotation from outside": ("from os import PathLike\ndef f(b: PathLike): b.feed()", []),
    "no annotation": ("def f(b): b.feed()", ["name:feed"]),
    "annotated argument, rebound": (
        "from .core import Base\ndef f(b: Base):\n    b = g\n    b.feed()",
        ["name:feed"],
    ),
    "returned": ("from .core import made\nmade().feed()", ["function:pkg.core.made", FEED]),
    "returned, kept": (
        "from .core import made\ndef f():\n    b = made()\n    b.feed()",
        ["function:pkg.core.made", FEED],
    ),
    "returned or None": (
        "from .core import maybe\nmaybe().feed()",
        ["function:pkg.core.maybe", FEED],
    ),
    "a coroutine is not its result": (
        "from .core import later\nlater().feed()",
        ["function:pkg.core.later", "name:feed"],
    ),
    "a decorator may change it": (
        "from .core import changed\nchanged().feed()",
        ["function:pkg.core.changed", "name:feed"],
    ),
    "returns anything": (
        "from .core import anything\nanything().feed()",
        ["function:pkg.core.anything", "name:feed"],
    ),
    "returned by a classmethod": (
        "from .core import Base\nBase.make().feed()",
        ["method:pkg.core.Base.make", FEED],
    ),
    "Self is the class it is called on": (
        "from .core import Child\ndef f(c: Child):\n    d = c.copy()\n    d.feed()",
        ["method:pkg.core.Base.copy", CHILD],
    ),
    "property": ("from .core import Base\ndef f(b: Base): b.twin.feed()", [FEED]),
    "__class__": ("from .core import Child\ndef f(c: Child): c.__class__.feed(c)", [CHILD]),
    "another name of a class": (
        "from .core import Other\nOther().feed()",
        ["field:pkg.core.Other", FEED],
    ),
    "another name of a class, local": (
        "from .core import Base\ndef f():\n    B = Base\n    B.feed(1)",
        [FEED],
    ),
    "another name of a method": (
        "from .core import Base\ndef f(b: Base):\n    feed_it = b.feed\n    feed_it()",
        [FEED],
    ),
    "a base by another name": (
        "from .core import Other\nclass D(Other):\n    def f(self): self.feed()",
        [FEED],
    ),
    "module variable": ("from .core import default\ndefault.feed()", [FEED]),
    "module variable bound to two": ("from .core import loose\nloose.feed()", ["name:feed"]),
    "unpacked": ("from .core import first\nfirst.feed()", ["name:feed"]),
    "what an int can do": ("from .core import Base\nBase.limit.feed()", ["name:feed"]),
    "a name that is not there": ("from .core import nothing\nnothing.feed()", ["name:feed"]),
}


@pytest.mark.parametrize("case", ONE)
def test_a_use_leads_to(case: str) -> None:
    source, wanted = ONE[case]
    files = {"pkg/__init__.py": "", "pkg/core.py": CORE, "pkg/use.py": source}
    assert called(files, "pkg/use.py") == sorted(wanted)


INSIDE: dict[str, tuple[str, list[str]]] = {
    "self": ("def m(self): self.n()", ["method:a.A.n"]),
    "cls": ("@classmethod\ndef m(cls): cls.n()", ["method:a.A.n"]),
    "an instance of cls": ("@classmethod\ndef m(cls):\n    a = cls()\n    a.n()", ["method:a.A.n"]),
    "super is not the class itself": ("def n(self): super().n()", ["method:a.Up.n"]),
    "super with arguments": ("def n(self): super(A, self).n()", ["method:a.Up.n"]),
    "staticmethod has no self": ("@staticmethod\ndef m(x): x.n()", ["name:n"]),
    "class scope is not seen in methods": ("def m(self): n()", ["name:n"]),
    "inherited": ("def m(self): self.up()", ["method:a.Up.up"]),
    "nested class": (
        "class In:\n    def k(self): self.j()\n    def j(self): pass",
        ["method:a.A.In.j"],
    ),
    "attribute of self": (
        "def __init__(self): self.b = Up()\ndef m(self): self.b.up()",
        ["type:a.Up", "method:a.Up.up"],
    ),
    "attribute of self set to two things": (
        "def __init__(self): self.b = Up()\ndef k(self): self.b = 3\ndef m(self): self.b.up()",
        ["type:a.Up", "name:up"],
    ),
    "attribute of self, unpacked later": (
        "def __init__(self): self.b = Up()\ndef k(self): self.b, x = y\ndef m(self): self.b.up()",
        ["type:a.Up", "name:up"],
    ),
    "attribute of self, from an argument": (
        "def __init__(self, b: Up): self.b = b\ndef m(self): self.b.up()",
        ["method:a.Up.up"],
    ),
    "annotated field": ("b: Up\ndef m(self): self.b.up()", ["method:a.Up.up"]),
    "with": (
        "def __enter__(self) -> 'A': pass\ndef m(self):\n    with A() as x:\n        x.n()",
        ["type:a.A", "method:a.A.n"],
    ),
    "with what does not say": (
        "def m(self):\n    with Up() as x:\n        x.up()",
        ["type:a.Up", "name:up"],
    ),
    "except": ("def m(self):\n    try: pass\n    except Up as x: x.up()", ["method:a.Up.up"]),
    "except two": ("def m(self):\n    try: pass\n    except (Up, A) as x: x.up()", ["name:up"]),
    "overloads that return different things": (
        (
            "@overload\ndef o(self) -> Up: pass\n@overload\ndef o(self, x) -> A: pass\ndef o(self,"
            " x=0): pass\ndef m(self): self.o().up()"
        ),
        ["method:a.A.o", "name:up"],
    ),
}


@pytest.mark.parametrize("case", INSIDE)
def test_inside_of_a_class(case: str) -> None:
    body, wanted = INSIDE[case]
    text = "class Up:\n    def up(self): pass\n    def n(self): pass\nclass A(Up):\n"
    lines = body + ("" if "def n(" in body else "\ndef n(self): pass")
    text += "".join(f"    {line}\n" for line in lines.splitlines())
    assert called({"a.py": text}, "a.py") == sorted(wanted)


REEXPORTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "through a package": ({"p/__init__.py": "from .m import f"}, ["function:p.m.f"]),
    "through a package, under another name": (
        {"p/__init__.py": "from .m import f as g", "use.py": "from p import g\ng()"},
        ["function:p.m.f"],
    ),
    "star": ({"p/__init__.py": "from .m import *"}, ["function:p.m.f"]),
    "star within __all__": (
        {"p/__init__.py": "from .m import *", "p/m.py": "__all__ = ['f']\ndef f(): pass"},
        ["function:p.m.f"],
    ),
    "star, not in __all__": (
        {"p/__init__.py": "from .m import *", "p/m.py": "__all__ = ['x']\nx = 1\ndef f(): pass"},
        ["name:f"],
    ),
    "star, private": (
        {
            "p/__init__.py": "from .m import *",
            "p/m.py": "def _f(): pass",
            "use.py": "from p import _f\n_f()",
        },
        ["name:_f"],
    ),
    "star where it is used": ({"use.py": "from p.m import *\nf()"}, ["function:p.m.f"]),
    "in a circle": ({"p/__init__.py": "from .m import f", "p/m.py": "from . import f"}, []),
    "a module of its own name": (
        {"p/__init__.py": "from . import m", "use.py": "from p import m\nm.f()"},
        ["function:p.m.f"],
    ),
    "a module of its own name, absolute": (
        {"p/__init__.py": "from p import m", "use.py": "import p\np.m.f()"},
        ["function:p.m.f"],
    ),
    "what is defined hides the module": (
        {"p/__init__.py": "class m:\n    def f(): pass", "use.py": "from p import m\nm.f()"},
        ["method:p.m.f"],
    ),
    "a submodule": ({"use.py": "import p.m\np.m.f()"}, ["function:p.m.f"]),
    "a namespace without a file": (
        {"n/o.py": "def f(): pass", "use.py": "import n.o\nn.o.f()"},
        ["function:n.o.f"],
    ),
    "from a namespace without a file": (
        {"n/o.py": "def f(): pass", "use.py": "from n import o\no.f()"},
        ["function:n.o.f"],
    ),
}


@pytest.mark.parametrize("case", REEXPORTS)
def test_through_other_modules(case: str) -> None:
    files, wanted = REEXPORTS[case]
    base = {"p/__init__.py": "", "p/m.py": "def f(): pass", "use.py": "from p import f\nf()"}
    assert called(base | files, "use.py") == sorted(wanted)


def test_members_are_inherited_in_pythons_order_through_files() -> None:
    files = {
        "top.py": "class Top:\n    def f(self): pass\n    def g(self): pass\n",
        "left.py": "from top import Top\nclass Left(Top): pass\n",
        "right.py": "import top\nclass Right(top.Top):\n    def f(self): pass\n",
        "use.py": (
            "from left import Left\nfrom right import Right\nclass Use(Left, Right):\n"
            "    def m(self):\n        self.f()\n        self.g()\n"
        ),
    }
    assert called(files, "use.py") == ["method:right.Right.f", "method:top.Top.g"]


def test_a_member_of_an_unknown_base_is_not_guessed() -> None:
    files = {
        "a.py": (
            "from elsewhere import Base\ndef f(): pass\nclass A(Base):\n    def m(self): self.f()\n"
        )
    }
    assert called(files, "a.py") == ["name:f"]


def test_what_is_outside_is_passed_and_not_called() -> None:
    """`table.get()` calls something of dict, and only mentions the table."""
    files = {
        "a.py": "from typing import Mapping\ntable: Mapping = {}\n",
        "b.py": "from a import table\ntable.get()\n",
    }
    assert [row[1:3] for row in rows(files, "b.py")] == [("references", "field:a.table")]


def test_an_attribute_without_a_symbol_is_no_call_of_what_has_it() -> None:
    files = {
        "a.py": "class A:\n    def __init__(self, b: A): self.b = b\none = A(None)\n",
        "b.py": "from a import one\none.b()\n",
    }
    assert [row[1:3] for row in rows(files, "b.py")] == [("references", "field:a.one")]


@pytest.mark.parametrize(
    "source",
    [
        "X = X\nX.f()\n",
        "X = Y\nY = X\nX.f()\nX()\n",
        "class A(A): pass\nA.f()\n",
        "def f() -> f: pass\nf().f()\n",
        "class A(B): pass\nclass B(A): pass\nA.f()\n",
        "def f(x):\n    x = x.f()\n    x.f()\n",
        "class A:\n    a: 'A'\n    def f(self): self.a.a.a.a.f()\n    x = f\n    f = x\n",
    ],
)
def test_cycles_end(source: str) -> None:
    assert isinstance(rows({"a.py": source + "def f(): pass\n"}, "a.py"), list)
