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
    format_option,
    initialized_workspace,
    print_answer,
    print_list,
    top_option,
    warn,
    workspace,
)
from kl_hooks.cli.record_output import agent_access, warn_of_index_problems
from kl_hooks.config.settings import CHUNK_SIZES, STRATEGIES
from kl_hooks.context.access import access
from kl_hooks.documents.adding import (
    KIND,
    NewDocument,
    add_documents,
    find_files,
    needs_refresh,
    process_documents,
    refresh_documents,
    remove_document,
)
from kl_hooks.documents.collections import REPOSITORY, STATUSES, added_texts, store_collection
from kl_hooks.documents.collections import collections as all_collections
from kl_hooks.documents.indexing import (
    chunks_of,
    indexed_documents,
    sizes_of,
    sync_documents,
    visible_documents,
)
from kl_hooks.documents.mentions import mentions, stale_mentions
from kl_hooks.errors import CLEAN, FINDINGS, UsageProblem
from kl_hooks.git.objects import MAX_BLOB_BYTES
from kl_hooks.model.text import (
    CHARACTERS_OF_A_TOKEN,
    one_line,
)
from kl_hooks.records.query import RecordFilter, get_record, list_records, record_to_dict

if TYPE_CHECKING:
    from kl_hooks.documents.indexing import Visibility
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace


_SHOWN_MENTIONS = 3


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


@click.command("list", epilog="Example: kl document list --collection runbooks")
@click.option(
    "--collection",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only of this one; may be repeated.",
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    metavar="STATUS",
    help="Only in this status; may be repeated.",
)
@click.option(
    "--stale", is_flag=True, help="Only those that name code which changed after they were written."
)
@top_option(100, 10_000)
@format_option()
def list_(
    names: tuple[str, ...], statuses: tuple[str, ...], stale: bool, limit: int, shape: str
) -> None:
    """List documents: files of the repository, and added ones, with their status and number of
    passages.
    """
    ws = workspace()
    sync_documents(ws, _progress)
    with agent_access(ws) as may:
        rows = [one for one in _rows(ws, names, may) if not statuses or one["status"] in statuses]
    if stale:
        found = stale_mentions(ws, [one["id"] for one in rows])
        rows = [
            one
            | {
                "stale": [mention._asdict() for mention in found[one["id"]]],
                "remark": "; ".join(map(str, found[one["id"]][:_SHOWN_MENTIONS])),
            }
            for one in rows
            if one["id"] in found
        ]
    warn_of_index_problems()
    plain = {"schema": "kl.document.list/1", "documents": rows[:limit], "total": len(rows)}
    lines = [
        _row(
            one["id"],
            one["status"],
            str(one["chunks"]),
            one["collection"],
            one["title"],
            one["remark"],
        )
        for one in rows[:limit]
    ]
    none = (
        "no document is stale."
        if stale
        else "there are no documents. Add some with: kl document add PATH"
    )
    print_list(shape, plain, lines, len(rows), none)


def _rows(ws: Workspace, names: Sequence[str], may: Visibility) -> list[dict[str, Any]]:
    """A row for each document that may be shown, files first."""
    texts = {one.id: one for one in added_texts(ws)}
    indexed = {
        one.document: one
        for one in indexed_documents(ws, visible_documents(ws, names or None, may))
    }
    rows: list[dict[str, Any]] = [
        {
            "id": one.document,
            "status": "failed" if one.error else "indexed",
            "chunks": one.chunks,
            "collection": one.collection,
            "title": one.title,
            "size": one.size,
            "error": one.error,
            "remark": one.error,
            "checksum": one.blob,
        }
        for one in indexed.values()
        if one.collection == REPOSITORY
    ]
    for record in list_records(ws, RecordFilter((KIND,))):
        if (names and record.text("collection") not in names) or not may.shows(record):
            continue
        text = texts.get(record.id)
        stale = needs_refresh(ws, record, text, may) if text is not None else ""
        # the number in the record is of when it was processed: its collection may be cut in another
        # way since
        chunks = indexed[record.id].chunks if record.id in indexed else 0
        rows.append(
            {
                "id": record.id,
                "status": record.status,
                "chunks": chunks,
                "collection": record.text("collection"),
                "title": record.title,
                "size": record.values.get("size") or 0,
                "error": record.text("error"),
                "remark": record.text("error") or stale,
                "checksum": record.text("checksum"),
                "needs_refresh": bool(stale),
            }
        )
    return rows


