"""Signals: what is a name, a path, a keyword, a failure; and that no text breaks the reading."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.context.signals import (
    _STOP_WORDS,
    MOST_TEXT,
    looks_like_code,
    read_signals,
    without_report,
)
from kl_hooks.model.package import Signals
from tests.context.making import NASTY, steady, text


@pytest.mark.parametrize("blank", ["", "  \n\t", "... !!! ???", "the and for"])
def test_a_task_without_content_has_no_signals(blank: str) -> None:
    assert read_signals(blank) == Signals()


def test_the_start_of_a_sentence_is_no_symbol() -> None:
    read = read_signals("Fix the totals. When Paying twice, The Cart is wrong. Add tests")
    assert read.symbols == ()
    assert read.keywords == ("fix", "totals", "paying", "twice", "cart", "wrong", "add", "tests")


def test_a_capitalised_word_that_is_known_is_a_symbol() -> None:
    read = read_signals("Fix Cart and Fix", known_names={"Cart", "fix"})
    assert read.symbols == ("Cart",)
    assert read.keywords == ("fix",)


@pytest.mark.parametrize(
    ("task", "symbols"),
    [
        ("CheckoutTotal loses cents", ("CheckoutTotal",)),
        ("why does getValue return None", ("getValue",)),
        ("HTTPServer and README and API", ("HTTPServer",)),
        ("call parse_date, then _private and MAX_SIZE", ("parse_date", "_private", "MAX_SIZE")),
        ("sha256 of utf8 in 2024, 3rd try", ("sha256", "utf8")),
        ("shop.price.Total() is off.", ("shop.price.Total",)),
        ("e.g. this, i.e. that, well.", ()),
        ("see `total` and `feed()` and `a b`", ("total", "feed")),
        ("see https://docs.python.org/3/CamelCase.html", ()),
        ("Parser_x Parser_x parser_x", ("Parser_x", "parser_x")),
        ("“CheckoutTotal” – it's ‘feed_all’…", ("CheckoutTotal", "feed_all")),
        ("___ __ _", ()),
    ],
)
def test_what_looks_like_code(task: str, symbols: tuple[str, ...]) -> None:
    assert read_signals(task).symbols == symbols


@pytest.mark.parametrize(
    ("task", "paths"),
    [
        ("look at src/shop/price.py:12 and README.md.", ("src/shop/price.py", "README.md")),
        ('File "./src/a.py", line 3', ("src/a.py",)),
        (r"in src\shop\a.py", ("src/shop/a.py",)),
        ("the folder src/shop/ and/or client/server", ("src/shop/",)),
        ("tests/test_a.py::TestB::test_c[1]", ("tests/test_a.py",)),
        ("`conf/app.toml` is read", ("conf/app.toml",)),
        ("version 3.11 or 2/3.5 of the end.", ()),
        (".py / .", ()),
    ],
)
def test_what_looks_like_a_file(task: str, paths: tuple[str, ...]) -> None:
    assert read_signals(task).paths == paths


def test_a_test_id_gives_its_file_and_its_names() -> None:
    read = read_signals("tests/test_a.py::TestB::test_c fails")
    assert (read.paths, read.symbols) == (("tests/test_a.py",), ("TestB", "test_c"))


def test_failures_take_the_code_names_next_to_them() -> None:
    read = read_signals(
        "Parser.feed crashes; invalid `Total` Broken. nothing. ParseError error CartView"
    )
    assert read.failures == (
        "Parser.feed crashes",
        "invalid Total",
        "Total broken",
        "ParseError error CartView",
    )


def test_every_sort_has_its_cap_and_keeps_the_order_of_the_text() -> None:
    many = " ".join(f"word{chr(97 + n)}x name_{n} dir/f{n}.py" for n in range(26))
    read = read_signals(many + " error" * 3)
    assert len(read.keywords) == 15 and read.keywords[0] == "wordax"
    assert read.symbols == tuple(f"name_{n}" for n in range(10))
    assert read.paths == tuple(f"dir/f{n}.py" for n in range(10))


def test_stop_words_are_lower_case_and_about_as_many_as_agreed() -> None:
    assert 70 <= len(_STOP_WORDS) <= 110
    assert all(word == word.lower() for word in _STOP_WORDS)


@pytest.mark.parametrize("nasty", NASTY)
def test_naughty_strings(nasty: str) -> None:
    for text_ in (nasty, f"`{nasty}` {nasty} error {nasty}"):
        read = read_signals(text_)
        assert len(read.keywords) <= 15
        assert max(len(read.symbols), len(read.failures), len(read.paths)) <= 10
        assert all(word.strip() for word in (*read.keywords, *read.symbols, *read.paths))


@steady
@given(text, st.frozensets(text))
def test_any_text_gives_signals_within_their_shape(anything: str, known: frozenset[str]) -> None:
    read = read_signals(anything, known)
    assert all(len(w) > 2 and w not in _STOP_WORDS and w == w.lower() for w in read.keywords)
    for values, most in (
        (read.keywords, 15),
        (read.symbols, 10),
        (read.failures, 10),
        (read.paths, 10),
    ):
        assert len(values) <= most and len(set(values)) == len(values) and "" not in values


@steady
@given(st.text(alphabet="AbC_9 .", max_size=40))
def test_a_lone_name_is_read_as_itself(anything: str) -> None:
    for word in anything.split():
        if looks_like_code(word):
            assert read_signals(f"about {word} now").symbols == (word,)


@pytest.mark.parametrize("piece", ["a/", "`", "a.", "::", "A", "a`", "\\", "error "])
def test_a_huge_task_is_read_to_its_limit_only(piece: str) -> None:
    huge = piece * (200_000 // len(piece))
    assert read_signals(huge + " marker_name") == read_signals(huge[:MOST_TEXT])


REPORT = """\
============================= test session starts ==============================
platform linux -- Python 3.13.0, pytest-9.2.0, pluggy-1.7.0
rootdir: /home/ada/shop
collected 1 item

