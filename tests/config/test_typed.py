"""Typed values out of nodes: what does not fit is said with its place and the nearest spelling."""

from __future__ import annotations

import pytest

from kl_hooks.config.nodes import Mapping, Node
from kl_hooks.config.typed import Reader, nearest, snake
from kl_hooks.config.yaml import load


def one(text: str) -> tuple[Node, Reader]:
    node, problems = load("f.yaml", f"k: {text}\n".encode())
    assert problems == [] and isinstance(node, Mapping)
    return node.entries[0][1], Reader("f.yaml", [])


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("MayDependOn", "may_depend_on"),
        ("Name", "name"),
        ("may_depend_on", "may_depend_on"),
        ("TypeCheckingImports", "type_checking_imports"),
        ("", ""),
    ],
)
def test_both_key_styles(key: str, expected: str) -> None:
    assert snake(key) == expected


def test_nearest_spelling() -> None:
    assert nearest("infar", ["api", "infra"]) == 'Did you mean "infra"?'
    assert nearest("zzz", ["api", "infra"]) == ""


@pytest.mark.parametrize("word", ["true", "True", "YES", "on"])
def test_words_for_true(word: str) -> None:
    node, reader = one(word)
    assert reader.boolean(node, '"k"', False) is True and reader.problems == []


@pytest.mark.parametrize("word", ["false", "No", "off"])
def test_words_for_false(word: str) -> None:
    node, reader = one(word)
    assert reader.boolean(node, '"k"', True) is False and reader.problems == []


def test_wrong_types_are_said() -> None:
    node, reader = one("[a]")
    assert reader.boolean(node, '"k"', True) is True
    assert reader.text(node, '"k"') == ""
    assert reader.choice(node, '"k"', ("x", "y")) == "x"
    assert reader.number(node, '"k"', 1, 5, 3) == 3
    assert reader.keys(node, ("x",)) == {}
    assert [str(p) for p in reader.problems] == [
        'f.yaml:1:4: "k" must be true or false.',
        'f.yaml:1:4: "k" must be text, not a list.',
        'f.yaml:1:4: "k" must be one of: x, y.',
        'f.yaml:1:4: "k" must be a whole number from 1 to 5.',
        "f.yaml:1:4: expected keys and values, found a list.",
    ]


def test_lists_of_text() -> None:
    node, reader = one("[a, [b], '', c]")
    assert [text.value for text in reader.texts(node, '"k"')] == ["a", "c"]
    assert [(p.line, p.column) for p in reader.problems] == [(1, 8), (1, 13)]
    empty, reader = one("")
    assert reader.items(empty, '"k"') == ()
    assert str(reader.problems[0]) == 'f.yaml:1:3: "k" must be a list, but is empty. Write [] for none.'


def test_one_key_in_two_styles_is_twice() -> None:
    node, problems = load("f.yaml", b"name: a\nName: b\n")
    assert node is not None
    reader = Reader("f.yaml", problems)
    assert set(reader.keys(node, ("name",), ' in layer "a"')) == {"name"}
    assert str(problems[0]) == 'f.yaml:2:1: "Name" is given twice in layer "a" (first at line 1, as "name").'


@pytest.mark.parametrize("word", ["0", "6", "1.0", "-1", "\u0663", "1_0", "9" * 30])
def test_numbers_are_plain_digits_within_bounds(word: str) -> None:
    node, reader = one(word)
    assert reader.number(node, '"k"', 1, 5, 3) == 3 and len(reader.problems) == 1
