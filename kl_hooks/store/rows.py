"""What most rooms need of a database, and how many values are asked about: some after some, a `?` for each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")
AT_ONCE: Final = 400
"""Values of one statement: every SQLite takes as many."""


class Rows(Protocol):
    """A database to ask and to write; the store's Database is one."""

    def rows(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]: ...
    def execute(self, sql: str, params: Any = ()) -> Any: ...
    def many(self, sql: str, rows: Any) -> Any: ...


def pieces(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """The values, at most `AT_ONCE` at a time."""
    return (values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE))


def marks(values: Collection[Any]) -> str:
    """`?, ?, ?`: for `IN (…)`."""
    return ", ".join("?" * len(values))
