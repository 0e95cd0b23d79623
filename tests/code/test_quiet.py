"""Importing a module: quiet, or more than definitions."""

from __future__ import annotations

import ast

import pytest

from kl_hooks.code.import_edits import first_side_effect


@pytest.mark.parametrize(
    "text",
    [
        '"""Doc."""',
        "import os",
        "X = 1",
        "X: int = -1 + 2",
        "A, B = 1, [2]",
        "X = os.sep",
        "X = re.compile('a')",
        "def f(a=1, *, b=()): ...",
        "class A: ...",
        "class B(Exception):\n    x = 1\n    def f(self): print()",
        "from typing import Protocol\nclass P(Protocol): ...",
        "import enum\nclass E(enum.Enum):\n    A = 1",
        "pass",
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass D:\n    a: int = 1",
        "X = lambda: f()",
        "if TYPE_CHECKING:\n    print()",
        "try:\n    import a\nexcept ImportError:\n    a = None",
        "X = {k: 1 for k in Y}",
        "if sys.platform == 'x':\n    A = 1\nelse:\n    A = 2",
        "T = TypeVar('T')",
        "log = logging.getLogger(__name__)",
        "class A:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...",
    ],
)
def test_quiet(text: str) -> None:
    assert first_side_effect(ast.parse(text)) == (0, "")


@pytest.mark.parametrize(
    "text",
    [
        "print()",
        "app = Flask()",
        "X.y = 1",
        "X[1] = 2",
        "del X",
        "for x in y: ...",
        "with a: ...",
        "raise E",
        "assert x",
        "@app.get('/')\ndef f(): ...",
        "@register\nclass A: ...",
        "class A(Base): ...",
        "class A(metaclass=M): ...",
        "class A:\n    print()",
        "def f(a=g()): ...",
        "def f(a: g()): ...",
        "X = [g() for x in y]",
        "atexit.register(f)",
        "if g():\n    ...",
        "if x:\n    g()",
        "try:\n    g()\nexcept E: ...",
        "X = await_ or g()",
        "x: g(1) = 1",
        "class A:\n    def __init_subclass__(cls): ...",
        "class A(Base()): ...",
        "class A(x, table=True): ...",
    ],
)
def test_more_than_definitions(text: str) -> None:
    line, what = first_side_effect(ast.parse(text))
    assert line and what


def test_classes_of_trusted_modules_may_be_bases() -> None:
    tree = ast.parse("class A(Base): ...")
    assert first_side_effect(tree, {"Base"}) == (0, "") and first_side_effect(tree) == (
        1,
        "class A(Base)",
    )
