"""Functions that use an import, and functions that take such a value already."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import kl_hooks
from kl_hooks.arch.suggestions import Place, may_accept, parameter_names, takers, users

SAMPLES = sorted(Path(kl_hooks.__file__).parent.rglob("*.py"))[::25]


@pytest.mark.parametrize(
    ("text", "names", "places"),
    [
        ("from a import user\ndef f():\n    user()\ndef g(): ...\n", ["user"], [Place("f", 2)]),
        (
            "from a import user as u\nclass C:\n    def m(self):\n        return u\n",
            ["user"],
            [Place("m", 3)],
        ),
        ("def f():\n    import a.b\n    a.b.c()\n", ["b"], [Place("f", 1)]),
        ("from a import user\nx = user\ndef f():\n    user()\n", ["user"], []),
        ("from a import User\ndef f(u: User):\n    User()\n", ["User"], [Place("f", 2)]),
        ("from a import user\n", ["user"], []),
        ("import a.b\ndef f():\n    a.b.c()\ndef g():\n    a.version()\n", ["b"], [Place("f", 2)]),
        ("import a.b\nV = a.version\ndef f():\n    a\n", ["b"], []),
        ("import a, a.b\ndef f():\n    a\ndef g(): ...\n", ["a", "b"], [Place("f", 2)]),
        ("from a import b\ndef __getattr__(n):\n    return b\n", ["b"], []),
        (
            (
                "from a import b\nclass C:\n    def __eq__(self, o):\n        return b\ndef f():\n "
                "   b\n"
            ),
            ["b"],
            [],
        ),
        (
            "from a import b\nclass C:\n    def __init__(self):\n        b\n",
            ["b"],
            [Place("__init__", 3)],
        ),
        (
            "from a import b\nclass C:\n    def __call__(self):\n        b\n",
            ["b"],
            [Place("__call__", 3)],
        ),
        (
            "from a import b\nclass C:\n    def __new__(cls):\n        b\n",
            ["b"],
            [Place("__new__", 3)],
        ),
        (
            "from a import b\ndef __f():\n    b\ndef f__():\n    b\n",
            ["b"],
            [Place("__f", 2), Place("f__", 4)],
        ),
        ("import a.b as c\ndef f():\n    c\n", ["b"], [Place("f", 2)]),
    ],
)
def test_users(text: str, names: list[str], places: list[Place]) -> None:
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "import" in one)
    assert users(ast.parse(text), text.encode(), line) == (names, places)


def test_methods_with_a_fixed_signature_are_no_example() -> None:
    text = b"class C:\n    def __init__(self, user): ...\n    def __eq__(self, user): ...\n"
    assert takers(ast.parse(text), text, ["user"]) == [Place("__init__", 2)]


def test_takers_by_name_or_annotation() -> None:
    text = (
        "def a(user): ...\ndef b(*, current_user=None): ...\ndef c(x: 'list[current_user]'):"
        " ...\ndef d(users): ...\n"
    )
    assert [place.name for place in takers(ast.parse(text), text.encode(), ["current_user"])] == [
        "a",
        "b",
        "c",
    ]
    assert may_accept(text.encode(), ["current_user"])


@pytest.mark.parametrize(
    "text",
    [
        "import user\n",
        "def f():\n    g(user=user)\n",
        "def users(x): ...\n",
        "def f(\n    x,\n) -> user: ...\n",
        "user(1)\n",
        "def f(a='(', *, b=\")\"): user  # \N{GREEK SMALL LETTER ALPHA}\n",
    ],
)
def test_a_text_in_which_nobody_takes_one(text: str) -> None:
    assert not may_accept(text.encode(), ["user"])
    assert takers(ast.parse(text), text.encode(), ["user"]) == []


@pytest.mark.parametrize(
    "text",
    [
        'def f(a=")", user=None): ...\n',
        "def f(a,  # one )\n    user): ...\n",
        "def f(a,  # def f()\n    user): ...\n",
        "def f(a='''\ndef f()''', user=1): ...\n",
        "def\tf(user): ...\n",
        "def \\\n  f(user): ...\n",
        f"def f(a={'1' * 4000}{'+1' * 1000}, user=1): ...\n",
        "def f(a='\\'', b=')', user=1): ...\n",
        "def f(a: '\\x75ser'):\n    user\n",
        "def f(a: 'us' 'er'):\n    user\n",
        "def f(\N{FULLWIDTH LATIN SMALL LETTER U}ser): ...\n",
        "# coding: utf-7\ndef f(us+AGU-r): ...\n",
    ],
)
def test_the_text_never_hides_an_argument(text: str) -> None:
    content = text.encode()
    assert takers(ast.parse(content), content, ["user"])
    assert may_accept(content, ["user"])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="both came with Python 3.12")
@pytest.mark.parametrize(
    "content", [b"def f[T: (int, str)](user): ...\n", b"def f(a=f'{x[')']}', user=1): ...\n"]
)
def test_type_parameters_and_nested_quotes_hide_none(content: bytes) -> None:
    assert takers(ast.parse(content), content, ["user"])
    assert may_accept(content, ["user"])


GAPS = st.sampled_from(
    ["", " ", "\t", "\n", " # )\n", " # def g(\n", " \\\n", " # '\n", "\r\n", "\f"]
)
VALUES = st.sampled_from(
    [
        "1",
        "')'",
        '"("',
        "'''\n)'''",
        "(1, [2])",
        "b')'",
        r"r'\\'",
        "'def x()'",
        "f')'",
        "g(user)",
        "{1: ')'}",
        r"'\''",
    ]
)
PARAMETERS = st.tuples(
    GAPS, st.sampled_from(["a", "b", "user", "c: user", "d: 'x[user]'", "e: ')'"]), GAPS, VALUES
)
FUNCTIONS = st.builds(
    lambda start, gap, some, more: (
        f"{start}{gap}f({','.join(f'{a}{n}{b}={v}' for a, n, b, v in some)}{more}): ..."
    ),
    st.sampled_from(["def ", "def\t", "async def ", "if 1: pass\ndef ", "'''(\n'''\ndef "]),
    st.sampled_from(["", " ", "\\\n"]),
    st.lists(PARAMETERS, max_size=4),
    GAPS,
)


@given(st.lists(FUNCTIONS, min_size=1, max_size=3).map("\n".join))
def test_whoever_takes_one_is_not_hidden_by_the_text(text: str) -> None:
    content = text.encode()
    try:
        tree = ast.parse(content)
    except SyntaxError:  # an argument twice
        reject()
    assert bool(takers(tree, content, ["user"])) <= may_accept(content, ["user"])


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_text_never_hides_who_takes_one(path: Path) -> None:
    content = path.read_bytes()
    tree = ast.parse(content)
    for name in {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}:
        assert bool(takers(tree, content, [name])) <= may_accept(content, [name]), name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HttpPage", ["http_page", "page"]),
        ("user", ["user"]),
        ("HTTPServer", ["http_server", "server"]),
        ("my_id", ["my_id"]),
    ],
)
def test_names_of_parameters(name: str, words: list[str]) -> None:
    assert parameter_names(name) == words
