"""Terms: identifiers split and stemmed, tasks weighted, symbols as documents."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.index import postings
from kl_hooks.index.postings import (
    Field,
    SymbolText,
    document,
    path_terms,
    prose_terms,
    read_query,
    terms,
    text_terms,
    word_parts,
)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("parse_args", ["pars", "arg", "parse_args"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("caching", ["cach"]),
        ("utf8", ["utf8"]),
        ("x_y", ["x_y"]),
        ("_private", ["privat"]),
        ("a", []),
        ("größe", ["größe"]),
    ],
)
def test_an_identifier_is_its_parts_then_the_whole(word: str, expected: list[str]) -> None:
    assert terms([word]) == expected


def test_inflections_are_one_term() -> None:
    assert text_terms("rounded rounding rounds") == ["round"] * 3


def test_src_and_py_are_no_terms_of_a_path() -> None:
    assert path_terms("src/shop/cart_view.py") == ["shop", "cart", "view", "cart_view"]


def test_the_first_line_counts_more_than_the_rest_and_stop_words_nothing() -> None:
    weights = read_query("The cart\n\nand the basket, the basket, the basket").weights
    assert weights == {"cart": 2.0, "basket": 3.0}


def test_verbs_of_change_are_faint_unless_they_are_code() -> None:
    assert read_query("fix cart").weights["fix"] == pytest.approx(0.6)
    assert read_query("`fix` cart").weights["fix"] == 2.0


def test_pairs_are_neighbors_without_a_stop_word_between() -> None:
    assert read_query("session cookie of the secret key").pairs == (
        ("session", "cooki"),
        ("secret", "key"),
    )


def test_names_are_words_that_look_like_code() -> None:
    assert read_query("call shop.cart and CartView, not Cart; see total()").names == (
        "shop",
        "cart",
        "CartView",
        "total",
    )


@given(st.text())
def test_any_text_is_a_task(text: str) -> None:
    query = read_query(text)
    assert all(0 < weight <= 3 for weight in query.weights.values())
    assert all(first in query.weights and second in query.weights for first, second in query.pairs)


@given(st.text())
def test_parts_are_among_the_terms(word: str) -> None:
    assert set(word_parts(word)) <= set(terms([word]))


def test_a_huge_task_is_read_from_its_beginning() -> None:
    assert len(read_query("word " + " ".join(f"w{n}x" for n in range(300_000))).weights) <= 600


def test_the_document_of_a_symbol() -> None:
    made = document(
        SymbolText(3, "total_price", "Cart", "( self tax ' Sum of prices . sum items # rounding"),
        ["shop"],
    )
    assert made.place == 3
    assert made.lengths == (3, 1, 1, 2, 1, 0, 2, 3)
    assert made.postings[Field.NAME] == {"total": [0], "price": [0], "total_price": [0]}
    assert made.postings[Field.PATH] == {"shop": [0]}
    assert made.postings[Field.DOC] == {"sum": [3], "of": [4], "price": [5]}
    assert made.postings[Field.BODY] == {"sum": [6], "item": [7]}


def test_words_that_were_split_take_20_megabytes_at_most() -> None:
    """Names of 100,000 passages, each different, took as much memory as their vectors."""
    caches = [one for one in vars(postings).values() if hasattr(one, "cache_info")]
    assert {one.cache_info().maxsize for one in caches} == {20_000}
    for one in caches:
        one.cache_clear()
    tracemalloc.start()
    try:
        for n in range(1_000):
            assert prose_terms([f"name_{n}_of"]) == terms([f"name_{n}_of"])
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 1_000 * 1_000
