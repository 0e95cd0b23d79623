"""Validation: raw values checked against the fields of a kind, all problems reported at once.

A valid value comes out in one canonical spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kl_hooks.clock import micros
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.problem import MissingField, Problem
from kl_hooks.model.record import Value
from kl_hooks.model.symbol import ID_PREFIXES, RECORD_ID
from kl_hooks.model.text import OwnText, one_line, safe_text, suggest_spelling

_MAX_LINE: Final = 2_000
_MAX_TEXT: Final = 100_000
_MAX_KEY: Final = 200
_MAX_ITEMS: Final = 500
_WORD: Final = lazy_pattern(r"[^\s,\x00-\x1f\x7f-\x9f]{1,60}")
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
# Not `\d`, which matches the digits of every script.
_INTEGER: Final = lazy_pattern(r"-?[0-9]{1,9}")
_FRACTION: Final = lazy_pattern(r"0?\.[0-9]{1,9}|[01]\.0{1,9}")

_Locate = Callable[[str], tuple[str, int, int]]
"""Name of a field → path (or command), line and column for its problems."""


class InvalidValue(Exception):
    """A value that does not fit its field: the reason, and a hint."""

    def __init__(self, reason: str, hint: str = "") -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


def validate(
    kind: Kind,
    raw: Mapping[str, Any],
    locate: _Locate,
    *,
    whole: bool = True,
    unknown: list[Problem] | None = None,
) -> tuple[dict[str, Value], list[Problem]]:
    """Return (field → value, all problems of `raw`), in the order of the kind's fields.

    `raw` has text, numbers, booleans, lists or maps under names or aliases of fields; None and
    empty text count as absent. With `whole`, required fields must be present. Unknown names are
    problems, or go to the list `unknown`.
    """
    problems: list[Problem] = []
    raw_by_field = _given_by_field(
        kind, raw, locate, problems, problems if unknown is None else unknown
    )
    values: dict[str, Value] = {}
    for field in kind.all_fields:
        name, raw_value = raw_by_field.get(field.name, (field.name, None))
        if _is_empty(raw_value):
            if whole and field.required:
                problems.append(
                    Problem(*locate(name), MissingField(field.name), OwnText(field.description))
                )
            continue
        try:
            value = _valid_value(kind, field, raw_value)
        except InvalidValue as wrong:
            problems.append(Problem(*locate(name), f"{_quoted(field)} {wrong.reason}", wrong.hint))
            continue
        if not _is_empty(value):
            values[field.name] = value
        elif whole and field.required:
            problems.append(
                Problem(*locate(name), f"{_quoted(field)} is empty.", OwnText(field.description))
            )
    return values, problems


def _valid_value(kind: Kind, field: Field, raw_value: Any) -> Value:
    if field.name == "status":
        return _status(kind, raw_value)
    if takes_titles(kind, field):
        raw_value = [node_in(kind.name, name) for name in _id_texts(field, raw_value)]
    return _PARSERS[field.type](field, raw_value)


def takes_titles(kind: Kind, field: Field) -> bool:
    """Return whether a bare name in this field is the title of a record of the same kind, and no
    path: in folders that other programs read, a record is known by its title.
    """
    return bool(kind.folders) and field.type == "ids" and field in kind.fields


def has_field(kind: Kind, name: str) -> bool:
    """Return True for a name, in any spelling, of a field of the kind."""
    return _field_name(name) in kind.by_name


def node_id(text: str) -> str:
    """Return the graph ID of an ID or a path: a path means its file, `tests/test_a.py::test_b` the
    test. InvalidValue for a path outside the repository.
    """
    prefix, colon, name = text.partition(":")
    if len(text) > _MAX_LINE or safe_text(text) != text or any(c in text for c in "\n\t"):
        raise InvalidValue(f"holds {one_line(text, 80)!r}: characters that no Id has.")
    if colon and prefix in ID_PREFIXES and prefix != "file":
        if not name.strip():
            raise InvalidValue(f"holds {text!r}: a name belongs after the colon.")
        return text
    if RECORD_ID.fullmatch(text) or (colon and prefix.isidentifier() and prefix != "file"):
        return text
    path = name if colon and prefix == "file" else text
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "~")) or ".." in parts or not path.strip("/. "):
        raise InvalidValue(
            f"holds {one_line(text, 80)!r}.",
            "Give a path from the root of the repository, or an Id.",
        )
    plain = "/".join(part for part in parts if part not in ("", "."))
    if "::" in plain:
        return f"test:{plain}"
    return f"file:{plain}"


def _given_by_field(
    kind: Kind,
    raw: Mapping[str, Any],
    locate: _Locate,
    problems: list[Problem],
    unknown: list[Problem],
) -> dict[str, tuple[str, Any]]:
    """Return field → (the name it was given under, the value)."""
    raw_by_field: dict[str, tuple[str, Any]] = {}
    for name, value in raw.items():
        field = kind.by_name.get(_field_name(name))
        shown = f'"{one_line(name, 60)}"'
        if field is None:
            fields = f"Fields: {', '.join(one.name for one in kind.all_fields)}."
            hint = suggest_spelling(_field_name(name), kind.by_name) or fields
            unknown.append(Problem(*locate(name), f"{kind.name} has no field {shown}.", hint))
        elif field.name in raw_by_field and not _is_empty(raw_by_field[field.name][1]):
            if not _is_empty(value):
                problems.append(
                    Problem(*locate(name), f"{_quoted(field)} is given twice (as {shown} too).")
                )
        else:
            # JSON can hold lone surrogates, which no file in UTF-8 can.
            raw_by_field[field.name] = (name, replace_surrogates(value))
    return raw_by_field


def _status(kind: Kind, raw_value: Any) -> str:
    if not isinstance(raw_value, str):
        raise InvalidValue("must be a word.")
    return _one_of(
        _field_name(raw_value),
        kind.statuses,
        {_field_name(other): to for other, to in kind.spellings.items()},
    )


def _one_of(word: str, words: Sequence[str], spellings: Mapping[str, str]) -> str:
    word_of_spelling = {**spellings, **{_choice_key(spelled): spelled for spelled in words}}
    if word in word_of_spelling:
        return word_of_spelling[word]
    raise InvalidValue(f"must be one of: {', '.join(words)}.", suggest_spelling(word, words))


def _line(field: Field, raw_value: Any) -> str:
    line = _as_text(raw_value, _MAX_LINE)
    if "\n" in line or "\r" in line:
        raise InvalidValue(
            "must be one line.",
            f"Put the rest into another field: {field.description}" if field.description else "",
        )
    if line.strip():
        return line
    return ""


def _multiline(field: Field, raw_value: Any) -> str:
    """Text of any number of lines; a list becomes a Markdown list."""
    if isinstance(raw_value, list | tuple):
        raw_value = "\n".join(f"- {item}" for item in _lines(field, raw_value))
    text = _as_text(raw_value, _MAX_TEXT)
    if text.strip():
        return text
    return ""


def _lines(field: Field, raw_value: Any) -> tuple[str, ...]:
    if isinstance(raw_value, list | tuple):
        items = list(raw_value)
    else:
        items = [raw_value]
    if len(items) > _MAX_ITEMS:
        raise InvalidValue(f"has {len(items)} items; at most {_MAX_ITEMS} are allowed.")
    texts = [_as_text(item, _MAX_TEXT) for item in items if item is not None]
    return tuple(item for item in texts if item.strip())


def _words(field: Field, raw_value: Any) -> tuple[str, ...]:
    """Short words without spaces, each once; one text is split at its commas."""
    words = _split_unique(part for item in _lines(field, raw_value) for part in item.split(","))
    for word in words:
        if not _WORD.fullmatch(word) or safe_text(word) != word:
            reason = f"holds {one_line(word, 60)!r}, which is no short word."
            raise InvalidValue(reason, "At most 60 characters, no spaces.")
    return words


def _choice(field: Field, raw_value: Any) -> str:
    also = {_choice_key(other): choice for other, choice in field.also.items()}
    return _one_of(_choice_key(_as_text(raw_value, _MAX_LINE)), field.choices, also)


def _number(field: Field, given: Any) -> int:
    """A whole number within the field's bounds; where 100 is the most, a fraction (0.82) is read as
    percent.
    """
    # bool is a subclass of int (PEP 285): `true` would be 1
    if isinstance(given, bool):
        raise InvalidValue("must be a number.")
    if isinstance(given, str | int | float):
        text = str(given).strip()
    else:
        text = ""
    if field.most == 100 and _FRACTION.fullmatch(text):
        text = str(round(float(text) * 100))
    if isinstance(given, float) and text.endswith(".0"):
        text = text[:-2]
    if not _INTEGER.fullmatch(text) or not field.least <= int(text) <= field.most:
        raise InvalidValue(f"must be a whole number from {field.least} to {field.most}.")
    return int(text)


def _flag(field: Field, raw_value: Any) -> bool:
    if isinstance(raw_value, str | bool | int):
        word = str(raw_value).strip().lower()
    else:
        word = ""
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise InvalidValue("must be true or false.")


def _date(field: Field, raw_value: Any) -> str:
    """A date or a moment in ISO 8601, spelled as it was given."""
    text = _as_text(raw_value, _MAX_LINE).strip()
    try:
        micros(text)
    except (ValueError, OverflowError):
        raise InvalidValue("must be a date such as 2027-01-31, or a moment in ISO 8601.") from None
    return text


def _ids(field: Field, raw_value: Any) -> tuple[str, ...]:
    """IDs, each once, spelled as given: `file:src/a.py`, a path, `ADR-0007`. One text is split at
    its commas.
    """
    ids = _id_texts(field, raw_value)
    for identifier in ids:
        node_id(identifier)
    return ids


def _id_texts(field: Field, raw_value: Any) -> tuple[str, ...]:
    if isinstance(raw_value, str):
        texts = raw_value.split(",")
    else:
        texts = raw_value
    return _split_unique(_lines(field, texts))


def node_in(namespace: str, name: str) -> str:
    """Return the ID of what is named: `PDF tools` → `skill:pdf tools`. IDs stay as they are."""
    bare = name.removeprefix(f"{namespace}:")
    if ":" in bare or RECORD_ID.fullmatch(name):
        return name
    # in any case and spacing it is the same one, as in the ID of its record
    return f"{namespace}:{' '.join(bare.split()).casefold()}"


def _map(field: Field, raw_value: Any) -> dict[str, str]:
    if not isinstance(raw_value, Mapping) or len(raw_value) > _MAX_ITEMS:
        raise InvalidValue("must be keys and values.")
    texts = {
        _line(field, str(key)): _as_text(value, _MAX_TEXT)
        for key, value in raw_value.items()
        if value is not None
    }
    if any(not key or len(key) > _MAX_KEY for key in texts):
        raise InvalidValue(f"has a key that is empty or longer than {_MAX_KEY} characters.")
    return texts


# Type of a field → what turns a raw value into a valid one, or raises InvalidValue.
_PARSERS: Final[Mapping[str, Callable[[Field, Any], Value]]] = {
    "line": _line,
    "text": _multiline,
    "lines": _lines,
    "words": _words,
    "choice": _choice,
    "number": _number,
    "flag": _flag,
    "date": _date,
    "ids": _ids,
    "map": _map,
}


def _as_text(raw_value: Any, most: int) -> str:
    # JSON has numbers where a title such as 2024 is meant: they are text too.
    if isinstance(raw_value, bool) or not isinstance(raw_value, str | int | float):
        names = (("a map", Mapping), ("a list", list | tuple), ("true or false", bool))
        name = next((name for name, types in names if isinstance(raw_value, types)), "this")
        raise InvalidValue(f"must be text, not {name}.")
    text = str(raw_value)
    if len(text) > most:
        reason = f"is {len(text)} characters long; at most {most} are allowed."
        raise InvalidValue(reason, "Shorten it; link to the rest.")
    return text


def _split_unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))


def _choice_key(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")


def _field_name(name: str) -> str:
    """`Considered Options`, `considered-options`, `consideredOptions` → `considered_options`."""
    return _choice_key(
        "".join(
            f"_{c}" if c.isupper() and name[i - 1 : i].islower() else c for i, c in enumerate(name)
        )
    )


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | Mapping | Iterable) and not value)


def _quoted(field: Field) -> str:
    return f'"{field.name}"'
