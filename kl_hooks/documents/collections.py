"""Collections: named sets of documents, each with its way of cutting them; and the texts of added
documents.

The files of the repository are the collection `repository`, which its settings describe. What is
added from elsewhere has no file here, so its text rests in the store, redacted, and everything else
follows from it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import iso
from kl_hooks.config.settings import CHUNK_SIZES, STRATEGIES
from kl_hooks.documents.chunking import HTML, Chunking
from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import slug, suggest_spelling
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

REPOSITORY: Final = "repository"
"""The collection of the repository's own files."""
STATUSES: Final = ("active", "paused", "archived")
"""`paused`: its documents stay as they are indexed; `archived`: only a search that names it looks
at it.
"""


class Collection(NamedTuple):
    """A set of documents (a knowledge base)."""

    name: str
    chunking: Chunking
    status: str = STATUSES[0]
    made_at: str = ""


class AddedText(NamedTuple):
    """The text of an added document."""

    id: str
    """Of its record."""
    collection: str
    name: str
    """What it is called where it was read; its end decides the format."""
    checksum: str
    """sha256 of the bytes that were read."""
    text: str = ""
    """Redacted; empty where it was not asked for. Of HTML and PDF what was read from it, as
    Markdown.
    """

    @property
    def stored_name(self) -> str:
        """Its name with the end that its stored text has."""
        if self.name.lower().endswith((*HTML, ".pdf")):
            return f"{self.name}.md"
        return self.name


def collections(ws: Workspace) -> dict[str, Collection]:
    """Name → collection; that of the repository is the first."""
    settings = ws.settings.documents
    chunking = Chunking(settings.strategy, settings.chunk_size, settings.chunk_overlap)
    by_name = {REPOSITORY: Collection(REPOSITORY, chunking)}
    with ws.store.reading() as db:
        sql = (
            "SELECT name, strategy, chunk_size, chunk_overlap, status, made_at FROM"
            " document_collection ORDER BY name"
        )
        rows = db.rows(sql) if db is not None else []
    for name, strategy, size, overlap, status, made_at in rows:
        by_name[name] = Collection(name, Chunking(strategy, size, overlap), status, made_at)
    return by_name


def store_collection(
    ws: Workspace,
    name: str,
    *,
    strategy: str = "",
    size: int = 0,
    overlap: int | None = None,
    status: str = "",
) -> Collection:
    """Make a collection, or change what is given of one. UsageProblem for a name that is none."""
    if slug(name) != name:
        raise UsageProblem(
            "is no name of a collection.",
            place=name,
            hint=f"Write it as: {slug(name) or 'runbooks'}",
        )
    if name == REPOSITORY:
        hint = "Set it in .kl/config.yaml, below `documents:`."
        raise UsageProblem("is the collection of the repository's files.", place=name, hint=hint)
    earlier = collections(ws).get(name) or Collection(name, Chunking(), made_at=iso(ws.clock.now()))
    earlier_chunking = earlier.chunking
    chunking = Chunking(
        strategy or earlier_chunking.strategy,
        size or earlier_chunking.size,
        earlier_chunking.overlap if overlap is None else overlap,
    )
    assert chunking.strategy in STRATEGIES
    if (
        chunking.overlap * 2 > chunking.size
        or not CHUNK_SIZES[0] <= chunking.size <= CHUNK_SIZES[1]
    ):
        reason = f"{chunking.size} characters with an overlap of {chunking.overlap} can't be cut."
        hint = (
            f"Give {CHUNK_SIZES[0]} to {CHUNK_SIZES[1]} characters, and an overlap of at most half"
            " of them."
        )
        raise UsageProblem(reason, place=name, hint=hint)
    changed = Collection(name, chunking, status or earlier.status, earlier.made_at)
    if changed == collections(ws).get(name):
        return changed
    with ws.store.writing("kl", "kl document") as db, db.transaction():
        db.execute("DELETE FROM document_collection WHERE name = ?", (name,))
        row = (name, *chunking, changed.status, changed.made_at)
        db.execute("INSERT INTO document_collection VALUES (?, ?, ?, ?, ?, ?)", row)
    return changed


def find_collections(ws: Workspace, names: Iterable[str]) -> dict[str, Collection]:
    """The collections of these names; without names all that are not archived. UsageProblem for an
    unknown one.
    """
    by_name = collections(ws)
    for name in names:
        if name not in by_name:
            hint = suggest_spelling(name, by_name) or f"There are: {', '.join(by_name)}."
            raise UsageProblem("is no collection.", place=name, hint=hint)
    wanted = set(names)
    return {
        name: one
        for name, one in by_name.items()
        if name in wanted or (not wanted and one.status != STATUSES[2])
    }


def added_texts(
    ws: Workspace, ids: Iterable[str] | None = None, *, whole: bool = False
) -> Iterator[AddedText]:
    """The added documents, or those of these IDs; `whole`: with their texts."""
    if whole:
        columns = "id, collection, name, checksum, packed"
    else:
        columns = "id, collection, name, checksum"
    with ws.store.reading() as db:
        if db is None:
            return
        if ids is None:
            rows = db.rows(f"SELECT {columns} FROM document_text ORDER BY id")
        else:
            sql = f"SELECT {columns} FROM document_text WHERE id IN ({{}}) ORDER BY id"
            rows = [
                row
                for some in chunks(sorted(ids))
                for row in db.rows(sql.format(placeholders(some)), some)
            ]
    for row in rows:
        yield AddedText._make((*row[:4], zlib.decompress(row[4]).decode() if whole else ""))
