"""MADR 4: front matter (status, date, decision-makers, consulted, informed) and its sections; older MADR is read.

log4brains shares the sections.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kl_hooks.kinds.decision.formats.entry import (
    LIST_FIELDS,
    Draft,
    Entry,
    NotReadable,
    Other,
    field_of_heading,
    front_matter,
    plain_heading,
    take_number,
    yaml_block,
)
from kl_hooks.kinds.decision.formats.head import (
    is_superseded_line,
    numbered,
    put_date,
    put_status,
    read_list_head,
    title_heading,
)
from kl_hooks.kinds.decision.formats.sections import Section, bullet_list, shift_headings, split_sections, tidy
from kl_hooks.model.record import Value

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
_INSIDE: Final = frozenset(name for name, heading in _HEADS if heading.startswith("###"))
_SHARES: Final = ("positive consequences", "negative consequences")


def _read_outline(draft: Draft, sections: tuple[Section, ...]) -> None:
    """Puts the sections where they belong; subsections of the outcome are fields of their own."""
    for part in sections:
        if field_of_heading(part.heading) != "decision":
            draft.section(part)
            continue
        lines: list[str | None] = list(part.text.split("\n"))
        for sub in split_sections(part.text, 3, title=False).sections:
            if not _taken(draft, sub):
                continue
            lines[sub.line - 1 : sub.line - 1 + sub.lines] = [None] * sub.lines
        draft.put("decision", "\n".join(line for line in lines if line is not None))


def _taken(draft: Draft, sub: Section) -> bool:
    """Puts a subsection of the outcome where it belongs; False where it is only a part of the decision."""
    text = shift_headings(sub.text, -1)
    if plain_heading(sub.heading) in _SHARES:
        draft.put("consequences", f"### {sub.heading}\n\n{text}")
    elif field_of_heading(sub.heading) in _INSIDE:
        draft.section(Section(sub.heading, text, sub.line))
    else:
        return False
    return True


def outline(entry: Entry) -> str:
    """The sections that say something, each after a blank line."""
    made = []
    for name, heading in _HEADS:
        text = bullet_list(entry.many(name)) if name in LIST_FIELDS else entry.text(name)
        if text or (name == "decision" and any(map(entry.values.get, _INSIDE))):
            made.append(f"\n{heading}\n\n{shift_headings(text) if name in _INSIDE else text}".rstrip() + "\n")
    return "".join(made)


_OWN: Final = {
    "status": "status", "date": "date", "deciders": "decision-makers", "consulted": "consulted", "informed": "informed",
}  # fmt: skip
IN_BODY: Final = frozenset(name for name, _ in _HEADS) | {"title"}
"""Fields that the body of the file says."""


def read(text: str) -> Entry:
    """The decision that a file says. NotReadable with place and reason."""
    keys, body = front_matter(tidy(text.lstrip("\ufeff")))
    parts = split_sections(body)
    draft = Draft()
    number, title = numbered(parts.title)
    draft.put("title", title)
    number = take_number(keys) or number
    for key, value in keys.items():
        if key.lower() in ("status", "date") and isinstance(value, str):
            (put_status if key.lower() == "status" else put_date)(draft, value)
        else:
            draft.key(key, value)
    draft.leave("", read_list_head(draft, parts.head))
    _read_outline(draft, parts.sections)
    if "title" not in draft.values:
        raise NotReadable("has no title: a heading `# …` is missing.")
    return draft.entry(number)


def write(entry: Entry, names: Mapping[str, Other]) -> str:
    """The file of a decision. `names`: how the decisions it names are linked to; others are named as they are."""
    front: dict[str, Value] = {key: entry.values[field] for field, key in _OWN.items() if entry.values.get(field)}
    line, exact = title_heading(entry.text("title"))
    for field, value in entry.values.items():
        if field not in _OWN and (field not in IN_BODY or (field == "title" and not exact)):
            front[f"kl-{field.replace('_', '-')}"] = value
    newer = entry.many("superseded_by")
    if entry.text("status") == "superseded" and len(newer) == 1:
        spoken = f"superseded by {newer[0]}"
        if is_superseded_line(spoken, newer):
            front["status"] = f"superseded by [{newer[0]}]({names[newer[0]].file})" if newer[0] in names else spoken
            del front["kl-superseded-by"]
    return f"---\n{yaml_block(front)}\n---\n\n{line}\n{outline(entry)}" if front else f"{line}\n{outline(entry)}"
