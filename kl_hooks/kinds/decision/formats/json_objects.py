"""JSON: an object per decision, or a list; keys as in `docs/decisions.md`, in any of the usual spellings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kl_hooks.kinds.decision.formats.entry import Draft, Entry, NotReadable, field_of_key
from kl_hooks.kinds.decision.formats.sections import bullet_list, list_items

_ORDER: Final = (
    "id", "title", "status", "date", "context", "decision", "alternatives", "consequences", "supersedes", "tags",
    "governs",
)  # fmt: skip
"""The fields that every object has."""
_LISTS: Final = frozenset(("alternatives", "consequences", "supersedes", "tags", "governs"))
_ID: Final = ("id", "adr_id", "adrid")


def read_all(text: str) -> list[Entry]:
    """Return the decisions of an object, a list of them, or a list under `decisions` or `adrs`. NotReadable."""
    try:
        found = json.loads(text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        raise NotReadable(f"is no JSON: {error.msg}.", error.lineno) from None
    # json raises a plain ValueError for an integer of more than 4,300 digits (CPython 3.11)
    except (RecursionError, ValueError) as error:
        raise NotReadable(f"is no JSON that can be read: {error}.") from None
    if isinstance(found, dict):
        inner = next((value for key, value in found.items() if key.lower() in ("decisions", "adrs")), None)
        found = inner if isinstance(inner, list) else [found]
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise NotReadable("must be an object with the fields of a decision, or a list of such objects.")
    return [_entry(one, number) for number, one in enumerate(found, 1)]


def write(entry: Entry, names: Mapping[str, Any] | None = None) -> str:
    """Return the object of a decision: the fields that every object has, then the others."""
    return json.dumps(entry_to_dict(entry), indent=2, ensure_ascii=False) + "\n"


def entry_to_dict(entry: Entry) -> dict[str, Any]:
    """Return the object that `write` prints."""
    made: dict[str, Any] = {}
    for name in _ORDER:
        made[name] = list(entry.many(name)) if name in _LISTS else entry.text(name)
    status = entry.text("status")
    made["id"] = entry.name
    # people write it so; a text that would not be read back from that stays as it is
    made["status"] = status.capitalize() if status.capitalize().lower() == status else status
    made["consequences"] = _many(entry.text("consequences"))
    for name, value in entry.values.items():
        if name not in made:
            made[name] = list(value) if isinstance(value, tuple) else value
    return made


def _many(text: str) -> list[str]:
    """The items of a list in Markdown; other text is a list of one."""
    items = list_items(text)
    return list(items) if len(items) > 1 and bullet_list(items) == text else [text] if text else []


def _entry(one: Mapping[str, Any], number: int) -> Entry:
    draft, name = Draft(), ""
    for key, value in one.items():
        field = field_of_key(key)
        if key.lower() in _ID and isinstance(value, str | int):
            name = str(value)
        elif value is None or isinstance(value, bool):
            draft.key(key, "" if value is None else str(value).lower())
        elif field and field.name == "consequences" and isinstance(value, list):
            items = [str(item) for item in value if item is not None]
            draft.put("consequences", items[0] if len(items) == 1 else bullet_list(items))
        elif field and field.name == "status" and isinstance(value, str):
            _status(draft, value)
        elif field and field.name == "date" and isinstance(value, str):
            draft.put_date(value)
        else:
            draft.key(key, _leaf(value))
    if "title" not in draft.values:
        raise NotReadable(f"decision {number} has no title.")
    return draft.entry(name)


def _status(draft: Draft, value: str) -> None:
    if value.strip().isalpha():
        draft.put("status", value.strip().lower())
    else:
        draft.put_status(value)


def _leaf(value: Any) -> Any:
    """A value without depth: deeper values become JSON text."""
    if isinstance(value, Mapping):
        return {str(key): _text(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_text(item) for item in value if item is not None)
    return value if isinstance(value, str) else str(value)


def _text(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
