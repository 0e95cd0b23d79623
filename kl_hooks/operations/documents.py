"""Operations of documents: add, list, show, remove; collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.config.settings import CHUNK_SIZES, STRATEGIES
from kl_hooks.documents.collections import REPOSITORY, STATUSES
from kl_hooks.errors import NotFound, UsageProblem
from kl_hooks.kinds.catalog import DOCUMENT
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.excerpt import Excerpt
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.model.symbol import NodeId
from kl_hooks.model.text import CHARACTERS_OF_A_TOKEN, one_line
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.operations.record_changes import written, written_to_dict
from kl_hooks.operations.records import now
from kl_hooks.operations.written import Written
from kl_hooks.records.query import get_record
from kl_hooks.records.sync import sync_notes
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.documents.collections import Collection
    from kl_hooks.documents.indexing import Chunk
    from kl_hooks.documents.mentions import Mention
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

Watch = Callable[[Iterator[Any], int], Iterator[Any]]
"""Hands on what is indexed, given how many there are."""
_SHOWN_MENTIONS: Final = 3


def unwatched(items: Iterator[Any], _number: int) -> Iterator[Any]:
    """Hand on what is indexed."""
    return items


@dataclass(frozen=True, slots=True)
class ListedDocument(Excerpt):
    """A document in a list."""

    id: str
    """Path from the root of the repository, or ID of a record."""
    status: str
    chunks: int
    collection: str
    title: str
    size: int
    """In bytes."""
    error: str
    checksum: str
    needs_refresh: bool | None = None
    """Whether its source changed; None for a file of the repository."""
    note: str = ""
    """Why it failed, or should be refreshed."""
    stale: tuple[Mention, ...] | None = None
    """What it names that changed since; None: not asked for."""

    @property
    def origin(self) -> NodeId:
        """The file, or the record of what was added."""
        return NodeId(f"file:{self.id}" if self.needs_refresh is None else self.id)

    @property
    def remark(self) -> str:
        """What a reader should know of it."""
        if self.stale is None:
            return self.note
        return "; ".join(map(str, self.stale[:_SHOWN_MENTIONS]))


def listed_to_dict(document: ListedDocument) -> dict[str, Any]:
    """Return a document in a list as JSON."""
    plain = {field.name: getattr(document, field.name) for field in fields(document)}
    plain["remark"] = document.remark
    del plain["note"]
    if document.stale is not None:
        plain["stale"] = [mention._asdict() for mention in document.stale]
    return {name: value for name, value in plain.items() if value is not None}


def _documents(
    ws: Workspace, names: Sequence[str], access: Access, watch: Watch
) -> list[ListedDocument]:
    """Return the documents in these collections (none: in all) that may be shown, files first."""
    from kl_hooks.documents.adding import KIND, needs_refresh
    from kl_hooks.documents.collections import added_texts
    from kl_hooks.documents.indexing import indexed_documents, sync_documents, visible_documents
    from kl_hooks.records.query import RecordFilter, list_records

    sync_documents(ws, watch)
    texts = {text.id: text for text in added_texts(ws)}
    visible = visible_documents(ws, names or None, access)
    indexed = {document.document: document for document in indexed_documents(ws, visible)}
    documents = [
        ListedDocument(
            document.document,
            "failed" if document.error else "indexed",
            document.chunks,
            document.collection,
            document.title,
            document.size,
            document.error,
            document.blob,
            note=document.error,
        )
        for document in indexed.values()
        if document.collection == REPOSITORY
    ]
    for record in list_records(ws, RecordFilter((KIND,))):
        if (names and record.text("collection") not in names) or not access.shows(record):
            continue
        text = texts.get(record.id)
        if text is not None:
            reason = needs_refresh(ws, record, text, access)
        else:
            reason = ""
        # the number in the record is of when it was processed: its collection may be cut in another
        # way since
        if record.id in indexed:
            chunks = indexed[record.id].chunks
        else:
            chunks = 0
        documents.append(_added(record, chunks, reason))
    return documents


def _added(record: Record, chunks: int, reason: str) -> ListedDocument:
    error = record.text("error")
    return ListedDocument(
        record.id,
        record.status,
        chunks,
        record.text("collection"),
        record.title,
        record.number("size"),
        error,
        record.text("checksum"),
        bool(reason),
        error or reason,
    )


class ListRequest(NamedTuple):
    """Which documents."""

    collections: Annotated[
        tuple[str, ...],
        Parameter("Only of this one. Repeatable.", name="collection", metavar="NAME"),
    ] = ()
    statuses: Annotated[
        tuple[str, ...],
        Parameter("Only in this status. Repeatable.", name="status", metavar="STATUS"),
    ] = ()
    stale: Annotated[
        bool, Parameter("Only those that name code which changed after they were written.")
    ] = False
    limit: Annotated[int, TOP._replace(bounds=(1, 10_000))] = 100
    watch: Watch = unwatched


class DocumentList(NamedTuple):
    """Documents."""

    documents: Listing
    """Of `ListedDocument`."""
    notes: tuple[str, ...]


def _list(ws: Workspace, request: ListRequest, access: Access) -> DocumentList:
    from kl_hooks.documents.mentions import stale_mentions

    documents = [
        document
        for document in _documents(ws, request.collections, access, request.watch)
        if not request.statuses or document.status in request.statuses
    ]
    if request.stale:
        stale = stale_mentions(ws, [document.id for document in documents])
        documents = [
            replace(document, stale=tuple(stale[document.id]))
            for document in documents
            if document.id in stale
        ]
    return DocumentList(Listing(tuple(documents), request.limit), sync_notes(ws))


def _list_to_dict(document_list: DocumentList) -> dict[str, Any]:
    rows = [listed_to_dict(document) for document in document_list.documents.shown]
    return {"documents": rows, "total": document_list.documents.total}


LIST: Final = Operation(
    "document list",
    """List documents: files of the repository, and added ones, with their status and number of
    passages.
    """,
    ListRequest,
    _list,
    _list_to_dict,
    "kl.document.list/1",
    "kl document list --collection runbooks",
    is_tool=False,
)


class ShowRequest(NamedTuple):
    """One document."""

    document: Annotated[str, Parameter("Its ID or its file.", argument="ID|FILE")]
    watch: Watch = unwatched


class ShownDocument(NamedTuple):
    """A document, its passages and the names that they have."""

    document: ListedDocument
    passages: tuple[Chunk, ...]
    mentions: tuple[Mention, ...]


def _show(ws: Workspace, request: ShowRequest, access: Access) -> ShownDocument:
    from kl_hooks.documents.indexing import chunks_of
    from kl_hooks.documents.mentions import mentions

    name = request.document.removeprefix("./")
    for document in _documents(ws, (), access, request.watch):
        if document.id == name:
            passages = chunks_of(ws, name)
            return ShownDocument(document, tuple(passages), tuple(mentions(ws, [name])))
    place = one_line(request.document, 100)
    raise NotFound("is no document.", place=place, hint="See: kl document list")


def _shown_to_dict(shown: ShownDocument) -> dict[str, Any]:
    passages = [
        {
            "heading": list(passage.heading),
            "line": passage.first_line,
            "end_line": passage.last_line,
            "characters": len(passage.text),
            "text_hash": passage.text_hash,
        }
        for passage in shown.passages
    ]
    return {
        **listed_to_dict(shown.document),
        "mentions": [mention._asdict() for mention in shown.mentions],
        "passages": passages,
    }


SHOW: Final = Operation(
    "document show",
    """Show one document: where it is from, its passages with their lines and headings, and the
    names that they have.
    """,
    ShowRequest,
    _show,
    _shown_to_dict,
    "kl.document.show/1",
    "kl document show docs/layers.md",
    is_tool=False,
)


class CollectionsRequest(NamedTuple):
    """Which collection to make or change."""

    name: Annotated[str, Parameter("Make or change it.", argument="[NAME]")] = ""
    strategy: Annotated[str, Parameter("How its documents are cut.", choices=STRATEGIES)] = ""
    chunk_size: Annotated[int, Parameter("Characters of a passage.", bounds=CHUNK_SIZES[:2])] = 0
    overlap: Annotated[
        int, Parameter("Characters that passages repeat.", bounds=(0, CHUNK_SIZES[1]))
    ] = -1
    status: Annotated[str, Parameter("archived: no search looks at it.", choices=STATUSES)] = ""
    watch: Watch = unwatched


class ListedCollection(NamedTuple):
    """A collection, and how much is in it that may be shown."""

    name: str
    status: str
    """`error` where every document failed, `indexing` where some wait."""
    strategy: str
    chunk_size: int
    chunk_overlap: int
    documents: int
    failed: int
    pending: int
    chunks: int
    bytes: int
    tokens: int


class CollectionList(NamedTuple):
    """All collections."""

    collections: tuple[ListedCollection, ...]


def _collections(ws: Workspace, request: CollectionsRequest, access: Access) -> CollectionList:
    from kl_hooks.documents.collections import collections, store_collection
    from kl_hooks.documents.indexing import sizes_of

    if request.name:
        require_initialized(ws)
        store_collection(
            ws,
            request.name,
            strategy=request.strategy,
            size=request.chunk_size,
            overlap=request.overlap if request.overlap >= 0 else None,
            status=request.status,
        )
    documents = _documents(ws, (), access, request.watch)
    sizes = sizes_of(ws)
    return CollectionList(
        tuple(
            _listed_collection(
                collection,
                [document for document in documents if document.collection == collection.name],
                sizes,
            )
            for collection in collections(ws).values()
        )
    )


def _listed_collection(
    collection: Collection, documents: Sequence[ListedDocument], sizes: dict[str, int]
) -> ListedCollection:
    # one that failed, was archived and restored is not being indexed: it will fail again
    failed = sum(
        document.status in ("failed", "pending") and bool(document.error) for document in documents
    )
    waiting = sum(
        document.status in ("pending", "processing") and not document.error
        for document in documents
    )
    status = collection.status
    if documents and failed == len(documents):
        status = "error"
    elif status == STATUSES[0] and waiting:
        status = "indexing"
    return ListedCollection(
        collection.name,
        status,
        *collection.chunking,
        len(documents),
        failed,
        waiting,
        sum(document.chunks for document in documents),
        sum(document.size for document in documents),
        sum(sizes.get(document.id, 0) for document in documents) // CHARACTERS_OF_A_TOKEN,
    )


def _collections_to_dict(collection_list: CollectionList) -> dict[str, Any]:
    return {"collections": [collection._asdict() for collection in collection_list.collections]}


COLLECTIONS: Final = Operation(
    "document collections",
    """List collections, with what is in them; or make or change the collection NAME.""",
    CollectionsRequest,
    _collections,
    _collections_to_dict,
    "kl.document.collections/1",
    "kl document collections runbooks --strategy paragraph",
    is_tool=False,
)


class NewCollectionRequest(NamedTuple):
    """Which collection to make."""

    name: Annotated[str, Parameter("Its name, such as runbooks.", argument="NAME")]
    strategy: Annotated[
        str,
        Parameter("How documents are cut.", choices=STRATEGIES, aliases=("chunking_strategy",)),
    ] = ""
    chunk_size: Annotated[
        int,
        Parameter("Characters of a passage.", bounds=CHUNK_SIZES[:2], is_default_shown=True),
    ] = CHUNK_SIZES[2]
    overlap: Annotated[
        int,
        Parameter(
            "Characters that passages repeat.",
            bounds=(0, CHUNK_SIZES[1] // 2),
            is_default_shown=True,
            aliases=("chunk_overlap",),
        ),
    ] = 0
    author: str = ""
    """As events name it; empty: whoever runs this."""


def _make_collection(ws: Workspace, request: NewCollectionRequest, _access: Access) -> Collection:
    from kl_hooks.documents.collections import collections, store_collection

    require_initialized(ws)
    if request.name in collections(ws):
        hint = "A person changes it: kl document collections"
        raise UsageProblem("is a collection already.", place=request.name, hint=hint)
    return store_collection(
        ws,
        request.name,
        strategy=request.strategy,
        size=request.chunk_size,
        overlap=request.overlap,
    )


def _collection_to_dict(collection: Collection) -> dict[str, Any]:
    return {"name": collection.name, **collection.chunking._asdict(), "status": collection.status}


CREATE_COLLECTION: Final = Operation(
    "document collections NAME",
    "Make a collection of documents, with the way they are cut.",
    NewCollectionRequest,
    _make_collection,
    _collection_to_dict,
    "kl.document.collection/1",
    "kl document collections runbooks",
    tool="create_knowledge_base",
    writes=True,
)


class AddRequest(NamedTuple):
    """What is added."""

    places: Annotated[
        tuple[InputFile, ...],
        Parameter("Files, folders; - reads stdin.", argument="PATH|DIR|-..."),
    ]
    collection: Annotated[
        str, Parameter("The set it belongs to; made where it is missing.", metavar="NAME")
    ] = ""
    title: Annotated[str, Parameter("What it is called.", default="its first heading")] = ""
    tags: Annotated[
        tuple[str, ...], Parameter("A word to find it by. Repeatable.", name="tag")
    ] = ()
    later: Annotated[bool, Parameter("Only store it: `kl document process` will index it.")] = False
    stdin: bytes = b""
    """What was read from it."""
    watch: Watch = unwatched


class IdsRequest(NamedTuple):
    """Which documents; none: all that it concerns."""

    ids: Annotated[tuple[str, ...], Parameter("Their IDs.", argument="[ID]...")] = ()
    watch: Watch = unwatched


class Processed(NamedTuple):
    """Documents that were added or read again, and why others were not."""

    documents: tuple[Written, ...]
    unread: tuple[str, ...]
    """Why others could not be read."""
    remarks: tuple[str, ...] = ()
    """What is no document to read, and was looked over."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not read."""
        return (*self.unread, *self.remarks)

    @property
    def has_failed(self) -> bool:
        """Whether some could not be read or indexed."""
        return bool(self.unread) or any(
            document.record.status == "failed" for document in self.documents
        )


