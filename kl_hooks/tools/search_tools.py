"""Tools that search and make collections of documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kl_hooks.documents.adding import KIND, NewDocument, add_documents, process_documents
from kl_hooks.records.query import get_record
from kl_hooks.tools.kind_tools import to_dict
from kl_hooks.tools.tool import Arguments, Tool, author, line
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


def document_tools() -> Iterator[Tool]:
    """All of them. `document_create`, which follows from the kind, would make a document without a
    text.
    """
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
