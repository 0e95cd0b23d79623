"""Draft: gathers what a file says until it is an Entry; what has no field of ours goes to `more`, under its heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kl_hooks.kinds.decision.formats.details import read_details
from kl_hooks.kinds.decision.formats.entry import REFERENCES, Entry
from kl_hooks.kinds.decision.formats.front import written
from kl_hooks.kinds.decision.formats.parts import Part, bulleted, deeper, inner, listed, settled, tidy
from kl_hooks.kinds.decision.formats.words import LISTS, field_of_heading, field_of_key
from kl_hooks.kinds.decision.kind import KIND
from kl_hooks.model.kind import Field
from kl_hooks.model.record import Value

OTHER_KEYS: Final = "Front matter"
"""Heading in `more` of the keys that no field bears."""


class Draft:
    """An Entry in the making."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._more: list[str] = []
        self._keys: dict[str, Any] = {}

    def put(self, name: str, value: Any) -> None:
        """A field's value; a second text for the same section follows the first, a second list goes on with it."""
        field = KIND.by_name[name]
        value = typed(field, value)
        if value in ("", (), {}, None):
            return
        old = self.values.get(field.name)
        if old is None or field.name == "title":  # a key `title` is exact, a heading is what is left of it
            self.values[field.name] = value
        elif isinstance(old, tuple):
            self.values[field.name] = (*old, *(one for one in value if field.section or one not in old))
        elif field.section:
            self.values[field.name] = f"{old}\n\n{value}"
        elif old != value:
            self._keys[field.name] = value

    def key(self, name: str, value: Any) -> None:
        """A key of front matter and its value."""
        field = field_of_key(name)
        if field is None or (isinstance(value, Mapping) and field.type != "map"):
            self._keys[name] = value
        else:
            self.put(field.name, value)

    def section(self, part: Part) -> None:
        """A section of the body, by its heading."""
        if keys := read_details(part):
            for key, value in keys.items():
                self.key(key, value)
            return
        name = field_of_heading(part.heading)
        if name == "more":
            self.leave("", part.text)
        elif name:
            self.put(name, listed(part.text) if name in LISTS else part.text)
        else:
            self.leave(part.heading, part.text)

    def leave(self, heading: str, text: str) -> None:
        """What has no field: kept in `more`."""
        text = settled(text, inner)
        if heading:
            self._more.append(tidy(f"### {' '.join(heading.split()).replace('<!--', '&lt;!--')}\n\n{deeper(text)}"))
        elif text:
            self._more.append(text)

    def entry(self, name: str = "") -> Entry:
        """What was gathered, in the one form that every writer gives back."""
        values = dict(self.values)
        more = list(self._more)
        if self._keys:
            plain = {key: value for key, value in self._keys.items() if value not in ("", (), {})}
            more.append(f"### {OTHER_KEYS}\n\n```yaml\n{written(plain)}\n```") if plain else None
        if more:
            values["more"] = "\n\n".join([*([values["more"]] if "more" in values else []), *more])
        order = {field.name: number for number, field in enumerate(KIND.all_fields)}
        return Entry({key: values[key] for key in sorted(values, key=order.__getitem__)}, name)


def typed(field: Field, value: Any) -> Value | None:
    """A value in the form that its field keeps; text that does not fit stays text, for the check to name."""
    if field.section and field.type == "text":
        least = 4 if field.name == "decision" else 3  # MADR's sections of the third level in it are other fields
        text = "\n".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
        return settled(text, lambda one: inner(one, least))
    if field.type == "lines":
        return _items(field, value)
    if field.type in ("ids", "words"):
        return _words(field, value)
    if isinstance(value, tuple | list):
        value = ", ".join(map(str, value))
    spoken = " ".join(str(value).split())
    if field.type == "choice":
        return _choice(field, spoken)
    if field.type == "number":
        return percent(spoken)
    return spoken


def _items(field: Field, value: Any) -> tuple[str, ...]:
    """A list of texts; that of a section as it comes back out of Markdown."""
    items = [str(item) for item in ([value] if isinstance(value, str) else value) if item is not None]
    if not field.section:
        return tuple(found for item in items if (found := " ".join(item.split())))
    return tuple(found for item in items if (found := settled(item, _item)))


def _item(text: str) -> str:
    return next(iter(listed(bulleted((inner(text),)))), "")


def percent(spoken: str) -> int | str:
    """`0.82` → 82, `82` → 82; what is no number stays as it is."""
    if re.fullmatch(r"0?\.\d{1,9}|[01]\.0{1,9}", spoken):
        return round(float(spoken) * 100)
    return int(spoken) if re.fullmatch(r"\d{1,9}", spoken) else spoken


def _words(field: Field, value: Any) -> tuple[str, ...]:
    items: Iterable[Any] = value.split(",") if isinstance(value, str) else value
    found = [" ".join(str(item).split()) for item in items if item is not None]
    if field.type == "words":
        found = ["-".join(one.replace(",", " ").split()) for one in found]
    if field.name not in REFERENCES:
        found = [one for item in found for one in ([item] if field.type == "words" else item.split(","))]
    return tuple(dict.fromkeys(one.strip() for one in found if one.strip()))


def _choice(field: Field, spoken: str) -> str:
    word = spoken.lower().replace("-", "_").replace(" ", "_")
    return field.also.get(word, word)
