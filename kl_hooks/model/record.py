"""Record: one piece of knowledge of a Kind, as it was read from a file or a row. Immutable."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

Value = str | int | bool | tuple[str, ...] | Mapping[str, str]
"""line, text, choice, date: str. number: int. flag: bool. lines, words, ids: a tuple of str. map:
text by text.
"""


_NO_PROSE: Final = frozenset(
    ("authority", "status", "date", "updated", "source", "classification", "checksum")
)


@dataclass(frozen=True, slots=True)
class Record:
    """One piece of knowledge."""

    kind: str
    """Name of its Kind."""
    id: str
    values: Mapping[str, Value]
    """Field → value. An empty field is missing."""
    body: str = ""
    """Of a file: the Markdown after the front matter, as written."""
    path: str = ""
    """Of a file: its path from the root; empty: the record is a row of the database."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Of a file: field → its line, from 1."""
    broken: str = ""
    """Where the file can't be read today: why. The rest is then its last good version."""
    proposal: int = 0
    """After a write: the number of the proposal that was stored with it, or instead of it; 0: none.
    """

    def text(self, name: str) -> str:
        """The value of a field that holds text; empty where there is none. Lists: one a line."""
        value = self.values.get(name, "")
        if isinstance(value, tuple):
            return "\n".join(value)
        return str(value)

    @property
    def prose(self) -> str:
        """Its texts without its title, each on lines of its own, as somebody would look for
        them.
        """
        return "\n".join(
            text
            for name, text in self.values.items()
            if isinstance(text, str) and text != self.title and name not in _NO_PROSE
        )

    def many(self, name: str) -> tuple[str, ...]:
        """The value of a field that holds several; a single text is a list of one."""
        value = self.values.get(name, ())
        if isinstance(value, tuple):
            return value
        if value:
            return (str(value),)
        return ()

    def number(self, name: str, default: int = 0) -> int:
        """The value of a field that holds a number."""
        value = self.values.get(name, default)
        if isinstance(value, int):
            return value
        return default

    @property
    def title(self) -> str:
        """What it is, in one line."""
        return self.text("title")

    @property
    def status(self) -> str:
        """Its status."""
        return self.text("status")

    @property
    def authority(self) -> str:
        """`human`, `agent` or `auto`."""
        return self.text("authority") or "human"

    @property
    def archived(self) -> bool:
        """True for a file in an `archive/` folder: found by a search, never shown unasked."""
        return "/archive/" in self.path

    def with_values(self, **changes: Any) -> Record:
        """The same record with some fields changed; None, an empty text and an empty list take a
        field out.
        """
        values = {**self.values, **changes}
        return replace(
            self,
            values={
                name: value for name, value in values.items() if value not in (None, "", (), {})
            },
        )


def untitled_path(path: str, identifier: str) -> str:
    """Return the path of a record's file without its title, which kl names the file after; empty
    where something else names it.
    """
    folder, name = posixpath.split(path)
    is_named_by_kl = name.partition(".")[0].startswith(identifier)
    if identifier and is_named_by_kl:
        return f"{folder}/{identifier}"
    return ""
