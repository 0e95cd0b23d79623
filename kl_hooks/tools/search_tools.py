"""Tools that search and make collections of documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.settings import CHUNK_SIZES, STRATEGIES
from kl_hooks.documents.adding import KIND, NewDocument, add_documents, process_documents
from kl_hooks.documents.collections import collections, store_collection
from kl_hooks.errors import UsageProblem
from kl_hooks.records.query import get_record
from kl_hooks.tools.kind_tools import to_dict
from kl_hooks.tools.tool import Arguments, Tool, author, line, number
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_QUERY: Final = "Words, or a question."


def document_tools() -> Iterator[Tool]:
    """All of them. `document_create`, which follows from the kind, would make a document without a
    text.
    """
    yield Tool(
        "create_knowledge_base",
        "Make a collection of documents, with the way they are cut.",
        {
            "name": line("Its name, such as runbooks."),
            "strategy": line("How documents are cut.", enum=list(STRATEGIES)),
            "chunk_size": number("Characters of a passage.", CHUNK_SIZES[2], *CHUNK_SIZES[:2]),
            "chunk_overlap": number("Characters that passages repeat.", 0, 0, CHUNK_SIZES[1] // 2),
        },
        _create,
        ("name",),
        True,
        {"chunking_strategy": "strategy"},
    )
    new = {
        "text": line("Its text: Markdown."),
        "title": line("What it is called."),
        "collection": line("The set that it belongs to."),
        "source": line("Where it is from."),
    }
    for name in ("add_document", "document_create"):
        yield Tool(
            name,
            "Add a document and index it, in your name: what agents add is shown as theirs.",
            new,
            _add,
            ("text",),
            True,
            {"content": "text", "knowledge_base_id": "collection"},
        )
    yield Tool(
        "process_document",
        "Index an added document again.",
        {"id": line("Its id, such as DOC-0001.")},
        _process,
        ("id",),
        True,
    )


def _create(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    name = given["name"]
    if name in collections(ws):
        raise UsageProblem(
            "is a collection already.",
            place=name,
            hint="A person changes it: kl document collections",
        )
    made = store_collection(
        ws,
        name,
        strategy=given.get("strategy") or "",
        size=given["chunk_size"],
        overlap=given["chunk_overlap"],
    )
    return {"name": made.name, **made.chunking._asdict(), "status": made.status}


def _add(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    name, title = given.get("source") or "-", given.get("title") or ""
    new = NewDocument(name, given["text"].encode("utf-8", "replace"), title, "api")
    (record,) = add_documents(ws, [new], given.get("collection") or "", by=author(ws))
    return to_dict(ws, process_documents(ws, [record.id])[0])


def _process(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    record = get_record(ws, given["id"], KIND)
    return to_dict(ws, process_documents(ws, [record.id])[0])
