"""The part of a tree near a name holds all that the code does with it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kl_hooks
from kl_hooks.arch.suggestions import lines_with, near, places

SAMPLES = [
    path
    for path in sorted(Path(kl_hooks.__file__).parent.rglob("*.py"))
    if path.stat().st_size > 4_000
][::12]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a = 1\nb = a\r\nc\rd(a)\n", [1, 2, 4]),
        (b"ab = 1\na_ = 2\nx.a\n", [3]),
        (b"x\n'''\na\n'''\n", [3]),
        ("\N{MATHEMATICAL SANS-SERIF SMALL A} = 1\nb\n".encode(), [1]),
        (b"# coding: utf-7\nb\nc\n", [1, 2, 3]),
    ],
)
def test_lines_on_which_a_name_may_be(content: bytes, lines: list[int]) -> None:
    assert list(lines_with(content, ["a"])) == lines


def test_places_of_whole_words() -> None:
    assert list(places(b"a ba ab a_ a.a", ["a", "ab"])) == [0, 11, 13, 5]


def test_statements_on_other_lines_are_omitted() -> None:
    tree = ast.parse(
        "def f():\n    x = 1\n    a = 2\n@a\ndef g(): ...\nif b:\n    c\nelse:\n    d\n"
    )
    seen = {node.id for node in near([tree], [3, 4, 9]) if isinstance(node, ast.Name)}
    assert seen == {"a", "b", "d"}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.share(4)
def test_all_lines_give_the_whole_tree_in_its_order(path: Path) -> None:
    tree = ast.parse(path.read_bytes())
    whole = list(ast.walk(tree))
    assert len(whole) > 20
    assert near([tree], range(1, 10_000)) == whole
