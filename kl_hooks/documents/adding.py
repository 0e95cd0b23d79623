"""Documents from elsewhere: added from files, folders or a stream, processed, refreshed and
removed.

A document is a record (DOC) in the store, pending until its text is read and cut, then indexed or
failed. Its text is stored with it, redacted, so that it is found in every worktree and after its
source was removed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.documents.chunking import HTML, Chunking, Cut, cut
from kl_hooks.documents.collections import (
    STATUSES,
    AddedText,
    added_texts,
    collections,
    store_collection,
)
from kl_hooks.documents.indexing import SUFFIXES, redact_document, similarities_of, sync_documents
from kl_hooks.documents.sources import is_refreshable, read_source, repository_path
from kl_hooks.errors import NotFound, UsageProblem
from kl_hooks.git.objects import MAX_BLOB_BYTES
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import name_list, one_line, safe_text
from kl_hooks.records.permissions import agent_author
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.write import change_record, create_records, delete_record
from kl_hooks.store.files import read_small, store_lock
from kl_hooks.store.state import prepare_state

if TYPE_CHECKING:
    from kl_hooks.documents.indexing import Visibility, Watch
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_DEFAULT: Final = "added"
"""The collection of documents that are added without one."""

KIND: Final = "document"
_LOCK_SECONDS: Final = 60.0
_MOST_FILES: Final = 20_000
_STREAM: Final = "-"
_READ_ENDINGS: Final = (*SUFFIXES, *HTML, ".pdf")
_MOST_TYPES: Final = 5
_SKIPPED_FOLDERS: Final = (".", "node_modules", "__pycache__")


class NewDocument(NamedTuple):
    """Something to add."""

    name: str
    """Where it was read, such as an absolute path; `-`: a stream."""
    data: bytes
    title: str = ""
    """Empty: its first heading, else its name."""
    source_type: str = "upload"
    added_path: str = ""
    """The file of the repository that `kl document refresh` may read again; empty: none."""


class Found(NamedTuple):
    """The files below some places."""

    documents: list[NewDocument]
    omitted: list[str]
    """What was not read, and why; a line each."""
    remarks: list[str]
    """Types of files in a folder that are not read."""


def find_files(ws: Workspace, places: Sequence[Path]) -> Found:
    """The documents among files and folders. Links are not followed; a file that is given
    itself is read whatever its ending.

    UsageProblem for a place that is not there.
    """
    documents = list[NewDocument]()
    omitted = list[str]()
    remarks = list[str]()
    for place in places:
        if not os.path.lexists(place):
            raise UsageProblem("there is no such file or folder.", place=str(place))
        is_folder = place.is_dir() and not place.is_symlink()
        if is_folder and (unread := _unread_types(place)):
            remarks.append(f"{place}: files of a type that is not read: {unread}.")
        paths = _files_in(place) if is_folder else iter([place])
        for path in paths:
            if len(documents) >= _MOST_FILES:
                omitted.append(
                    f"{place}: has more than {_MOST_FILES} documents; the rest is omitted."
                )
                return Found(documents, omitted, remarks)
            try:
                name = _name_of(ws, path)
                if not name.isprintable():
                    # a name that is not UTF-8 has surrogates here (PEP 383), which no row can hold
                    omitted.append(
                        f"{safe_text(str(path))}: its name has characters that can't be printed."
                    )
                    continue
                if stat.S_ISLNK(path.lstat().st_mode):
                    omitted.append(f"{path}: is a symbolic link.")
                    continue
                # one byte more than allowed: what is too large is refused by its size, never read
                # whole
                data = read_small(path, most=MAX_BLOB_BYTES)
            except (OSError, UsageProblem) as problem:
                omitted.append(
                    f"{path}: {problem.reason if isinstance(problem, UsageProblem) else problem}"
                )
                continue
            if data is not None:  # else it was removed meanwhile
                document = NewDocument(name, data, source_type=_source_type(ws, name))
                documents.append(document._replace(added_path=repository_path(ws, path)))
    return Found(documents, omitted, remarks)


def _files_in(folder: Path) -> Iterator[Path]:
    return (path for path in _all_files(folder) if path.name.endswith(_READ_ENDINGS))


def _all_files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):  # which follows no link to a folder
        folders[:] = sorted(name for name in folders if not name.startswith(_SKIPPED_FOLDERS))
        yield from (Path(place, name) for name in sorted(names) if name[0] != ".")


def _unread_types(folder: Path) -> str:
    """The types of the files in a folder that are no documents to read: `2 .docx, 1 .png`."""
    files = (path for path in _all_files(folder) if not path.name.endswith(_READ_ENDINGS))
    types = Counter(path.suffix.lower() or "without an ending" for path in files)
    counts = [f"{number} {one_line(name, 20)}" for name, number in types.most_common()]
    return name_list(counts, _MOST_TYPES)


def _name_of(ws: Workspace, path: Path) -> str:
    """The path from the root where it is in the repository, so that a rule about paths applies;
    else all of it.
    """
    whole = Path(os.path.abspath(path))  # noqa: PTH100 (resolve() would follow links)
    if whole.is_relative_to(ws.root):
        return whole.relative_to(ws.root).as_posix()
    return str(whole)


def _source_type(ws: Workspace, name: str) -> str:
    if ws.repo is None or Path(name).is_absolute():
        return "upload"
    return "git"


def add_documents(
    ws: Workspace,
    new: Sequence[NewDocument],
    collection: str = "",
    *,
    tags: Sequence[str] = (),
    author: str = "",
) -> list[Record]:
    """Add documents to a collection, which is made where it is missing; the records of all of them,
    pending.

    One whose source is in the collection already is not added again: its text is replaced if it
    differs.
    """
    # two that add the same files at once would each find that nothing is there
    prepare_state(ws.state)
    with store_lock(
        ws.state.directory / "documents.lock", wait=_LOCK_SECONDS, what="kl document add"
    ):
        return _add(ws, new, collection or _DEFAULT, tags, author)


def _add(
    ws: Workspace, new: Sequence[NewDocument], name: str, tags: Sequence[str], author: str
) -> list[Record]:
    collection = collections(ws).get(name) or store_collection(ws, name)
    if collection.status == STATUSES[2]:
        hint = f"Open it again: kl document collections {name} --status active"
        raise UsageProblem("is archived.", place=name, hint=hint)
    agent = agent_author(ws, author)
    if agent:  # what refresh reads in the owner's name is for a person to name
        new = [document._replace(added_path="") for document in new]
    stored = _stored_documents(ws, name, of_agents=bool(agent))
    added_again = [document for document in new if document.name in stored]
    added = [document for document in new if document.name not in stored]
    cuts = {one.name: cut(one.name, one.data, collection.chunking, redact_document) for one in new}
    raws = [_raw(document, cuts[document.name], name, tags) for document in added]
    if raws:
        records = create_records(ws, ws.kinds[KIND], raws, by=author)
    else:
        records = []
    for record, document in zip(records, added, strict=True):
        _store_text(ws, _text(record.id, name, document, cuts[document.name]))
    ids = [stored[document.name].id for document in added_again]
    current = {record.id: record for record in get_records(ws, ids)}
    for document in added_again:
        text = _text(stored[document.name].id, name, document, cuts[document.name])
        if text.id in current:
            checksum = stored[document.name].checksum
            current[text.id] = _replace_text(
                ws, current[text.id], document, text, checksum, cuts[document.name].error
            )
    return [*records, *current.values()]


def _stored_documents(ws: Workspace, name: str, *, of_agents: bool) -> dict[str, AddedText]:
    """Return source → document, of the documents of a collection that agents, or people, added.

    What an agent adds never replaces a text of a person: its words would have his authority.
    """
    texts = list(added_texts(ws))
    of_collection = {
        text.id: text for text in texts if text.collection == name and text.name != _STREAM
    }
    documents = {
        of_collection[record.id].name: of_collection[record.id]
        for record in get_records(ws, sorted(of_collection))
        if (record.authority != "human") == of_agents
    }
    # a process that was killed between the record and its text left a record that nothing can be
    # made of: it is used
    ids_with_text = {text.id for text in texts}
    return documents | {
        source: AddedText(record.id, name, source, "", "")
        for record in list_records(
            ws, RecordFilter((KIND,), ("pending", "processing", "failed", "indexed"))
        )
        if record.id not in ids_with_text
        and record.text("collection") == name
        and (record.authority != "human") == of_agents
        and (source := record.text("source")) not in ("", _STREAM)
        and source not in documents
    }


def _replace_text(
    ws: Workspace, record: Record, new: NewDocument, text: AddedText, checksum: str, error: str
) -> Record:
    """Replace the text of a document where it differs from that of `checksum`; the record as it is
    now.
    """
    changes = {
        name: value
        for name, value in _place_fields(new).items()
        if (record.many(name) if name == "about" else record.text(name)) != value
    }
    if text.checksum != checksum:
        _store_text(ws, text)
        changes |= {
            "status": "pending",
            "checksum": text.checksum,
            "size": len(new.data),
            "error": error or None,
        }
    if not changes:
        return record
    return change_record(ws, record, changes, how=_HOW)


def _store_text(ws: Workspace, added: AddedText) -> None:
    """Store the text of an added document, in place of what it had."""
    with ws.store.writing("kl", "kl document") as db, db.transaction():
        db.execute("DELETE FROM document_text WHERE id = ?", (added.id,))
        row = (*added[:4], zlib.compress(added.text.encode("utf-8", "replace")))
        db.execute("INSERT INTO document_text VALUES (?, ?, ?, ?, ?)", row)


_HOW: Final = "process"
"""How events call a change of a document by its processing."""


def _raw(
    document: NewDocument, cut_document: Cut, collection: str, tags: Sequence[str]
) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "title": one_line(document.title or cut_document.title, 200),
        "collection": collection,
        "source": document.name,
        "source_type": document.source_type,
        "checksum": _checksum(document.data),
        "size": len(document.data),
        # a rule of `.kl/policy.yaml` can name a collection by the tag
        "tags": [*dict.fromkeys((collection, *tags))],
    }
    if cut_document.error:
        raw["error"] = cut_document.error
    return raw | _place_fields(document)


def _place_fields(document: NewDocument) -> dict[str, Any]:
    """The fields of a document that is a file of the repository: rules about its path apply."""
    path = document.added_path or (document.name if document.source_type == "git" else "")
    fields: dict[str, Any] = {"about": (f"file:{path}",)} if path else {}
    return fields | ({"added_path": path} if document.added_path else {})


def _text(identifier: str, collection: str, document: NewDocument, cut_document: Cut) -> AddedText:
    """Without a text where it is none: it will fail with the reason that its record has."""
    text = "" if cut_document.error else cut_document.text
    return AddedText(identifier, collection, document.name, _checksum(document.data), text)


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def process_documents(
    ws: Workspace, ids: Collection[str] = (), watch: Watch | None = None
) -> list[Record]:
    """Cut and index documents: those of these IDs, or all that are pending, failed or were
    interrupted.

    The records as they are now; a document that can't be read has failed, with the reason, and the
    rest is done.
    """
    statuses = () if ids else ("pending", "processing", "failed")
    if ids:
        wanted = get_records(ws, sorted(ids))
    else:
        wanted = list_records(ws, RecordFilter((KIND,), statuses))
    collections_by_name = collections(ws)
    done: list[Record] = []
    records: Iterable[Record] = watch(iter(wanted), len(wanted)) if watch else wanted
    for record in records:
        if record.kind != KIND:
            raise NotFound("is no document.", place=record.id)
        if record.status == "archived":
            done.append(record)
            continue
        record = change_record(ws, record, {"status": "processing"}, how=_HOW)
        text = next(added_texts(ws, [record.id], whole=True), None)
        if text is None or not text.text:
            if text is not None:
                why = record.text("error")
            else:
                why = "its text is not in this store; add it again."
            done.append(
                change_record(
                    ws, record, {"status": "failed", "error": why or "has no text."}, how=_HOW
                )
            )
            continue
        chunking = collections_by_name[text.collection].chunking
        data = text.text.encode("utf-8", "replace")
        cut_document = cut(
            text.stored_name, data, chunking, similarities=similarities_of(ws, [chunking])
        )
        end = {
            "status": "indexed",
            "chunks": len(cut_document.passages),
            "checksum": text.checksum,
            "error": None,
        }
        done.append(change_record(ws, record, end, how=_HOW))
    sync_documents(ws)
    return done


def refresh_documents(
    ws: Workspace, may: Visibility, ids: Collection[str] = (), watch: Watch | None = None
) -> tuple[list[Record], list[str]]:
    """Read the sources of documents again: (the documents that changed, processed; why others could
    not be read).
    """
    changed = list[str]()
    omitted = list[str]()
    texts = {added.id: added for added in added_texts(ws, ids or None)}
    chunking = {name: collection.chunking for name, collection in collections(ws).items()}
    for record in get_records(ws, sorted(texts)):
        added = texts[record.id]
        if added.name == _STREAM and not ids:
            continue  # nobody expects one to be read again
        source = read_source(ws, record, may)
        if source.data is None:
            omitted.append(f"{record.id}: {source.problem}")
        elif _checksum(source.data) != added.checksum:
            new = NewDocument(added.name, source.data)
            chunking_of_source = chunking.get(added.collection) or Chunking()
            cut_document = cut(new.name, new.data, chunking_of_source, redact_document)
            text = _text(record.id, added.collection, new, cut_document)
            _replace_text(ws, record, new, text, added.checksum, cut_document.error)
            changed.append(record.id)
    return (process_documents(ws, changed, watch) if changed else []), omitted


def needs_refresh(ws: Workspace, record: Record, added: AddedText, may: Visibility) -> str:
    """Why a document should be refreshed: its source changed, or was removed; empty: it need not
    be, or it can't.
    """
    if not is_refreshable(record):
        return ""
    source = read_source(ws, record, may)
    if source.data is None:
        return source.problem
    if _checksum(source.data) != added.checksum:
        return "its source changed."
    return ""


def remove_document(ws: Workspace, record: Record) -> None:
    """Remove a document, its text and its chunks. UsageProblem for an agent that did not add it."""
    delete_record(ws, record)
    _remove_text(ws, record.id)
    sync_documents(ws)


def _remove_text(ws: Workspace, identifier: str) -> None:
    """Remove the text of an added document."""
    with ws.store.writing("kl", "kl document") as db, db.transaction():
        db.execute("DELETE FROM document_text WHERE id = ?", (identifier,))
