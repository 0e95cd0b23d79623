"""Records as plain values: what commands print as JSON, and what agents are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kl_hooks.model.record import Record

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def spoken(value: object) -> str:
    """A value of a field as people read it, in one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def plain_values(record: Record) -> dict[str, Any]:
    """Field → its value, of types that JSON has."""
    return {
        name: dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
        for name, value in record.values.items()
    }


def plain_record(ws: Workspace, record: Record, *, whole: bool = True) -> dict[str, Any]:
    """`kl.record/1`. Without `whole`, a row of a list: the fields that lists show, and what the record is known by."""
    from kl_hooks.records.rows import ended

    fields = ws.kinds[record.kind].by_name
    values = {n: v for n, v in plain_values(record).items() if n not in fields or not fields[n].internal}
    made: dict[str, Any] = {
        "schema": "kl.record/1", "id": record.id, "kind": record.kind, "title": record.title, "status": record.status,
        "authority": record.authority, "path": record.path, "archived": record.archived, "expired": ended(ws, record),
        "broken": record.broken,
    }  # fmt: skip
    if record.proposal:
        made["proposal"] = record.proposal
    if whole:
        return made | {"fields": values, "body": record.body}
    kind = ws.kinds[record.kind]
    named = (*kind.identity, *kind.beside, "source", "date") if kind.beside else ()
    return made | {"tags": values.get("tags", []), "fields": {name: values[name] for name in named if name in values}}
