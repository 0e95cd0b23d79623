"""The parts of a result: what NamedTuples, dataclasses, mappings and lists hold, read and
replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind


_NUMBERS: Final = frozenset((bool, int, float, type(None)))
"""Types of values that hold no text."""


class Listing(NamedTuple):
    """A list of which interfaces show the first items. They are counted after the policy was
    applied.
    """

    items: tuple[Any, ...]
    limit: int

    @property
    def shown(self) -> tuple[Any, ...]:
        """The first items."""
        return self.items[: self.limit]

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.items)


class Kinds:
    """The kinds of a repository: they describe the records of a result, and have none of their
    text.
    """

    def __init__(self, by_name: Mapping[str, Kind]) -> None:
        self.by_name = by_name


def named_parts(value: Any) -> dict[Any, Any] | None:
    """Return name → part of a NamedTuple, a dataclass or a mapping; None for any other value."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return None


def with_parts(value: Any, parts: dict[Any, Any]) -> Any:
    """Return a value of the same type with these parts, named as `named_parts` names them."""
    if isinstance(value, Mapping):
        return parts
    if isinstance(value, tuple):
        return type(value)(**parts)
    return replace(value, **parts)


def leaves(value: Any, is_leaf: Callable[[Any], bool]) -> list[Any]:
    """Return the values in a result that are leaves, names of mappings among them; what is in a
    leaf is not looked at.
    """
    if is_leaf(value):
        return [value]
    parts: Iterable[Any] = ()
    if isinstance(value, Mapping):
        parts = chain(value, value.values())
    elif isinstance(value, tuple | list | frozenset):
        parts = value
    elif (named := named_parts(value)) is not None:
        parts = named.values()
    # a report has a million numbers, and no number is a leaf
    return [leaf for part in parts if type(part) not in _NUMBERS for leaf in leaves(part, is_leaf)]


def replaced(value: Any, is_leaf: Callable[[Any], bool], change: Callable[[Any], Any]) -> Any:
    """Return a result in which each leaf is what `change` makes of it."""
    if is_leaf(value):
        return change(value)
    named = named_parts(value)
    if named is not None:
        return with_parts(
            value, {name: replaced(part, is_leaf, change) for name, part in named.items()}
        )
    if isinstance(value, tuple | list | frozenset):
        return type(value)(replaced(part, is_leaf, change) for part in value)
    return value
