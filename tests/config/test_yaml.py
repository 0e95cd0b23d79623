"""The strict YAML reader: places, everything at once, no types, and no bytes that bring it down.

Typed values out of nodes: what does not fit is reported with its place and the nearest spelling.
"""

from __future__ import annotations

import random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.config.yaml import (
    _MAX_DEPTH,
    _MAX_NODES,
    ListNode,
    MapNode,
    Node,
    NodeReader,
    TextNode,
    load_yaml,
    snake_case,
    suggest_spelling,
)
from kl_hooks.model.problem import Problem
from kl_hooks.store.files import MAX_BYTES


def printed(text: bytes | str) -> list[str]:
    return [
        str(p) for p in load_yaml("f.yaml", text.encode() if isinstance(text, str) else text)[1]
    ]


def plain(node: Node | None) -> object:
    if isinstance(node, MapNode):
        return {key.value: plain(value) for key, value in node.entries}
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return node.value if isinstance(node, TextNode) else None


def test_scalars_stay_text() -> None:
    node, problems = load_yaml(
        "f.yaml", b"on: off\nd: 2020-01-01\nv: 1.10\nt: 22:22\no: 0777\nn: ~\ne:\n'no': NO\n"
    )
    assert problems == []
    assert plain(node) == {
        "on": "off",
        "d": "2020-01-01",
        "v": "1.10",
        "t": "22:22",
        "o": "0777",
        "n": "~",
        "e": "",
        "no": "NO",
    }


def test_places_count_from_one() -> None:
    node, _ = load_yaml("f.yaml", b"a:\n  - b\n  - {c: d}\n")
    assert isinstance(node, MapNode)
    items = node.entries[0][1]
    assert isinstance(items, ListNode) and (items.line, items.column) == (2, 3)
    assert (items.items[1].line, items.items[1].column) == (3, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", 'f.yaml:3:1: "a" is given twice (first at line 1).'),
        ("a:\n  {b: 1, b: 2}\n", 'f.yaml:2:10: "b" is given twice (first at line 2).'),
        ("a:\n\tb: 1\n", "f.yaml:2:1: found a tab; YAML needs spaces."),
        ("a: &x 1\n", "f.yaml:1:4: the anchor `&x` is not allowed here. Write the value out."),
        ("a: *x\n", "f.yaml:1:4: the alias `*x` is not allowed here. Write the value out."),
        (
            "a: !!int 3\n",
            "f.yaml:1:4: the tag `tag:yaml.org,2002:int` is not allowed here. Write the value out.",
        ),
        ("a: !x\n  b: c\n", "f.yaml:1:4: the tag `!x` is not allowed here. Write the value out."),
        (
            "<<: {a: b}\n",
            "f.yaml:1:1: the merge key `<<` is not allowed here. Write the values out.",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "f.yaml:2:1: a second document starts here; a file holds one. Take the `---` out.",
        ),
        (
            'a: "\\ud800"\n',
            "f.yaml:1:4: half a character (a lone surrogate). Write the character itself.",
        ),
        ("? [a]\n: b\n", "f.yaml:1:3: a key must be text."),
        (
            "a: b: c\n",
            "f.yaml:1:5: a `:` that does not fit here; look at the line above and the indentation.",
        ),
        ("a:\n  - b\n - c\n", "f.yaml:3:2: this `-` is not indented like the list it belongs to."),
        ("a: 'x\n", "f.yaml:2:1: a quote that is never closed."),
    ],
)
def test_what_is_refused_is_named_with_its_place(text: str, expected: str) -> None:
    assert printed(text) == [expected]


def test_a_merge_conflict_is_named_as_one() -> None:
    conflict = "<<<<<<< HEAD\nb: 1\n||||||| base\n=======\nb: 2\n>>>>>>> other\n"
    hint = "Keep one side or both, and delete the lines that git added."
    assert printed(f"a: 1\n{conflict}c: [\n{conflict}") == [
        f"f.yaml:2:1: unresolved merge conflict, to line 7. {hint}",
        f"f.yaml:9:1: unresolved merge conflict, to line 14. {hint}",
    ]
    # text that only looks like one
    assert plain(load_yaml("f.yaml", b"a: |\n  <<<<<<< HEAD\n  >>>>>>> x\n")[0])
    assert printed("a: |\n  x\n=======\n") != []


