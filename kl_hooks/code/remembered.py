"""The memory of facts: a row per content and scanner in the graph database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from kl_hooks.code.scan import Facts

if TYPE_CHECKING:
    from kl_hooks.store.store import Store

Key = tuple[str, str]
"""(blob id, scanner's version)"""
Known = dict[Key, Facts]
_AT_ONCE: Final = 400


class Rows(Protocol):
    """What this memory needs of a database; the store's Database is one."""

    def rows(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]: ...
    def many(self, sql: str, rows: Any) -> Any: ...


def look_up(store: Store, wanted: Iterable[Key], symbols: bool = True) -> Known:
    """What the store knows of these contents; nothing where there is no database yet. KlError if it can't be read."""
    with store.reading("graph") as db:
        return load(db, wanted, symbols) if db is not None else {}


def keep(store: Store, fresh: Mapping[Key, Facts]) -> None:
    """Remembers what was read. KlError if the store can't be written."""
    with store.writing("graph") as db, db.transaction():
        save(db, fresh)


def load(db: Rows, wanted: Iterable[Key], symbols: bool = True) -> Known:
    """What the database knows of these contents; without `symbols` only errors and imports. A row that can't be
    read is as good as none.
    """
    by_scanner: dict[str, list[str]] = {}
    for blob, scanner in sorted(set(wanted)):
        by_scanner.setdefault(scanner, []).append(blob)
    known: Known = {}
    column = "symbols" if symbols else "'[[], []]'"
    for scanner, blobs in by_scanner.items():
        for start in range(0, len(blobs), _AT_ONCE):
            some = blobs[start : start + _AT_ONCE]
            sql = f"SELECT blob, error, imports, {column} FROM facts WHERE scanner = ? AND blob IN ({_marks(some)})"
            for blob, error, imports, found in db.rows(sql, (scanner, *some)):
                facts = _facts(error, imports, found)
                if facts is not None:
                    known[blob, scanner] = facts
    return known


def save(db: Rows, fresh: Mapping[Key, Facts]) -> None:
    """Writes facts; call it inside a transaction. What is there already is replaced."""
    rows = [
        (blob, scanner, facts["error"], _json(facts["imports"]), _json([facts["symbols"], facts["words"]]))
        for (blob, scanner), facts in sorted(fresh.items())
    ]
    db.many("DELETE FROM facts WHERE blob = ? AND scanner = ?", [row[:2] for row in rows])
    db.many("INSERT INTO facts (blob, scanner, error, imports, symbols) VALUES (?, ?, ?, ?, ?)", rows)


def _facts(error: str, imports: str, symbols: str) -> Facts | None:
    try:
        found, words = json.loads(symbols)
        return {"error": error, "symbols": found, "words": words, "imports": json.loads(imports)}
    except (ValueError, TypeError):
        return None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _marks(values: list[str]) -> str:
    return ", ".join("?" * len(values))
