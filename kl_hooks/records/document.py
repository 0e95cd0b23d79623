"""Authored files: parse a record with all problems and their places, render a new file, change fields in place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.config.files import MAX_BYTES
from kl_hooks.model.ids import RECORD_ID
from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record, Value
from kl_hooks.records.front_matter import FrontMatter, KeySpan, format_entry, read_front_matter, trailing_comment
from kl_hooks.records.markdown import (
    Section,
    leading_title,
    list_items,
    section_text,
    split_lines,
    split_sections,
    value_to_markdown,
)
from kl_hooks.records.validate import validate

_UNSAFE_IN_BODY: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
"""What may not stand in the body unseen: such text goes into the front matter, where it is escaped."""
_UNQUOTED_TYPES: Final = ("date", "number", "flag")


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """What a file says."""

    record: Record | None
    """None where anything in it is wrong."""
    problems: tuple[Problem, ...]
    remarks: tuple[Problem, ...] = ()
    """What is odd but does no harm: keys that nobody knows."""


def read_document(kind: Kind, path: str, data: bytes) -> ParsedDocument:
    """The record in the file `path`, whose content is `data`. Raises nothing, whatever the bytes."""
    if len(data) > MAX_BYTES:
        return ParsedDocument(
            None, (Problem(path, 0, 0, f"is larger than {MAX_BYTES} bytes.", "Keep the essence here."),)
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return ParsedDocument(None, (Problem(path, line, 0, "this line is not UTF-8.", "Save the file as UTF-8."),))
    return _parse_lines(kind, path, split_lines(text))


def _parse_lines(kind: Kind, path: str, lines: list[str]) -> ParsedDocument:
    front, problems = read_front_matter(path, lines)
    if front is None:
        return ParsedDocument(None, tuple(problems))
    places = {span.key: span.start + 1 for span in front.spans}
    raw: dict[str, Any] = dict(front.raw)
    body = lines[front.end + 1 :]
    for name, (line, value) in _section_values(kind, body, front).items():
        raw[name], places[name] = value, front.end + 2 + line
    given = raw.pop("id", None)

    def place(name: str) -> tuple[str, int, int]:
        return (path, places.get(name, 1), 1)

    strange: list[Problem] = []
    values, wrong = validate(kind, raw, place, strange=strange)
    name = path.rpartition("/")[2]
    if not isinstance(given, str) or not RECORD_ID.fullmatch(given) or not given.startswith(f"{kind.prefix}-"):
        wrong.append(Problem(*place("id"), f"the id must be like {kind.prefix}-0001.", "Write it as `id: …`."))
    elif not name.startswith(given) or name[len(given)] not in "-.":
        strange.append(Problem(*place("id"), f"{given} stands in a file of another name.", f"Rename it: {given}-….md"))
    if wrong:
        return ParsedDocument(None, tuple(sorted(wrong)), tuple(strange))
    values.setdefault("status", kind.statuses[0])
    record = Record(kind.name, str(given), values, "\n".join(body), path, _lines_of_fields(kind, places))
    return ParsedDocument(record, (), tuple(strange))


def _lines_of_fields(kind: Kind, places: Mapping[str, int]) -> dict[str, int]:
    return {kind.by_name[name].name: line for name, line in places.items() if name in kind.by_name}


def _section_values(kind: Kind, body: list[str], front: FrontMatter) -> dict[str, tuple[int, Any]]:
    """Field → (line in the body, what stands under its heading)."""
    found: dict[str, tuple[int, Any]] = {}
    for section in split_sections(body):
        field = _section_field(kind, section)
        if field is not None and field.name not in found and field.name not in front.raw:
            text = section_text(body, section)
            found[field.name] = (section.start, list(list_items(text)) if field.type == "lines" else text)
    if "title" not in front.raw and (title := leading_title(body)):
        found.setdefault("title", (0, title))
    return found


def _section_field(kind: Kind, section: Section) -> Field | None:
    """The field that stands under this heading."""
    heading = section.heading.strip().lower()
    names = {field.section.lower(): field for field in kind.all_fields if field.section}
    return names.get(heading) or next(
        (field for name, field in kind.by_name.items() if field.section and name.replace("_", " ") == heading), None
    )


def text_outside_fields(kind: Kind, record: Record) -> str:
    """Of the body of a file what no field says: without the sections whose content is the value of a field."""
    body = split_lines(record.body)
    out: set[int] = set()
    seen: set[str] = set()
    for section in split_sections(body):
        field = _section_field(kind, section)
        if field is None or field.name in seen:
            continue
        seen.add(field.name)
        text = section_text(body, section)
        said = {field.name: list(list_items(text)) if field.type == "lines" else text}
        values, _ = validate(kind, said, lambda _: ("", 0, 0), whole=False)
        if field.name in values and values[field.name] == record.values.get(field.name):
            out.update(range(section.start, section.end))
    return "\n".join(line for number, line in enumerate(body) if number not in out).strip("\n")


def render_document(kind: Kind, record: Record) -> str:
    """The record as a new file: front matter, then its body, then a section for each field that has one."""
    head = ["---", f"id: {record.id}"]
    tail = [record.body.strip("\n"), ""] if record.body.strip() else []
    late = list(tail)
    for field in kind.all_fields:
        value = record.values.get(field.name)
        if value is None:
            continue
        if field.section and _fits_in_section(kind, field, value):
            late += [f"## {field.section}", "", value_to_markdown(value), ""]
        else:
            head += format_entry(field.name, value, field.type in _UNQUOTED_TYPES)
    made = "\n".join([*head, "---", "", *late])
    again = read_document(kind, f"{record.id}.md", made.encode("utf-8", "replace")).record
    if again is None or again.values != record.values:  # the body says something that a section would say: all above
        said = [(f, record.values[f.name]) for f in kind.all_fields if f.section and f.name in record.values]
        head += [
            line
            for field, value in said
            if _fits_in_section(kind, field, value)
            for line in format_entry(field.name, value)
        ]
        made = "\n".join([*head, "---", "", *tail])
    return made


def _fits_in_section(kind: Kind, field: Field, value: Value) -> bool:
    """True if what stands in a section of its own would be read back as this very value."""
    text = value_to_markdown(value)
    if _UNSAFE_IN_BODY.search(text):
        return False
    lines = ["## X", "", *split_lines(text), "", f"## {field.section}", ""]
    found = split_sections(lines)
    back = section_text(lines, found[1]) if len(found) == 3 and found[2].start == len(lines) - 2 else None
    if isinstance(value, tuple):
        return back is not None and list_items(back) == value
    return back == value


def change_fields(kind: Kind, text: str, values: Mapping[str, Value | None]) -> str:
    """The text of a file with some fields changed; None takes a field out. Comments and unknown keys stay.

    ValueError for a text that can't be read: nobody changes what he does not understand.
    """
    for name, value in values.items():
        field = kind.by_name[name]
        made = _change_field(kind, text, field, value)
        if not _reads_as(kind, made, field, value):
            made = _change_front_matter(kind, _change_field(kind, text, field, None), field, value)
        text = made
    return text


def _reads_as(kind: Kind, text: str, field: Field, value: Value | None) -> bool:
    found = read_document(kind, "a.md", text.encode("utf-8", "replace"))
    return found.record is None or found.record.values.get(field.name) == value


def _change_field(kind: Kind, text: str, field: Field, value: Value | None) -> str:
    """Changed where it stands; what is new goes into a section where it may, else into the front matter."""
    lines, front = _split_document(text)
    body = front.end + 1
    section = next((one for one in split_sections(lines[body:]) if _section_field(kind, one) == field), None)
    if _key_span(kind, front, field) is not None or not field.section:
        return _change_front_matter(kind, text, field, value)
    if value is not None and not _fits_in_section(kind, field, value):
        return _change_front_matter(kind, _change_field(kind, text, field, None), field, value)
    block = (
        []
        if value is None
        else [f"## {section.heading if section else field.section}", "", *split_lines(value_to_markdown(value)), ""]
    )
    if section is not None:
        lines[body + section.start : body + section.end] = block
    elif block:
        while lines and not lines[-1].strip():
            lines.pop()
        lines += ["", *block]
    return _join_lines(text, lines)


def _change_front_matter(kind: Kind, text: str, field: Field, value: Value | None) -> str:
    lines, front = _split_document(text)
    span = _key_span(kind, front, field)
    new = [] if value is None else format_entry(span.key if span else field.name, value, field.type in _UNQUOTED_TYPES)
    if span is None:
        lines[front.end : front.end] = new
        return _join_lines(text, lines)
    if span.one_line and len(new) == 1:
        new[0] += trailing_comment(lines[span.start], span.column, str(front.raw[span.key]))
    lines[span.start : span.end] = new
    return _join_lines(text, lines)


def _key_span(kind: Kind, front: FrontMatter, field: Field) -> KeySpan | None:
    return next((one for one in front.spans if kind.by_name.get(one.key) == field), None)


def _split_document(text: str) -> tuple[list[str], FrontMatter]:
    lines = split_lines(text.removeprefix("\ufeff"))
    front, problems = read_front_matter("", lines)
    if front is None:
        raise ValueError(str(problems[0]))
    return lines, front


def _join_lines(before: str, lines: list[str]) -> str:
    """The lines with the ends, and the mark, that the file had."""
    end = "\r\n" if "\r\n" in before.partition("\n")[0] + "\n" else "\n"
    return ("\ufeff" if before.startswith("\ufeff") else "") + end.join(lines)


def template(kind: Kind, raw: Mapping[str, Any] | None = None) -> str:
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
            head += format_entry(field.name, tuple(value) if isinstance(value, list) else value)
        else:
            head += [f"# {field.says}{_choices_hint(field)}", *_empty_entry(kind, field)]
    return "\n".join([*head, "---", "", *body])


def _empty_entry(kind: Kind, field: Field) -> list[str]:
    if field.name == "status":
        return [f"status: {kind.statuses[0]}"]
    if field.required:
        return [f"{field.name}:"]
    return [f"# {field.name}:{' []' if field.type in ('lines', 'words', 'ids') else ''}"]


def _choices_hint(field: Field) -> str:
    return f" One of: {', '.join(field.choices)}." if field.choices else ""