def test_all_problems_at_once_in_the_order_of_the_file() -> None:
    assert [line.split(": ")[0] for line in printed("a: &x 1\nb: *x\na: !t 2\nc: [1\n")] == [
        "f.yaml:1:4",
        "f.yaml:2:4",
        "f.yaml:3:1",
        "f.yaml:3:4",
        "f.yaml:5:1",
    ]


def test_bytes_that_are_no_text() -> None:
    assert printed(b"a: 1\nb: \xff\n") == [
        "f.yaml:2:4: this byte is not UTF-8. Save the file as UTF-8."
    ]
    assert printed(b"a: \x00") == ["f.yaml:1:4: the character U+0000 is not allowed in YAML."]
    assert printed("a: 1".encode("utf-16")) != []
    assert plain(load_yaml("f.yaml", b"\xef\xbb\xbfa: 1")[0]) == {"a": "1"}


@pytest.mark.slow
def test_limits_hold() -> None:
    assert "too many" in printed(b"#" * (MAX_BYTES + 1))[0]
    assert load_yaml("f.yaml", b"#" * MAX_BYTES) == (None, [])
    assert printed("[" * _MAX_DEPTH + "]" * _MAX_DEPTH) == []
    assert "nested deeper" in printed("[" * (_MAX_DEPTH + 1) + "]" * (_MAX_DEPTH + 1))[0]
    assert "nested deeper" in printed("[" * 200_000)[0]
    assert printed("[" + "a," * (_MAX_NODES - 1) + "]") == []
    assert "too large" in printed("[" + "a," * _MAX_NODES + "]")[0]


def test_an_alias_bomb_is_refused_and_never_grows() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 30)
    )
    node, problems = load_yaml("f.yaml", bomb.encode())
    assert len(problems) > 30
    assert len(repr(node)) < 20_000


@given(st.binary(max_size=300))
def test_any_bytes_give_a_node_or_a_problem_with_place(text: bytes) -> None:
    node, problems = load_yaml("f.yaml", text)
    assert node is None or isinstance(node, TextNode | ListNode | MapNode)
    for problem in problems:
        assert problem.line >= 1 and problem.column >= 1 and problem.message.isprintable()


_YAMLISH = st.text(
    st.sampled_from("ab:-?,[]{}&*!|>'\"%@#\\ \n\t<0uUx\r\x85\u2028é😀~"), max_size=80
)


@given(_YAMLISH)
def test_any_text_that_looks_like_yaml_raises_nothing(text: str) -> None:
    node, problems = load_yaml("f.yaml", text.encode())
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


