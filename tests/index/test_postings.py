"""Postings: what is stored is what the files hold, however they were changed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.index import postings
from kl_hooks.index.plugin import kl_schema
from kl_hooks.index.postings import (
    OTHER,
    SOURCE,
    MemoryPostings,
    Postings,
    StoredPostings,
    add_files,
    corpus_of,
    file_terms,
    merge_segments,
    pack,
    postings_of,
    remove_files,
    unpack,
)
from kl_hooks.store.sqlite import SqliteDatabase, open_sqlite
from kl_hooks.store.store import migrate

WORDS = ["cart", "price", "total_price", "session", "cookie", "render", "CartView"]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = open_sqlite(tmp_path / "graph.db", write=True)
    migrate(database, [kl_schema()], tmp_path / "graph.db", None)
    yield database
    database.close()


def texts(chance: random.Random) -> list[list[object]]:
    made: list[list[object]] = [[0, "", "", " ".join(chance.choices(WORDS, k=3))]]
    for place in range(1, chance.randint(1, 4)):
        made.append([place, chance.choice(WORDS), "", "( self . " + " ".join(chance.choices(WORDS, k=6))])
    return made


def content(reader: Postings) -> dict[str, set[tuple[object, ...]]]:
    """Term → (path, number within the file, field and frequency, length, positions), by place."""
    files = reader.files
    starts = dict(zip(files.firsts, zip(files.paths, files.counts, strict=True), strict=True))
    found: dict[str, set[tuple[object, ...]]] = {}
    terms = [
        "cart",
        "price",
        "total",
        "total_price",
        "session",
        "cooki",
        "render",
        "view",
        "cartview",
        "self",
        "a",
        "b",
    ]
    for term, columns in reader.find(terms).items():
        for doc, field, length, positions in postings_of(columns):
            first = max((one for one in starts if one <= doc), default=-1)
            if first >= 0 and doc < first + starts[first][1]:
                one = (starts[first][0], doc - first, field, length, tuple(positions))
                found.setdefault(term, set()).add(one)
    return found


def test_edits_leave_what_a_fresh_index_would_hold(db: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "_LARGE", 60)
    monkeypatch.setattr(postings, "_SMALL", 3)
    chance = random.Random(1)
    locked: dict[str, list[list[object]]] = {}
    segments = set()
    for _ in range(120):
        changed = {
            f"{chance.choice('ab')}{chance.randint(0, 9)}.py": texts(chance) for _ in range(chance.randint(1, 3))
        }
        removed = chance.sample(sorted(locked), k=min(len(locked), chance.randint(0, 1)))
        with db.transaction():
            remove_files(db, [*removed, *changed])
            add_files(db, {path: file_terms(path, some) for path, some in changed.items() if path not in removed})
            merge_segments(db)
        locked = {path: some for path, some in {**locked, **changed}.items() if path not in removed}
        stored, fresh = StoredPostings(db), MemoryPostings({path: file_terms(path, locked[path]) for path in locked})
        assert content(stored) == content(fresh)
        assert stored.files.averages == pytest.approx(fresh.files.averages)
        assert sorted(stored.files.paths) == sorted(fresh.files.paths)
        segments.add(db.rows("SELECT COUNT(*) FROM term_segments")[0][0])
    assert max(segments) < 25, "small segments are merged"


def test_one_corpus_is_not_seen_from_the_other(db: SqliteDatabase) -> None:
    files = {"src/a.py": [[0, "", "", "cart"]], "tests/test_a.py": [[0, "", "", "cart session"]]}
    with db.transaction():
        add_files(db, {path: file_terms(path, some) for path, some in files.items()})
    assert list(StoredPostings(db, SOURCE).files.paths) == ["src/a.py"]
    assert list(StoredPostings(db, OTHER).files.paths) == ["tests/test_a.py"]
    assert not StoredPostings(db, SOURCE).find(["session"])


@pytest.mark.parametrize(
    "path", ["tests/test_a.py", "a/test/b.py", "conftest.py", "src/a_test.py", "docs/conf.py", "examples/x/run.py",
             "test-data/unit/a.py", "testing/test_x.py"],
)  # fmt: skip
def test_what_exercises_source(path: str) -> None:
    assert corpus_of(path) == OTHER


@pytest.mark.parametrize(
    "path", ["src/flask/testing.py", "shop/docs/render.py", "attest.py", "setup.py", "a/latest.py"]
)
def test_source(path: str) -> None:
    assert corpus_of(path) == SOURCE


@given(st.lists(st.tuples(st.integers(0, 2**31), st.integers(1, 5)), max_size=60))
def test_packed_postings_are_the_same_again(rows: list[tuple[int, int]]) -> None:
    columns = postings.empty_columns()
    for doc, count in sorted(rows):
        columns.docs.append(doc)
        columns.fields.append(postings.POSITIONED << postings.FIELD_SHIFT | count)
        columns.lengths.append(count)
        columns.positions.extend(range(count))
    assert unpack(pack(columns)) == columns


def test_a_file_survives_the_way_to_another_process() -> None:
    made = file_terms("a.py", texts(random.Random(3)))
    assert postings.from_stored(postings.to_stored(made)) == made


def test_nothing_stored_is_nothing_found(db: SqliteDatabase) -> None:
    empty: Mapping[str, object] = StoredPostings(db).find(["cart"])
    assert not empty
    assert StoredPostings(db).files.docs == 0