def _processed(
    ws: Workspace, records: Sequence[Record], unread: Sequence[str], remarks: Sequence[str] = ()
) -> Processed:
    moment = now(ws)
    documents = tuple(Written(record, moment) for record in records)
    return Processed(documents, tuple(unread), tuple(remarks))


def _add(ws: Workspace, request: AddRequest, access: Access) -> Processed:
    from kl_hooks.documents.adding import (
        NewDocument,
        add_documents,
        find_files,
        process_documents,
    )
    from kl_hooks.records.permissions import agent_author

    require_initialized(ws)
    files = find_files(ws, [Path(place) for place in request.places if place != "-"])
    for document in files.documents:
        if document.added_path:
            access.require_shown_file(document.added_path)
    new = [document._replace(title=request.title) for document in files.documents]
    if "-" in request.places:
        new.append(NewDocument("-", request.stdin, request.title))
    by = agent_author(ws, "")
    records = add_documents(ws, new, request.collection, tags=request.tags, author=by)
    if records and not request.later:
        records = process_documents(ws, [record.id for record in records], request.watch)
    return _processed(ws, records, files.omitted, files.remarks)


def _process(ws: Workspace, request: IdsRequest, _access: Access) -> Processed:
    from kl_hooks.documents.adding import process_documents
    from kl_hooks.documents.indexing import sync_documents

    require_initialized(ws)
    sync_documents(ws, request.watch)
    return _processed(ws, process_documents(ws, request.ids, request.watch), ())


