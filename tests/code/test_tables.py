"""A graph made by an earlier kl goes on being one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from kl_hooks.code.tables import CODE, SAID, USES


def test_what_files_say_is_taken_over() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(CODE + USES)
        db.executemany(
            "INSERT INTO facts VALUES (?, 's', '', '[]', '[]', '{}', '{}', ?)",
            [("1", "a b"), ("2", "c"), ("3", "gone")],
        )
        files = [("x.py", "1", ""), ("y.py", "1", ""), ("z.py", "2", ""), ("lost.py", "?3", "0:0: lost")]
        db.executemany("INSERT INTO files VALUES (?, ?, 's', 'm', ?)", files)
        db.executescript(SAID)
        assert sorted(db.execute("SELECT path, names FROM said")) == [("x.py", "a b"), ("y.py", "a b"), ("z.py", "c")]
