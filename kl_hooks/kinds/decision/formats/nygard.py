"""Michael Nygard's form, as adr-tools writes it: `# 7. Title`, `Date:`, Status with its links, Context, Decision, …"""

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
    is_exact_line,
    read_markdown,
    relation,
    title_heading,
)
from kl_hooks.kinds.decision.formats.sections import Section, bullet_list
from kl_hooks.model.record import Value

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


def read(text: str) -> Entry:
    """Return the decision in a file. NotReadable with line and reason."""
    draft, number, sections = read_markdown(text)
    for part in sections:
        if part.heading.strip().lower() == "status":
            _read_status(draft, part)
        else:
            draft.section(part)
    if "title" not in draft.values:
        raise NotReadable("has no title: a heading `# 1. …` is missing.")
    return draft.entry(number)


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


def write(entry: Entry, names: Mapping[str, Other]) -> str:
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
