"""MADR 4: front matter (status, date, decision-makers, consulted, informed) and its sections; older MADR is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kl_hooks.kinds.decision.formats.draft import Draft
from kl_hooks.kinds.decision.formats.entry import Entry, NotReadable, Other
from kl_hooks.kinds.decision.formats.front import front_matter, number_in, written
from kl_hooks.kinds.decision.formats.head import numbered
from kl_hooks.kinds.decision.formats.listhead import read_list_head
from kl_hooks.kinds.decision.formats.outline import HEADS, outline, read_outline
from kl_hooks.kinds.decision.formats.parts import apart, tidy
from kl_hooks.kinds.decision.formats.statusline import comes_back, put_date, put_status
from kl_hooks.kinds.decision.formats.title import heading
from kl_hooks.model.record import Value

_OWN: Final = {
    "status": "status", "date": "date", "deciders": "decision-makers", "consulted": "consulted", "informed": "informed",
}  # fmt: skip
IN_BODY: Final = frozenset(name for name, _ in HEADS) | {"title"}
"""Fields that the body of the file says."""


def read(text: str) -> Entry:
    """The decision that a file says. NotReadable with place and reason."""
    keys, body = front_matter(tidy(text.lstrip("\ufeff")))
    parts = apart(body)
    draft = Draft()
    number, title = numbered(parts.title)
    draft.put("title", title)
    number = number_in(keys) or number
    for key, value in keys.items():
        if key.lower() in ("status", "date") and isinstance(value, str):
            (put_status if key.lower() == "status" else put_date)(draft, value)
        else:
            draft.key(key, value)
    draft.leave("", read_list_head(draft, parts.head))
    read_outline(draft, parts.sections)
    if "title" not in draft.values:
        raise NotReadable("has no title: a heading `# …` is missing.")
    return draft.entry(number)


def write(entry: Entry, names: Mapping[str, Other]) -> str:
    """The file of a decision. `names`: how the decisions it names are linked to; others are named as they are."""
    front: dict[str, Value] = {key: entry.values[field] for field, key in _OWN.items() if entry.values.get(field)}
    line, exact = heading(entry.text("title"))
    for field, value in entry.values.items():
        if field not in _OWN and (field not in IN_BODY or (field == "title" and not exact)):
            front[f"kl-{field.replace('_', '-')}"] = value
    newer = entry.many("superseded_by")
    if entry.text("status") == "superseded" and len(newer) == 1:
        spoken = f"superseded by {newer[0]}"
        if comes_back(spoken, newer):
            front["status"] = f"superseded by [{newer[0]}]({names[newer[0]].file})" if newer[0] in names else spoken
            del front["kl-superseded-by"]
    return f"---\n{written(front)}\n---\n\n{line}\n{outline(entry)}" if front else f"{line}\n{outline(entry)}"
