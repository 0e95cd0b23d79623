"""Functions that use an import, and functions that take such a thing already."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kl_hooks
from kl_hooks.code.rewriting.arguments import Place, may_take, parameter_names, takers, users

SAMPLES = sorted(Path(kl_hooks.__file__).parent.rglob("*.py"))[::25]


@pytest.mark.parametrize(
    ("text", "names", "places"),
    [
        ("from a import user\ndef f():\n    user()\ndef g(): ...\n", ["user"], [Place("f", 2)]),
        ("from a import user as u\nclass C:\n    def m(self):\n        return u\n", ["user"], [Place("m", 3)]),
        ("def f():\n    import a.b\n    a.b.c()\n", ["b"], [Place("f", 1)]),
        ("from a import user\nx = user\ndef f():\n    user()\n", ["user"], []),
        ("from a import User\ndef f(u: User):\n    User()\n", ["User"], [Place("f", 2)]),
        ("from a import user\n", ["user"], []),
        ("import a.b\ndef f():\n    a.b.c()\ndef g():\n    a.version()\n", ["b"], [Place("f", 2)]),
        ("import a.b\nV = a.version\ndef f():\n    a\n", ["b"], []),
        ("import a, a.b\ndef f():\n    a\ndef g(): ...\n", ["a", "b"], [Place("f", 2)]),
        ("import a.b as c\ndef f():\n    c\n", ["b"], [Place("f", 2)]),
    ],
)
def test_users(text: str, names: list[str], places: list[Place]) -> None:
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "import" in one)
    assert users(ast.parse(text), text.encode(), line) == (names, places)


def test_takers_by_name_or_annotation() -> None:
    text = (
        "def a(user): ...\ndef b(*, current_user=None): ...\ndef c(x: 'list[current_user]'): ...\ndef d(users): ...\n"
    )
    assert [place.name for place in takers(ast.parse(text), text.encode(), ["current_user"])] == ["a", "b", "c"]
    assert may_take(text.encode(), ["current_user"])


@pytest.mark.parametrize(
    "text",
    [
        "import user\n",
        "def f():\n    g(user=user)\n",
        "def users(x): ...\n",
        "def f(\n    x,\n) -> user: ...\n",
        "user(1)\n",
    ],
)
def test_a_text_in_which_nobody_takes_one(text: str) -> None:
    assert not may_take(text.encode(), ["user"])
    assert takers(ast.parse(text), text.encode(), ["user"]) == []


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_text_never_hides_who_takes_one(path: Path) -> None:
    content = path.read_bytes()
    tree = ast.parse(content)
    for name in {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}:
        assert bool(takers(tree, content, [name])) <= may_take(content, [name]), name


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
