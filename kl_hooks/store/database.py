"""The Database protocol: SQL is portable, values are passed for `?`; dialects differ behind this
protocol only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from kl_hooks.errors import StoreDamaged, StoreNewer

Row = tuple[Any, ...]


class Database(Protocol):
    """An open database. No transaction is ever begun behind the caller's back."""

    dialect: str
    """`sqlite` or `postgresql`."""
    read_only: bool

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""

    def row(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        """The first row, or None."""

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        """A statement without an answer."""

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same statement for each of `rows`."""

    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside happens, or nothing. Takes the write lock at once; does not nest."""

    def snapshot(self) -> AbstractContextManager[None]:
        """All that is read inside is of one moment. Inside, nothing must be written: that would
        wait for itself.
        """

    def has_table(self, name: str) -> bool:
        """Whether a table is there."""

    def close(self) -> None:
        """Close it. May be called again."""


T = TypeVar("T")
# SQLITE_MAX_VARIABLE_NUMBER is 999 before SQLite 3.32; a statement may have other values too
_AT_ONCE: Final = 400
"""Values of one statement: every SQLite takes as many."""


class Rows(Protocol):
    """A database to ask and to write; the store's Database is one."""

    def rows(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]: ...
    def execute(self, sql: str, params: Any = ()) -> Any: ...
    def many(self, sql: str, rows: Any) -> Any: ...
    def snapshot(self) -> AbstractContextManager[None]: ...


def chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """The values, at most `_AT_ONCE` at a time."""
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))


def placeholders(values: Collection[Any]) -> str:
    """`?, ?, ?`: for `IN (…)`."""
    return ", ".join("?" * len(values))


def damaged_error(path: Path, reason: str) -> StoreDamaged:
    """The exception, with a hint. Nothing is ever moved or deleted by us."""
    hint = (
        f"Captures wait in the spool. Keep it for a look: mv {path.name} {path.name}.damaged; then:"
        " kl doctor"
    )
    return StoreDamaged(f"{reason}.", place=str(path), hint=hint)


def newer_error(path: Path | str, theirs: str, ours: str) -> StoreNewer:
    """The exception for a store that a newer kl made."""
    reason = (
        f"was made by a newer kl ({theirs}; this one knows {ours}): it can be read, not written."
    )
    return StoreNewer(
        reason,
        place=str(path),
        hint="Upgrade: pip install --upgrade kl-hooks. Captures wait in the spool.",
    )
