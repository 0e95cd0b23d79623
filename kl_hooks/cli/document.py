"""`kl document`: documents added and listed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.output import (
    counted,
    echo_lines,
    print_rows,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.git.objects import MAX_BLOB_BYTES
from kl_hooks.model.text import one_line
from kl_hooks.operations import documents as operations

if TYPE_CHECKING:
    pass


def _progress(made: Iterator[Any], number: int) -> Iterator[Any]:
    """Hand on what comes, with a bar on a terminal."""
    if number < 2 or not sys.stderr.isatty():
        yield from made
        return
    with click.progressbar(
        made, length=number, label="Indexing documents", file=sys.stderr
    ) as watched:
        yield from watched


def _watched(request: Any) -> Any:
    return request._replace(watch=_progress)


def _read_from_stdin(request: operations.AddRequest) -> operations.AddRequest:
    if "-" in request.places:
        stdin = sys.stdin.buffer.read(MAX_BLOB_BYTES + 1)
    else:
        stdin = b""
    return request._replace(stdin=stdin, watch=_progress)


def _print_processed(done: operations.Processed, _request: Any) -> None:
    rows = [
        _row(
            record.id,
            record.status,
            str(record.number("chunks")),
            record.text("collection"),
            record.title,
            record.text("error"),
        )
        for record in (document.record for document in done.documents)
    ]
    print_rows(rows, len(rows), "nothing changed.")


def _exit_code(done: operations.Processed, _request: Any) -> int:
    if done.has_failed:
        return FINDINGS
    return CLEAN


add = operation_command(operations.ADD, _read_from_stdin, exit_code=_exit_code)(_print_processed)
new = add
"""Every kind has this command; a document without its text would be nothing."""
process = operation_command(operations.PROCESS, _watched, exit_code=_exit_code)(_print_processed)
refresh = operation_command(operations.REFRESH, _watched, exit_code=_exit_code)(_print_processed)


def _row(
    identifier: str, status: str, chunks: str, collection: str, title: str, remark: str = ""
) -> str:
    return (
        f"{identifier}  {status:<8}  {chunks:>4} chunks  {collection}  {one_line(title, 100)}"
        + (f"   [{one_line(remark, 240)}]" if remark else "")
    )


@operation_command(operations.LIST, _watched)
def list_(document_list: operations.DocumentList, request: operations.ListRequest) -> None:
    rows = [
        _row(
            document.id,
            document.status,
            str(document.chunks),
            document.collection,
            document.title,
            document.remark,
        )
        for document in document_list.documents.shown
    ]
    none = "there are no documents. Add some with: kl document add PATH"
    print_rows(
        rows, document_list.documents.total, "no document is stale." if request.stale else none
    )


@operation_command(operations.SHOW, _watched)
def show(shown: operations.ShownDocument, _request: operations.ShowRequest) -> None:
    document = shown.document
    lines = [
        f"{document.id}  {one_line(document.title, 160)}",
        f"status      {document.status}",
        f"collection  {document.collection}",
        f"size        {document.size} bytes",
    ]
    if document.remark:
        lines += [f"remark      {document.remark}"]
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


@operation_command(operations.REMOVE)
def remove(removed: operations.Removed, _request: operations.RemoveRequest) -> None:
    echo_lines(f"removed {document.record.id}" for document in removed.former)


@operation_command(operations.COLLECTIONS, _watched)
def collections(
    collection_list: operations.CollectionList, _request: operations.CollectionsRequest
) -> None:
    echo_lines(map(_collection_line, collection_list.collections))


def _collection_line(collection: operations.ListedCollection) -> str:
    if collection.failed:
        failed = f", {collection.failed} failed"
    else:
        failed = ""
    return (
        f"{collection.name:<16} {collection.status:<8} {collection.strategy} of"
        f" {collection.chunk_size}  {counted(collection.documents, 'document')},"
        f" {counted(collection.chunks, 'chunk')}, {collection.tokens} tokens,"
        f" {collection.bytes} bytes{failed}"
    )
