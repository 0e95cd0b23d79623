"""One value, held against its Field: what it must be, and how it is kept. A value that does not fit is `Wrong`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kl_hooks.clock import micros
from kl_hooks.config.typed import nearest
from kl_hooks.model.ids import PREFIXES, RECORD_ID
from kl_hooks.model.kind import Field
from kl_hooks.model.text import one_line, safe_text

LONGEST_LINE: Final = 2_000
LONGEST_TEXT: Final = 100_000
LONGEST_KEY: Final = 200
MOST_ITEMS: Final = 500
_WORD: Final = re.compile(r"[^\s,\x00-\x1f\x7f-\x9f]{1,60}")
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_WHOLE: Final = re.compile(r"-?[0-9]{1,9}")
_PART: Final = re.compile(r"0?\.[0-9]{1,9}|[01]\.0{1,9}")


class Wrong(Exception):
    """A value that does not fit: the reason, and what to do."""

    def __init__(self, reason: str, hint: str = "") -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


def line(field: Field, given: Any) -> str:
    """One line of text, as it was given."""
    found = _text(given, LONGEST_LINE)
    if "\n" in found or "\r" in found:
        raise Wrong("must be one line.", f"Put the rest where there is room: {field.says}" if field.says else "")
    return found if found.strip() else ""


def text(field: Field, given: Any) -> str:
    """Text of any number of lines, as it was given; a list is a list in Markdown."""
    if isinstance(given, list | tuple):
        given = "\n".join(f"- {item}" for item in several(field, given))
    found = _text(given, LONGEST_TEXT)
    return found if found.strip() else ""


def several(field: Field, given: Any) -> tuple[str, ...]:
    """A list of texts; one text is a list of one. Empty ones are left out."""
    items = list(given) if isinstance(given, list | tuple) else [given]
    if len(items) > MOST_ITEMS:
        raise Wrong(f"has {len(items)} items; at most {MOST_ITEMS} are kept.")
    found = [_text(item, LONGEST_TEXT) for item in items if item is not None]
    return tuple(item for item in found if item.strip())


def words(field: Field, given: Any) -> tuple[str, ...]:
    """Short words without spaces and commas, each once; one text is split at its commas."""
    items = [part for item in several(field, given) for part in item.split(",")]
    found = list(dict.fromkeys(item.strip() for item in items if item.strip()))
    for word in found:
        if not _WORD.fullmatch(word) or safe_text(word) != word:
            raise Wrong(f"holds {one_line(word, 60)!r}, which is no short word.", "At most 60 characters, no spaces.")
    return tuple(found)


def choice(field: Field, given: Any) -> str:
    """One of the field's words, in their own spelling."""
    spoken = _text(given, LONGEST_LINE).strip()
    also = {_key(other): word for other, word in field.also.items()} | {_key(word): word for word in field.choices}
    if _key(spoken) in also:
        return also[_key(spoken)]
    raise Wrong(f"must be one of: {', '.join(field.choices)}.", nearest(_key(spoken), field.choices))


def number(field: Field, given: Any) -> int:
    """A whole number within the field's bounds; where 100 is the most, a part of one (0.82) is read as percent."""
    if isinstance(given, bool):
        raise Wrong("must be a number.")
    spoken = str(given).strip() if isinstance(given, str | int | float) else ""
    if field.most == 100 and (isinstance(given, float) or _PART.fullmatch(spoken)):
        spoken = str(round(float(spoken) * 100)) if _PART.fullmatch(spoken) else spoken
    if isinstance(given, float) and spoken.endswith(".0"):
        spoken = spoken[:-2]
    if not _WHOLE.fullmatch(spoken) or not field.least <= int(spoken) <= field.most:
        raise Wrong(f"must be a whole number from {field.least} to {field.most}.")
    return int(spoken)


def flag(field: Field, given: Any) -> bool:
    """True or false; yes, no, on, off are read too."""
    spoken = str(given).strip().lower() if isinstance(given, str | bool | int) else ""
    if spoken in _TRUE or spoken in _FALSE:
        return spoken in _TRUE
    raise Wrong("must be true or false.")


def date(field: Field, given: Any) -> str:
    """A date or a moment in ISO 8601, as it was given."""
    spoken = _text(given, LONGEST_LINE).strip()
    try:
        micros(spoken)
    except (ValueError, OverflowError):
        raise Wrong("must be a date such as 2027-01-31, or a moment in ISO 8601.") from None
    return spoken


def identifiers(field: Field, given: Any) -> tuple[str, ...]:
    """Ids, each once, as they were given: `file:src/a.py`, a path, `ADR-0007`. One text is split at its commas."""
    given = given.split(",") if isinstance(given, str) else given
    found = list(dict.fromkeys(item.strip() for item in several(field, given) if item.strip()))
    for one in found:
        node_of(one)
    return tuple(found)


def mapping(field: Field, given: Any) -> dict[str, str]:
    """Text by text."""
    if not isinstance(given, Mapping) or len(given) > MOST_ITEMS:
        raise Wrong("must be keys and values.")
    found = {line(field, str(key)): _text(value, LONGEST_TEXT) for key, value in given.items() if value is not None}
    if any(not key or len(key) > LONGEST_KEY for key in found):
        raise Wrong(f"has a key that is empty or longer than {LONGEST_KEY} characters.")
    return found


def node_of(given: str) -> str:
    """The Id that is meant: a path stands for its file. Wrong for a path that leads out, or what nothing can bear."""
    prefix, colon, name = given.partition(":")
    if len(given) > LONGEST_LINE or safe_text(given) != given or any(c in given for c in "\n\t"):
        raise Wrong(f"holds {one_line(given, 80)!r}: characters that no Id has.")
    if colon and prefix in PREFIXES and prefix != "file":
        if not name.strip():
            raise Wrong(f"holds {given!r}: a name belongs after the colon.")
        return given
    if RECORD_ID.fullmatch(given) or (colon and prefix.isidentifier() and prefix != "file"):
        return given
    path = name if colon and prefix == "file" else given
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "~")) or ".." in parts or not path.strip("/. "):
        raise Wrong(f"holds {one_line(given, 80)!r}.", "Give a path from the root of the repository, or an Id.")
    return "file:" + "/".join(part for part in parts if part not in ("", "."))


def _text(given: Any, most: int) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise Wrong(f"must be text, not {_sort(given)}.")
    spoken = str(given)
    if len(spoken) > most:
        raise Wrong(
            f"is {len(spoken)} characters long; at most {most} are kept.", "Keep the essence; link to the rest."
        )
    return spoken


def _sort(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a map"
    return "a list" if isinstance(value, list | tuple) else "true or false" if isinstance(value, bool) else "this"


def _key(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")