@click.command(epilog="Example: kl document show docs/layers.md")
@click.argument("document", metavar="ID|FILE")
@format_option()
def show(document: str, shape: str) -> None:
    """Show one document: where it is from, its passages with their lines and headings, and the
    names that they have.
    """
    ws = workspace()
    sync_documents(ws, _progress)
    with agent_access(ws) as may:
        found = next(
            (one for one in _rows(ws, (), may) if one["id"] == document.removeprefix("./")), None
        )
    if found is None:
        hint = "See: kl document list"
        raise UsageProblem("is no document.", place=one_line(document, 100), hint=hint)
    chunks, named = chunks_of(ws, found["id"]), mentions(ws, [found["id"]])
    plain = {
        "schema": "kl.document.show/1",
        **found,
        "mentions": [one._asdict() for one in named],
        "passages": [
            {
                "heading": list(one.heading),
                "line": one.first_line,
                "end_line": one.last_line,
                "characters": len(one.text),
                "text_hash": one.text_hash,
            }
            for one in chunks
        ],
    }
    lines = [
        f"{found['id']}  {one_line(found['title'], 160)}",
        f"status      {found['status']}",
        f"collection  {found['collection']}",
        f"size        {found['size']} bytes",
    ]
    lines += [f"remark      {found['remark']}"] if found["remark"] else []
    lines += [
        f"  {one.first_line:>5}-{one.last_line:<5} {len(one.text):>5} characters "
        f" {' › '.join(one.heading)}".rstrip()
        for one in chunks
    ]
    lines += [
        f"mentions    {one.line:>5}  {one.written}  {one.symbol or 'no such symbol'}"
        + (f"   [stale: {one.state} since]" if one.state else "")
        for one in named
    ]
    print_answer(shape, plain, lines)


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


@click.command(epilog="Example: kl document collections runbooks --strategy paragraph")
@click.argument("name", required=False, default="")
@click.option(
    "--strategy", type=click.Choice(STRATEGIES), default=None, help="How its documents are cut."
)
@click.option(
    "--chunk-size", type=click.IntRange(*CHUNK_SIZES[:2]), help="Characters of a passage."
)
@click.option(
    "--overlap", type=click.IntRange(0), default=None, help="Characters that passages repeat."
)
@click.option(
    "--status", type=click.Choice(STATUSES), default=None, help="archived: no search looks at it."
)
@format_option()
def collections(
    name: str,
    strategy: str | None,
    chunk_size: int | None,
    overlap: int | None,
    status: str | None,
    shape: str,
) -> None:
    """List collections, with what is in them; or make or change the collection NAME."""
    ws = workspace()
    if name:
        store_collection(
            initialized_workspace(),
            name,
            strategy=strategy or "",
            size=chunk_size or 0,
            overlap=overlap,
            status=status or "",
        )
    sync_documents(ws, _progress)
    with agent_access(ws) as may:
        rows = _rows(ws, (), may)
    sizes = sizes_of(ws)
    plain = []
    for one in all_collections(ws).values():
        some = [row for row in rows if row["collection"] == one.name]
        # one that failed, was archived and restored is not being indexed: it will fail again
        failed = sum(
            row["status"] in ("failed", "pending") and bool(row.get("error")) for row in some
        )
        waiting = sum(
            row["status"] in ("pending", "processing") and not row.get("error") for row in some
        )
        state = one.status if one.status != STATUSES[0] else "indexing" if waiting else one.status
        plain.append(
            {
                "name": one.name,
                "status": "error" if some and failed == len(some) else state,
                "strategy": one.chunking.strategy,
                "chunk_size": one.chunking.size,
                "chunk_overlap": one.chunking.overlap,
                "documents": len(some),
                "failed": failed,
                "pending": waiting,
                "chunks": sum(row["chunks"] for row in some),
                "bytes": sum(row["size"] for row in some),
                "tokens": sum(sizes.get(row["id"], 0) for row in some) // CHARACTERS_OF_A_TOKEN,
            }
        )
    lines = [
        f"{one['name']:<16} {one['status']:<8} {one['strategy']} of {one['chunk_size']} "
        f" {counted(one['documents'], 'document')}, {counted(one['chunks'], 'chunk')},"
        f" {one['tokens']} tokens, {one['bytes']} bytes"
        + (f", {one['failed']} failed" if one["failed"] else "")
        for one in plain
    ]
    print_answer(shape, {"schema": "kl.document.collections/1", "collections": plain}, lines)
