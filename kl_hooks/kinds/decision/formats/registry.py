"""The formats of decisions that are read and written, and the detection of a file's format from its name and text.

- MADR 4: front matter (status, date, decision-makers, consulted, informed) and its sections; older MADR is read.
- Michael Nygard's form, as adr-tools writes it: `# 7. Title`, `Date:`, Status with its links, Context, Decision, …
- log4brains: MADR's sections below a list (`- Status:`, `- Date:`, `- Tags:`), in files named `YYYYMMDD-slug.md`.
- JSON: an object per decision, or a list; keys as in `docs/decisions.md`, in any of the usual spellings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.formats.entry import (
    LIST_FIELDS,
    Draft,
    Entry,
    NotReadable,
    Other,
    details_section,
    field_of_heading,
    field_of_key,
    is_exact_line,
    is_superseded_line,
    plain_heading,
    read_markdown,
    relation,
    title_heading,
    yaml_block,
)
from kl_hooks.kinds.decision.formats.sections import Section, bullet_list, list_items, shift_headings, split_sections
from kl_hooks.model.record import Value
from kl_hooks.model.text import slug

_HEADS: Final = (
    ("context", "## Context and Problem Statement"),
    ("drivers", "## Decision Drivers"),
    ("alternatives", "## Considered Options"),
    ("decision", "## Decision Outcome"),
    ("rationale", "### Rationale"),
    ("consequences", "### Consequences"),
    ("confirmation", "### Confirmation"),
    ("violation_symptoms", "### Violation symptoms"),
    ("comparison", "## Pros and Cons of the Options"),
    ("more", "## More Information"),
)
"""Field → its heading, in the order of the format."""
_IN_BODY: Final = frozenset(name for name, _ in _HEADS) | {"title"}
"""Fields in the body of the file."""
_INSIDE: Final = frozenset(name for name, heading in _HEADS if heading.startswith("###"))
_CONSEQUENCES: Final = ("positive consequences", "negative consequences")
_KEYS: Final = {
    "status": "status", "date": "date", "deciders": "decision-makers", "consulted": "consulted", "informed": "informed",
}  # fmt: skip


def read_madr(text: str) -> Entry:
    """Return the decision in a file. NotReadable with line and reason."""
    return _read_sections(text, lambda heading: field_of_heading(heading) == "decision", _read_outcome, "# …")


def _read_sections(
    text: str, is_special: Callable[[str], bool], read: Callable[[Draft, Section], None], title: str
) -> Entry:
    """Return the decision in a file, of which `read` reads the sections whose headings are special."""
    draft, number, sections = read_markdown(text)
    for part in sections:
        if is_special(part.heading):
            read(draft, part)
        else:
            draft.section(part)
    if "title" not in draft.values:
        raise NotReadable(f"has no title: a heading `{title}` is missing.")
    return draft.entry(number)


def _read_outcome(draft: Draft, part: Section) -> None:
    """The decision, without the subsections that are fields of their own."""
    lines: list[str | None] = list(part.text.split("\n"))
    for sub in split_sections(part.text, 3, title=False).sections:
        text = shift_headings(sub.text, -1)
        if plain_heading(sub.heading) in _CONSEQUENCES:
            draft.put("consequences", f"### {sub.heading}\n\n{text}")
        elif field_of_heading(sub.heading) in _INSIDE:
            draft.section(Section(sub.heading, text, sub.line))
        else:
            continue
        # None, not deleted: the line numbers of the subsections after this one must stay right
        lines[sub.line - 1 : sub.line - 1 + sub.lines] = [None] * sub.lines
    draft.put("decision", "\n".join(line for line in lines if line is not None))


def write_madr(entry: Entry, names: Mapping[str, Other]) -> str:
    """Return the file of a decision. `names`: decisions that are linked to; others are named as they are."""
    front: dict[str, Value] = {key: entry.values[field] for field, key in _KEYS.items() if entry.values.get(field)}
    line, exact = title_heading(entry.text("title"))
    for field, value in entry.values.items():
        if field not in _KEYS and (field not in _IN_BODY or (field == "title" and not exact)):
            # the prefix keeps our keys apart from those that MADR has or will have
            front[f"kl-{field.replace('_', '-')}"] = value
    newer = entry.many("superseded_by")
    if entry.text("status") == "superseded" and len(newer) == 1:
        status = f"superseded by {newer[0]}"
        if is_superseded_line(status, newer):
            front["status"] = f"superseded by [{newer[0]}]({names[newer[0]].file})" if newer[0] in names else status
            del front["kl-superseded-by"]
    return f"---\n{yaml_block(front)}\n---\n\n{line}\n{_outline(entry)}" if front else f"{line}\n{_outline(entry)}"


def _outline(entry: Entry) -> str:
    """Return the sections that are not empty, each after a blank line."""
    made = []
    for name, heading in _HEADS:
        text = bullet_list(entry.many(name)) if name in LIST_FIELDS else entry.text(name)
        # an empty Decision Outcome is written where subsections follow: they are read as its parts only under it
        if text or (name == "decision" and any(map(entry.values.get, _INSIDE))):
            made.append(f"\n{heading}\n\n{shift_headings(text) if name in _INSIDE else text}".rstrip() + "\n")
    return "".join(made)


_FIRST: Final = ("context", "decision", "consequences")
_SECTIONS: Final = tuple(
    (one.name, one.section) for one in sorted(DECISION.fields, key=lambda one: one.name not in _FIRST) if one.section
)
_LINKS: Final = (
    ("supersedes", "Supersedes"), ("superseded_by", "Superseded by"), ("amends", "Amends"),
    ("amended_by", "Amended by"), ("related_adrs", "Related to"),
)  # fmt: skip
# in the text of a Markdown link these would end it early
_NO_LINK: Final = str.maketrans("[]()<>", "      ")


def read_nygard(text: str) -> Entry:
    """Return the decision in a file. NotReadable with line and reason."""
    return _read_sections(text, lambda heading: heading.strip().lower() == "status", _read_status, "# 1. …")


def _read_status(draft: Draft, part: Section) -> None:
    for line in filter(str.strip, part.text.split("\n")):
        if found := relation(line.strip().strip("-*+ ")):
            draft.put(*found)
            if found[0] == "superseded_by":
                # adr-tools writes this line in place of the status that was there (`adr new -s`)
                draft.values["status"] = "superseded"
        elif "status" not in draft.values:
            draft.put_status(line)
        else:
            draft.leave("Status", line)


def write_nygard(entry: Entry, names: Mapping[str, Other]) -> str:
    """Return the file of a decision; what the form has no words for is in a block of YAML at the end."""
    number = entry.name.lstrip("0") if entry.name.isdecimal() and entry.name.isascii() else ""
    title, exact = title_heading(entry.text("title"), number)
    shown = {name for name, _ in _SECTIONS} | ({"title"} if exact else set())
    left = {key: value for key, value in entry.values.items() if key not in shown}
    blocks = [title]
    if is_exact_line(f"Date: {entry.text('date')}", left, "date"):
        blocks.append(f"Date: {left.pop('date')}")
    status = _pop_status(left, names)
    blocks += ["## Status", *status] if status else []
    for name, section in _SECTIONS:
        if text := bullet_list(entry.many(name)) if name in LIST_FIELDS else entry.text(name):
            blocks += [f"## {section}", text]
    return "\n\n".join(blocks) + "\n" + details_section(left)


def _pop_status(left: dict[str, Value], names: Mapping[str, Other]) -> list[str]:
    """The paragraphs of the section Status; their fields are removed from `left`."""
    paragraphs = []
    links = [(field, word, found) for field, word in _LINKS if isinstance(found := left.get(field), tuple)]
    links = [one for one in links if all(relation(f"{one[1]} {name}") == (one[0], (name,)) for name in one[2])]
    word = str(left.get("status", ""))
    superseded = any(field == "superseded_by" for field, _, _ in links)
    if word.isalpha() and word.isascii() and word == word.lower() and superseded == (word == "superseded"):
        del left["status"]
        paragraphs += [] if superseded else [word.capitalize()]
    elif superseded:
        links = [one for one in links if one[0] != "superseded_by"]
    for field, verb, targets in links:
        del left[field]
        paragraphs += [f"{verb} {_link(name, names)}" for name in targets]
    return paragraphs


def _link(name: str, names: Mapping[str, Other]) -> str:
    other = names.get(name)
    return f"[{other.number}. {other.title.translate(_NO_LINK)}]({other.file})" if other else name


_WORDS: Final = (("status", "Status"), ("deciders", "Deciders"), ("date", "Date"), ("tags", "Tags"))

_read_log4brains = read_madr
"""The same reader: a list is only another head."""


def _write_log4brains(entry: Entry, names: Mapping[str, Other]) -> str:
    """Return the file of a decision; what its list has no word for is in a block of YAML at the end."""
    title, exact = title_heading(entry.text("title"))
    shown = _IN_BODY if exact else _IN_BODY - {"title"}
    left = {key: value for key, value in entry.values.items() if key not in shown}
    lines = []
    for field, word in _WORDS:
        line = f"- {word}: {', '.join(entry.many(field))}"
        if is_exact_line(line, left, field):
            lines.append(line)
            del left[field]
    newer = entry.many("superseded_by")
    is_superseded = lines[:1] == ["- Status: superseded"] and len(newer) == 1
    if is_superseded and is_superseded_line(f"superseded by {newer[0]}", newer):
        file = names[newer[0]].file if newer[0] in names else ""
        lines[0] += f" by [{file.removesuffix('.md')}]({file})" if file else f" by {newer[0]}"
        del left["superseded_by"]
    head = "\n" + "\n".join(lines) + "\n" if lines else ""
    return f"{title}\n{head}{_outline(entry)}{details_section(left)}"


_ORDER: Final = (
    "id", "title", "status", "date", "context", "decision", "alternatives", "consequences", "supersedes", "tags",
    "governs",
)  # fmt: skip
"""The fields that every object has."""
_LISTS: Final = frozenset(("alternatives", "consequences", "supersedes", "tags", "governs"))
_ID: Final = ("id", "adr_id", "adrid")


def read_json(text: str) -> list[Entry]:
    """Return the decisions of an object, a list of them, or a list under `decisions` or `adrs`. NotReadable."""
    try:
        found = json.loads(text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        raise NotReadable(f"is no JSON: {error.msg}.", error.lineno) from None
    # json raises a plain ValueError for an integer of more than 4,300 digits (CPython 3.11)
    except (RecursionError, ValueError) as error:
        raise NotReadable(f"is no JSON that can be read: {error}.") from None
    if isinstance(found, dict):
        inner = next((value for key, value in found.items() if key.lower() in ("decisions", "adrs")), None)
        found = inner if isinstance(inner, list) else [found]
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise NotReadable("must be an object with the fields of a decision, or a list of such objects.")
    return [_entry(one, number) for number, one in enumerate(found, 1)]


def _write_json(entry: Entry, names: Mapping[str, Any] | None = None) -> str:
    """Return the object of a decision: the fields that every object has, then the others."""
    return json.dumps(entry_to_dict(entry), indent=2, ensure_ascii=False) + "\n"


def entry_to_dict(entry: Entry) -> dict[str, Any]:
    """Return the object that `_write_json` prints."""
    made: dict[str, Any] = {}
    for name in _ORDER:
        made[name] = list(entry.many(name)) if name in _LISTS else entry.text(name)
    status = entry.text("status")
    made["id"] = entry.name
    # people write it so; a text that would not be read back from that stays as it is
    made["status"] = status.capitalize() if status.capitalize().lower() == status else status
    made["consequences"] = _many(entry.text("consequences"))
    for name, value in entry.values.items():
        if name not in made:
            made[name] = list(value) if isinstance(value, tuple) else value
    return made


def _many(text: str) -> list[str]:
    """The items of a list in Markdown; other text is a list of one."""
    items = list_items(text)
    return list(items) if len(items) > 1 and bullet_list(items) == text else [text] if text else []


def _entry(one: Mapping[str, Any], number: int) -> Entry:
    draft, name = Draft(), ""
    for key, value in one.items():
        field = field_of_key(key)
        if key.lower() in _ID and isinstance(value, str | int):
            name = str(value)
        elif value is None or isinstance(value, bool):
            draft.key(key, "" if value is None else str(value).lower())
        elif field and field.name == "consequences" and isinstance(value, list):
            items = [str(item) for item in value if item is not None]
            draft.put("consequences", items[0] if len(items) == 1 else bullet_list(items))
        elif field and field.name == "status" and isinstance(value, str):
            _status(draft, value)
        elif field and field.name == "date" and isinstance(value, str):
            draft.put_date(value)
        else:
            draft.key(key, _leaf(value))
    if "title" not in draft.values:
        raise NotReadable(f"decision {number} has no title.")
    return draft.entry(name)


def _status(draft: Draft, value: str) -> None:
    if value.strip().isalpha():
        draft.put("status", value.strip().lower())
    else:
        draft.put_status(value)


def _leaf(value: Any) -> Any:
    """A value without depth: deeper values become JSON text."""
    if isinstance(value, Mapping):
        return {str(key): _text(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_text(item) for item in value if item is not None)
    return value if isinstance(value, str) else str(value)


def _text(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)


_DATED: Final = re.compile(r"\d{8}-.*\.md")


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write decisions down."""

    name: str
    read: Callable[[str], Sequence[Entry]]
    """Text of a file → its decisions. NotReadable."""
    write: Callable[[Entry, Mapping[str, Other]], str]
    """(decision, how the others are linked to) → text of a file."""
    file: Callable[[str, str, str], str]
    """(number, title, date) → name of the file."""


