"""Many values are asked about some after some, none omitted and none twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.store.database import _AT_ONCE, chunks, placeholders


@given(st.integers(0, 3 * _AT_ONCE))
def test_each_value_is_asked_about_once(number: int) -> None:
    values = list(range(number))
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE t (n INTEGER)")
        db.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
        found = [
            row[0]
            for some in chunks(values)
            for row in db.execute(
                f"SELECT n FROM t WHERE n IN ({placeholders(some)}) ORDER BY n", some
            )
        ]
    assert found == values
