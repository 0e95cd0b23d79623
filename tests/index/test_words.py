"""Identifiers and their parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.index.index import MOST, parts_only, query_words, split, split_all, split_words


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("parse_args", ["parse", "args"]),
        ("parseArgs", ["parse", "args"]),
        ("ParseArgs", ["parse", "args"]),
        ("HTTPServer_error2", ["http", "server", "error2"]),
        ("__init__", ["init"]),
        ("utf8Decoder", ["utf8", "decoder"]),
        ("LIMIT", ["limit"]),
        ("über_Größe", ["über", "größe"]),
        ("_", []),
        ("", []),
    ],
)
def test_split(identifier: str, parts: list[str]) -> None:
    assert split(identifier) == parts


def test_a_text_keeps_its_words_beside_their_parts() -> None:
    assert split_all("def feedBytes(self, x)") == "def feedBytes feed bytes self x"
    assert parts_only("kl_hooks/code/scanFile.py") == "kl hooks code scan file py"


def test_a_query_is_its_words_then_their_parts_each_once() -> None:
    assert query_words(["Parser.feed_data", "feed"]) == ["parser", "feed_data", "feed", "data"]
    assert query_words(['"', "AND (", "*", "__", ""]) == ["and"]
    assert len(query_words([f"w{n}" for n in range(100)])) == MOST


@given(st.lists(st.text(), max_size=5))
def test_no_sign_reaches_a_query(words: list[str]) -> None:
    for word in query_words(words):
        assert word and all(letter == "_" or letter.isalnum() for letter in word)


@given(st.lists(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}|[^\W\d]\w{0,9}", fullmatch=True)))
def test_identifiers_are_split_as_any_text_is(words: list[str]) -> None:
    assert split_words(" ".join(words)) == split_all(" ".join(words))