def by_python(text: bytes) -> tuple[Node | None, list[Problem]]:
    """What is read where PyYAML was built without libyaml."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "__with_libyaml__", False)
        return load_yaml("f.yaml", text)


def test_a_file_without_a_problem_is_read_by_libyaml_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert yaml.__with_libyaml__
    monkeypatch.setattr(yaml, "SafeLoader", None)
    assert plain(load_yaml("f.yaml", b"a: [1, 'b']\n")[0]) == {"a": ["1", "b"]}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a: |# below\n b\n",
            "a: >-2# below\n   b\n",
            "a: b\tc\n",
            "a: [b?c]\n",
            "a: 1\x85b: 2\n",
        ),
        *("a: 'b\u2028c'\n", "a: b\u2029  c\n", "a: [b, c<<: ]\n", "a:\nb: 1\n", "---\n# b\n c\n"),
        *("a: [b:, c]\n", "- !a [b, c]\n", "a: &b c\n", "a: &b c\nd: *b\n"),
    ],
)
def test_what_libyaml_reads_otherwise_is_left_to_pythons_parser(text: str) -> None:
    assert load_yaml("f.yaml", text.encode()) == by_python(text.encode())


@given(_YAMLISH)
def test_libyaml_reads_what_pythons_parser_reads(text: str) -> None:
    assert load_yaml("f.yaml", text.encode()) == by_python(text.encode())


@pytest.mark.slow
@pytest.mark.parametrize("good", [_GOOD, _GOOD.replace(b"? long key\n: value", b"long key: value")])
@pytest.mark.share(2)
def test_ten_thousand_mutants_raise_nothing_and_are_read_alike(good: bytes) -> None:
    assert printed(good) == []
    dice = random.Random(7)
    marks = [
        b"\\U",
        b"\\x",
        b"\\ud800",
        b"%YAML 9",
        b"%TAG ! x",
        b"\t",
        b"*a",
        b"&a ",
        b"!!",
        b"? ",
        b"- ",
        b": ",
        b"\x85",
        b"\xe2\x80\xa8",
        b"|",
        b">",
        b"9" * 20,
        b"{",
        b"[",
        b"\xf0\x9f",
        b"'",
        b'"',
        b"\\",
    ]
    broken = 0
    for _ in range(5_000):
        text = bytearray(good)
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(text))
            how = dice.randrange(3)
            text[at : at + dice.randrange(4)] = (
                dice.choice(marks) if how else bytes([dice.randrange(256)])
            )
        read = load_yaml("f.yaml", bytes(text))
        assert read == by_python(bytes(text)), bytes(text)
        broken += bool(read[1])
    assert broken > 2500


_words = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]),
    min_size=1,
    max_size=12,
)


@given(
    st.recursive(
        _words,
        lambda inner: st.lists(inner) | st.dictionaries(_words, inner, max_size=4),
        max_leaves=20,
    )
)
def test_what_a_writer_wrote_is_read_back_as_text(value: object) -> None:
    import json

    text = (
        json.dumps(value, ensure_ascii=False)
        .replace("\ufeff", "\\ufeff")
        .replace("\ufffe", "\\ufffe")
    )
    node, problems = load_yaml("f.yaml", text.encode())
    assert problems == [] and plain(node) == value


def one(text: str) -> tuple[Node, NodeReader]:
    node, problems = load_yaml("f.yaml", f"k: {text}\n".encode())
    assert problems == [] and isinstance(node, MapNode)
    return node.entries[0][1], NodeReader("f.yaml", [])


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
    assert snake_case(key) == expected


def test_nearest_spelling() -> None:
    assert suggest_spelling("infar", ["api", "infra"]) == 'Did you mean "infra"?'
    assert suggest_spelling("zzz", ["api", "infra"]) == ""


@pytest.mark.parametrize("word", ["true", "True", "YES", "on"])
def test_words_for_true(word: str) -> None:
    node, reader = one(word)
    assert reader.boolean(node, '"k"', False) is True and reader.problems == []


@pytest.mark.parametrize("word", ["false", "No", "off"])
def test_words_for_false(word: str) -> None:
    node, reader = one(word)
    assert reader.boolean(node, '"k"', True) is False and reader.problems == []


def test_wrong_types_are_reported() -> None:
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
    assert (
        str(reader.problems[0])
        == 'f.yaml:1:3: "k" must be a list, but is empty. Write [] for none.'
    )


def test_one_key_in_two_styles_is_twice() -> None:
    node, problems = load_yaml("f.yaml", b"name: a\nName: b\n")
    assert node is not None
    reader = NodeReader("f.yaml", problems)
    assert set(reader.keys(node, ("name",), ' in layer "a"')) == {"name"}
    assert (
        str(problems[0])
        == 'f.yaml:2:1: "Name" is given twice in layer "a" (first at line 1, as "name").'
    )


@pytest.mark.parametrize("word", ["0", "6", "1.0", "-1", "\u0663", "1_0", "9" * 30])
def test_numbers_are_plain_digits_within_bounds(word: str) -> None:
    node, reader = one(word)
    assert reader.number(node, '"k"', 1, 5, 3) == 3 and len(reader.problems) == 1
