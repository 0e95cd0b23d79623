"""What every Database must do, whatever it is made of. A class of tests for each kind derives from
`DatabaseContract` and states how one is opened; the tests know nothing but the protocol.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from kl_hooks.errors import EnvironmentProblem, StoreNewer
from kl_hooks.hookspecs import Schema
from kl_hooks.store.database import Database
from kl_hooks.store.store import (
    _has_all_steps,
    _refuse_newer,
    _split_statements,
    migrate,
    steps_taken,
)

Opener = Callable[[bool], Database]
"""Opens the one database of a test, for writing or for reading only."""

ONE = "CREATE TABLE thing (id TEXT PRIMARY KEY, n BIGINT);\nCREATE INDEX thing_n ON thing (n);\n"
TWO = (
    "-- a remark;\nALTER TABLE thing ADD COLUMN more TEXT;\nINSERT INTO thing (id, n) VALUES ('of"
    " step 2', 2);\n"
)
BROKEN = "CREATE TABLE half (id TEXT);\nINSERT INTO missing_table VALUES (1);\n"


def schema(*steps: str, owner: str = "room", database: str = "kl") -> Schema:
    """A package's tables."""
    return Schema(owner, database, steps)


class DatabaseContract:
    """Derive from it, and give `opener`."""

    @pytest.fixture
    def opener(self) -> Opener:
        raise NotImplementedError

    @pytest.fixture
    def place(self) -> Any:
        """What `migrate` names in its messages."""
        raise NotImplementedError

    @pytest.fixture
    def db(self, opener: Opener) -> Iterator[Database]:
        with closing(opener(True)) as db:
            db.execute(
                "CREATE TABLE t (id TEXT PRIMARY KEY, n BIGINT, b BYTEA)".replace("BYTEA", "BLOB")
            )
            yield db

    def test_rows_come_back_as_they_were_stored(self, db: Database) -> None:
        rows = [
            ("a\0b ä \U0001f600", 2**63 - 1, b"\0\xff"),
            ("", -(2**63), b""),
            ("null", None, None),
        ]
        db.many("INSERT INTO t VALUES (?, ?, ?)", iter(rows))
        assert sorted(db.rows("SELECT id, n, b FROM t")) == sorted(rows)
        assert db.row("SELECT n FROM t WHERE id = ?", ("null",)) == (None,)
        assert db.row("SELECT n FROM t WHERE id = ?", ("missing",)) is None
        assert db.rows("SELECT n FROM t WHERE id = ?", ("missing",)) == []
        assert all(type(row) is tuple for row in db.rows("SELECT * FROM t"))

    def test_a_transaction_is_all_or_nothing(self, db: Database, opener: Opener) -> None:
        with pytest.raises(KeyError), db.transaction():
            db.execute("INSERT INTO t (id) VALUES ('x')")
            raise KeyError
        with pytest.raises(KeyboardInterrupt), db.transaction():
            db.execute("INSERT INTO t (id) VALUES ('y')")
            raise KeyboardInterrupt
        with db.transaction():
            db.execute("INSERT INTO t (id) VALUES ('z')")
        with closing(opener(False)) as other:
            assert other.rows("SELECT id FROM t") == [("z",)]

    def test_a_statement_that_fails_undoes_the_transaction_and_leaves_a_usable_database(
        self, db: Database
    ) -> None:
        with pytest.raises(Exception, match=r"(?i)unique|duplicate"), db.transaction():
            db.execute("INSERT INTO t (id) VALUES ('x')")
            db.execute("INSERT INTO t (id) VALUES ('x')")
        with db.transaction():
            db.execute("INSERT INTO t (id) VALUES ('x')")
        assert db.rows("SELECT id FROM t") == [("x",)]

    def test_tables_are_made_in_transactions_as_well(self, db: Database) -> None:
        with pytest.raises(KeyError), db.transaction():
            db.execute("CREATE TABLE other (id TEXT)")
            raise KeyError
        db.execute("CREATE TABLE other (id TEXT)")

    def test_another_connection_sees_a_change_only_when_it_is_whole(
        self, db: Database, opener: Opener
    ) -> None:
        with closing(opener(False)) as other, db.transaction():
            db.execute("INSERT INTO t (id) VALUES ('x')")
            assert other.rows("SELECT id FROM t") == []

    def test_insert_or_ignore_by_id_from_many_at_once_loses_and_doubles_nothing(
        self, opener: Opener
    ) -> None:
        with closing(opener(True)) as db:
            db.execute("CREATE TABLE t (id TEXT PRIMARY KEY, n BIGINT)")
        faults: list[BaseException] = []

        def write(me: int) -> None:
            try:
                with closing(opener(True)) as db:
                    for number in range(15):
                        with db.transaction():
                            sql = "INSERT INTO t (id, n) VALUES (?, ?) ON CONFLICT DO NOTHING"
                            db.many(sql, [(f"shared {number}", me), (f"own {me} {number}", me)])
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=write, args=(me,)) for me in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        with closing(opener(False)) as db:
            ids = [i for (i,) in db.rows("SELECT id FROM t")]
        own = [f"own {me} {n}" for me in range(4) for n in range(15)]
        assert sorted(ids) == sorted([*own, *(f"shared {n}" for n in range(15))])

    def test_reading_only_writes_nothing(self, db: Database, opener: Opener) -> None:
        with closing(opener(False)) as other:
            assert other.read_only
            with pytest.raises(EnvironmentProblem, match=r"(?i)read-?only"):
                other.execute("INSERT INTO t (id) VALUES ('x')")
        assert not db.read_only
        assert db.rows("SELECT id FROM t") == []

    def test_closing_twice_is_allowed(self, opener: Opener) -> None:
        db = opener(True)
        db.close()
        db.close()
        with pytest.raises(Exception, match="closed"):
            db.rows("SELECT 1")

    def test_steps_are_taken_once_in_order_and_remembered(self, opener: Opener, place: Any) -> None:
        with closing(opener(True)) as db:
            assert steps_taken(db) == {}
            assert migrate(db, [schema(ONE)], place, None) == 1
            assert steps_taken(db) == {"room": 1}
            assert not _has_all_steps(db, [schema(ONE, TWO)])
            assert migrate(db, [schema(ONE, TWO), schema(owner="empty")], place, None) == 1
            assert migrate(db, [schema(ONE, TWO)], place, None) == 0
            assert _has_all_steps(db, [schema(ONE, TWO)])
            assert db.rows("SELECT id, n, more FROM thing") == [("of step 2", 2, None)]

    def test_packages_are_independent(self, opener: Opener, place: Any) -> None:
        with closing(opener(True)) as db:
            other = schema("CREATE TABLE other (id TEXT);", owner="another")
            migrate(db, [schema(ONE)], place, None)
            assert migrate(db, [other, schema(ONE)], place, None) == 1
            assert steps_taken(db) == {"another": 1, "room": 1}

    def test_a_step_that_fails_leaves_nothing_of_itself(self, opener: Opener, place: Any) -> None:
        with closing(opener(True)) as db:
            with pytest.raises(Exception, match="missing_table"):
                migrate(db, [schema(ONE, BROKEN)], place, None)
            assert steps_taken(db) == {"room": 1}
            db.execute("CREATE TABLE half (id TEXT)")

    def test_newer_steps_are_refused_before_anything_is_written(
        self, opener: Opener, place: Any
    ) -> None:
        with closing(opener(True)) as db:
            migrate(db, [schema(ONE, TWO)], place, None)
            newer = [schema(ONE), schema("CREATE TABLE other (id TEXT);", owner="another")]
            with pytest.raises(
                StoreNewer, match=r"made by a newer kl \(room step 2; this one knows 1\).*Upgrade"
            ):
                migrate(db, newer, place, None)
            with pytest.raises(StoreNewer):
                _refuse_newer(db, newer, place)
            assert steps_taken(db) == {"room": 2}


def test_statements_end_at_a_semicolon_at_a_lines_end() -> None:
    assert _split_statements("A;\nB (\n x; y, -- why;\n z);\n\n-- only a remark;\n") == [
        "A;",
        "B (\n x; y, -- why;\n z);",
    ]
    assert _split_statements("A;\nB") == ["A;", "B"]
    assert _split_statements("\n") == []
