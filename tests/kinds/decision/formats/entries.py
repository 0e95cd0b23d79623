"""Entries to write and read: hypothesis strategies over every field, in the form that readers
give.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.formats import Draft, Entry

PIECES = st.sampled_from(
    [
        "# ",
        "## Context",
        "## ",
        "### Consequences",
        "---",
        "```",
        "~~~",
        "- ",
        "* ",
        "  ",
        "    ",
        "\n",
        "\n\n",
        "words",
        "Status: accepted",
        "Date: 2020-01-01",
        "[1. X](0001-x.md)",
        "<!--",
        "-->",
        "`",
        "===",
        "|",
        "Superseded by ADR-0002",
        "7. ",
        "\t",
        ":",
        "'",
        '"',
        "#",
        "\u202e",
        "\u2028",
        "\x85",
        "\x1b[31m",
        "\r\n",
        "é",
    ]
)
MARKDOWN = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40)


def raw_values() -> st.SearchStrategy[dict[str, Any]]:
    """Anything that a field of its type may be given, title always."""
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "text": MARKDOWN,
        "lines": st.lists(MARKDOWN, max_size=3).map(tuple),
        "line": MARKDOWN,
        "words": st.lists(st.text(min_size=1, max_size=8), max_size=3).map(tuple),
        "ids": st.lists(
            st.sampled_from(["ADR-0002", "src/a.py", "function:a.b", "7", "x y"]), max_size=3
        ).map(tuple),
        "date": st.sampled_from(["2026-11-22", "2026-11-22T10:00:00Z"]),
        "number": st.integers(0, 100),
        "choice": st.sampled_from(DECISION.by_name["trigger"].choices),
    }
    fields = {
        one.name: kinds[one.type]
        for one in DECISION.all_fields
        if one.name not in ("title", "status", "authority", "updated")
    }
    return st.fixed_dictionaries(
        {
            "title": st.text(min_size=1, max_size=30).filter(lambda text: bool(text.split()))
            | MARKDOWN.map(lambda text: f"T{text}")
        },
        optional={**fields, "status": st.sampled_from([*DECISION.statuses])},
    )


def entry_of(values: dict[str, Any], name: str = "") -> Entry:
    """The entry that a reader would make of these values."""
    draft = Draft()
    for key, value in values.items():
        draft.put(key, value)
    return draft.entry(name)


ENTRIES = raw_values().map(entry_of)
