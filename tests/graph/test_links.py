"""Links: replaced by file, asked from either end; incoming ones of other files stay.

Texts by number: each has one, whoever asks, and who writes many asks the database once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kl_hooks.graph import links
from kl_hooks.graph.links import Interned, numbers, texts
from kl_hooks.model.symbol import Link
from kl_hooks.store.database import Database


def link(source: str, target: str, path: str, relation: str = "imports", line: int = 1) -> Link:
    return Link(f"namespace:{source}", relation, f"namespace:{target}", path, line, "import", 100)


def test_links_are_asked_from_either_end(db: Database) -> None:
    links.replace_many(db, {"a.py": [link("a", "b", "a.py"), link("a", "c", "a.py", "mentions")]})
    links.replace_many(db, {"b.py": [link("b", "c", "b.py")]})
    assert links.outgoing(db, "namespace:a") == [
        link("a", "b", "a.py"),
        link("a", "c", "a.py", "mentions"),
    ]
    assert links.outgoing(db, "namespace:a", "imports") == [link("a", "b", "a.py")]
    assert links.incoming(db, "namespace:c") == [
        link("a", "c", "a.py", "mentions"),
        link("b", "c", "b.py"),
    ]
    assert links.incoming(db, "namespace:c", "imports") == [link("b", "c", "b.py")]
    assert links.outgoing(db, "namespace:nobody") == links.incoming(db, "namespace:nobody") == []


def test_replacing_a_file_leaves_what_others_state_of_it(db: Database) -> None:
    links.replace_many(db, {"a.py": [link("a", "b", "a.py")]})
    links.replace_many(db, {"b.py": [link("b", "a", "b.py")]})
    assert links.replace_many(db, {"a.py": []}) == 0
    assert links.incoming(db, "namespace:b") == []
    assert links.incoming(db, "namespace:a") == [link("b", "a", "b.py")]
    links.replace_many(db, {"b.py": ()})
    assert links.count(db) == 0


def test_a_link_of_another_file_is_refused(db: Database) -> None:
    with pytest.raises(ValueError, match="another file"):
        links.replace_many(db, {"a.py": [link("a", "b", "b.py")]})
    assert links.count(db) == 0


NAMES = st.sampled_from("abc")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(NAMES, st.lists(st.tuples(NAMES, NAMES, st.integers(1, 3)), max_size=4)),
        max_size=6,
    )
)
def test_any_sequence_of_replacements_ends_in_the_last_of_each_file(
    db: Database, steps: list[tuple[str, list[tuple[str, str, int]]]]
) -> None:
    db.execute("DELETE FROM link_owners")
    db.execute("DELETE FROM link_ends")
    last: dict[str, list[Link]] = {}
    for path, rows in steps:
        last[path] = [link(source, target, path, line=line) for source, target, line in rows]
        links.replace_many(db, {path: last[path]})
    every = [one for found in last.values() for one in found]
    assert links.count(db) == len(every)
    for name in "abc":
        assert sorted(map(repr, links.incoming(db, f"namespace:{name}"))) == sorted(
            repr(one) for one in every if one.target == f"namespace:{name}"
        )


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


def test_of_many_texts_that_may_be_known_all_are_read_once(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "_MANY", 5)
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
