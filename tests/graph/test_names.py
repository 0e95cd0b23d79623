"""Texts by number: each has one, whoever asks, and who writes many asks the database once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kl_hooks.graph import names
from kl_hooks.graph.names import Interned, numbers, texts
from kl_hooks.store.database import Database


class Counted:
    """A database that counts the questions it is asked."""

    def __init__(self, db: Database) -> None:
        self._db, self.execute, self.many = db, db.execute, db.many
        self.asked: list[str] = []

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self.asked.append(sql)
        return self._db.rows(sql, params)


def test_a_text_keeps_its_number_whoever_asks(db: Database) -> None:
    first = dict(Interned(db).of({"b", "a"}))
    second = Interned(db).of({"a", "c"})
    assert second["a"] == first["a"]
    assert numbers(db, {"a", "b", "c", "d"}) == {**first, "c": second["c"]}
    assert len({first["a"], first["b"], second["c"]}) == 3
    assert texts(db, {first["b"], second["c"]}) == {first["b"]: "b", second["c"]: "c"}


def test_what_is_written_into_an_empty_database_is_never_read_back(db: Database) -> None:
    counted = Counted(db)
    interned = Interned(counted)
    before = len(counted.asked)
    for start in range(0, 300, 10):
        interned.of({f"n{number}" for number in range(start, start + 20)})
    assert len(counted.asked) == before
    assert len(numbers(db, {f"n{number}" for number in range(400)})) == 310


def test_of_many_texts_that_may_be_known_all_are_read_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_MANY", 5)
    known = dict(Interned(db).of({f"n{number}" for number in range(8)}))
    counted = Counted(db)
    interned = Interned(counted)
    few = interned.of({"n1", "x"})
    assert few["n1"] == known["n1"] and len(counted.asked) == 2
    for start in range(0, 20, 10):
        found = interned.of({f"n{number}" for number in range(start, start + 10)})
        assert all(found[text] == number for text, number in known.items() if text in found)
    assert len(counted.asked) == 3
    assert len(texts(db, set(found.values()))) == len(found) == 21
