"""The memory of facts: a row per content and scanner in the graph database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kl_hooks.code.parse import Facts
from kl_hooks.store.database import Rows, chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.store.store import Store

Key = tuple[str, str]
"""(blob id, scanner's version)"""
Known = dict[Key, Facts]
TOGETHER: Final = ("symbols", "words", "decorators")
"""The parts of facts that stand in one column."""
PARTS: Final = ("error", *TOGETHER, "imports", "uses", "outline", "names")
"""All parts of facts."""


class Columns(NamedTuple):
    """The facts of a content as the database keeps them: JSON, but for the error and the names."""

    error: str
    imports: str
    symbols: str
    uses: str
    outline: str
    names: str


def look_up(store: Store, wanted: Iterable[Key], symbols: bool = True) -> Known:
    """What the store knows of these contents; nothing where there is no database yet. KlError if it can't be read."""
    with store.reading("graph") as db:
        return load(db, wanted, symbols, uses=symbols) if db is not None else {}


def load(db: Rows, wanted: Iterable[Key], symbols: bool = True, uses: bool = False) -> Known:
    """What the database knows of these contents: errors and imports; symbols, and uses with outlines, if wanted.

    A row that can't be read is as good as none.
    """
    columns = ["error", "imports", "symbols" if symbols else "''"]
    columns += ["uses", "outline", "names"] if uses else ["''"] * 3
    known: Known = {}
    for scanner, blobs in _by_scanner(wanted):
        sql = f"SELECT blob, {', '.join(columns)} FROM facts WHERE scanner = ? AND blob IN ({placeholders(blobs)})"
        for blob, *row in db.rows(sql, (scanner, *blobs)):
            facts = _facts(*row)
            if facts is not None:
                known[blob, scanner] = facts
    return known


def outlines(db: Rows, wanted: Iterable[Key]) -> dict[Key, Any]:
    """Content → its outline (see `code.uses`), of those that are known."""
    found = {}
    for scanner, blobs in _by_scanner(wanted):
        sql = f"SELECT blob, outline FROM facts WHERE scanner = ? AND blob IN ({placeholders(blobs)})"
        for blob, text in db.rows(sql, (scanner, *blobs)):
            with suppress(ValueError):
                found[blob, scanner] = json.loads(text)
    return found


def save(db: Rows, fresh: Mapping[Key, Facts]) -> None:
    """Writes facts; call it inside a transaction. What is there already is replaced."""
    write(db, ((key, columns_of(fresh[key])) for key in sorted(fresh)))


def write(db: Rows, fresh: Iterable[tuple[Key, Columns]]) -> None:
    """The same of columns; each content once."""
    columns = "blob, scanner, error, imports, symbols, uses, outline, names"
    rows = ((*key, *texts) for key, texts in fresh)
    db.many(f"INSERT OR REPLACE INTO facts ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def columns_of(facts: Facts) -> Columns:
    """Facts as the database keeps them."""
    return Columns(
        facts["error"], _json(facts["imports"]), _json([facts[part] for part in TOGETHER]), _json(facts["uses"]),
        _json(facts["outline"]), facts["names"],
    )  # fmt: skip


def forget(db: Rows, spare: int) -> int:
    """Takes out contents that no file has any more once there are more than `spare` of them; how many went."""
    known, files = (int(db.rows(f"SELECT COUNT(*) FROM {table}")[0][0]) for table in ("facts", "files"))
    if known <= files + spare:
        return 0
    db.execute("DELETE FROM facts WHERE (blob, scanner) NOT IN (SELECT blob, scanner FROM files)")
    return known - int(db.rows("SELECT COUNT(*) FROM facts")[0][0])


def _facts(error: str, imports: str, symbols: str, uses: str, outline: str, names: str) -> Facts | None:
    try:
        found, words, decorators = json.loads(symbols) if symbols else ([], [], {})
        return {
            "error": error, "symbols": found, "words": words, "imports": json.loads(imports),
            "decorators": decorators, "uses": json.loads(uses) if uses else {},
            "outline": json.loads(outline) if outline else {}, "names": names,
        }  # fmt: skip
    except (ValueError, TypeError):
        return None


def _by_scanner(wanted: Iterable[Key]) -> Iterator[tuple[str, Sequence[str]]]:
    by_scanner: dict[str, list[str]] = {}
    for blob, scanner in sorted(set(wanted)):
        by_scanner.setdefault(scanner, []).append(blob)
    for scanner, blobs in by_scanner.items():
        for some in chunks(blobs):
            yield scanner, some


_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
