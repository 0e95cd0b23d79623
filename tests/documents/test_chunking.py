"""Chunking: passages are parts of the document under their headings; code blocks and tables stay whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.config.settings import STRATEGIES
from kl_hooks.documents.chunking import Chunking, Cut, Passage
from kl_hooks.documents.chunking import cut as cut_bytes

FENCE = "```python\nfor n in range(9):\n\n    print(n)\n# no heading\n```"
PAGE = f"""# Guide

Before all headings.

## Set up

Install it. {"Then wait. " * 20}

{FENCE}

### On Windows

| a | b |
|---|---|
| 1 | 2 |

- one

  and more of one
- two

## Use

Call `shop.total()` or `Basket`.
"""
RST = """Title
=====

Text before::

    literal one

    literal two

Part
----

.. code-block:: python

   x = 1

   y = 2

====  ====
a     b
====  ====
1     2

3     4
====  ====
"""


def cut(path: str, text: str, how: Chunking) -> Cut:
    return cut_bytes(path, text.encode(), how)


def lines_of(text: str, first: int, last: int) -> str:
    return "\n".join(text.split("\n")[first - 1 : last])


@pytest.mark.requirement("D19")
def test_a_page_is_cut_at_its_headings_and_each_passage_knows_its_lines() -> None:
    made = cut("docs/guide.md", PAGE, Chunking())
    assert made.title == "Guide"
    assert [(one.heading, one.first_line) for one in made.passages] == [
        ((), 1), (("Set up",), 7), (("Set up", "On Windows"), 18), (("Use",), 29),
    ]  # fmt: skip
    assert all(lines_of(PAGE, one.first_line, one.last_line) == one.text for one in made.passages)


@pytest.mark.requirement("D19")
def test_code_blocks_and_tables_are_never_cut() -> None:
    small = [one.text for one in cut("docs/guide.md", PAGE, Chunking(size=100)).passages]
    assert len(small) > 4 and sum(FENCE in one for one in small) == 1
    assert sum("| a | b |\n|---|---|\n| 1 | 2 |" in one for one in small) == 1
    rst = [one.text for one in cut("docs/guide.rst", RST, Chunking(size=100)).passages]
    literal, table = "Text before::\n\n    literal one\n\n    literal two", "1     2\n\n3     4\n="
    for whole in (literal, "   x = 1\n\n   y = 2", table):
        assert sum(whole in one for one in rst) == 1, (whole, rst)
    wide = "| a | b |\n" + "| 1 | 2 |\n" * 5000
    assert all(len(one.text) <= 20_000 for one in cut("big.md", f"# Big\n\n{wide}", Chunking()).passages)


words = st.lists(st.sampled_from(["word", "# head", "## low", "```", "| a |", "    code", "- item", "", "", "x. Y"]))


@given(words, st.sampled_from(STRATEGIES), st.integers(100, 300), st.sampled_from(["a.md", "a.rst", "a.txt"]))
def test_nothing_is_lost_and_every_passage_is_a_part_of_the_document(
    lines: list[str], strategy: str, size: int, path: str
) -> None:
    text = "\n".join(lines)
    found = cut(path, text, Chunking(strategy, size, 20)).passages
    covered = set[int]()
    for one in found:
        assert one.text in lines_of(text, one.first_line, one.last_line)
        covered |= set(range(one.first_line, one.last_line + 1))
    if strategy != "structure":
        assert covered >= {number for number, line in enumerate(lines, 1) if line.strip()} or not text.strip()


@pytest.mark.requirement("D19")
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("fixed", ["One two. Three four.", "our.\n\nFive six seven", "even. Eight."]),
        ("sentence", ["One two. Three four.", "Five six seven.", "Eight."]),
        ("paragraph", ["One two. Three four.", "Five six seven. Eight."]),
        ("recursive", ["One two. Three four.", "Five six seven.", "Eight."]),
    ],
)
def test_other_strategies_know_no_markup(strategy: str, expected: list[str]) -> None:
    text = "One two. Three four.\n\nFive six seven. Eight.\n"
    found = cut("a.txt", text, Chunking(strategy, 20, 4)).passages
    assert [one.text for one in found] == expected


def test_of_a_notebook_its_markdown_is_read() -> None:
    cells = [{"cell_type": "markdown", "source": ["# A\n", "text"]}, {"cell_type": "code", "source": "x = 1"}]
    made = cut("n.ipynb", json.dumps({"cells": cells}), Chunking())
    assert (made.title, [one.text for one in made.passages]) == ("A", ["# A\ntext"])
    assert "not a notebook" in cut("n.ipynb", "{}", Chunking()).error


def test_what_is_no_text_is_refused_and_wrong_bytes_are_replaced() -> None:
    how = Chunking()
    assert cut_bytes("a.md", b"\x89PNG\0\1", how).error == "is a binary file."
    assert cut_bytes("a.md", b"a" * 10_000_001, how).error == "is larger than 10 MB."
    assert cut_bytes("a.md", b"a\xff\r\nb", how).passages[0].text == "a\ufffd\nb"
    assert cut_bytes("a.md", "ü".encode("utf-16"), how).passages[0].text == "ü"


def test_names_look_like_code() -> None:
    text = "Call `total` or :func:`~shop.api.add`, then Basket.add_line(x) with HTTPServer and snake_case. It runs so."
    assert Passage((), 1, 1, text).names == ["total", "shop.api.add", "Basket.add_line", "HTTPServer", "snake_case"]