def _refresh(ws: Workspace, request: IdsRequest, _access: Access) -> Processed:
    from kl_hooks.context.access import access
    from kl_hooks.documents.adding import refresh_documents

    require_initialized(ws)
    for identifier in request.ids:
        get_record(ws, identifier, DOCUMENT.name)
    # the rules apply to a person, too: the text that is read is stored for everybody
    with access(ws, "kl document refresh") as rules:
        return _processed(ws, *refresh_documents(ws, rules, request.ids, request.watch))


def _processed_to_dict(done: Processed) -> dict[str, Any]:
    documents = [written_to_dict(DOCUMENT, document) for document in done.documents]
    return {"documents": documents, "omitted": list(done.notes)}


def _command(
    name: str, help: str, request: type, run: Callable[..., Processed], example: str
) -> Operation:
    """Return an operation that adds documents or reads them again."""
    return Operation(
        f"document {name}",
        help,
        request,
        run,
        _processed_to_dict,
        "kl.document.processed/1",
        f"kl document {name}{example}",
        is_tool=False,
    )


ADD: Final = _command(
    "add",
    """Add files, every document below folders, or (-) what comes from stdin.

    Their text is stored, without secrets, so they are found without their source. A source that was
    added before is read again. Exit 1: some could not be indexed.
    """,
    AddRequest,
    _add,
    " ../runbooks --collection runbooks",
)
PROCESS: Final = _command(
    "process",
    """Index documents that are pending, have failed, or were interrupted; and files of the
    repository that changed.
    """,
    IdsRequest,
    _process,
    "",
)
REFRESH: Final = _command(
    "refresh",
    """Read the files of the repository that a person added again, and index those that changed.

    Nothing else is read: no file outside the repository, none that an agent named, none that
    `.kl/policy.yaml` denies. To read another source again, add it again. Exit 1: some were not read.
    """,
    IdsRequest,
    _refresh,
    "",
)


