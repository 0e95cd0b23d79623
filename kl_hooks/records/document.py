"""Authored files: read to a Record with every problem and its place, written, and changed without touching the rest."""

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
from kl_hooks.records.check import checked
from kl_hooks.records.front import Front, read_front
from kl_hooks.records.scalars import entry
from kl_hooks.records.sections import Section, content, items, lines_of, sections, shown, title_of

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
"""What may not stand in the body unseen: such text goes into the front matter, where it is escaped."""
TYPED: Final = ("date", "number", "flag")


@dataclass(frozen=True, slots=True)
class Read:
    """What a file says."""

    record: Record | None
    """None where anything in it is wrong."""
    problems: tuple[Problem, ...]
    remarks: tuple[Problem, ...] = ()
    """What is odd but does no harm: keys that nobody knows."""


def read(kind: Kind, path: str, data: bytes) -> Read:
    """The record in the file `path`, whose content is `data`. Raises nothing, whatever the bytes."""
    if len(data) > MAX_BYTES:
        return Read(None, (Problem(path, 0, 0, f"is larger than {MAX_BYTES} bytes.", "Keep the essence here."),))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return Read(None, (Problem(path, line, 0, "this line is not UTF-8.", "Save the file as UTF-8."),))
    return _read(kind, path, lines_of(text))


def _read(kind: Kind, path: str, lines: list[str]) -> Read:
    front, problems = read_front(path, lines)
    if front is None:
        return Read(None, tuple(problems))
    places = {span.key: span.start + 1 for span in front.spans}
    raw: dict[str, Any] = dict(front.raw)
    body = lines[front.end + 1 :]
    for name, (line, value) in _said_below(kind, body, front).items():
        raw[name], places[name] = value, front.end + 2 + line
    given = raw.pop("id", None)

    def place(name: str) -> tuple[str, int, int]:
        return (path, places.get(name, 1), 1)

    strange: list[Problem] = []
    values, wrong = checked(kind, raw, place, strange=strange)
    name = path.rpartition("/")[2]
    if not isinstance(given, str) or not RECORD_ID.fullmatch(given) or not given.startswith(f"{kind.prefix}-"):
        wrong.append(Problem(*place("id"), f"the id must be like {kind.prefix}-0001.", "Write it as `id: …`."))
    elif not name.startswith(given) or name[len(given)] not in "-.":
        strange.append(Problem(*place("id"), f"{given} stands in a file of another name.", f"Rename it: {given}-….md"))
    if wrong:
        return Read(None, tuple(sorted(wrong)), tuple(strange))
    values.setdefault("status", kind.statuses[0])
    record = Record(kind.name, str(given), values, "\n".join(body), path, _by_field(kind, places))
    return Read(record, (), tuple(strange))


def _by_field(kind: Kind, places: Mapping[str, int]) -> dict[str, int]:
    return {kind.by_name[name].name: line for name, line in places.items() if name in kind.by_name}


def _said_below(kind: Kind, body: list[str], front: Front) -> dict[str, tuple[int, Any]]:
    """Field → (line in the body, what stands under its heading)."""
    found: dict[str, tuple[int, Any]] = {}
    for section in sections(body):
        field = field_of(kind, section)
        if field is not None and field.name not in found and field.name not in front.raw:
            text = content(body, section)
            found[field.name] = (section.start, list(items(text)) if field.type == "lines" else text)
    if "title" not in front.raw and (title := title_of(body)):
        found.setdefault("title", (0, title))
    return found


def field_of(kind: Kind, section: Section) -> Field | None:
    """The field that stands under this heading."""
    heading = section.heading.strip().lower()
    names = {field.section.lower(): field for field in kind.all_fields if field.section}
    return names.get(heading) or next(
        (field for name, field in kind.by_name.items() if field.section and name.replace("_", " ") == heading), None
    )


def besides(kind: Kind, record: Record) -> str:
    """Of the body of a file what no field says: without the sections whose content is the value of a field."""
    body = lines_of(record.body)
    out: set[int] = set()
    seen: set[str] = set()
    for section in sections(body):
        field = field_of(kind, section)
        if field is None or field.name in seen:
            continue
        seen.add(field.name)
        text = content(body, section)
        said = {field.name: list(items(text)) if field.type == "lines" else text}
        values, _ = checked(kind, said, lambda _: ("", 0, 0), whole=False)
        if field.name in values and values[field.name] == record.values.get(field.name):
            out.update(range(section.start, section.end))
    return "\n".join(line for number, line in enumerate(body) if number not in out).strip("\n")


def render(kind: Kind, record: Record) -> str:
    """The record as a new file: front matter, then its body, then a section for each field that has one."""
    head = ["---", f"id: {record.id}"]
    tail = [record.body.strip("\n"), ""] if record.body.strip() else []
    late = list(tail)
    for field in kind.all_fields:
        value = record.values.get(field.name)
        if value is None:
            continue
        if field.section and fits(kind, field, value):
            late += [f"## {field.section}", "", shown(value), ""]
        else:
            head += entry(field.name, value, field.type in TYPED)
    made = "\n".join([*head, "---", "", *late])
    again = read(kind, f"{record.id}.md", made.encode("utf-8", "replace")).record
    if again is None or again.values != record.values:  # the body says something that a section would say: all above
        said = [(f, record.values[f.name]) for f in kind.all_fields if f.section and f.name in record.values]
        head += [line for field, value in said if fits(kind, field, value) for line in entry(field.name, value)]
        made = "\n".join([*head, "---", "", *tail])
    return made


def fits(kind: Kind, field: Field, value: Value) -> bool:
    """True if what stands in a section of its own would be read back as this very value."""
    text = shown(value)
    if _HIDDEN.search(text):
        return False
    lines = ["## X", "", *lines_of(text), "", f"## {field.section}", ""]
    found = sections(lines)
    back = content(lines, found[1]) if len(found) == 3 and found[2].start == len(lines) - 2 else None
    if isinstance(value, tuple):
        return back is not None and items(back) == value
    return back == value
