"""Postings: what is stored is what the files hold, however they were changed."""

from __future__ import annotations

import marshal
import random
import sys
import threading
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
    SegmentFile,
    StoredPostings,
    SymbolText,
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
    migrate(database, kl_schema(), tmp_path / "graph.db", None)
    yield database
    database.close()


def texts(chance: random.Random) -> list[list[object]]:
    made: list[list[object]] = [[0, "", "", " ".join(chance.choices(WORDS, k=3))]]
    for place in range(1, chance.randint(1, 4)):
        made.append(
            [place, chance.choice(WORDS), "", "( self . " + " ".join(chance.choices(WORDS, k=6))]
        )
    return made


def content(reader: Postings) -> dict[str, set[tuple[object, ...]]]:
    """Term → (path, number within the file, field and frequency, length, positions), by place."""
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
        paths = reader.paths_of(set(columns.docs))
        for doc, field, length, positions in postings_of(columns):
            if doc in paths:
                first, _ = reader.places([paths[doc]])[paths[doc]]
                found.setdefault(term, set()).add(
                    (paths[doc], doc - first, field, length, tuple(positions))
                )
    return found


def test_edits_leave_what_a_fresh_index_would_hold(
    db: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "_LARGE", 60)
    monkeypatch.setattr(postings, "_SMALL", 3)
    chance = random.Random(1)
    files: dict[str, list[list[object]]] = {}
    segments = set()
    for _ in range(120):
        changed = {
            f"{chance.choice('ab')}{chance.randint(0, 9)}.py": texts(chance)
            for _ in range(chance.randint(1, 3))
        }
        removed = chance.sample(sorted(files), k=min(len(files), chance.randint(0, 1)))
        with db.transaction():
            remove_files(db, [*removed, *changed])
            add_files(
                db,
                {
                    path: file_terms(path, some)
                    for path, some in changed.items()
                    if path not in removed
                },
            )
            merge_segments(db)
        files = {path: some for path, some in {**files, **changed}.items() if path not in removed}
        stored, fresh = (
            StoredPostings(db),
            MemoryPostings({path: file_terms(path, files[path]) for path in files}),
        )
        assert content(stored) == content(fresh)
        assert stored.totals == fresh.totals
        assert stored.existing([*files, "none.py"]) == fresh.existing(files) == files.keys()
        segments.add(db.rows("SELECT COUNT(*) FROM term_segments")[0][0])
    assert max(segments) < 25, "small segments are merged"


def test_one_corpus_is_not_seen_from_the_other(db: SqliteDatabase) -> None:
    files = {"src/a.py": [[0, "", "", "cart"]], "tests/test_a.py": [[0, "", "", "cart session"]]}
    with db.transaction():
        add_files(db, {path: file_terms(path, some) for path, some in files.items()})
    assert StoredPostings(db, SOURCE).existing(files) == {"src/a.py"}
    assert StoredPostings(db, OTHER).existing(files) == {"tests/test_a.py"}
    assert StoredPostings(db, SOURCE).totals.files == 1
    assert not StoredPostings(db, SOURCE).find(["session"])


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "a/test/b.py",
        "conftest.py",
        "src/a_test.py",
        "docs/conf.py",
        "examples/x/run.py",
        "test-data/unit/a.py",
        "testing/test_x.py",
    ],
)
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
    block = {"cart": columns, "größe": columns, "session": postings.empty_columns()}
    assert unpack(pack(block), block) == block
    assert unpack(pack(block), {"größe", "none"}) == {"größe": columns}


def test_a_file_survives_the_way_to_another_process() -> None:
    made = file_terms("a.py", texts(random.Random(3)))
    assert postings.FileTerms(*marshal.loads(marshal.dumps(tuple(made)))) == made


def test_a_minor_document_changes_no_ranking_and_is_found(db: SqliteDatabase) -> None:
    minor = [SymbolText(1, "cart_key", "Cart", "( cart_key str")]
    with db.transaction():
        add_files(
            db,
            {
                "a.py": file_terms("a.py", [[0, "", "", "cart"]], minor),
                "b.py": file_terms("b.py", []),
            },
        )
    reader = StoredPostings(db)
    assert (
        reader.totals == MemoryPostings({"a.py": file_terms("a.py", [[0, "", "", "cart"]])}).totals
    )
    assert reader.paths_of(reader.find(["cart"])["cart"].docs) == {0: "a.py"}
    assert reader.files_of([0, 1, 2]) == dict.fromkeys([0, 1], SegmentFile(SOURCE, "a.py", 0, 1, 1))
    assert reader.places(["a.py", "none.py"]) == {"a.py": (0, [0])}
    assert reader.places(["a.py"], minor=True) == {"a.py": (0, [0, 1])}


def test_nothing_stored_is_nothing_found(db: SqliteDatabase) -> None:
    empty: Mapping[str, object] = StoredPostings(db).find(["cart"])
    assert not empty
    assert StoredPostings(db).totals.docs == 0


def test_threads_find_the_same_stems() -> None:
    stem = postings._stem.__wrapped__  # without its cache
    words = [
        start + end
        for start in ("comput", "organiz", "relat")
        for end in ("ing", "ations", "er", "ively", "ed")
    ]
    expected, found, interval = [stem(word) for word in words], [], sys.getswitchinterval()
    threads = [
        threading.Thread(target=lambda: found.append([stem(w) for w in words * 40]))
        for _ in range(4)
    ]
    sys.setswitchinterval(1e-6)
    try:
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == [expected * 40] * 4
