"""Michael Nygard's form, as adr-tools keeps it: `# 7. Title`, `Date:`, Status with its links, Context, Decision, …"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.formats.entry import (
    LIST_FIELDS,
    Draft,
    Entry,
    NotReadable,
    Other,
    details_section,
    front_matter,
    take_number,
)
from kl_hooks.kinds.decision.formats.head import numbered, put_status, read_list_head, relation, title_heading
from kl_hooks.kinds.decision.formats.sections import Section, bullet_list, split_sections, tidy
from kl_hooks.model.record import Value

_FIRST: Final = ("context", "decision", "consequences")
_SECTIONS: Final = tuple(
    (one.name, one.section) for one in sorted(DECISION.fields, key=lambda one: one.name not in _FIRST) if one.section
)
_LINKS: Final = (
    ("supersedes", "Supersedes"), ("superseded_by", "Superseded by"), ("amends", "Amends"),
    ("amended_by", "Amended by"), ("related_adrs", "Related to"),
)  # fmt: skip


def read(text: str) -> Entry:
    """The decision that a file says. NotReadable with place and reason."""
    keys, body = front_matter(tidy(text.lstrip("\ufeff")))
    parts = split_sections(body)
    draft = Draft()
    number, title = numbered(parts.title)
    draft.put("title", title)
    number = take_number(keys) or number
    for key, value in keys.items():
        draft.key(key, value)
    draft.leave("", read_list_head(draft, parts.head))
    for part in parts.sections:
        if part.heading.strip().lower() == "status":
            _read_status(draft, part)
        else:
            draft.section(part)
    if "title" not in draft.values:
        raise NotReadable("has no title: a heading `# 1. …` is missing.")
    return draft.entry(number)


def write(entry: Entry, names: Mapping[str, Other]) -> str:
    """The file of a decision; what the form has no words for stands in a block of YAML at the end."""
    number = entry.name.lstrip("0") if entry.name.isdecimal() and entry.name.isascii() else ""
    title, exact = title_heading(entry.text("title"), number)
    shown = {name for name, _ in _SECTIONS} | ({"title"} if exact else set())
    left = {key: value for key, value in entry.values.items() if key not in shown}
    made = [title]
    if _says(f"Date: {entry.text('date')}", left, "date"):
        made.append(f"Date: {left.pop('date')}")
    status = _status(left, names)
    made += ["## Status", *status] if status else []
    for name, section in _SECTIONS:
        if text := bullet_list(entry.many(name)) if name in LIST_FIELDS else entry.text(name):
            made += [f"## {section}", text]
    return "\n\n".join(made) + "\n" + details_section(left)


def _read_status(draft: Draft, part: Section) -> None:
    for line in part.text.split("\n"):
        found = relation(line.strip().strip("-*+ "))
        if found:
            draft.put(*found)
            if found[0] == "superseded_by":
                draft.values["status"] = "superseded"
        elif line.strip() and "status" not in draft.values:
            put_status(draft, line)
        elif line.strip():
            draft.leave("Status", line)


def _status(left: dict[str, Value], names: Mapping[str, Other]) -> list[str]:
    """The paragraphs of the section Status; takes out of `left` what they say."""
    made = []
    links = [(field, word, found) for field, word in _LINKS if isinstance(found := left.get(field), tuple)]
    links = [one for one in links if all(relation(f"{one[1]} {name}") == (one[0], (name,)) for name in one[2])]
    word = str(left.get("status", ""))
    newer = any(field == "superseded_by" for field, _, _ in links)
    if word.isalpha() and word.isascii() and word == word.lower() and newer == (word == "superseded"):
        del left["status"]
        made += [] if newer else [word.capitalize()]
    elif newer:
        links = [one for one in links if one[0] != "superseded_by"]
    for field, verb, some in links:
        del left[field]
        made += [f"{verb} {_link(name, names)}" for name in some]
    return made


def _link(name: str, names: Mapping[str, Other]) -> str:
    other = names.get(name)
    return f"[{other.number}. {other.title.translate(_NO_LINK)}]({other.file})" if other else name


_NO_LINK: Final = str.maketrans("[]()<>", "      ")


def _says(line: str, left: Mapping[str, Value], field: str) -> bool:
    """True where the line says exactly what the field holds."""
    draft = Draft()
    return field in left and not read_list_head(draft, line).strip() and draft.values == {field: left[field]}