def _numbered(number: str, title: str, date: str) -> str:
    return f"{number.zfill(4)}-{slug(title) or 'decision'}.md"


def _dated(number: str, title: str, date: str) -> str:
    return f"{date[:10].replace('-', '') or '00000000'}-{slug(title) or f'decision-{number}'}.md"


FORMATS: Final[Mapping[str, Format]] = {
    one.name: one
    for one in (
        Format("madr", lambda text: [read_madr(text)], write_madr, _numbered),
        Format("nygard", lambda text: [read_nygard(text)], write_nygard, _numbered),
        Format("log4brains", lambda text: [_read_log4brains(text)], _write_log4brains, _dated),
        Format("json", read_json, _write_json, lambda number, title, date: f"ADR-{number.zfill(4)}.json"),
    )
}


def format_of(name: str, text: str) -> Format:
    """Return the format of a file, by its name and its text; MADR, the most forgiving, where nothing decides."""
    if name.lower().endswith(".json") or text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return FORMATS["json"]
    # only MADR has front matter: log4brains has a list below the title, adr-tools a section Status
    if text.lstrip("\ufeff").startswith("---"):
        return FORMATS["madr"]
    parts = split_sections(text.replace("\r\n", "\n"))
    if any(one.heading.strip().lower() == "status" for one in parts.sections):
        return FORMATS["nygard"]
    return FORMATS["log4brains" if _DATED.fullmatch(name) else "madr"]
