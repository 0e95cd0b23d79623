"""Validation: raw values checked against the fields of a kind, all problems reported at once.

A valid value comes out in one canonical spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kl_hooks.clock import micros
from kl_hooks.config.typed import nearest
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.ids import PREFIXES, RECORD_ID
from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Value
from kl_hooks.model.text import one_line, safe_text

_LONGEST_LINE: Final = 2_000
_LONGEST_TEXT: Final = 100_000
_LONGEST_KEY: Final = 200
_MOST_ITEMS: Final = 500
_WORD: Final = re.compile(r"[^\s,\x00-\x1f\x7f-\x9f]{1,60}")
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_INTEGER: Final = re.compile(r"-?[0-9]{1,9}")
_FRACTION: Final = re.compile(r"0?\.[0-9]{1,9}|[01]\.0{1,9}")


class InvalidValue(Exception):
    """A value that does not fit: the reason, and what to do."""

    def __init__(self, reason: str, hint: str = "") -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


def _line(field: Field, given: Any) -> str:
    """One line of text, as it was given."""
    found = _checked_text(given, _LONGEST_LINE)
    if "\n" in found or "\r" in found:
        raise InvalidValue("must be one line.", f"Put the rest where there is room: {field.says}" if field.says else "")
    return found if found.strip() else ""


def _multiline(field: Field, given: Any) -> str:
    """Text of any number of lines, as it was given; a list is a list in Markdown."""
    if isinstance(given, list | tuple):
        given = "\n".join(f"- {item}" for item in _lines(field, given))
    found = _checked_text(given, _LONGEST_TEXT)
    return found if found.strip() else ""


def _lines(field: Field, given: Any) -> tuple[str, ...]:
    """A list of texts; one text is a list of one. Empty ones are left out."""
    items = list(given) if isinstance(given, list | tuple) else [given]
    if len(items) > _MOST_ITEMS:
        raise InvalidValue(f"has {len(items)} items; at most {_MOST_ITEMS} are kept.")
    found = [_checked_text(item, _LONGEST_TEXT) for item in items if item is not None]
    return tuple(item for item in found if item.strip())


def _words(field: Field, given: Any) -> tuple[str, ...]:
    """Short words without spaces and commas, each once; one text is split at its commas."""
    items = [part for item in _lines(field, given) for part in item.split(",")]
    found = list(dict.fromkeys(item.strip() for item in items if item.strip()))
    for word in found:
        if not _WORD.fullmatch(word) or safe_text(word) != word:
            raise InvalidValue(
                f"holds {one_line(word, 60)!r}, which is no short word.", "At most 60 characters, no spaces."
            )
    return tuple(found)


def _choice(field: Field, given: Any) -> str:
    """One of the field's words, in their own spelling."""
    spoken = _checked_text(given, _LONGEST_LINE).strip()
    also = {_choice_key(other): word for other, word in field.also.items()} | {
        _choice_key(word): word for word in field.choices
    }
    if _choice_key(spoken) in also:
        return also[_choice_key(spoken)]
    raise InvalidValue(f"must be one of: {', '.join(field.choices)}.", nearest(_choice_key(spoken), field.choices))


def _number(field: Field, given: Any) -> int:
    """A whole number within the field's bounds; where 100 is the most, a part of one (0.82) is read as percent."""
    if isinstance(given, bool):
        raise InvalidValue("must be a number.")
    spoken = str(given).strip() if isinstance(given, str | int | float) else ""
    if field.most == 100 and (isinstance(given, float) or _FRACTION.fullmatch(spoken)):
        spoken = str(round(float(spoken) * 100)) if _FRACTION.fullmatch(spoken) else spoken
    if isinstance(given, float) and spoken.endswith(".0"):
        spoken = spoken[:-2]
    if not _INTEGER.fullmatch(spoken) or not field.least <= int(spoken) <= field.most:
        raise InvalidValue(f"must be a whole number from {field.least} to {field.most}.")
    return int(spoken)


def _flag(field: Field, given: Any) -> bool:
    """True or false; yes, no, on, off are read too."""
    spoken = str(given).strip().lower() if isinstance(given, str | bool | int) else ""
    if spoken in _TRUE or spoken in _FALSE:
        return spoken in _TRUE
    raise InvalidValue("must be true or false.")


def _date(field: Field, given: Any) -> str:
    """A date or a moment in ISO 8601, as it was given."""
    spoken = _checked_text(given, _LONGEST_LINE).strip()
    try:
        micros(spoken)
    except (ValueError, OverflowError):
        raise InvalidValue("must be a date such as 2027-01-31, or a moment in ISO 8601.") from None
    return spoken


def _ids(field: Field, given: Any) -> tuple[str, ...]:
    """Ids, each once, as they were given: `file:src/a.py`, a path, `ADR-0007`. One text is split at its commas."""
    given = given.split(",") if isinstance(given, str) else given
    found = list(dict.fromkeys(item.strip() for item in _lines(field, given) if item.strip()))
    for one in found:
        node_id(one)
    return tuple(found)


def _map(field: Field, given: Any) -> dict[str, str]:
    """Text by text."""
    if not isinstance(given, Mapping) or len(given) > _MOST_ITEMS:
        raise InvalidValue("must be keys and values.")
    found = {
        _line(field, str(key)): _checked_text(value, _LONGEST_TEXT) for key, value in given.items() if value is not None
    }
    if any(not key or len(key) > _LONGEST_KEY for key in found):
        raise InvalidValue(f"has a key that is empty or longer than {_LONGEST_KEY} characters.")
    return found