class RemoveRequest(NamedTuple):
    """Which documents."""

    ids: Annotated[tuple[str, ...], Parameter("Their IDs.", argument="ID...")]


class Removed(NamedTuple):
    """Documents that were removed."""

    former: tuple[Written, ...]


def _remove(ws: Workspace, request: RemoveRequest, _access: Access) -> Removed:
    from kl_hooks.documents.adding import remove_document

    require_initialized(ws)
    records = [get_record(ws, identifier, DOCUMENT.name) for identifier in request.ids]
    for record in records:
        remove_document(ws, record)
    moment = now(ws)
    return Removed(tuple(Written(record, moment) for record in records))


def _removed_to_dict(removed: Removed) -> dict[str, Any]:
    return {"removed": [document.record.id for document in removed.former]}


REMOVE: Final = Operation(
    "document remove",
    "Remove added documents, with their text and passages. Their sources stay.",
    RemoveRequest,
    _remove,
    _removed_to_dict,
    "kl.document.removed/1",
    "kl document remove DOC-0001",
    is_tool=False,
)


class TextRequest(NamedTuple):
    """A document that is given as its text."""

    text: Annotated[str, Parameter("Its text: Markdown.", aliases=("content",))]
    title: Annotated[str, Parameter("What it is called.")] = ""
    collection: Annotated[
        str, Parameter("The set that it belongs to.", aliases=("knowledge_base_id",))
    ] = ""
    source: Annotated[str, Parameter("Where it is from.")] = ""
    author: str = ""
    """As events name it."""


