"""Check: raw values held against a Kind. Everything wrong is said at once; what is right comes out in one spelling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kl_hooks.config.typed import nearest
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Value
from kl_hooks.records.single import Wrong, choice, date, flag, identifiers, line, mapping, number, several, text, words

Place = Callable[[str], tuple[str, int, int]]
"""Name of a field → path (or command), line and column to blame."""

_SINGLE: Final[Mapping[str, Callable[[Field, Any], Value]]] = {
    "line": line, "text": text, "lines": several, "words": words, "choice": choice, "number": number, "flag": flag,
    "date": date, "ids": identifiers, "map": mapping,
}  # fmt: skip


def checked(
    kind: Kind, raw: Mapping[str, Any], place: Place, *, whole: bool = True, strange: list[Problem] | None = None
) -> tuple[dict[str, Value], list[Problem]]:
    """(field → value, everything wrong with `raw`), in the order of the kind's fields.

    `raw` holds text, numbers, booleans, lists or maps under names or other names of fields; None and empty text say
    nothing. With `whole` what is required must be there. A name that no field bears is a problem, or, with a list
    `strange`, put there.
    """
    problems: list[Problem] = []
    given = _by_field(kind, raw, place, problems, problems if strange is None else strange)
    values: dict[str, Value] = {}
    for field in kind.all_fields:
        name, found = given.get(field.name, (field.name, None))
        if _says_nothing(found):
            if whole and field.required:
                problems.append(Problem(*place(name), f"{_called(field)} is missing.", field.says))
            continue
        try:
            value = _status(kind, found) if field.name == "status" else _SINGLE[field.type](field, found)
        except Wrong as wrong:
            problems.append(Problem(*place(name), f"{_called(field)} {wrong.reason}", wrong.hint))
            continue
        if not _says_nothing(value):
            values[field.name] = value
        elif whole and field.required:
            problems.append(Problem(*place(name), f"{_called(field)} is empty.", field.says))
    return values, problems


def _by_field(
    kind: Kind, raw: Mapping[str, Any], place: Place, problems: list[Problem], strange: list[Problem]
) -> dict[str, tuple[str, Any]]:
    """Field → the name it was given under, and what was given."""
    found: dict[str, tuple[str, Any]] = {}
    for name, value in raw.items():
        field = kind.by_name.get(_plain(name))
        if field is None:
            hint = nearest(_plain(name), kind.by_name) or f"Fields: {', '.join(f.name for f in kind.all_fields)}."
            strange.append(Problem(*place(name), f"{kind.name} has no field {_shown(name)}.", hint))
        elif field.name in found and not _says_nothing(found[field.name][1]):
            if not _says_nothing(value):
                problems.append(Problem(*place(name), f"{_called(field)} is given twice (as {_shown(name)} too)."))
        else:
            found[field.name] = (name, replace_surrogates(value))
    return found


def _status(kind: Kind, given: Any) -> str:
    if not isinstance(given, str):
        raise Wrong("must be a word.")
    word = _plain(given)
    word = {_plain(other): one for other, one in kind.spellings.items()}.get(word, word)
    if word in kind.statuses:
        return word
    raise Wrong(f"must be one of: {', '.join(kind.statuses)}.", nearest(word, kind.statuses))


def _plain(name: str) -> str:
    """`Considered Options`, `considered-options`, `consideredOptions` → `considered_options`."""
    humps = "".join(f"_{c}" if c.isupper() and name[i - 1 : i].islower() else c for i, c in enumerate(name))
    return humps.strip().lower().replace("-", "_").replace(" ", "_")


def _says_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str | Mapping | Iterable) and not value)


def _called(field: Field) -> str:
    return f'"{field.name}"'


def _shown(name: str) -> str:
    from kl_hooks.model.text import one_line

    return f'"{one_line(name, 60)}"'
