"""What a record says about others, as Links and as words to be found by."""

from __future__ import annotations

from collections.abc import Iterator

from kl_hooks.index.index import Document
from kl_hooks.model.kind import Kind
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import Link
from kl_hooks.records.single import Wrong, node_of


def node(kind: Kind, identifier: str) -> str:
    """The Id of a record in the graph: `adr:ADR-0007` for a decision, the record id itself for most kinds."""
    return f"{kind.node}:{identifier}" if kind.node else identifier


def owner(record: Record) -> str:
    """Under which its links and documents stand in graph and index: its file, else `record:` and its id."""
    return record.path or f"record:{record.id}"


def links_of(kind: Kind, record: Record, prefixes: dict[str, str]) -> Iterator[Link]:
    """A Link for each Id in its `ids` fields. `prefixes`: prefix of record ids → prefix of their nodes."""
    source, place = node(kind, record.id), owner(record)
    for field in kind.all_fields:
        if record.archived and field.relation == "adr_governs":
            continue  # what was put away governs nothing any more
        if field.type == "ids":
            for one in record.many(field.name):
                try:
                    target = node_of(one)
                except Wrong:
                    continue  # older than the rule
                begins = target.partition("-")[0]
                if begins in prefixes and prefixes[begins] and ":" not in target:
                    target = f"{prefixes[begins]}:{target}"
                yield Link(
                    source, field.relation or field.name, target, place, record.lines.get(field.name, 0), "record"
                )


def document_of(kind: Kind, record: Record) -> Document:
    """The record as it is found: by its id, title, tags, and everything it says."""
    said = [
        record.text(f.name)
        for f in kind.all_fields
        if f.type in ("line", "text", "lines", "choice") and f.name != "title"
    ]
    body = "\n".join([record.id, *record.many("tags"), *record.many("about"), *said, record.body])
    return Document(record.id, kind.name, owner(record), 1, record.title, body)
