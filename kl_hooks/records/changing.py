"""Changing an authored file: the lines of one field are replaced, every other byte stays as its author left it."""

from __future__ import annotations

from collections.abc import Mapping

from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.record import Value
from kl_hooks.records.document import TYPED, field_of, fits, read
from kl_hooks.records.front import Front, Span, comment_after, read_front
from kl_hooks.records.scalars import entry
from kl_hooks.records.sections import lines_of, sections, shown


def changed(kind: Kind, text: str, values: Mapping[str, Value | None]) -> str:
    """The text of a file with some fields changed; None takes a field out. Comments and unknown keys stay.

    ValueError for a text that can't be read: nobody changes what he does not understand.
    """
    for name, value in values.items():
        field = kind.by_name[name]
        made = _one(kind, text, field, value)
        if not _says(kind, made, field, value):
            made = _in_front(kind, _one(kind, text, field, None), field, value)
        text = made
    return text


def _says(kind: Kind, text: str, field: Field, value: Value | None) -> bool:
    found = read(kind, "a.md", text.encode("utf-8", "replace"))
    return found.record is None or found.record.values.get(field.name) == value


def _one(kind: Kind, text: str, field: Field, value: Value | None) -> str:
    """Changed where it stands; what is new goes into a section where it may, else into the front matter."""
    lines, front = _parts(text)
    body = front.end + 1
    section = next((one for one in sections(lines[body:]) if field_of(kind, one) == field), None)
    if _span(kind, front, field) is not None or not field.section:
        return _in_front(kind, text, field, value)
    if value is not None and not fits(kind, field, value):
        return _in_front(kind, _one(kind, text, field, None), field, value)
    block = (
        []
        if value is None
        else [f"## {section.heading if section else field.section}", "", *lines_of(shown(value)), ""]
    )
    if section is not None:
        lines[body + section.start : body + section.end] = block
    elif block:
        while lines and not lines[-1].strip():
            lines.pop()
        lines += ["", *block]
    return _joined(text, lines)


def _in_front(kind: Kind, text: str, field: Field, value: Value | None) -> str:
    lines, front = _parts(text)
    span = _span(kind, front, field)
    new = [] if value is None else entry(span.key if span else field.name, value, field.type in TYPED)
    if span is None:
        lines[front.end : front.end] = new
        return _joined(text, lines)
    if span.one_line and len(new) == 1:
        new[0] += comment_after(lines[span.start], span.column, str(front.raw[span.key]))
    lines[span.start : span.end] = new
    return _joined(text, lines)


def _span(kind: Kind, front: Front, field: Field) -> Span | None:
    return next((one for one in front.spans if kind.by_name.get(one.key) == field), None)


def _parts(text: str) -> tuple[list[str], Front]:
    lines = lines_of(text.removeprefix("\ufeff"))
    front, problems = read_front("", lines)
    if front is None:
        raise ValueError(str(problems[0]))
    return lines, front


def _joined(before: str, lines: list[str]) -> str:
    """The lines with the ends, and the mark, that the file had."""
    end = "\r\n" if "\r\n" in before.partition("\n")[0] + "\n" else "\n"
    return ("\ufeff" if before.startswith("\ufeff") else "") + end.join(lines)
