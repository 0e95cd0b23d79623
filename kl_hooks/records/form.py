"""The form of a kind: an empty file with a line on what belongs where, for templates and for the editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kl_hooks.model.kind import Field, Kind
from kl_hooks.records.scalars import entry


def form(kind: Kind, raw: Mapping[str, Any] | None = None) -> str:
    """The form, with what is known already filled in."""
    given = dict(raw or {})
    head = ["---", f"# A {kind.name}: {kind.purpose}", f"id: {kind.prefix}-0000"]
    body: list[str] = []
    for field in kind.all_fields:
        if field.internal or field.name in ("updated", "superseded_by"):
            continue
        value = given.get(field.name)
        if field.section:
            text = "\n".join(f"- {one}" for one in value) if isinstance(value, list) else str(value or "")
            body += [f"## {field.section}", "", text or f"<!-- {field.says} -->", ""]
        elif value is not None:
            head += entry(field.name, tuple(value) if isinstance(value, list) else value)
        else:
            head += [f"# {field.says}{_choices(field)}", *_empty(kind, field)]
    return "\n".join([*head, "---", "", *body])


def _empty(kind: Kind, field: Field) -> list[str]:
    if field.name == "status":
        return [f"status: {kind.statuses[0]}"]
    if field.required:
        return [f"{field.name}:"]
    return [f"# {field.name}:{' []' if field.type in ('lines', 'words', 'ids') else ''}"]


def _choices(field: Field) -> str:
    return f" One of: {', '.join(field.choices)}." if field.choices else ""
