"""The sections of a decision in the words of MADR, which log4brains shares: read and written."""

from __future__ import annotations

from typing import Final

from kl_hooks.kinds.decision.formats.draft import Draft
from kl_hooks.kinds.decision.formats.entry import Entry
from kl_hooks.kinds.decision.formats.parts import Part, apart, bulleted, deeper
from kl_hooks.kinds.decision.formats.words import LISTS, field_of_heading, plain_heading

HEADS: Final = (
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
_INSIDE: Final = frozenset(name for name, heading in HEADS if heading.startswith("###"))
_SHARES: Final = ("positive consequences", "negative consequences")


def read_outline(draft: Draft, sections: tuple[Part, ...]) -> None:
    """Puts the sections where they belong; subsections of the outcome are fields of their own."""
    for part in sections:
        if field_of_heading(part.heading) != "decision":
            draft.section(part)
            continue
        lines: list[str | None] = list(part.text.split("\n"))
        for sub in apart(part.text, 3, title=False).sections:
            if not _taken(draft, sub):
                continue
            lines[sub.line - 1 : sub.line - 1 + sub.lines] = [None] * sub.lines
        draft.put("decision", "\n".join(line for line in lines if line is not None))


def _taken(draft: Draft, sub: Part) -> bool:
    """Puts a subsection of the outcome where it belongs; False where it is only a part of the decision."""
    text = deeper(sub.text, -1)
    if plain_heading(sub.heading) in _SHARES:
        draft.put("consequences", f"### {sub.heading}\n\n{text}")
    elif field_of_heading(sub.heading) in _INSIDE:
        draft.section(Part(sub.heading, text, sub.line))
    else:
        return False
    return True


def outline(entry: Entry) -> str:
    """The sections that say something, each after a blank line."""
    made = []
    for name, heading in HEADS:
        text = bulleted(entry.many(name)) if name in LISTS else entry.text(name)
        if text or (name == "decision" and any(map(entry.values.get, _INSIDE))):
            made.append(f"\n{heading}\n\n{deeper(text) if name in _INSIDE else text}".rstrip() + "\n")
    return "".join(made)
