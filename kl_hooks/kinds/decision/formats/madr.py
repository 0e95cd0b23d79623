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
    is_superseded_line,
    plain_heading,
    read_markdown,
    title_heading,
    yaml_block,
)
from kl_hooks.kinds.decision.formats.sections import Section, bullet_list, shift_headings, split_sections
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
IN_BODY: Final = frozenset(name for name, _ in _HEADS) | {"title"}
"""Fields in the body of the file."""
_INSIDE: Final = frozenset(name for name, heading in _HEADS if heading.startswith("###"))
_CONSEQUENCES: Final = ("positive consequences", "negative consequences")
_KEYS: Final = {
    "status": "status", "date": "date", "deciders": "decision-makers", "consulted": "consulted", "informed": "informed",
}  # fmt: skip


def read(text: str) -> Entry:
    """Return the decision in a file. NotReadable with line and reason."""
    draft, number, sections = read_markdown(text)
    for part in sections:
        if field_of_heading(part.heading) == "decision":
            _read_outcome(draft, part)
        else:
            draft.section(part)
    if "title" not in draft.values:
        raise NotReadable("has no title: a heading `# …` is missing.")
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


def write(entry: Entry, names: Mapping[str, Other]) -> str:
    """Return the file of a decision. `names`: decisions that are linked to; others are named as they are."""
    front: dict[str, Value] = {key: entry.values[field] for field, key in _KEYS.items() if entry.values.get(field)}
    line, exact = title_heading(entry.text("title"))
    for field, value in entry.values.items():
        if field not in _KEYS and (field not in IN_BODY or (field == "title" and not exact)):
            # the prefix keeps our keys apart from those that MADR has or will have
            front[f"kl-{field.replace('_', '-')}"] = value
    newer = entry.many("superseded_by")
    if entry.text("status") == "superseded" and len(newer) == 1:
        status = f"superseded by {newer[0]}"
        if is_superseded_line(status, newer):
            front["status"] = f"superseded by [{newer[0]}]({names[newer[0]].file})" if newer[0] in names else status
            del front["kl-superseded-by"]
    return f"---\n{yaml_block(front)}\n---\n\n{line}\n{outline(entry)}" if front else f"{line}\n{outline(entry)}"


def outline(entry: Entry) -> str:
    """Return the sections that are not empty, each after a blank line."""
    made = []
    for name, heading in _HEADS:
        text = bullet_list(entry.many(name)) if name in LIST_FIELDS else entry.text(name)
        # an empty Decision Outcome is written where subsections follow: they are read as its parts only under it
        if text or (name == "decision" and any(map(entry.values.get, _INSIDE))):
            made.append(f"\n{heading}\n\n{shift_headings(text) if name in _INSIDE else text}".rstrip() + "\n")
    return "".join(made)