class DocumentRequest(NamedTuple):
    """One added document."""

    id: Annotated[str, Parameter("Its id, such as DOC-0001.")]
    author: str = ""


def _add_text(ws: Workspace, request: TextRequest, access: Access) -> Written:
    from kl_hooks.documents.adding import NewDocument, add_documents, process_documents

    require_initialized(ws)
    data = request.text.encode("utf-8", "replace")
    new = NewDocument(request.source or "-", data, request.title, "api")
    (record,) = add_documents(ws, [new], request.collection, author=request.author)
    return written(ws, process_documents(ws, [record.id])[0], access)


def _process_again(ws: Workspace, request: DocumentRequest, access: Access) -> Written:
    from kl_hooks.documents.adding import process_documents

    require_initialized(ws)
    record = get_record(ws, request.id, DOCUMENT.name)
    return written(ws, process_documents(ws, [record.id])[0], access)


ADD_TEXT: Final = Operation(
    "document add -",
    "Add a document and index it, in your name: what agents add is shown as theirs.",
    TextRequest,
    _add_text,
    partial(written_to_dict, DOCUMENT),
    "kl.record/1",
    "kl document add - < notes.md",
    tool="add_document",
    writes=True,
)
# of the kind itself would follow a tool that makes a document without a text
CREATE: Final = ADD_TEXT._replace(tool="document_create")
PROCESS_AGAIN: Final = Operation(
    "document process ID",
    "Index an added document again.",
    DocumentRequest,
    _process_again,
    partial(written_to_dict, DOCUMENT),
    "kl.record/1",
    "kl document process DOC-0001",
    tool="process_document",
    writes=True,
)

OPERATIONS: Final = (
    LIST,
    SHOW,
    COLLECTIONS,
    CREATE_COLLECTION,
    ADD,
    PROCESS,
    REFRESH,
    REMOVE,
    ADD_TEXT,
    CREATE,
    PROCESS_AGAIN,
)
