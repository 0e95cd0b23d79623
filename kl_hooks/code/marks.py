"""Files that mark a project and are no source themselves: names of modules are decided by where they stand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from kl_hooks.store.database import Rows

MARKERS: Final = ("pyproject.toml", "setup.cfg")
"""Their names; `setup.py` marks a project too, and is source."""


def is_marker(path: str) -> bool:
    """True for a file of `MARKERS`."""
    return path.endswith(MARKERS) and path.rpartition("/")[2] in MARKERS


def known_markers(db: Rows, condition: str, params: Sequence[str]) -> set[str]:
    """The files that marked projects when names were last decided; of those that fit a condition over `path`."""
    return {row[0] for row in db.rows(f"SELECT path FROM marks WHERE {condition}", tuple(params))}


def note(db: Rows, markers: Collection[str]) -> None:
    """From now on these mark projects. Inside one transaction."""
    db.execute("DELETE FROM marks")
    db.many("INSERT INTO marks (path) VALUES (?)", [(path,) for path in sorted(markers)])
