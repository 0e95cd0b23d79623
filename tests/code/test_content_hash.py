"""The content hash: the same for the same code on every Python, whatever its layout; another for
other code.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kl_hooks.code.scanner.python import scan_python
from tests.code.test_scan import library_sample

GOLDEN = Path(__file__).parent / "golden"
GOLDENS = [
    ("every_syntax", (3, 11)),
    ("more_syntax", (3, 11)),
    ("python_3_12", (3, 12)),
    ("python_3_12_more", (3, 12)),
]


def hashes(source: str) -> dict[str, str]:
    facts = scan_python(source.encode(), "m.py", "m")
    assert facts["error"] == "", source
    return {row[0]: row[5] for row in facts["symbols"]}


@pytest.mark.parametrize(("name", "since"), GOLDENS)
def test_golden(name: str, since: tuple[int, int]) -> None:
    """Made on Python 3.12; a difference here means that stored hashes of users change: raise the
    scanner's version.
    """
    facts = scan_python((GOLDEN / f"{name}.py.txt").read_bytes(), "x.py", "m")
    found = {row[0]: [row[1], row[3], row[5]] for row in facts["symbols"]}
    if sys.version_info >= since:
        assert found == json.loads((GOLDEN / f"{name}.json").read_text())
    else:
        assert facts["error"] and not found


BASE = (
    "class C:\n    x = 1\n    def m(self, a):\n        return a\n\ndef f(a):\n    return {'k': a}\n"
)


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
def test_what_the_code_states_counts_where_it_states_it(other: str, changed: set[str]) -> None:
    before, after = hashes(BASE), hashes(other)
    assert {name for name in before if before[name] != after[name]} == changed


def test_a_class_and_a_module_omit_what_has_a_hash_of_its_own() -> None:
    more = (
        BASE.replace("    x = 1\n", "    x = 1\n    def n(self): pass\n    class D: pass\n")
        + "def g(): pass\n"
    )
    before, after = hashes(BASE), hashes(more)
    assert {name for name in before if before[name] != after[name]} == set()
    assert set(after) - set(before) == {"method:m.C.n", "type:m.C.D", "function:m.g"}


def test_a_function_contains_what_is_defined_in_it() -> None:
    source = (
        "def f():\n def g():\n  return 1\n class C:\n  def h(self): return lambda: 2\n return g\n"
    )
    changed = hashes(source.replace("lambda: 2", "lambda: 3"))
    before = hashes(source)
    assert {name for name in before if before[name] != changed[name]} == {
        "function:m.f",
        "method:m.f.<locals>.C.h",
    }


def test_definitions_of_one_name_have_one_hash_over_all() -> None:
    one, two = (
        hashes("if x:\n def f(): return 1\n"),
        hashes("if x:\n def f(): return 1\nelse:\n def f(): return 2\n"),
    )
    swapped = hashes("if x:\n def f(): return 2\nelse:\n def f(): return 1\n")
    assert len({one["function:m.f"], two["function:m.f"], swapped["function:m.f"]}) == 3


def test_neighbours_can_not_be_mistaken_for_each_other() -> None:
    sources = [
        "f(a, b)",
        "f(a)(b)",
        "f(a, *b)",
        "f(a, b=b)",
        "f(a=a, b=b)",
        "f(**b)",
        "f(b)",
        "f.b",
        "f['b']",
        "'f' 'b'",
        "f'{b}'",
        "f'b'",
        "f'{b!r}'",
        "f'{b:b}'",
        "a < b < c",
        "a < (b < c)",
        "a and b and c",
        "a and (b and c)",
        "[a, b]",
        "(a, b)",
        "{a, b}",
        "{a: b}",
        "[a for b in c]",
        "(a for b in c)",
        "lambda a: b",
        "lambda: (a, b)",
        "a[b:c]",
        "a[b:c:None]",
        "a[b, c]",
        "a[b][c]",
        "if a: b\nelse: c",
        "if a:\n b\nc",
        "if a:\n b\n c",
        "a if b else c",
        "for a in b: c",
        "while a: b\nelse: c",
        "while a: b\nc",
        "'#Name'",
        "Name",
        "'.'",
        "not a",
        "-a",
        "a - b",
        "b - a",
        "1",
        "'1'",
        "1j",
        "1.0",
        "-1",
        "b'1'",
        "True",
        "None",
        "...",
        "'\\0'",
        "'\\\\0'",
        "'%00'",
        "x: int",
        "(x): int",
        "x: int = 1",
        "x = 1",
        "try: a\nfinally: b",
        "try: a\nexcept: b",
        "try: a\nexcept b: c",
        "try: a\nexcept b as c: pass",
        "import a",
        "import a as b",
        "from a import b",
        "from . import b",
        "from .a import b",
        "import a.b",
        "import a, b",
        "global a",
        "del a",
        "del a, b",
        "def a(): pass",
        "def a(b): pass",
        "def a(*b): pass",
        "def a(**b): pass",
        "def a(*, b): pass",
        "def a(b, /): pass",
        "def a(b=c): pass",
        "def a(*, b=c): pass",
        "def a(b: c): pass",
        "def a() -> b: pass",
        "@b\ndef a(): pass",
        "class a(b): pass",
        "class a(b=c): pass",
        "@b\nclass a: pass",
        "def a(b, c=1): pass",
        "def a(b=1, *, c): pass",
    ]
    texts = {}
    for source in sources:
        wrapped = "def whole():\n 0\n" + "".join(f" {line}\n" for line in source.splitlines())
        texts[source] = hashes(wrapped)["function:m.whole"]
    by_hash: dict[str, list[str]] = {}
    for source, value in texts.items():
        by_hash.setdefault(value, []).append(source)
    assert [same for same in by_hash.values() if len(same) > 1] == []


@pytest.mark.sweep
def test_unparsed_and_parsed_again_the_standard_library_states_the_same() -> None:
    """`ast.unparse` keeps the tree and loses every comment and all layout."""
    compared = 0
    for path in library_sample()[::3]:
        try:
            again = ast.unparse(ast.parse(path.read_bytes()))
            ast.parse(again)
        except (SyntaxError, ValueError, RecursionError):
            continue
        first, second = (
            scan_python(path.read_bytes(), "m.py", "m"),
            scan_python(again.encode(), "m.py", "m"),
        )
        if first["error"] or second["error"]:
            continue
        assert {r[0]: r[5] for r in first["symbols"]} == {r[0]: r[5] for r in second["symbols"]}, (
            path
        )
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


@given(EXPRESSIONS, EXPRESSIONS)
def test_equal_hash_means_equal_tree_and_the_other_way_round(one: str, two: str) -> None:
    trees = [ast.dump(ast.parse(text)) for text in (one, two)]
    found = [hashes(f"def f():\n return {text}\n")["function:m.f"] for text in (one, two)]
    assert (trees[0] == trees[1]) == (found[0] == found[1])


@given(EXPRESSIONS, st.sampled_from(["\n", "# note\n", "\n\n    \n"]))
def test_only_what_is_reported_counts(text: str, between: str) -> None:
    assume("\\n" not in text)
    loose = f"def f():\n {between} return (\n  {text}\n )\n".replace("\n\n    \n", "\n\n")
    assert hashes(loose)["function:m.f"] == hashes(f"def f():\n return {text}\n")["function:m.f"]


@pytest.mark.parametrize(
    "forms",
    [
        ["1000", "1_000", "0x3e8", "0X3_E8", "0o1750", "0b1111101000", "(1000)", "1000  # why"],
        ["1000.0", "1e3", "1_0e2", "1000.", "10E+2"],
        ["2j", "2J", "2.0j", "0_2j"],
        [
            "'ab'",
            '"ab"',
            "u'ab'",
            "'a' 'b'",
            "'a' \"b\"",
            "'''ab'''",
            "'\\x61b'",
            "r'ab'",
            "('a'\n 'b')",
            "'a\\\nb'",
        ],
        ["b'ab'", "B'ab'", "b'a' b'b'", "rb'ab'", "b'\\x61b'"],
        [
            "f'{a}b'",
            "F'{a}b'",
            "f'{a}' 'b'",
            "f'{a}' f'b'",
            "f'{ a }b'",
            "rf'{a}b'",
            "f'{(a)}b'",
            "'' f'{a}' f'' 'b'",
        ],
        ["f'{a!r:>{b}}'", "f'{a !r:>{b}}'", "f'{a!r:>{ b }}'"],
        ["f(a, b,)", "f(a,b)", "(f)(a, (b))", "f(\n a,\n b\n)"],
        ["a if b else c", "(a if (b) else c)"],
        ["[a, *b]", "[a, *b,]", "[\na, *(b)]"],
        ["(a, b)", "(a, b,)", "((a), b)"],
        ["lambda a, *, b=1: a", "lambda a,*,b = 1:(a)"],
    ],
    ids=lambda forms: forms[0],
)
def test_forms_of_one_item_have_one_hash(forms: list[str]) -> None:
    assert len({hashes(f"def g():\n return ({form}\n )\n")["function:m.g"] for form in forms}) == 1


def test_different_items_have_different_hashes() -> None:
    forms = [
        "1000",
        "1000.0",
        "1000j",
        "'1000'",
        "b'1000'",
        "f'1000'",
        "-1000",
        "+1000",
        "f'{1000}'",
        "f'{a}'",
        "f'{a!r}'",
        "f'{a!s}'",
        "f'{a:x}'",
        "f'{a:{x}}'",
        "f'{a=}'",
        "f'{a}{b}'",
        "f'{a}b'",
        "f'a{b}'",
        "f'{{a}}'",
        "'a{b}'",
        "(x := a)",
        "x == a",
        "[x for x in a]",
        "(x for x in a)",
        "{x for x in a}",
        "[*a]",
        "[a]",
        "f(*a)",
        "f(**a)",
        "f(a)",
        "0.1",
        "0.10000000000000002",
        "1e400",
        "0j",
        "0.0",
        "-0.0",
        "0",
        "False",
        "''",
        "b''",
        "()",
        "[]",
        "{}",
        "None",
        "...",
    ]
    by_hash: dict[str, list[str]] = {}
    for form in forms:
        by_hash.setdefault(hashes(f"def g():\n return {form}\n")["function:m.g"], []).append(form)
    assert [same for same in by_hash.values() if len(same) > 1] == []


PIECES = [
    ("def f{n}(a, b=1):", ["c = a + {k}", "return [c, 'x{k}', *b]"]),
    ("class C{n}(Base):", ["y = {k}", "z: int = y or {k}"]),
    ("async def g{n}(*a, **b):", ["await a[{k}]", "raise ValueError(f'{{a}}{k}')"]),
]
"""(head, statements of the body); `n` numbers them, `k` is what a mutation changes."""


def written(data: st.DataObject, numbers: list[list[int]], decorated: bool) -> str:
    """A module of these pieces, with comments, docstrings, blank lines and indentation as drawn."""
    lines = list(
        data.draw(
            st.sampled_from([[], ["# start"], ['"""Module."""'], ["", "", "# -*- nothing -*-"]])
        )
    )
    for n, (first, second) in enumerate(numbers):
        head, (one, two) = PIECES[n % len(PIECES)]
        indent = data.draw(st.sampled_from([" ", "    ", "\t"]))
        lines += data.draw(st.sampled_from([[], [""], ["# before", ""], ["\x0c"]]))
        lines += ["@decorator(a)"] if decorated else []
        lines.append(head.format(n=n) + data.draw(st.sampled_from(["", "  # why"])))
        lines += data.draw(
            st.sampled_from([[], [indent + "'''Doc.'''"], [indent + "'Doc' ' more'", ""]])
        )
        lines.append(
            indent + one.format(k=first) + data.draw(st.sampled_from(["", "  # one", " ;"]))
        )
        lines += data.draw(st.sampled_from([[], [""], ["# at the margin"]]))
        lines.append(indent + two.format(k=second))
    return str(data.draw(st.sampled_from(["\n", "\r\n"]))).join([*lines, ""])


NUMBERS = st.lists(st.lists(st.integers(0, 99), min_size=2, max_size=2), min_size=1, max_size=5)


@given(st.data(), NUMBERS, st.booleans())
def test_no_edit_of_layout_changes_a_hash(
    data: st.DataObject, numbers: list[list[int]], decorated: bool
) -> None:
    assert hashes(written(data, numbers, decorated)) == hashes(written(data, numbers, decorated))


@given(st.data(), NUMBERS, st.booleans())
def test_an_edit_of_code_changes_the_hash_of_its_owners_alone(
    data: st.DataObject, numbers: list[list[int]], decorated: bool
) -> None:
    place = data.draw(st.integers(0, len(numbers) - 1))
    which = data.draw(st.integers(0, 1))
    other = [list(pair) for pair in numbers]
    other[place][which] += 100
    before, after = (
        hashes(written(data, numbers, decorated)),
        hashes(written(data, other, decorated)),
    )
    assert before.keys() == after.keys()
    owners = {
        0: {f"function:m.f{place}"},
        1: {f"type:m.C{place}", f"field:m.C{place}.{'yz'[which]}"},
        2: {f"function:m.g{place}"},
    }[place % 3]
    assert {name for name in before if before[name] != after[name]} == owners
