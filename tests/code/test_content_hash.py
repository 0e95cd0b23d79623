"""The content hash: the same for the same code on every Python, whatever its layout; another for other code."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kl_hooks.code.scan import scan_python
from tests.code.test_scan import library_sample

GOLDEN = Path(__file__).parent / "golden"


def hashes(source: str) -> dict[str, str]:
    facts = scan_python(source.encode(), "m.py", "m")
    assert facts["error"] == "", source
    return {row[0]: row[5] for row in facts["symbols"]}


@pytest.mark.parametrize(("name", "since"), [("every_syntax", (3, 11)), ("python_3_12", (3, 12))])
def test_golden(name: str, since: tuple[int, int]) -> None:
    """Made on Python 3.12; a difference here means that stored hashes of users change: raise the scanner's version."""
    facts = scan_python((GOLDEN / f"{name}.py.txt").read_bytes(), "x.py", "m")
    found = {row[0]: [row[1], row[3], row[5]] for row in facts["symbols"]}
    if sys.version_info >= since:
        assert found == json.loads((GOLDEN / f"{name}.json").read_text())
    else:
        assert facts["error"] and not found


BASE = "class C:\n    x = 1\n    def m(self, a):\n        return a\n\ndef f(a):\n    return {'k': a}\n"


@pytest.mark.parametrize(
    "same",
    [
        "# comment\n" + BASE,
        '"""Module docstring."""\n' + BASE,
        BASE.replace("class C:\n", "class C:\n    '''Doc.'''\n"),
        BASE.replace("        return a\n", "        '''Doc.'''\n\n        return (a)  # why\n"),
        BASE.replace("{'k': a}", '{\n  "k":\n  a,\n}'),
        BASE.replace("    ", "  "),
        BASE.replace("'k'", "u'k'"),
        BASE.replace("'k'", "'' 'k'"),
        BASE.replace("x = 1", "x = 0x1"),
        BASE.replace("(self, a)", "(self, a,)"),
    ],
)
def test_layout_comments_and_docstrings_do_not_count(same: str) -> None:
    assert hashes(same) == hashes(BASE)


@pytest.mark.parametrize(
    ("other", "changed"),
    [
        (BASE.replace("        return a", "        return -a"), {"method:m.C.m"}),
        (BASE.replace("(self, a)", "(self, a=None)"), {"method:m.C.m"}),
        (BASE.replace("    def m", "    @d\n    def m"), {"method:m.C.m"}),
        (BASE.replace("    def m", "    async def m"), {"method:m.C.m"}),
        (BASE.replace("x = 1", "x = 2"), {"type:m.C", "field:m.C.x"}),
        (BASE.replace("x = 1", "x = True"), {"type:m.C", "field:m.C.x"}),
        (BASE.replace("x = 1", "x = 1.0"), {"type:m.C", "field:m.C.x"}),
        (BASE.replace("x = 1", "x = '1'"), {"type:m.C", "field:m.C.x"}),
        (BASE.replace("x = 1", "x = b'1'"), {"type:m.C", "field:m.C.x"}),
        (BASE.replace("class C:", "class C(D):"), {"type:m.C"}),
        (BASE.replace("'k'", "'j'"), {"function:m.f"}),
        (BASE.replace("{'k': a}", "{**a}"), {"function:m.f"}),
        (BASE + "import z\n", {"namespace:m"}),
    ],
)
def test_what_the_code_says_counts_where_it_says_it(other: str, changed: set[str]) -> None:
    before, after = hashes(BASE), hashes(other)
    assert {name for name in before if before[name] != after[name]} == changed


def test_a_class_and_a_module_leave_out_what_has_a_hash_of_its_own() -> None:
    more = BASE.replace("    x = 1\n", "    x = 1\n    def n(self): pass\n    class D: pass\n") + "def g(): pass\n"
    before, after = hashes(BASE), hashes(more)
    assert {name for name in before if before[name] != after[name]} == set()
    assert set(after) - set(before) == {"method:m.C.n", "type:m.C.D", "function:m.g"}


def test_a_function_takes_in_what_is_defined_in_it() -> None:
    source = "def f():\n def g():\n  return 1\n class C:\n  def h(self): return lambda: 2\n return g\n"
    changed = hashes(source.replace("lambda: 2", "lambda: 3"))
    before = hashes(source)
    assert {name for name in before if before[name] != changed[name]} == {
        "function:m.f",
        "method:m.f.<locals>.C.h",
    }


