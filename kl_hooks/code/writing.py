"""The rows of files: what stands in the tables `files` and `symbols`, and in the index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.code import said
from kl_hooks.code.reach import renames
from kl_hooks.index import index
from kl_hooks.model.ids import split

if TYPE_CHECKING:
    from kl_hooks.code.parse import Facts
    from kl_hooks.store.database import Database

File = tuple[str, str, str]
"""(blob, scanner, module)"""


def write_files(db: Database, gone: Collection[str], changed: Mapping[str, tuple[File, Facts]]) -> None:
    """Takes out the files that are gone, and replaces all rows of those that changed. Inside one transaction."""
    old = [(path,) for path in (*gone, *changed)]
    db.many("DELETE FROM files WHERE path = ?", old)
    db.many("DELETE FROM symbols WHERE path = ?", old)
    rows = [(path, *file, facts["error"]) for path, (file, facts) in changed.items()]
    db.many("INSERT INTO files (path, blob, scanner, module, error) VALUES (?, ?, ?, ?, ?)", rows)
    db.many("DELETE FROM renamed WHERE path = ?", old)
    renamed = (row for path, (_, facts) in changed.items() for row in renames(path, facts["outline"]))
    db.many("INSERT INTO renamed (word, key, path) VALUES (?, ?, ?)", sorted(renamed))
    said.replace(db, gone, {path: facts["names"] for path, (_, facts) in changed.items()})
    columns = "id, name, path, line, end_line, signature, decorators, doc, content_hash"
    symbols = (row for path, (_, facts) in changed.items() for row in _symbols(path, facts))
    db.many(f"INSERT INTO symbols ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", list(symbols))
    documents: dict[str, Sequence[index.Document]] = {p: _documents(p, facts) for p, (_, facts) in changed.items()}
    index.replace_many(db, {**dict.fromkeys(gone, ()), **documents})


def last_name(identifier: str) -> str:
    """The last part of an Id, by which people look for it."""
    if identifier.startswith("namespace:"):
        identifier = identifier.partition("@")[0]
    return identifier.rpartition("::" if identifier.startswith("test:") else ".")[2].rpartition(":")[2]


def _symbols(path: str, facts: Facts) -> Iterable[tuple[Any, ...]]:
    decorators = facts["decorators"]
    for place, (identifier, line, end_line, signature, doc, content_hash) in enumerate(facts["symbols"]):
        marks = "\n".join(decorators.get(str(place), ()))
        yield (identifier, last_name(identifier), path, line, end_line, signature, marks, doc, content_hash)
    for identifier, line, end_line, signature, doc, content_hash, _ in facts["tests"]:
        yield (identifier, last_name(identifier), path, line, end_line, signature, "", doc, content_hash)


def _documents(path: str, facts: Facts) -> list[index.Document]:
    return [
        index.Document(identifier, split(identifier)[0], path, line, signature, f"{doc} {words}")
        for (identifier, line, _, signature, doc, _), words in zip(facts["symbols"], facts["words"], strict=True)
    ]
