"""Identifiers and their parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.index.index import MOST, query_words, split_all
from kl_hooks.index.postings import search_terms, split


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


def test_a_query_is_its_words_then_their_parts_each_once() -> None:
    assert query_words(["Parser.feed_data", "feed"]) == ["parser", "feed_data", "feed", "data"]
    assert query_words(['"', "AND (", "*", "__", ""]) == ["and"]
    assert len(query_words([f"w{n}" for n in range(100)])) == MOST


@given(st.lists(st.text(), max_size=5))
def test_no_sign_reaches_a_query(words: list[str]) -> None:
    for word in query_words(words):
        assert word and all(letter == "_" or letter.isalnum() for letter in word)


def test_a_query_is_the_terms_of_its_words_whatever_their_length() -> None:
    assert search_terms(["Parser.feed_data", "feeds", "C 4"]) == [
        "parser",
        "feed",
        "data",
        "feed_data",
        "c",
        "4",
    ]
    assert search_terms(['"', "__", "", "x" * 1000]) == []
