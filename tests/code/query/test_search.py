"""Search: names before words, whole names before beginnings."""

from __future__ import annotations

import pytest

from kl_hooks.code.query.search import Found, find_all, path_matches
from kl_hooks.code.query.session import Graph
from tests.code.query.conftest import Ask


def ids(found: tuple[list[Found], bool], by: str = "name") -> list[str]:
    return [one.id for one in found[0] if one.by == by]


def search(
    graph: Graph, *words: str, kinds: tuple[str, ...] = (), file: str = "", limit: int = 50
) -> list[str]:
    return ids(find_all(graph, words, kinds, file, limit))


def test_whole_names_come_first_in_the_case_given(graph_of: Ask) -> None:
    graph = graph_of(
        {"m.py": "class Feed: pass\ndef feed(): pass\ndef feeder(): pass\nclass Feeding: pass\n"}
    )
    whole = [
        "function:m.feed",
        "type:m.Feed",
        "type:m.Feeding",
        "function:m.feeder",
    ]  # feeding is a form of feed
    assert search(graph, "feed") == whole
    assert search(graph, "Feed") == [
        "type:m.Feed",
        "function:m.feed",
        "type:m.Feeding",
        "function:m.feeder",
    ]
    assert search(graph, "type:m.Feed")[0] == "type:m.Feed"
    assert search(graph, "eed") == []


def test_names_in_another_style_or_inflection_come_before_beginnings(graph_of: Ask) -> None:
    graph = graph_of(
        {"m.py": "class CartLine: pass\ndef cart_line(): pass\ndef cart_line_total(): pass\n"}
    )
    assert search(graph, "cart_lines") == ["type:m.CartLine", "function:m.cart_line"]
    assert search(graph, "CartLine") == ["type:m.CartLine", "function:m.cart_line"]
    assert search(graph, "cart_line") == [
        "function:m.cart_line",
        "type:m.CartLine",
        "function:m.cart_line_total",
    ]


def test_a_dotted_word_is_an_owner_and_a_beginning(shop: Graph) -> None:
    assert search(shop, "Basket.add") == ["method:shop.core.Basket.add_line"]
    assert search(shop, "basket.ADD_line") == ["method:shop.core.Basket.add_line"]
    assert search(shop, "core.Basket") == ["type:shop.core.Basket"]
    assert search(shop, "sket.add") == []


def test_words_come_after_names_and_nothing_twice(shop: Graph) -> None:
    found = find_all(shop, ["line"], (), "", 50)
    assert ids(found) == ["type:shop.core.Line"]
    printed = ids(found, "words")
    assert "method:shop.core.Basket.add_line" in printed
    assert "type:shop.core.Line" not in printed


def test_words_of_code_docstrings_comments_and_fields_are_found(graph_of: Ask) -> None:
    source = '''\
class Cart:
    tax_rate: int = 3

    def sum_up(self):
        """Total of it.

        Ends at midnight.
        """
        # a crooked remark
        return self.tax_rate

    def other(self): return 'plain text'

RoundedRates = 4
'''
    tests = "def check_m():\n    '''Midnight.'''\n"
    graph = graph_of({"src/m.py": source, "tests/test_m.py": tests})

    def by_words(*words: str, kinds: tuple[str, ...] = (), file: str = "") -> list[str]:
        return ids(find_all(graph, words, kinds, file, 50), "words")

    assert set(by_words("midnight")) == {"function:tests.test_m.check_m", "method:m.Cart.sum_up"}
    assert by_words("midnight", file="src") == by_words("crooked") == ["method:m.Cart.sum_up"]
    assert by_words("plain") == ["method:m.Cart.other"]
    assert set(by_words("rates", kinds=("field",))) == {
        "field:m.RoundedRates",
        "field:m.Cart.tax_rate",
    }
    assert set(by_words("rate")) >= {
        "field:m.RoundedRates",
        "field:m.Cart.tax_rate",
        "method:m.Cart.sum_up",
    }
    assert by_words("sums", "up")[0] == "method:m.Cart.sum_up"
    assert by_words("nowhere", "!") == []


def test_kinds_and_files(shop: Graph) -> None:
    assert search(shop, "test_t", kinds=("test",)) == [
        "test:tests/test_core.py::TestBasket::test_total"
    ]
    assert search(shop, "core", kinds=("file",)) == [
        "file:src/shop/core.py",
        "file:tests/test_core.py",
    ]
    assert search(shop, "shop/web.py") == ["file:src/shop/web.py"]
    assert search(shop, "total", file="tests") == []
    assert len(search(shop, "total", file="src/shop/*.py")) == 2
    assert search(shop, "basket", kinds=("type",), file="core.py") == ["type:shop.core.Basket"]


def test_a_limit_is_reported(shop: Graph) -> None:
    found, more = find_all(shop, ["total"], ("method",), "", 1)
    assert ([one.id for one in found], more) == (["method:shop.core.Basket.total"], True)
    everything, more = find_all(shop, ["total"], ("method",), "", 50)
    assert not more
    assert find_all(shop, ["total"], ("method",), "", len(everything)) == (everything, False)


@pytest.mark.parametrize("word", ["%", "a_d", "\\", "", ".", "::", "a%"])
def test_signs_of_sql_mean_nothing(shop: Graph, word: str) -> None:
    assert search(shop, word) == []


def test_in_place() -> None:
    assert path_matches("a/b.py", "")
    assert (
        path_matches("a/b.py", "a")
        and path_matches("a/b.py", "a/")
        and path_matches("a/b.py", "./a/b.py")
    )
    assert path_matches("a/b.py", "b.py") and path_matches("a/b.py", "*.py")
    assert not path_matches("a/b.py", "b") and not path_matches("ab/c.py", "a")
