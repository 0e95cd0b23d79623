"""The head of older MADR and of log4brains: a list such as `- Status: accepted` below the title."""

from __future__ import annotations

import re
from typing import Final

from kl_hooks.kinds.decision.formats.draft import Draft
from kl_hooks.kinds.decision.formats.head import iso_date, relation
from kl_hooks.kinds.decision.formats.statusline import put_status

_LINE: Final = re.compile(r"(?:[-*+] +)?[*_]{0,2}([A-Za-z][A-Za-z ]{2,20}?)[*_]{0,2}\s*:[*_]{0,2}(?:\s+(.*)|)")
_PEOPLE: Final = {
    "deciders": "deciders",
    "decision makers": "deciders",
    "consulted": "consulted",
    "informed": "informed",
}


def read_list_head(draft: Draft, text: str) -> str:
    """Takes what it knows out of the text before the first section; the rest comes back."""
    return "\n".join(line for line in text.split("\n") if not _taken(draft, line))


def _taken(draft: Draft, line: str) -> bool:
    found = _LINE.fullmatch(line.rstrip())
    key, value = (found[1].strip().lower(), (found[2] or "").strip()) if found else ("", "")
    if key == "status" and value and "status" not in draft.values:
        put_status(draft, value)
    elif key == "date" and iso_date(value) and "date" not in draft.values:
        draft.put("date", iso_date(value))
    elif key == "tags" and value:
        draft.put("tags", tuple(value.split(",")) if "," in value else tuple(value.split()))
    elif key in _PEOPLE and value:
        draft.put(_PEOPLE[key], tuple(one.strip() for one in value.split(",")))
    elif found and (related := relation(line.strip("-*+ "))):
        draft.put(*related)
    else:
        return False
    return True
