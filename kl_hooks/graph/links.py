"""Links: replaced by the file that says them, asked by what they lead from or to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from kl_hooks.model.symbol import Link


class Rows(Protocol):
    """What links need of a database; the store's Database is one."""

    def rows(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]: ...
    def execute(self, sql: str, params: Any = ()) -> Any: ...
    def many(self, sql: str, rows: Any) -> Any: ...


_COLUMNS: Final = "source, relation, target, path, line, method, confidence"
_ORDER: Final = "ORDER BY source, relation, target, path, line, method"


def replace(db: Rows, path: str, links: Iterable[Link]) -> int:
    """Makes `links` the outgoing links that the file `path` says; returns their number. Links of other files stay.

    Each link's own `path` must be that file (ValueError). Call it inside a transaction.
    """
    rows = [(k.source, k.relation, k.target, k.path, k.line, k.method, k.confidence) for k in links]
    if any(row[3] != path for row in rows):
        raise ValueError(f"a link of another file among those of {path}")
    remove(db, path)
    if rows:
        db.many(f"INSERT INTO links ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return len(rows)


def remove(db: Rows, path: str) -> None:
    """Takes out what the file `path` says; what others say of it stays."""
    db.execute("DELETE FROM links WHERE path = ?", (path,))


def outgoing(db: Rows, identifier: str, relation: str = "") -> list[Link]:
    """The links from a thing (of one relation, if given), in a fixed order."""
    return _links(db, "source", identifier, relation)


def incoming(db: Rows, identifier: str, relation: str = "") -> list[Link]:
    """The links to a thing (of one relation, if given), in a fixed order."""
    return _links(db, "target", identifier, relation)


def count(db: Rows) -> int:
    """How many links there are."""
    return int(db.rows("SELECT COUNT(*) FROM links")[0][0])


def _links(db: Rows, end: str, identifier: str, relation: str) -> list[Link]:
    more, params = (" AND relation = ?", (identifier, relation)) if relation else ("", (identifier,))
    return [Link(*row) for row in db.rows(f"SELECT {_COLUMNS} FROM links WHERE {end} = ?{more} {_ORDER}", params)]
