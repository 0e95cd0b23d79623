"""Database: the one door to rows. SQL is portable, values stand for `?`; dialects differ behind this door only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = tuple[Any, ...]


class Database(Protocol):
    """An open database. No transaction is ever begun behind the caller's back."""

    dialect: str
    """`sqlite`, one day `postgresql`."""
    read_only: bool

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        ...

    def row(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        """The first row, or None."""
        ...

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        """A statement without an answer."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same statement for each of `rows`."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside happens, or nothing. Takes the write lock at once; does not nest."""
        ...

    def close(self) -> None:
        """Lets go of it. May be called again."""
        ...
