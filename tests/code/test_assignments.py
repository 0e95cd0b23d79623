"""Plain values of classes: compared with CPython, which executes the body."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code.assignments import Body, bodies, changed_assignments

VALUES = ("1", "-1", "'a'", "None", "(1, 'b')", "[1, {2}]", "{'k': [3]}", "{1, 2}", "-2.5", "+1j")
OTHERS = (
    "a + 1",
    "f()",
    "[*x]",
    "{**x}",
    "-x",
    "f'{a}'",
    "(1, x)",
    "{[1]: 2}",
    "{(1, [2])}",
    "a.b",
    "(1, f())",
    "[1, f()]",
    "{1, f()}",
    "{1: 1, f(): 2}",
    "{1: 1, 2: f()}",
)
NAMES = ("a", "b", "c")
NEW_SYNTAX = pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695")


def text_of(pairs: list[tuple[str, str]], rest: str = "") -> str:
    lines = "".join(f"    {name} = {value}\n" for name, value in pairs)
    return f"class C:\n    kept = 0\n{lines}{rest}"


def changed(old: str, new: str, scope: str = "C") -> frozenset[str] | None:
    before, now = (bodies(text.encode()).get(scope, Body()) for text in (old, new))
    return changed_assignments(before, now)


def space_of(text: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(text, names)
    return {name: value for name, value in vars(names["C"]).items() if name[:2] != "__"}  # type: ignore[arg-type]


PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=4)


@given(PAIRS, PAIRS)
def test_what_differs_in_a_class_are_these_names_alone(
    old: list[tuple[str, str]], new: list[tuple[str, str]]
) -> None:
    before, now = text_of(old), text_of(new)
    names = changed(before, now)
    if names is None:
        return
    first, second = space_of(before), space_of(now)
    differing = {
        name
        for name in first.keys() | second.keys()
        if repr(first.get(name, ...)) != repr(second.get(name, ...))
    }
    assert differing == names


@pytest.mark.parametrize("value", VALUES)
def test_constants_and_displays_of_them_are_plain(value: str) -> None:
    assert changed(text_of([]), text_of([("a", value)])) == {"a"}


@pytest.mark.parametrize("value", OTHERS)
def test_what_may_call_or_fail_is_not(value: str) -> None:
    assert changed(text_of([]), text_of([("a", value)])) is None


@pytest.mark.parametrize(
    "rest",
    [
        "    a = 3\n",  # twice
        "    b = a\n",
        "    b = 'a'\n",  # getattr(C, C.b)
        "    def m(self, x=a): pass\n",
        "    def a(self): pass\n",
        "    b = [a for _ in 'x']\n",
        "    class D:\n        b = a\n",
        "    del a\n",
        "    global a\n",
        "    from os import path as a\n",
        "    import a.b\n",
        "    for _ in 'x':\n        def a(self): pass\n",
        "    for _ in 'x':\n        async def a(self): pass\n",
        "    for _ in 'x':\n        class a: pass\n",
        pytest.param("def f[T: C.a](): pass\n", marks=NEW_SYNTAX),
        pytest.param("class D[T: C.a]: pass\n", marks=NEW_SYNTAX),
        "    for a in 'x': pass\n",
        "C.a\n",
        "print(getattr(C, 'a'))\n",
        "@mark('a')\ndef f(): pass\n",
        "def f(x: C.a): pass\n",
        "def f() -> C.a: pass\n",
        "class D(C.a): pass\n",
        "f = lambda: C.a\n",
    ],
)
def test_a_name_that_importing_the_file_uses_otherwise_is_no_plain_one(rest: str) -> None:
    assert changed(text_of([("a", "1")], rest), text_of([("a", "2")], rest)) is None


@pytest.mark.parametrize(
    "rest",
    [
        '    """About a."""\n',
        "    def m(self): return self.a\n",
        "    def m(self, a=1): pass\n",
        "    def m(self):\n        a = 1\n",
        "    import b.a\n",
        "    b: int\n",
        "class D:\n    a = 5\n",
        "a = 5\n",
        "def f(a): return C.a\n",
    ],
)
def test_functions_and_other_classes_may_have_the_name(rest: str) -> None:
    assert changed(text_of([("a", "1")], rest), text_of([("a", "2")], rest)) == {"a"}


@pytest.mark.parametrize("name", ["__a", "__slots__", "__hash__"])
def test_names_with_two_underscores_mean_more(name: str) -> None:
    assert changed(text_of([(name, "1")]), text_of([(name, "2")])) is None


def test_another_annotation_is_more_than_a_value() -> None:
    old = "class C:\n    a: int = 1\n"
    assert changed(old, old.replace("1", "2")) == {"a"}
    # an import evaluates it, and may fail
    assert changed(old, old.replace("int", "Missing")) is None
    assert changed("class C:\n    b = 2\n", "class C:\n    b = 2\n    a: int = 1\n") is None
    assert changed("class C:\n    b = 2\n    a: int = 1\n", "class C:\n    b = 2\n") == {"a"}
    assert changed(old, old.replace(" = 1", "")) is None
    assignment = bodies(old.encode())["C"].assignments["a"]
    assert assignment.annotation and assignment.is_immutable
    assert bodies(b"class C:\n    a = (1, (2,))\n")["C"].assignments["a"].is_immutable
    assert not bodies(b"class C:\n    a = (1, [2])\n")["C"].assignments["a"].is_immutable


def test_the_order_of_common_names_counts() -> None:
    both = [("a", "1"), ("b", "2")]
    assert changed(text_of(both), text_of(both[::-1])) is None
    assert changed(text_of(both), text_of(both[1:])) == {"a"}
    assert changed(text_of(both), text_of(both)) == frozenset()


def test_of_a_module_the_list_of_public_names_counts_alone() -> None:
    assert changed("__all__ = ['a']\n", "__all__ = ('a', 'b')\n", "") == {"__all__"}
    assert changed("", "__all__ = ['a']\n", "") == {"__all__"}
    assert changed("__all__: list = ['a']\n", "__all__: list = ['b']\n", "") is None
    assert changed("X = 1\n", "X = 2\n", "") is None
    for use in ("__all__ += ['c']\n", "print(__all__)\n", "__all__.append('c')\n"):
        assert changed("__all__ = ['a']\n" + use, "__all__ = ['b']\n" + use, "") is None


def test_classes_in_classes_are_bodies_and_two_of_one_name_are_none() -> None:
    inner = "class C:\n    class D:\n        a = 1\n"
    assert changed(inner, inner.replace("1", "2"), "C.D") == {"a"}
    assert "C" not in bodies(b"class C: a = 1\nclass C: a = 2\n")
    assert bodies(b"class C(:\n") == {}
    assert bodies(b"if 1:\n    class C: a = 1\n").keys() == {""}


def test_what_else_a_body_does_may_look_at_all_of_it() -> None:
    for line, is_plain in (
        ("pass", True),
        ("b: int", True),
        ("__slots__ = ('x',)", True),
        ("def m(self): return f()", True),
        ("b = f()", False),
        ("b = other", False),
        ("f(locals())", False),
        ("b: int = f()", False),
        ("for b in (): pass", False),
    ):
        assert bodies(f"class C:\n    a = 1\n    {line}\n".encode())["C"].is_plain is is_plain, line
