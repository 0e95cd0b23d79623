"""What mining works with: one sighting of a pattern, and a pattern with all its sightings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.model.text import one_line

IMPORTANCE: Final = 50
"""Of what nobody has weighed yet, in percent."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One time that a pattern was seen."""

    session: str
    """See `sessions.session_of`."""
    receipt: str
    """Id of the receipt it stands in; of a transcript `transcript:<session>`."""
    proof: str
    """Class of the evidence: `ExitCode`, `TestResult`, `EvidenceGraph`, `AgentAssertion`."""
    at: str
    """ISO 8601."""


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern and where it was seen."""

    pattern: str
    category: str
    sightings: tuple[Sighting, ...]
    enough: bool
    """False: below the thresholds. It is proposed to nobody, but reinforces a memory that is there already."""
    importance: int = IMPORTANCE
    untrusted: bool = False
    """Its words are not ours: they come from an agent, or from what an agent was shown."""
    source: str = "receipts"

    @property
    def key(self) -> str:
        """What it is known by."""
        return identity(self.pattern)

    @property
    def sessions(self) -> tuple[str, ...]:
        """Each session once, in the order in which they saw it."""
        return tuple(dict.fromkeys(one.session for one in self.sightings))


def identity(pattern: str) -> str:
    """Two patterns are the same memory where this is equal."""
    return " ".join(pattern.split()).casefold()


def in_order(found: Iterable[Found]) -> list[Found]:
    """Those seen in most sessions first; of equal ones in the order of their text."""
    return sorted(found, key=lambda one: (-len(one.sessions), one.key))


def joined(found: Iterable[Found]) -> list[Found]:
    """One of each pattern, with the sightings of all."""
    by_key: dict[str, list[Found]] = {}
    for one in found:
        by_key.setdefault(one.key, []).append(one)
    return [_one(same) for same in by_key.values()]


def _one(same: Sequence[Found]) -> Found:
    first = same[0]
    sightings = tuple(dict.fromkeys(seen for one in same for seen in one.sightings))
    enough, untrusted = any(one.enough for one in same), any(one.untrusted for one in same)
    return Found(first.pattern, first.category, sightings, enough, first.importance, untrusted, first.source)


def named(names: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    shown = ", ".join(one_line(name, 120) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
