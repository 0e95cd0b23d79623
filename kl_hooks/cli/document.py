"""`kl document`: documents added and listed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.kind_commands import sign_record
from kl_hooks.cli.output import (
    command_access,
    counted,
    echo_lines,
    format_option,
    initialized_workspace,
    print_answer,
    print_list,
    print_rows,
    warn,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.context.access import access
from kl_hooks.documents.adding import (
    KIND,
    NewDocument,
    add_documents,
    find_files,
    process_documents,
    refresh_documents,
    remove_document,
)
from kl_hooks.documents.indexing import sync_documents
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.git.objects import MAX_BLOB_BYTES
from kl_hooks.model.text import one_line
from kl_hooks.operations import documents as operations
from kl_hooks.records.query import get_record, record_to_dict

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace


def _progress(made: Iterator[Any], number: int) -> Iterator[Any]:
    """Hand on what comes, with a bar on a terminal."""
    if number < 2 or not sys.stderr.isatty():
        yield from made
        return
    with click.progressbar(
        made, length=number, label="Indexing documents", file=sys.stderr
    ) as watched:
        yield from watched


@click.command(epilog="Example: kl document add ../runbooks --collection runbooks")
@click.argument("places", nargs=-1, required=True, metavar="PATH|DIR|-...")
@click.option(
    "--collection",
    default="",
    metavar="NAME",
    help="The set it belongs to; made where it is missing.",
)
@click.option("--title", default="", help="What it is called; else its first heading.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by. May be repeated.")
@click.option("--later", is_flag=True, help="Only store it: `kl document process` will index it.")
@format_option()
def add(
    places: tuple[str, ...],
    collection: str,
    title: str,
    tags: tuple[str, ...],
    later: bool,
    shape: str,
) -> int:
    """Add files, every document below folders, or (-) what comes from stdin.

    Their text is stored, without secrets, so they are found without their source. A source that was
    added before is read again. Exit 1: some could not be indexed.
    """
    ws = initialized_workspace()
    raw: dict[str, Any] = {}
    by = sign_record(ws, raw)
    found = find_files(ws, [Path(one) for one in places if one != "-"])
    for one in found.documents:
        if one.added_path:
            command_access().require_shown_file(one.added_path)
    new = [one._replace(title=title) for one in found.documents]
    if "-" in places:
        new.append(NewDocument("-", sys.stdin.buffer.read(MAX_BLOB_BYTES + 1), title))
    made = add_documents(ws, new, collection, tags=tags, by=by)
    if not later and made:
        made = process_documents(ws, [one.id for one in made], _progress)
    return _print_documents(ws, made, found.omitted, shape)


new = add
"""Every kind has this command; a document without its text would be nothing."""


@click.command(epilog="Example: kl document process")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@format_option()
def process(ids: tuple[str, ...], shape: str) -> int:
    """Index documents that are pending, have failed, or were interrupted; and files of the
    repository that changed.
    """
    ws = initialized_workspace()
    sync_documents(ws, _progress)
    return _print_documents(ws, process_documents(ws, ids, _progress), (), shape)


@click.command(epilog="Example: kl document refresh")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@format_option()
def refresh(ids: tuple[str, ...], shape: str) -> int:
    """Read the files of the repository that a person added again, and index those that changed.

    Nothing else is read: no file outside the repository, none that an agent named, none that
    `.kl/policy.yaml` denies. To read another source again, add it again. Exit 1: some were not read.
    """
    ws = initialized_workspace()
    for one in ids:
        get_record(ws, one, KIND)
    # the rules apply to a person, too: the text that is read is stored for everybody
    with access(ws, "kl document refresh") as may:
        changed, omitted = refresh_documents(ws, may, ids, _progress)
    return _print_documents(ws, changed, omitted, shape)


def _print_documents(
    ws: Workspace, made: Sequence[Record], omitted: Sequence[str], shape: str
) -> int:
    plain = {
        "schema": "kl.document.processed/1",
        "documents": [record_to_dict(ws, one) for one in made],
        "omitted": list(omitted),
    }
    rows = [
        _row(
            one.id,
            one.status,
            str(one.values.get("chunks") or 0),
            one.text("collection"),
            one.title,
            one.text("error"),
        )
        for one in made
    ]
    for line in omitted:
        warn(line)
    print_list(shape, plain, rows, len(rows), "nothing changed.")
    return FINDINGS if omitted or any(one.status == "failed" for one in made) else CLEAN


def _row(
    identifier: str, status: str, chunks: str, collection: str, title: str, remark: str = ""
) -> str:
    return (
        f"{identifier}  {status:<8}  {chunks:>4} chunks  {collection}  {one_line(title, 100)}"
        + (f"   [{one_line(remark, 240)}]" if remark else "")
    )


def _watched(request: Any) -> Any:
    return request._replace(watch=_progress)


@operation_command(operations.LIST, _watched)
def list_(found: operations.DocumentList, request: operations.ListRequest) -> None:
    rows = [
        _row(
            document.id,
            document.status,
            str(document.chunks),
            document.collection,
            document.title,
            document.remark,
        )
        for document in found.documents.shown
    ]
    none = "there are no documents. Add some with: kl document add PATH"
    print_rows(rows, found.documents.total, "no document is stale." if request.stale else none)


@operation_command(operations.SHOW, _watched)
def show(shown: operations.ShownDocument, _request: operations.ShowRequest) -> None:
    document = shown.document
    lines = [
        f"{document.id}  {one_line(document.title, 160)}",
        f"status      {document.status}",
        f"collection  {document.collection}",
        f"size        {document.size} bytes",
    ]
    lines += [f"remark      {document.remark}"] if document.remark else []
    lines += [
        f"  {passage.first_line:>5}-{passage.last_line:<5} {len(passage.text):>5} characters "
        f" {' › '.join(passage.heading)}".rstrip()
        for passage in shown.passages
    ]
    lines += [
        f"mentions    {mention.line:>5}  {mention.written}  {mention.symbol or 'no such symbol'}"
        + (f"   [stale: {mention.state} since]" if mention.state else "")
        for mention in shown.mentions
    ]
    echo_lines(lines)


@click.command(epilog="Example: kl document remove DOC-0001")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@format_option()
def remove(ids: tuple[str, ...], shape: str) -> None:
    """Remove added documents, with their text and passages. Their sources stay."""
    ws = initialized_workspace()
    records = [get_record(ws, one, KIND) for one in ids]
    for record in records:
        remove_document(ws, record)
    done = [one.id for one in records]
    print_answer(
        shape,
        {"schema": "kl.document.removed/1", "removed": done},
        [f"removed {one}" for one in done],
    )


@operation_command(operations.COLLECTIONS, _watched)
def collections(found: operations.CollectionList, _request: operations.CollectionsRequest) -> None:
    echo_lines(map(_collection_line, found.collections))


def _collection_line(collection: operations.ListedCollection) -> str:
    failed = f", {collection.failed} failed" if collection.failed else ""
    return (
        f"{collection.name:<16} {collection.status:<8} {collection.strategy} of"
        f" {collection.chunk_size}  {counted(collection.documents, 'document')},"
        f" {counted(collection.chunks, 'chunk')}, {collection.tokens} tokens,"
        f" {collection.bytes} bytes{failed}"
    )
