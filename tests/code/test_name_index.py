"""Which files mention a name: all that do are found, whatever was written before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code import name_index
from kl_hooks.code.plugin import TABLES


class Rows:
    """A database in memory, with the tables of this package."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.asked: list[str] = []
        db.executescript(TABLES)

    def rows(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]:
        self.asked.append(sql)
        return self.db.execute(sql, params).fetchall()

    def execute(self, sql: str, params: Any = ()) -> None:
        self.db.execute(sql, params)

    def many(self, sql: str, rows: Any) -> None:
        self.db.executemany(sql, rows)


WORDS = st.lists(st.text("abé_", min_size=1, max_size=3), max_size=6).map(" ".join)
PATHS = st.sampled_from([f"{name}.py" for name in "stuvwxyz"])
CHANGES = st.lists(st.tuples(st.sets(PATHS), st.dictionaries(PATHS, WORDS)), max_size=6)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 2, 100])
@pytest.mark.parametrize("classes", [1, 5, 16_381])
@given(changes=CHANGES, asked=st.sets(st.text("abé_", min_size=1, max_size=3)))
@pytest.mark.share(3)
def test_all_files_that_mention_a_name_are_found(
    share: int, classes: int, changes: list[tuple[set[str], dict[str, str]]], asked: set[str]
) -> None:
    now: dict[str, str] = {}
    with (
        pytest.MonkeyPatch.context() as patched,
        closing(sqlite3.connect(":memory:")) as connection,
    ):
        patched.setattr(name_index, "_SHARE", share)
        patched.setattr(name_index, "_BUCKETS", classes)
        db = Rows(connection)
        for removed, written in changes:
            name_index.replace_files(db, removed - written.keys(), written)
            now = {
                path: words
                for path, words in {**now, **written}.items()
                if path not in removed - written.keys()
            }
        now = {path: words for path, words in now.items() if words}
        assert name_index.all_files(db) == now
        found = name_index.files_mentioning(db, asked)
        assert found.items() <= now.items()
        assert {path for path, words in now.items() if asked & set(words.split())} <= found.keys()


def test_one_name_is_looked_for_in_few_files() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        db = Rows(connection)
        name_index.replace_files(
            db, (), {f"m{number}.py": f"self name{number}" for number in range(500)}
        )
        assert len(name_index.files_mentioning(db, {"name77"})) < 10
        db.asked.clear()
        name_index.replace_files(db, (), {"m77.py": "self other"})
        assert "m77.py" in name_index.files_mentioning(db, {"other"})
        assert "m77.py" not in name_index.files_mentioning(db, {"name77"})
        assert "SELECT path, names FROM said" not in db.asked
        assert len(name_index.files_mentioning(db, {"self"})) == 500