def test_definitions_of_one_name_have_one_hash_over_all() -> None:
    one, two = hashes("if x:\n def f(): return 1\n"), hashes("if x:\n def f(): return 1\nelse:\n def f(): return 2\n")
    swapped = hashes("if x:\n def f(): return 2\nelse:\n def f(): return 1\n")
    assert len({one["function:m.f"], two["function:m.f"], swapped["function:m.f"]}) == 3


def test_neighbours_can_not_be_mistaken_for_each_other() -> None:
    sources = [
        "f(a, b)", "f(a)(b)", "f(a, *b)", "f(a, b=b)", "f(a=a, b=b)", "f(**b)", "f(b)", "f.b", "f['b']", "'f' 'b'",
        "f'{b}'", "f'b'", "f'{b!r}'", "f'{b:b}'", "a < b < c", "a < (b < c)", "a and b and c", "a and (b and c)",
        "[a, b]", "(a, b)", "{a, b}", "{a: b}", "[a for b in c]", "(a for b in c)", "lambda a: b",
        "lambda: (a, b)", "a[b:c]", "a[b:c:None]", "a[b, c]", "a[b][c]", "if a: b\nelse: c", "if a:\n b\nc",
        "if a:\n b\n c", "a if b else c", "for a in b: c", "while a: b\nelse: c", "while a: b\nc", "'#Name'",
        "Name", "'.'", "not a", "-a", "a - b", "b - a", "1", "'1'", "1j", "1.0", "-1", "b'1'", "True", "None",
        "...", "'\\0'", "'\\\\0'", "'%00'", "x: int", "(x): int", "x: int = 1", "x = 1", "try: a\nfinally: b",
        "try: a\nexcept: b", "try: a\nexcept b: c", "try: a\nexcept b as c: pass", "import a", "import a as b",
        "from a import b", "from . import b", "from .a import b", "import a.b", "import a, b", "global a", "del a",
        "del a, b", "def a(): pass", "def a(b): pass", "def a(*b): pass", "def a(**b): pass", "def a(*, b): pass",
        "def a(b, /): pass", "def a(b=c): pass", "def a(*, b=c): pass", "def a(b: c): pass", "def a() -> b: pass",
        "@b\ndef a(): pass", "class a(b): pass", "class a(b=c): pass", "@b\nclass a: pass", "def a(b, c=1): pass",
        "def a(b=1, *, c): pass",
    ]  # fmt: skip
    texts = {}
    for source in sources:
        wrapped = "def whole():\n 0\n" + "".join(f" {line}\n" for line in source.splitlines())
        texts[source] = hashes(wrapped)["function:m.whole"]
    by_hash: dict[str, list[str]] = {}
    for source, value in texts.items():
        by_hash.setdefault(value, []).append(source)
    assert [same for same in by_hash.values() if len(same) > 1] == []


def test_unparsed_and_parsed_again_the_standard_library_says_the_same() -> None:
    """`ast.unparse` keeps the tree and loses every comment and all layout."""
    compared = 0
    for path in library_sample()[::3]:
        try:
            again = ast.unparse(ast.parse(path.read_bytes()))
            ast.parse(again)
        except (SyntaxError, ValueError, RecursionError):
            continue
        first, second = scan_python(path.read_bytes(), "m.py", "m"), scan_python(again.encode(), "m.py", "m")
        if first["error"] or second["error"]:
            continue
        assert {r[0]: r[5] for r in first["symbols"]} == {r[0]: r[5] for r in second["symbols"]}, path
        compared += len(first["symbols"])
    assert compared > 500


NAMES = st.sampled_from(["a", "b", "c"])
EXPRESSIONS = st.recursive(
    NAMES | st.integers(0, 3).map(str) | st.text("xy'\"\\\n", max_size=3).map(repr),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]} + {p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})({p[1]})"),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.tuples(inner, NAMES).map(lambda p: f"({p[0]}).{p[1]}"),
        st.tuples(inner, inner).map(lambda p: f"{{{p[0]}: {p[1]}}}"),
        inner.map(lambda value: f"(lambda a, b=1: {value})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS)
def test_equal_hash_means_equal_tree_and_the_other_way_round(one: str, two: str) -> None:
    trees = [ast.dump(ast.parse(text)) for text in (one, two)]
    found = [hashes(f"def f():\n return {text}\n")["function:m.f"] for text in (one, two)]
    assert (trees[0] == trees[1]) == (found[0] == found[1])


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, st.sampled_from(["\n", "# note\n", "\n\n    \n"]))
def test_only_what_is_said_counts(text: str, between: str) -> None:
    assume("\\n" not in text)
    loose = f"def f():\n {between} return (\n  {text}\n )\n".replace("\n\n    \n", "\n\n")
    assert hashes(loose)["function:m.f"] == hashes(f"def f():\n return {text}\n")["function:m.f"]
