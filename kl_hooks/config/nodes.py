"""What a YAML file says, with places: text, lists and maps. `on`, `1.10` and dates stay text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """A scalar as it was written, escapes and folding resolved."""

    value: str
    line: int
    column: int
    plain: bool = True
    """Written without quotes: only then is an empty text a value left out."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A sequence."""

    items: tuple[Node, ...]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys and values in the order of the file; keys are unique."""

    entries: tuple[tuple[Text, Node], ...]
    line: int
    column: int


Node = Text | Listing | Mapping


def sort_of(node: Node) -> str:
    """`text`, `a list` or `a map`, for messages."""
    return "text" if isinstance(node, Text) else "a list" if isinstance(node, Listing) else "a map"
