"""Which results hold for another content: against a model that runs the tests, and edit by edit."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.proof.facts import STALE, VALID, RunFacts
from kl_hooks.proof.verdict import judge_results
from tests.proof.recorded import difference_of, run_program, verdicts

CART = """\
RATE = 2
class Base:
    def price(self):
        return 1
    def label(self):
        return "base"
class Item(Base):
    pass
def total(items, start=0):
    return start + sum(items) * RATE
def empty(items):
    return not items
def unused():
    return 0
"""
USER = """\
from cart import total, Base
def spend(items):
    return total(items) + 1
def greet(name):
    return "hi " + name
"""
TESTS = """\
from cart import Item, empty, total
from user import greet, spend
def test_total():
    return total([1])
def test_empty():
    return empty([])
def test_price():
    return Item().price()
def test_spend():
    return spend([2])
def test_greet():
    return greet("a")
"""
PROGRAM = {"cart.py": CART, "user.py": USER, "test_all.py": TESTS}
ALL = {"test_total", "test_empty", "test_price", "test_spend", "test_greet"}


def stale(now: dict[str, str | None]) -> set[str]:
    files = {path: text for path, text in {**PROGRAM, **now}.items() if text is not None}
    found, _ = verdicts(PROGRAM, files)
    return {name.partition("::")[2] for name, one in found.items() if one.state != VALID}


EDITS: list[tuple[dict[str, str | None], set[str]]] = [
    ({}, set()),
    ({"cart.py": CART.replace("not items", "len(items) == 0")}, {"test_empty"}),
    (
        {"cart.py": CART.replace("sum(items) * RATE", "RATE * sum(items)")},
        {"test_total", "test_spend"},
    ),
    ({"cart.py": CART.replace("start=0", "start=1")}, {"test_total", "test_spend"}),
    ({"cart.py": CART.replace("start=0", "start=[]")}, ALL),
    ({"cart.py": CART.replace("start=0", "start=0, *, other=1")}, ALL),
    ({"cart.py": CART.replace("start=0", "start=ZERO")}, ALL),
    ({"cart.py": CART.replace("    pass", "    size = 1")}, {"test_price"}),
    ({"cart.py": CART.replace("return 0", "return 9")}, set()),
    (
        {"cart.py": "# a comment\n" + CART.replace("def empty(items):", "def empty( items ):")},
        set(),
    ),
    ({"cart.py": CART.replace("RATE = 2", "RATE = 3")}, ALL),
    ({"cart.py": CART + "def fresh():\n    return 1\n"}, set()),
    ({"cart.py": CART.replace("    pass", "    def price(self):\n        return 5")}, ALL),
    ({"cart.py": CART + "def len(x):\n    return 1\n"}, ALL),
    ({"cart.py": CART + "def greet(x):\n    return 1\n"}, ALL),
    ({"cart.py": CART + "@print\ndef other(x):\n    return 1\n"}, ALL),
    ({"cart.py": CART + "class New(Base):\n    pass\n"}, set()),
    ({"cart.py": CART + "class New(Missing):\n    pass\n"}, ALL),
    ({"cart.py": CART + "def later(x: Missing): pass\n"}, ALL),
    ({"cart.py": CART + "def later():\n    break\n"}, ALL),
    ({"cart.py": CART.replace("def unused():\n    return 0\n", "")}, set()),
    ({"cart.py": CART.replace("def empty(items):\n    return not items\n", "")}, ALL),
    ({"cart.py": None}, ALL),
    ({"cart.py": "def (\n"}, ALL),
    ({"user.py": USER.replace("+ 1", "+ 2")}, {"test_spend"}),
    ({"test_all.py": TESTS.replace('greet("a")', 'greet("b")')}, {"test_greet"}),
    ({"test_all.py": TESTS + "def test_new():\n    return 1\n"}, set()),
    ({"other.py": "X = 1\n"}, set()),
    ({"sum.py": "X = 1\n", "json.py": ""}, ALL),
]


def test_a_result_is_valid_where_nothing_that_its_test_executed_differs() -> None:
    for now, expected in EDITS:
        assert stale(now) == expected, now


def test_the_reason_names_the_symbol() -> None:
    found, _ = verdicts(
        PROGRAM, {**PROGRAM, "cart.py": CART.replace("not items", "len(items) == 0")}
    )
    assert found["test_all.py::test_empty"] == (
        STALE,
        "cart.empty changed",
        ("function:cart.empty",),
    )


def test_a_docstring_counts_where_something_may_read_it() -> None:
    for mark, extra, expected in (
        ("", "", set()),
        ("@dataclass\n", "", set()),
        ("@attr.s(slots=True)\n", "", set()),
        # of the program itself, whatever a library has under this name
        ("@own.s(slots=True)\n", "", ALL),
        ("@print\n", "", ALL),
        ("@dataclass\n@print\n", "", ALL),
        ("", "SHOWN = Item.__doc__\n", ALL),
        ("", "def shown(): return Item.__doc__\n", set()),
    ):
        text = (
            CART.replace("class Item(Base):\n    pass", f'{mark}class Item(Base):\n    """One."""')
            + extra
        )
        text = (
            "from dataclasses import dataclass\nimport attr\nclass own:\n"
            f"    def s(slots): return dataclass\n{text}"
        )
        found, _ = verdicts(
            {**PROGRAM, "cart.py": text}, {**PROGRAM, "cart.py": text.replace("One", "Two")}
        )
        assert {
            name.partition("::")[2] for name, one in found.items() if one.state != VALID
        } == expected, (mark, extra)


def test_what_computed_a_stored_value_counts() -> None:
    executed, ends = run_program(PROGRAM)
    at = {one.symbol: index for index, one in enumerate(executed.symbols)}
    shared = replace(
        executed, values={at["function:user.greet"]: frozenset({at["function:cart.empty"]})}
    )
    now = {**PROGRAM, "cart.py": CART.replace("not items", "len(items) == 0")}
    found = judge_results(RunFacts(shared, True), difference_of(PROGRAM, now), ends)
    assert {name for name, one in found.items() if one.state != VALID} == {
        "test_all.py::test_empty",
        "test_all.py::test_greet",
    }
    reason = "cart.empty changed, which computed a value that other tests get"
    assert found["test_all.py::test_greet"] == (STALE, reason, ("function:cart.empty",))


NAMES = ("f", "g", "h", "len", "K")
VALUE = st.sampled_from(
    [
        *(
            "1",
            "2",
            "K",
            "f()",
            "g()",
            "h()",
            "C().m()",
            "len('a')",
            "D().m()",
            "getattr(C, 'n', 0)",
        ),
        *("C.v", "D().v", "O.v", "getattr(O, 'v'.lower(), 0)", "getattr(D, 'V'.lower(), 0)"),
        *("sorted(k for k in vars(C) if k[0] != '_')", "[k.v for k in C.__subclasses__()]"),
        *("f.__defaults__", "C.m.__defaults__", "getattr(kxb, 'F'.lower(), len).__doc__"),
        *("f.__doc__", "C.__doc__", "O.m.__doc__", "C.__annotations__", "D.m.__doc__"),
        *("asked(kxb, 'F')", "asked(C, 'V')", "P()", "P(2).n"),
    ]
)
LINE = st.one_of(
    st.tuples(st.sampled_from(NAMES), VALUE).map(
        lambda one: f"def {one[0]}(x=1):\n    return {one[1]}\n"
    ),
    st.tuples(st.sampled_from(NAMES), VALUE).map(
        lambda one: f"def {one[0]}(x=2):\n    return [x, {one[1]}]\n"
    ),
    st.sampled_from(
        [
            "K = 1\n",
            "K = 2\n",
            "V = f()\n",
            "import kxb\n",
            "from kxb import f\n",
            "from kxb import *\n",
        ]
    ),
    st.sampled_from(["from kxa import g\n", "# note\n"]),
    st.sampled_from(["try:\n    from kxb import h\nexcept ImportError:\n    h = len\n"]),
    st.tuples(st.sampled_from(["m", "n", "__eq__"]), VALUE).map(
        lambda one: f"class C:\n    def {one[0]}(self, o=0):\n        return {one[1]}\n"
    ),
    st.sampled_from(
        [
            (
                "class C:\n    def m(self):\n        return 7\n    def n(self):\n        return"
                " self.m()\n"
            ),
            "class D(C):\n    pass\n",
            "class D(C):\n    def m(self):\n        return 8\n",
            "def deco(x):\n    return lambda: (K, x())\n",
            "class C:\n    v = 1\n    def m(self, o=0):\n        return self.v\n",
            "class C:\n    v = 2\n    def m(self, o=0):\n        return self.v\n",
            "class C:\n    v = 1\n    w = 3\n    def m(self, o=1):\n        return self.v\n",
            "class D(C):\n    v = 5\n",
            "class D(C):\n    v = 6\n    w = 1\n",
            "class D(C):\n    v = 6\n    names = sorted(locals())\n",
            'class C:\n    """One."""\n    v: int = 1\n    def m(self):\n        """M."""\n',
            'class C:\n    """Two."""\n    v: str = 1\n    def m(self):\n        """N."""\n',
            'def f(x=1):\n    """One."""\n    return x\n',
            'def f(x=2):\n    """Two."""\n    return x\n',
            "O = C()\n",
            "def asked(o, k):\n    return repr(getattr(o, k.lower(), 0))[:9]\n",
            "@dataclass\nclass P:\n    n: int = 1\n",
            "@dataclass\nclass P:\n    n: int = 2\n",
            "@dataclass\nclass P:\n    n: int = []\n",
            "__all__ = ['f', 'C']\n",
            "__all__ = ['f', 'g', 'D']\n",
            "K = C.v\n",
            "def g(x=getattr(C, 'v', 0)):\n    return x\n",
            "@deco\ndef h():\n    return 1\n",
        ]
    ),
)
MODULE = st.lists(LINE, max_size=6).map(
    lambda some: "from dataclasses import dataclass\n" + "".join(some)
)
TEST_NAMES = ("test_kxa.py", "test_kxb.py")
TEST = st.lists(
    st.tuples(st.sampled_from(["test_a", "test_b", "test_c"]), VALUE).map(
        lambda one: f"def {one[0]}():\n    return {one[1]}\n"
    ),
    min_size=1,
    max_size=3,
).map(lambda some: "from kxa import *\nimport kxb\n" + "".join(some))


@st.composite
def edits(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, str]]:
    """A program, and what it becomes."""
    files = {
        "kxa.py": draw(MODULE),
        "kxb.py": draw(MODULE),
        TEST_NAMES[0]: draw(TEST),
        TEST_NAMES[1]: draw(TEST),
    }
    now = dict(files)
    for path in draw(st.lists(st.sampled_from(sorted(files)), min_size=1, max_size=2)):
        part = draw(TEST if path in TEST_NAMES else st.one_of(LINE, MODULE))
        now[path] = draw(st.sampled_from([part, now[path] + part]))
    if draw(st.booleans()):
        now.pop(draw(st.sampled_from(sorted(files))), None)
    if draw(st.booleans()):
        now["kxc.py"] = draw(MODULE)
    return files, now


@given(edits())
def test_what_is_valid_ends_as_before(pair: tuple[dict[str, str], dict[str, str]]) -> None:
    before, now = pair
    found, ends = verdicts(before, now)
    after = run_program(now)[1]
    for name, verdict in found.items():
        if verdict.state == VALID:
            assert after.get(name) == ends[name], (name, now)