tests/test_basket.py F                                                   [100%]

=================================== FAILURES ===================================
____________________________ TestSums.test_line_total[two] _____________________

self = <tests.test_basket.TestSums object at 0x7f>

    def test_line_total(self):
        # a plain comment
>       assert line_total(2) == 3
E       assert 2 == 3
E        +  where 2 = <shop.lines.Line object at 0x7f>
E       Use -v to get more diff

tests/test_basket.py:7: AssertionError
=========================== short test summary info ============================
FAILED tests/test_basket.py::TestSums::test_line_total[two] - assert 2 == 3
============================== 1 failed in 0.56s ===============================
"""


def test_of_a_report_only_what_is_about_the_failure_is_read() -> None:
    lines = without_report(REPORT).splitlines()
    assert (
        lines[0].split() == ["Sums.line_total", "AssertionError", "basket"]
        or "line_total" in lines[0]
    )
    assert "assert line_total(2) == 3" in lines[1] and "shop.lines.Line" in "".join(lines[1:4])
    text = "\n".join(lines)
    assert not re.search("session|platform|rootdir|collected|Use -v|FAILED|failed in", text)
    assert without_report(f"Totals are wrong\n\n{REPORT}").startswith("Totals are wrong\n")
    assert "platform" not in read_signals(REPORT).keywords
    assert read_signals(REPORT).tests == ("tests/test_basket.py::TestSums::test_line_total[two]",)


CHAINED = """\
    def load(text):
>       return int(text)
E       ValueError: no number

src/shop/number.py:3: ValueError

The above exception was the direct cause of the following exception:

    def test_read():
>       read("x")

tests/test_read.py:9:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
src/shop/reader.py:7: ReadError
=============================== warnings summary ===============================
tests/test_read.py::test_read
  src/shop/old.py:25: DeprecationWarning: ast.Str is obsolete
    nodes = ast.Str

-- Docs: https://docs.pytest.org/en/stable/how-to/capture-warnings.html
"""


def test_frames_are_those_of_the_failure_and_its_cause_is_the_innermost() -> None:
    end = "=========================== short test summary info ============================"
    report = (
        f"{REPORT.partition(end)[0]}______________ test_read"
        f" ______________\n\n{CHAINED}{end}\nFAILED t.py::test_read\n"
    )
    assert read_signals(report).frames == (
        ("tests/test_basket.py", 7),
        ("tests/test_read.py", 9),
        ("src/shop/reader.py", 7),
        ("src/shop/number.py", 3),
    )
    assert (
        "obsolete" not in without_report(report)
        and read_signals(report).tests[-1] == "t.py::test_read"
    )
    assert "DeprecationWarning" in without_report("fix DeprecationWarning of ast.Str")


@given(
    st.text()
    | st.lists(st.sampled_from((REPORT + CHAINED).splitlines()), max_size=12).map("\n".join)
)
def test_any_text_is_a_report_or_none(text: str) -> None:
    assert isinstance(without_report(text), str)
