"""log4brains: MADR's sections below a list (`- Status:`, `- Date:`, `- Tags:`), in files named `YYYYMMDD-slug.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kl_hooks.kinds.decision.formats import madr
from kl_hooks.kinds.decision.formats.entry import (
    Entry,
    Other,
    details_section,
    is_exact_line,
    is_superseded_line,
    title_heading,
)

_WORDS: Final = (("status", "Status"), ("deciders", "Deciders"), ("date", "Date"), ("tags", "Tags"))

read = madr.read
"""The same reader: a list is only another head."""


def write(entry: Entry, names: Mapping[str, Other]) -> str:
    """Return the file of a decision; what its list has no word for is in a block of YAML at the end."""
    title, exact = title_heading(entry.text("title"))
    shown = madr.IN_BODY if exact else madr.IN_BODY - {"title"}
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
    return f"{title}\n{head}{madr.outline(entry)}{details_section(left)}"
