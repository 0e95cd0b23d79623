"""How records are shown: a row, a page, JSON; and which records could not be shown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from kl_hooks.cli.output import counted, echo, echo_json, warn
from kl_hooks.model.kind import Field
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.query import format_value
from kl_hooks.workspace import Workspace

_HEAD = ("title", "status", "supersedes", "superseded_by")


def record_rows(ws: Workspace, records: Sequence[Record], *, of_kind: bool = False) -> Iterator[str]:
    """`ADR-0001  accepted    Two scanners, one contract`, in columns. `of_kind`: with its kind before it."""
    statuses = (status for kind in {one.kind for one in records} for status in ws.kinds[kind].statuses)
    widths = (
        max((len(one.kind) for one in records), default=0) if of_kind else 0,
        max((len(one.id) for one in records), default=0),
        max((len(status) for status in statuses), default=0),
    )
    return (_record_row(ws, one, *widths) for one in records)


def _record_row(ws: Workspace, record: Record, kind: int, identifier: int, status: int) -> str:
    from kl_hooks.records.repository import is_expired

    beside = ((name, record.values.get(name)) for name in ws.kinds[record.kind].list_fields)
    marks = [
        f"{name.replace('_', ' ')}: {one_line(format_value(value), 40)}" for name, value in beside if value is not None
    ]
    marks += ["archived"] * record.archived + ["expired"] * is_expired(ws, record)
    marks += ["can't be read today"] * bool(record.broken)
    end = f"   ({', '.join(marks)})" if marks else ""
    start = f"{record.kind:<{kind}}  " if kind else ""
    return f"{start}{record.id:<{identifier}}  {record.status:<{status}}  {one_line(record.title, 120)}{end}"


def record_lines(ws: Workspace, record: Record, chain: Sequence[Record]) -> Iterator[str]:
    """A record as a page."""
    from kl_hooks.records.permissions import pending_proposals
    from kl_hooks.records.repository import is_expired

    kind = ws.kinds[record.kind]
    named = (f for f in kind.all_fields if not f.internal and record.values.get(f.name) is not None)
    wide = max([13, *(len(f.name) for f in named if _is_short(f))])
    yield f"{record.id}  {one_line(record.title, 200)}"
    state = [
        record.status,
        *(["archived"] if record.archived else []),
        *(["expired"] if is_expired(ws, record) else []),
    ]
    yield f"{'status':<{wide}} {', '.join(state)}"
    if record.path:
        yield f"{'file':<{wide}} {record.path}"
    if record.broken:
        yield f"{'attention':<{wide}} the file can't be read today ({record.broken}); this is its last valid content."
    if len(chain) > 1:
        yield f"{'chain':<{wide}} {' ← '.join(f'{one.id} ({one.status})' for one in chain)}"
    for one in pending_proposals(ws, record.id):
        yield f"{'proposed':<{wide}} {one.line()}. hint: kl knowledge accept {record.id}"
    late = []
    for field in kind.all_fields:
        value = record.values.get(field.name)
        if value is None or field.internal or field.name in _HEAD:
            continue
        if not _is_short(field):
            late.append((field.section or field.name.replace("_", " "), value))
        else:
            yield f"{field.name.replace('_', ' '):<{wide}} {format_value(value)}"
    for heading, value in late:
        yield from ("", heading)
        items = [f"{k}: {v}" for k, v in value.items()] if isinstance(value, Mapping) else value
        for item in items if isinstance(items, list | tuple) else [str(items)]:
            bullet = "- " if isinstance(items, list | tuple) else ""
            yield textwrap.indent(bullet + str(item).replace("\n", "\n" + " " * len(bullet)), "  ")


def _is_short(field: Field) -> bool:
    """True for a field whose value fits on one line with its name."""
    return field.name not in _HEAD and field.type not in ("text", "lines", "map")


def print_deleted(record: Record, shape: str) -> None:
    """That a record was taken away, in a line or as `kl.record.deleted/1`."""
    if shape == "json":
        echo_json({"schema": "kl.record.deleted/1", "id": record.id, "path": record.path})
    else:
        echo(f"deleted {record.id}" + (f"  {record.path}" if record.path else ""))


def warn_of_unreadable_records(ws: Workspace) -> None:
    """A line on stderr for each kind, or folder, whose records nobody can read today, with what to do."""
    from kl_hooks.records.query import UNKNOWN_KIND_HINT, files_of_unknown_kinds, rows_of_unknown_kinds

    for kind, number in rows_of_unknown_kinds(ws).items():
        are = "is" if number == 1 else "are"
        warn(
            f"{counted(number, 'record')} of the kind {kind} {are} omitted: nothing describes it. "
            + UNKNOWN_KIND_HINT.format(kind)
        )
    for place, number in files_of_unknown_kinds(ws).items():
        are = "is" if number == 1 else "are"
        hint = "Fix the file of the kind in .kl/kinds/, or restore it."
        warn(f"{counted(number, 'record')} in {place} {are} omitted: no kind has this folder. {hint}")
