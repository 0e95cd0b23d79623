"""The rows of files: what stands in the tables `files` and `symbols`, and in the index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code import said
from kl_hooks.code.reach import renames
from kl_hooks.index import index
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.code.parse import Facts
    from kl_hooks.store.database import Database

File = tuple[str, str, str]
"""(blob, scanner, module)"""
_AT_ONCE: Final = 200
"""Files whose rows are made before they are written: those of all would not fit into a small memory."""


def write_files(db: Database, gone: Collection[str], files: Mapping[str, File], facts: Mapping[str, Facts]) -> None:
    """Takes out the files that are gone, and replaces all rows of those that changed. Inside one transaction.

    `files` and `facts`: of those that changed; their facts are asked for once, some after some.
    """
    take_out(db, (*gone, *files))
    names: dict[str, str] = {}
    paths = list(files)
    for start in range(0, len(paths), _AT_ONCE):
        some = {path: facts[path] for path in paths[start : start + _AT_ONCE]}
        names.update((path, one["names"]) for path, one in some.items())
        _insert(db, files, some)
    said.replace(db, gone, names)


def _insert(db: Database, files: Mapping[str, File], some: Mapping[str, Facts]) -> None:
    insert_files(db, [(path, *files[path], facts["error"]) for path, facts in some.items()])
    insert_renamed(db, (row for path, facts in some.items() for row in renames(path, facts["outline"])))
    insert_symbols(db, (row for path, facts in some.items() for row in symbols_of(path, facts)))
    index.add_rows(db, {path: index.text_rows(documents_of(path, facts)) for path, facts in some.items()})


def take_out(db: Database, paths: Iterable[str]) -> None:
    """Takes out the rows of files, whether there are any or not."""
    old = [(path,) for path in paths]
    db.many("DELETE FROM files WHERE path = ?", old)
    db.many("DELETE FROM symbols WHERE path = ?", old)
    db.many("DELETE FROM renamed WHERE path = ?", old)
    index.replace_many(db, {path: () for (path,) in old})


def insert_files(db: Database, rows: Iterable[Sequence[str]]) -> None:
    """Writes rows of files that have none: path, blob, scanner, module, error."""
    db.many("INSERT INTO files (path, blob, scanner, module, error) VALUES (?, ?, ?, ?, ?)", rows)


def insert_renamed(db: Database, rows: Iterable[tuple[str, str, str]]) -> None:
    """Writes rows as `reach.renames` gives them."""
    db.many("INSERT INTO renamed (word, key, path) VALUES (?, ?, ?)", sorted(rows))


def insert_symbols(db: Database, rows: Iterable[Sequence[Any]]) -> None:
    """Writes rows as `symbols_of` gives them."""
    columns = "id, name, path, line, end_line, signature, decorators, doc, content_hash"
    db.many(f"INSERT INTO symbols ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def last_name(identifier: str) -> str:
    """The last part of an Id, by which people look for it."""
    if identifier.startswith("namespace:"):
        identifier = identifier.partition("@")[0]
    return identifier.rpartition("::" if identifier.startswith("test:") else ".")[2].rpartition(":")[2]


def symbols_of(path: str, facts: Facts) -> Iterable[tuple[Any, ...]]:
    """The rows of a file's symbols and tests, from facts under its module. Pure."""
    decorators = facts["decorators"]
    for place, (identifier, line, end_line, signature, doc, content_hash) in enumerate(facts["symbols"]):
        marks = "\n".join(decorators.get(str(place), ()))
        yield (identifier, last_name(identifier), path, line, end_line, signature, marks, doc, content_hash)
    for identifier, line, end_line, signature, doc, content_hash, _ in facts["tests"]:
        yield (identifier, last_name(identifier), path, line, end_line, signature, "", doc, content_hash)


def documents_of(path: str, facts: Facts) -> list[index.Document]:
    """What can be found by words in a file. Pure."""
    return [
        index.Document(identifier, split_id(identifier)[0], path, line, signature, doc, words)
        for (identifier, line, _, signature, doc, _), words in zip(facts["symbols"], facts["words"], strict=True)
    ]
