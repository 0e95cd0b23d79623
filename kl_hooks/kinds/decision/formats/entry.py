"""Entry: a decision as a file of another tool tells it, in values of our kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kl_hooks.model.record import Value

REFERENCES: Final = ("supersedes", "superseded_by", "amends", "amended_by", "related_adrs", "related")
"""Fields that name other decisions: in an Entry by whatever name the file gives them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision, read from or to be written to another tool's file."""

    values: Mapping[str, Value]
    """By field of the kind `decision`. What fits no field stands in `more`, so nothing that was said is lost."""
    name: str = ""
    """What the file calls it: `7`, `ADR-0007`, `20261122-use-x`; empty: nothing."""

    def text(self, name: str) -> str:
        """A field that holds text; empty where it says nothing."""
        value = self.values.get(name, "")
        return "\n".join(value) if isinstance(value, tuple) else "" if isinstance(value, Mapping) else str(value)

    def many(self, name: str) -> tuple[str, ...]:
        """A field that holds a list; a single text is a list of one."""
        value = self.values.get(name, ())
        return value if isinstance(value, tuple) else (str(value),) if value else ()


@dataclass(frozen=True, slots=True)
class Other:
    """Another decision, as a link to it is written."""

    number: str
    title: str
    file: str
    """Name of its file, in the same folder."""


class NotReadable(ValueError):
    """A file that is no decision in this format: the reason, and the line (0: the file as a whole)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        self.reason, self.line = reason, line
        super().__init__(reason)
