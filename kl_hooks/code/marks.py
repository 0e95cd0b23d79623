"""Files that mark a project and are no source themselves: names of modules are decided by where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

MARKERS: Final = ("pyproject.toml", "setup.cfg")
"""Their names; `setup.py` marks a project too, and is source."""
NOTED: Final = 2
"""What stands in the table `naming` instead of an answer: the name is the path of such a file."""


class Rows(Protocol):
    """What this needs of a database; the store's Database is one."""

    def rows(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]: ...


def is_marker(path: str) -> bool:
    """True for a file of `MARKERS`."""
    return path.endswith(MARKERS) and path.rpartition("/")[2] in MARKERS


def known_markers(db: Rows, condition: str, params: Sequence[str]) -> set[str]:
    """The files that marked projects when names were last decided; of those that fit a condition over `name`."""
    sql = f"SELECT name FROM naming WHERE {condition} AND asked_for = ?"
    return {row[0] for row in db.rows(sql, (*params, NOTED))}
