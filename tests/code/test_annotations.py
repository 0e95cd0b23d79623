"""Imports that annotations alone need: yes only where nothing else speaks against it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code.annotations import only_in_annotations


@pytest.mark.parametrize(
    "rest",
    ["def f(a: A) -> None: ...", "def f() -> list[A]: ...", "x: A = g()", "async def f(*a: A, **k: A) -> A: ...",
     "class C:\n    x: A\n"],
)  # fmt: skip
def test_annotations_only(rest: str) -> None:
    assert only_in_annotations(f"from m import A\n{rest}\n".encode(), 1)


@pytest.mark.parametrize(
    "rest",
    ["", "def f(a: A): return A()", "x = A", "class C(A): ...", "@A\ndef f() -> A: ...", "def f(a: A = A()): ...",
     "__all__ = ['A']\ndef f() -> A: ...", "def f(a: B): ...", "x: A = A", "def (", "isinstance(x, A)"],
)  # fmt: skip
def test_anything_else(rest: str) -> None:
    assert not only_in_annotations(f"from m import A\n{rest}\n".encode(), 1)


def test_every_name_of_the_line_counts() -> None:
    assert not only_in_annotations(b"from m import A, B\nx: A\n", 1)
    assert only_in_annotations(b"from m import A, B\nx: A\ny: B\n", 1)
    assert only_in_annotations(b"import a.b as c\nx: c.D\n", 1) and only_in_annotations(b"import a.b\nx: a.b.D\n", 1)
    assert not only_in_annotations(b"\nfrom m import A\nx: A\n", 1)


@given(st.binary(max_size=80), st.integers(-1, 5))
def test_any_bytes_are_answered(content: bytes, line: int) -> None:
    assert only_in_annotations(content, line) in (True, False)
