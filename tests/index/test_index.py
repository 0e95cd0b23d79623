"""The index: names before signatures before bodies, any text a valid query."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kl_hooks.index.index import Document, Hit, remove, replace, replace_many, score, search
from kl_hooks.index.plugin import kl_schema
from kl_hooks.index.postings import KNOWLEDGE, StoredPostings
from kl_hooks.store.sqlite import SqliteDatabase, open_sqlite
from kl_hooks.store.store import migrate


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = open_sqlite(tmp_path / "graph.db", write=True)
    migrate(database, kl_schema(), tmp_path / "graph.db", None)
    yield database
    database.close()


def function(name: str, title: str = "", body: str = "", path: str = "src/m.py") -> Document:
    return Document(f"function:m.{name}", "function", path, 1, title or f"def {name}()", body)


def found(
    db: SqliteDatabase, *words: str, limit: int = 10, kinds: tuple[str, ...] = ()
) -> list[str]:
    return [hit.id.removeprefix("function:m.") for hit in search(db, words, limit, kinds)]


def test_a_name_beats_a_signature_beats_a_body(db: SqliteDatabase) -> None:
    replace(
        db,
        "m.py",
        [
            function("one", body="it may feed others"),
            function("two", title="def two(feed)"),
            function("feed_all"),
            function("feed"),
            function("nothing"),
        ],
    )
    assert found(db, "feed") == ["feed", "feed_all", "two", "one"]


@pytest.mark.parametrize(
    "query", ["parseHeader", "parse_header", "ParseHeader", "parse header", "PARSE", "header"]
)
def test_every_spelling_of_a_name_finds_it(db: SqliteDatabase, query: str) -> None:
    replace(db, "m.py", [function("parseHeader"), function("other")])
    replace(db, "n.py", [function("parse_header", path="src/n.py")])
    assert set(found(db, query)) == {"parseHeader", "parse_header"}


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("wrappers", "wrapper"),
        ("wrapper", "Wrappers"),
        ("baskets", "Basket"),
        ("BASKETS", "basket"),
        ("classes", "class_of"),
        ("caching", "cache"),
        ("entries", "last_entry"),
        ("parsed", "parse_all"),
    ],
)
def test_inflections_and_cases_are_folded(db: SqliteDatabase, query: str, name: str) -> None:
    replace(db, "m.py", [function(name), function("other", path="src/n.py")])
    assert found(db, query) == [name]


def test_the_path_and_the_class_are_words_too(db: SqliteDatabase) -> None:
    replace(
        db,
        "a",
        [
            Document(
                "method:shop.Basket.add", "method", "src/shop/basket_lines.py", 3, "def add(self)"
            )
        ],
    )
    for query in ("Basket", "shop", "lines", "basket_lines.py"):
        assert [hit.id for hit in search(db, [query], 5)] == ["method:shop.Basket.add"]


def test_equal_hits_are_ordered_by_id_and_the_limit_is_of_rows(db: SqliteDatabase) -> None:
    replace(
        db,
        "m.py",
        [function(name, title="def same()", body="word") for name in ("c", "a", "b", "d")],
    )
    assert found(db, "word") == ["a", "b", "c", "d"]
    assert found(db, "word", limit=2) == ["a", "b"]
    assert found(db, "word", limit=0) == []


def test_kinds_leave_only_their_own(db: SqliteDatabase) -> None:
    replace(
        db, "m.py", [function("feed"), Document("type:m.Feed", "type", "m.py", 4, "class Feed")]
    )
    assert [hit.kind for hit in search(db, ["feed"], 5, ["type"])] == ["type"]
    assert len(search(db, ["feed"], 5, ["type", "function"])) == 2


def test_a_hit_states_what_and_where(db: SqliteDatabase) -> None:
    replace(
        db, "m.py", [Document("type:m.Feed", "type", "src/m.py", 7, "class Feed(Base)", "Says.")]
    )
    (hit,) = search(db, ["feed"], 5)
    assert hit == Hit("type:m.Feed", "type", "src/m.py", 7, "class Feed(Base)", hit.rank)


def test_replacing_takes_the_old_words_out(db: SqliteDatabase) -> None:
    replace(db, "m.py", [function("old", body="gone")])
    replace(db, "n.py", [function("stays", path="n.py")])
    replace(db, "m.py", [function("new")])
    assert found(db, "old", "gone") == []
    assert found(db, "new", "stays") == ["new", "stays"]
    remove(db, "m.py")
    assert found(db, "new", "stays") == ["stays"]


def test_many_words_ask_only_for_the_rarest(db: SqliteDatabase) -> None:
    replace(db, "m.py", [function(f"f{n}", body="common") for n in range(50)])
    replace(db, "n.py", [function("needle", path="n.py")])
    words = [*(f"absent{n}" for n in range(10)), "common", *(f"f{n}" for n in range(15)), "needle"]
    assert "needle" in found(db, *words, limit=100)
    assert len(found(db, *words, limit=100)) < 50


def test_a_word_that_is_nearly_everywhere_is_asked_for_only_when_alone(db: SqliteDatabase) -> None:
    replace(db, "m.py", [function(f"f{n}", body="common") for n in range(1100)])
    replace(db, "n.py", [function("needle", body="common", path="n.py")])
    assert found(db, "common", "needle", limit=2000) == ["needle"]
    assert len(found(db, "common", limit=2000)) == 1101


NAUGHTY = [
    "",
    " ",
    "\0",
    "a\0b",
    '"',
    '""',
    "'",
    "';--",
    '"x" OR "y"',
    "AND",
    "OR",
    "NOT",
    "NEAR(a b)",
    "NEAR/2",
    "a*",
    "*",
    "^a",
    "name:feed",
    "{name}:x",
    "-name:x",
    "a + b",
    "(",
    ")",
    "((((",
    "a AND",
    "NOT NOT",
    "%",
    "_",
    "\\",
    "a%b",
    "\ud800",
    "\uffff",
    "ﬁ",
    "İ",
    "ß",
    "é",
    "e\u0301",
    "日本語",
    "𝒳",
    "🙂",
    "\u202e",
    "x" * 100_000,
    "1e999",
    "0x",
    "--",
    "/*",
    "{{7*7}}",
    "$(touch x)",
    "undefined",
    "NULL",
    "(null)",
    "\r\n",
    "\t",
    "null\x00null",
    "٣",
    "¾",
    "Ω≈ç",
    "a" * 3 + "_" * 50,
]


@pytest.mark.parametrize("text", NAUGHTY, ids=range(len(NAUGHTY)))
def test_naughty_strings_are_words_or_nothing(db: SqliteDatabase, text: str) -> None:
    replace(db, "m.py", [function("feed", body="NEAR or not 日本語 é")])
    for query in ([text], [text, "feed"], ["feed", text], [f'feed" {text}']):
        for hit in search(db, query, 5):
            assert hit.id == "function:m.feed"
    assert found(db, text, "feed") == ["feed"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text() | st.text('"*^():{}-+\\_% ANDORT\0'), max_size=6))
def test_any_text_is_a_valid_query(db: SqliteDatabase, words: list[str]) -> None:
    if not found(db, "feed"):
        replace(db, "m.py", [function("feed"), function("a_not_b")])
    assert {hit.id for hit in search(db, words, 5)} <= {"function:m.feed", "function:m.a_not_b"}


BODIES = st.lists(st.sampled_from(["alpha", "beta", "gamma"]), max_size=3).map(" ".join)
STEPS = st.lists(
    st.dictionaries(st.sampled_from(["a.py", "b.py", "c.py"]), st.lists(BODIES, max_size=2)),
    max_size=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_a_grown_index_answers_as_one_built_at_once(
    db: SqliteDatabase, steps: list[dict[str, list[str]]]
) -> None:
    def documents(path: str, bodies: list[str]) -> list[Document]:
        return [function(f"{path[0]}{n}", body=body, path=path) for n, body in enumerate(bodies)]

    replace_many(db, dict.fromkeys(["a.py", "b.py", "c.py"], ()))
    last: dict[str, list[str]] = {}
    for step in steps:
        replace_many(db, {path: documents(path, bodies) for path, bodies in step.items()})
        last |= step
    words = ["alpha", "beta", "gamma", "a0"]
    grown = [search(db, [word], 20) for word in words]
    replace_many(db, dict.fromkeys(["a.py", "b.py", "c.py"], ()))
    replace_many(db, {path: documents(path, bodies) for path, bodies in sorted(last.items())})
    assert grown == [search(db, [word], 20) for word in words]


@given(
    st.lists(
        st.lists(st.lists(st.sampled_from(["cart", "order", "line_item"]), max_size=9), max_size=4),
        max_size=8,
    ),
    st.sets(st.integers(0, 7)),
    st.lists(st.sampled_from(["cart", "order", "item", "line"]), min_size=1, max_size=4),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_scores_are_the_same_to_the_last_digit_with_arrays_and_without(
    db: SqliteDatabase, texts: list[list[list[str]]], removed: set[int], words: list[str]
) -> None:
    pytest.importorskip("numpy")
    for old in range(8):
        remove(db, str(old))
    for number, documents in enumerate(texts):
        replace(
            db,
            str(number),
            [
                Document(
                    f"page:{number}.{place}", "page", "", 1, " ".join(some[:2]), " ".join(some)
                )
                for place, some in enumerate(documents)
            ],
        )
    for number in removed:
        remove(db, str(number))
    corpora = [StoredPostings(db, KNOWLEDGE)]
    by_arrays = score(corpora, words)
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "numpy")
        assert score(corpora, words) == by_arrays