def node_id(given: str) -> str:
    """The Id that is meant: a path stands for its file. Wrong for a path that leads out, or what nothing can bear."""
    prefix, colon, name = given.partition(":")
    if len(given) > _LONGEST_LINE or safe_text(given) != given or any(c in given for c in "\n\t"):
        raise InvalidValue(f"holds {one_line(given, 80)!r}: characters that no Id has.")
    if colon and prefix in PREFIXES and prefix != "file":
        if not name.strip():
            raise InvalidValue(f"holds {given!r}: a name belongs after the colon.")
        return given
    if RECORD_ID.fullmatch(given) or (colon and prefix.isidentifier() and prefix != "file"):
        return given
    path = name if colon and prefix == "file" else given
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "~")) or ".." in parts or not path.strip("/. "):
        raise InvalidValue(f"holds {one_line(given, 80)!r}.", "Give a path from the root of the repository, or an Id.")
    return "file:" + "/".join(part for part in parts if part not in ("", "."))


def _checked_text(given: Any, most: int) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise InvalidValue(f"must be text, not {_type_name(given)}.")
    spoken = str(given)
    if len(spoken) > most:
        raise InvalidValue(
            f"is {len(spoken)} characters long; at most {most} are kept.", "Keep the essence; link to the rest."
        )
    return spoken


def _type_name(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a map"
    return "a list" if isinstance(value, list | tuple) else "true or false" if isinstance(value, bool) else "this"


def _choice_key(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")


Locate = Callable[[str], tuple[str, int, int]]
"""Name of a field → path (or command), line and column to blame."""

_PARSERS: Final[Mapping[str, Callable[[Field, Any], Value]]] = {
    "line": _line, "text": _multiline, "lines": _lines, "words": _words, "choice": _choice, "number": _number,
    "flag": _flag,
    "date": _date, "ids": _ids, "map": _map,
}  # fmt: skip


def validate(
    kind: Kind, raw: Mapping[str, Any], place: Locate, *, whole: bool = True, strange: list[Problem] | None = None
) -> tuple[dict[str, Value], list[Problem]]:
    """(field → value, everything wrong with `raw`), in the order of the kind's fields.

    `raw` holds text, numbers, booleans, lists or maps under names or other names of fields; None and empty text say
    nothing. With `whole` what is required must be there. A name that no field bears is a problem, or, with a list
    `strange`, put there.
    """
    problems: list[Problem] = []
    given = _given_by_field(kind, raw, place, problems, problems if strange is None else strange)
    values: dict[str, Value] = {}
    for field in kind.all_fields:
        name, found = given.get(field.name, (field.name, None))
        if _is_empty(found):
            if whole and field.required:
                problems.append(Problem(*place(name), f"{_quoted(field)} is missing.", field.says))
            continue
        try:
            value = _status(kind, found) if field.name == "status" else _PARSERS[field.type](field, found)
        except InvalidValue as wrong:
            problems.append(Problem(*place(name), f"{_quoted(field)} {wrong.reason}", wrong.hint))
            continue
        if not _is_empty(value):
            values[field.name] = value
        elif whole and field.required:
            problems.append(Problem(*place(name), f"{_quoted(field)} is empty.", field.says))
    return values, problems


def _given_by_field(
    kind: Kind, raw: Mapping[str, Any], place: Locate, problems: list[Problem], strange: list[Problem]
) -> dict[str, tuple[str, Any]]:
    """Field → the name it was given under, and what was given."""
    found: dict[str, tuple[str, Any]] = {}
    for name, value in raw.items():
        field = kind.by_name.get(_field_name(name))
        if field is None:
            hint = nearest(_field_name(name), kind.by_name) or f"Fields: {', '.join(f.name for f in kind.all_fields)}."
            strange.append(Problem(*place(name), f"{kind.name} has no field {_quoted_input(name)}.", hint))
        elif field.name in found and not _is_empty(found[field.name][1]):
            if not _is_empty(value):
                problems.append(
                    Problem(*place(name), f"{_quoted(field)} is given twice (as {_quoted_input(name)} too).")
                )
        else:
            found[field.name] = (name, replace_surrogates(value))
    return found


def _status(kind: Kind, given: Any) -> str:
    if not isinstance(given, str):
        raise InvalidValue("must be a word.")
    word = _field_name(given)
    word = {_field_name(other): one for other, one in kind.spellings.items()}.get(word, word)
    if word in kind.statuses:
        return word
    raise InvalidValue(f"must be one of: {', '.join(kind.statuses)}.", nearest(word, kind.statuses))


def _field_name(name: str) -> str:
    """`Considered Options`, `considered-options`, `consideredOptions` → `considered_options`."""
    humps = "".join(f"_{c}" if c.isupper() and name[i - 1 : i].islower() else c for i, c in enumerate(name))
    return humps.strip().lower().replace("-", "_").replace(" ", "_")


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | Mapping | Iterable) and not value)


def _quoted(field: Field) -> str:
    return f'"{field.name}"'


def _quoted_input(name: str) -> str:

    return f'"{one_line(name, 60)}"'
