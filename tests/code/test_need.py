"""What an import is needed for: yes to dropping or moving only where nothing speaks against it."""

from __future__ import annotations

import ast

import pytest

from kl_hooks.code.import_edits import NEEDED, NOTED, UNUSED, Need, Source, Uses, mention, need
from kl_hooks.code.scanner.python import scan_python

FUTURE = "from __future__ import annotations\n"


def found(text: str, path: str = "x.py") -> Need:
    content = text.encode()
    rows = [
        row for row in scan_python(content, path, "m")["imports"] if row[0].partition(".")[0] == "m"
    ]
    return need(Source(path, content, ast.parse(content)), rows[0])


@pytest.mark.parametrize(
    "rest",
    [
        "def f(a: A) -> None: ...",
        "def f() -> list[A]: ...",
        "x: A = g()",
        "async def f(*a: A, **k: A) -> A: ...",
        "class C:\n    x: A",
        "x: 'list[A]' = []",
        "x = []  # type: list[A]",
        "import click\n@click.command()\ndef f(a: A): ...",
        "from typing import NamedTuple\nclass C(NamedTuple):\n    a: A",
        "class B: ...\nclass C(B):\n    a: A",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    a: A",
    ],
)
def test_annotations_only(rest: str) -> None:
    assert found(f"{FUTURE}from m import A\n{rest}\n").kind == NOTED
    assert "evaluated at run time" in found(f"from m import A\n{rest}\n").reason


@pytest.mark.parametrize(
    "rest", ["", 'def f():\n    """A and A."""', "def f(a): ...", "x = b.A", "x = dict(A=1)", "# A"]
)
def test_unused(rest: str) -> None:
    assert found(f"from m import A\n{rest}\n").kind == UNUSED


@pytest.mark.parametrize(
    "rest",
    [
        "def f(a: A): return A()",
        "x = A",
        "class C(A): ...",
        "@A\ndef f() -> A: ...",
        "def f(a: A = A()): ...",
        "__all__ = ['A']",
        "x: A = A",
        "isinstance(x, A)",
        "def f():\n    global A\n    A = 1",
        "del A",
        "A = 1",
        "def f(A): ...",
        "for A in (): ...",
        "cast('A', x)",
        "print(f'{A}')",
        "x = vars()",
        "sys.modules[__name__]",
        'def f():\n    """\n    >>> A\n    """',
        "try: ...\nexcept E as A: ...",
        "match x:\n    case A: ...",
        "import q as A",
        "def f(a: A): ...\nget_type_hints(f)",
        "def f(a: A): ...\nf.__annotations__",
        "import pydantic\nx: A",
        "from fastapi import x\ndef f(a: A): ...",
        "import typer.main\nx: A",
        "from functools import singledispatch\nx: A",
        "inspect.signature(f, eval_str=True)\nx: A",
        "from b import C\nclass D(C):\n    a: A",
        "x: A\nx: g(1)",
        "from b import d\n@d\ndef f(a: A): ...",
        "import attrs\n@attrs.define\nclass C:\n    a: A",
        "from typing import TypedDict\nclass C(TypedDict):\n    a: A",
        "def f():\n    class C:\n        a: A",
        "import attrs\nx: A = attrs.field(converter=int)",
    ],
)
def test_anything_else_is_stored_with_a_reason(rest: str) -> None:
    lazy = [] if "TypedDict" in rest or "g(1)" in rest or "    class C" in rest else [FUTURE]
    for head in ["", *lazy]:
        answer = found(f"{head}from m import A\n{rest}\n")
        assert answer.kind == NEEDED and answer.reason


@pytest.mark.parametrize(
    "text",
    [
        "from m import A as A",
        "import m as m",
        "from m import *",
        "from m import A  # noqa",
        "import m; x = 1",
        "from m import A  # noqa: E501, F401",
        "if x:\n    from m import A",
        "try:\n    import m\nfinally: ...",
        "class C:\n    from m import A",
        "def f():\n    import m",
        "from m import A, A",
        "importlib.import_module('m')",
    ],
)
def test_statements_that_are_left_alone(text: str) -> None:
    answer = found(text + "\n")
    assert answer.kind == NEEDED and answer.reason


@pytest.mark.parametrize("note", ["vars()", "globals()", "sys.modules[__name__]"])
def test_an_annotation_that_looks_at_all_names_is_no_mention_of_one(note: str) -> None:
    printed = Uses(ast.parse(f"x: {note}\n"))
    assert ("A" in printed.noted, printed.looks, printed.used, printed.strings) == (
        False,
        0,
        {},
        {},
    )
    both = Uses(ast.parse(f"x: {note}\ny: A\nz = {note}\n"))
    assert ("A" in both.noted, both.looks, "A" in both.used) == (True, 3, False)


def test_an_init_file_offers_what_it_imports() -> None:
    assert "others may import it from" in found("from m import A\n", "p/__init__.py").reason


def test_any_comment_keeps_it_from_an_edit() -> None:
    assert found("from m import A  # noqa: E501\n").reason == "a comment belongs to it"
    assert found("from m import (\n    A,  # mine\n)\n").reason == "a comment belongs to it"
    content = b"from m import A  # noqa: E501\n"
    assert (
        mention(
            Source("x.py", content, ast.parse(content)),
            scan_python(content, "x.py", "m")["imports"][0],
        ).kind
        == UNUSED
    )


def test_words_that_dataclasses_look_for_stay() -> None:
    assert found(f"{FUTURE}from m import ClassVar\nx: ClassVar[int]\n").kind == NEEDED
    assert found(f"{FUTURE}import m\nx: m.InitVar[int]\n").kind == NEEDED
    assert found(f"{FUTURE}import m\nx: m.Other\n").kind == NOTED


def test_with_lazy_annotations_other_annotations_do_not_matter() -> None:
    assert found(f"{FUTURE}from m import A\nx: A\ny: g(1)\n").kind == NOTED
    assert (
        found(f"{FUTURE}from m import A\nfrom b import C, d\n@d\nclass D(C):\n    a: A\n").kind
        == NEEDED
    )


def test_a_mention_asks_no_library() -> None:
    content = b"from m import A\nimport pydantic\nx: A\n"
    row = scan_python(content, "x.py", "m")["imports"][0]
    assert mention(Source("x.py", content, ast.parse(content)), row).kind == NOTED
