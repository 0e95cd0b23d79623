"""Symbols as the graph database holds them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kl_hooks.model.symbol import Symbol, split_id
from kl_hooks.store.database import Rows, chunks, placeholders

_COLUMNS: Final = "id, path, line, end_line, signature, doc, content_hash, decorators"


def find(db: Rows, condition: str, params: Iterable[Any]) -> list[Symbol]:
    """The symbols that fit a condition over the table's columns, by path and place."""
    sql = f"SELECT {_COLUMNS} FROM symbols WHERE {condition} ORDER BY path, line, end_line DESC, id"
    rows = db.rows(sql, tuple(params))
    return [_symbol(*row) for row in rows]


def _symbol(
    identifier: str, path: str, line: int, end_line: int, signature: str, doc: str, content_hash: str, marks: str
) -> Symbol:
    decorators = tuple(marks.split("\n")) if marks else ()
    return Symbol(identifier, path, line, end_line, signature, doc, content_hash, decorators)


def by_ids(db: Rows, ids: Iterable[str]) -> dict[str, Symbol]:
    """Id → its symbol, of those that have one; of several the first."""
    wanted, found = sorted(set(ids)), dict[str, Symbol]()
    for some in chunks(wanted):
        for symbol in find(db, f"id IN ({placeholders(some)})", some):
            found.setdefault(symbol.id, symbol)
    return found


def in_file(db: Rows, path: str) -> list[Symbol]:
    """What a file defines, the outer before the inner; without its tests, which are functions of it too."""
    found = [symbol for symbol in find(db, "path = ?", (path,)) if not symbol.id.startswith("test:")]
    return sorted(found, key=lambda symbol: not symbol.id.startswith("namespace:"))


def parts(db: Rows, symbol: Symbol) -> list[Symbol]:
    """What is defined inside a symbol, at any depth; of a module everything."""
    prefix, name = split_id(symbol.id)
    if prefix == "test":
        return []
    inside = in_file(db, symbol.path)
    if prefix == "namespace":
        return [one for one in inside if one.id != symbol.id]
    return [one for one in inside if split_id(one.id)[1].startswith(f"{name}.")]
