"""How often a failure happened: a fold over what was noted, never a number that somebody keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

OCCURRED: Final = "occurred"
"""Name of the Event."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """How often, first and last (ISO 8601; empty: unknown)."""

    count: int
    first: str = ""
    last: str = ""


def occurrences(moments: Iterable[str], recorded: str = "") -> Occurrences:
    """The fold. `moments`: of the Events `occurred`; `recorded`: when it was written down, which counts as the first
    time where no Event is known, as in a clone that only has the file."""
    known = sorted(moments)
    if not known:
        return Occurrences(1, recorded, recorded)
    return Occurrences(len(known), min(known[0], recorded) if recorded else known[0], known[-1])


def times(count: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
