"""log4brains: MADR's sections below a list (`- Status:`, `- Date:`, `- Tags:`), in files named `YYYYMMDD-slug.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kl_hooks.kinds.decision.formats import madr
from kl_hooks.kinds.decision.formats.entry import Draft, Entry, Other, details_section
from kl_hooks.kinds.decision.formats.head import is_superseded_line, read_list_head, title_heading
from kl_hooks.kinds.decision.formats.madr import outline

_WORDS: Final = (("status", "Status"), ("deciders", "Deciders"), ("date", "Date"), ("tags", "Tags"))

read = madr.read
"""The same reader: a list is only another head."""


def write(entry: Entry, names: Mapping[str, Other]) -> str:
    """The file of a decision; what its list has no word for stands in a block of YAML at the end."""
    title, exact = title_heading(entry.text("title"))
    left = {
        key: value for key, value in entry.values.items() if key not in madr.IN_BODY or (key == "title" and not exact)
    }
    lines = []
    for field, word in _WORDS:
        line = f"- {word}: {', '.join(entry.many(field))}"
        if field in left and _comes_back(entry, field, line):
            lines.append(line)
            del left[field]
    newer = entry.many("superseded_by")
    if (
        lines
        and lines[0] == "- Status: superseded"
        and len(newer) == 1
        and is_superseded_line(f"superseded by {newer[0]}", newer)
    ):
        file = names[newer[0]].file if newer[0] in names else ""
        lines[0] = f"{lines[0]} by [{file.removesuffix('.md')}]({file})" if file else f"{lines[0]} by {newer[0]}"
        del left["superseded_by"]
    head = "\n" + "\n".join(lines) + "\n" if lines else ""
    return f"{title}\n{head}{outline(entry)}{details_section(left)}"


def _comes_back(entry: Entry, field: str, line: str) -> bool:
    """True where the line says exactly what the field holds."""
    draft = Draft()
    return (
        "<!--" not in line
        and not read_list_head(draft, line).strip()
        and draft.entry().values == {field: entry.values[field]}
    )
