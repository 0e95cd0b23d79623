"""The strict YAML reader: places, everything at once, no types, and no bytes that bring it down."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.config.builder import MAX_DEPTH, MAX_NODES
from kl_hooks.config.files import MAX_BYTES
from kl_hooks.config.nodes import Listing, Mapping, Node, Text
from kl_hooks.config.yaml import load


def said(text: bytes | str) -> list[str]:
    return [str(p) for p in load("f.yaml", text.encode() if isinstance(text, str) else text)[1]]


def plain(node: Node | None) -> object:
    if isinstance(node, Mapping):
        return {key.value: plain(value) for key, value in node.entries}
    if isinstance(node, Listing):
        return [plain(item) for item in node.items]
    return node.value if isinstance(node, Text) else None


def test_scalars_stay_text() -> None:
    node, problems = load("f.yaml", b"on: off\nd: 2020-01-01\nv: 1.10\nt: 22:22\no: 0777\nn: ~\ne:\n'no': NO\n")
    assert problems == []
    assert plain(node) == {
        "on": "off", "d": "2020-01-01", "v": "1.10", "t": "22:22", "o": "0777", "n": "~", "e": "", "no": "NO",
    }  # fmt: skip


def test_places_count_from_one() -> None:
    node, _ = load("f.yaml", b"a:\n  - b\n  - {c: d}\n")
    assert isinstance(node, Mapping)
    items = node.entries[0][1]
    assert isinstance(items, Listing) and (items.line, items.column) == (2, 3)
    assert (items.items[1].line, items.items[1].column) == (3, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", 'f.yaml:3:1: "a" is given twice (first at line 1).'),
        ("a:\n  {b: 1, b: 2}\n", 'f.yaml:2:10: "b" is given twice (first at line 2).'),
        ("a:\n\tb: 1\n", "f.yaml:2:1: found a tab; YAML needs spaces."),
        ("a: &x 1\n", "f.yaml:1:4: the anchor `&x` is not allowed here. Write the value out."),
        ("a: *x\n", "f.yaml:1:4: the alias `*x` is not allowed here. Write the value out."),
        ("a: !!int 3\n", "f.yaml:1:4: the tag `tag:yaml.org,2002:int` is not allowed here. Write the value out."),
        ("a: !x\n  b: c\n", "f.yaml:1:4: the tag `!x` is not allowed here. Write the value out."),
        ("<<: {a: b}\n", "f.yaml:1:1: the merge key `<<` is not allowed here. Write the values out."),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document starts here; a file holds one. Take the `---` out."),
        ('a: "\\ud800"\n', "f.yaml:1:4: half a character (a lone surrogate). Write the character itself."),
        ("? [a]\n: b\n", "f.yaml:1:3: a key must be text."),
        ("a: b: c\n", "f.yaml:1:5: a `:` that does not fit here; look at the line above and the indentation."),
        ("a:\n  - b\n - c\n", "f.yaml:3:2: this `-` is not indented like the list it belongs to."),
        ("a: 'x\n", "f.yaml:2:1: a quote that is never closed."),
    ],
)
def test_what_is_refused_is_named_with_its_place(text: str, expected: str) -> None:
    assert said(text) == [expected]


def test_all_problems_at_once_in_the_order_of_the_file() -> None:
    assert [line.split(": ")[0] for line in said("a: &x 1\nb: *x\na: !t 2\nc: [1\n")] == [
        "f.yaml:1:4", "f.yaml:2:4", "f.yaml:3:1", "f.yaml:3:4", "f.yaml:5:1",
    ]  # fmt: skip


def test_bytes_that_are_no_text() -> None:
    assert said(b"a: 1\nb: \xff\n") == ["f.yaml:2:4: this byte is not UTF-8. Save the file as UTF-8."]
    assert said(b"a: \x00") == ["f.yaml:1:4: the character U+0000 can't stand in YAML."]
    assert said("a: 1".encode("utf-16")) != []
    assert plain(load("f.yaml", b"\xef\xbb\xbfa: 1")[0]) == {"a": "1"}


def test_limits_hold() -> None:
    assert "too many" in said(b"#" * (MAX_BYTES + 1))[0]
    assert load("f.yaml", b"#" * MAX_BYTES) == (None, [])
    assert said("[" * MAX_DEPTH + "]" * MAX_DEPTH) == []
    assert "nested deeper" in said("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))[0]
    assert "nested deeper" in said("[" * 200_000)[0]
    assert said("[" + "a," * (MAX_NODES - 1) + "]") == []
    assert "too large" in said("[" + "a," * MAX_NODES + "]")[0]


def test_an_alias_bomb_is_refused_and_never_grows() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 30))
    node, problems = load("f.yaml", bomb.encode())
    assert len(problems) > 30
    assert len(repr(node)) < 20_000


@given(st.binary(max_size=300))
def test_any_bytes_give_a_node_or_a_problem_with_place(text: bytes) -> None:
    node, problems = load("f.yaml", text)
    assert node is None or isinstance(node, Text | Listing | Mapping)
    for problem in problems:
        assert problem.line >= 1 and problem.column >= 1 and problem.message.isprintable()


_YAMLISH = st.text(st.sampled_from("ab:-?,[]{}&*!|>'\"%@#\\ \n\t<0uUx\r\x85\u2028é😀~"), max_size=80)


@given(_YAMLISH)
def test_any_text_that_looks_like_yaml_raises_nothing(text: str) -> None:
    node, problems = load("f.yaml", text.encode())
    assert isinstance(problems, list) and (node is None or plain(node) is not None)


_GOOD = b"""%YAML 1.1
---
version: 1
layers:
  - name: "core \\u00e9 \\x41 \\U0001F600"
    paths: [src/a/, 'src/b c/']
    decision: >-
      folded
      text
    may_depend_on: []
  - {name: api, paths: [x], may_depend_on: below}
text: |
  a
   b
? long key
: value
"""


def test_ten_thousand_mutants_raise_nothing() -> None:
    assert said(_GOOD) == []
    dice = random.Random(7)
    marks = [b"\\U", b"\\x", b"\\ud800", b"%YAML 9", b"%TAG ! x", b"\t", b"*a", b"&a ", b"!!", b"? ", b"- ", b": ",
             b"\x85", b"\xe2\x80\xa8", b"|", b">", b"9" * 20, b"{", b"[", b"\xf0\x9f", b"'", b'"', b"\\"]  # fmt: skip
    broken = 0
    for _ in range(10_000):
        text = bytearray(_GOOD)
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(text))
            how = dice.randrange(3)
            text[at : at + dice.randrange(4)] = dice.choice(marks) if how else bytes([dice.randrange(256)])
        broken += bool(load("f.yaml", bytes(text))[1])
    assert broken > 5000


_words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), min_size=1, max_size=12)


@given(st.recursive(_words, lambda inner: st.lists(inner) | st.dictionaries(_words, inner, max_size=4), max_leaves=20))
def test_what_a_writer_wrote_is_read_back_as_text(value: object) -> None:
    import json

    text = json.dumps(value, ensure_ascii=False).replace("\ufeff", "\\ufeff").replace("\ufffe", "\\ufffe")
    node, problems = load("f.yaml", text.encode())
    assert problems == [] and plain(node) == value
